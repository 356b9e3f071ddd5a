"""The training loop, its configuration and its metrics."""
