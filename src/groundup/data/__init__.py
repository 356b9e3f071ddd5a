"""From documents to batches of token ids."""
