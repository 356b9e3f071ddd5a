"""The operations of model/ and optim/ once more, fast: the same results within rounding.

The readable versions are the oracles (tests/kernels). registry.py chooses the functions that a model is built
with; attention.py, norm.py, gates.py, loss.py and lookup.py wrap the kernels of native/kernels/ for torch, as
operations with a shape rule and a gradient, so that compiled graphs take them too. update.py is for optimizers. Whole
models: in training standard_model.py, in writing decoding.py; standard.py says which.
"""
