"""Bytes to tokens: byte-level BPE, the readable reference and the fast one."""
