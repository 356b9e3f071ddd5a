"""From a prompt to a stream of text."""
