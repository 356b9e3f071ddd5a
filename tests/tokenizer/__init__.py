"""A package: benchmarks/, which some tests put on the path, has a tokenizer.py that would hide a mere folder."""
