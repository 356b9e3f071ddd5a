"""The Transformer language model, in plain PyTorch tensor operations."""
