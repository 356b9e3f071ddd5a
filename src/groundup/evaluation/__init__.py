"""How good a model is: nats, perplexity, bits per byte."""
