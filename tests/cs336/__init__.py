"""The course's names for our functions, in a package so that its tests can say `from .adapters import ...`."""
