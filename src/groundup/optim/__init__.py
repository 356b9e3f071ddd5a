"""What turns gradients into better parameters."""
