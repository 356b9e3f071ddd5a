"""Each kernel test runs on every variant of the kernels that this processor has."""

import pytest

from groundup import _native


@pytest.fixture(params=["portable", "avx2", "avx512", "avx512_bf16"])
def variant(request):
    if request.param not in _native.kernel_variants():
        pytest.skip(f"this processor has no {request.param}")
    _native.use_kernel_variant(request.param)
    yield request.param
    _native.use_kernel_variant(_native.kernel_variants()[0])
