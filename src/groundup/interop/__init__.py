"""Handing models over to other programs, and taking theirs in: Hugging Face, llama.cpp, llama2.c, state dicts."""
