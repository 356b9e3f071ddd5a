"""Each kernel test runs on every variant of the kernels that this processor has."""

import pytest

from groundup import _native


@pytest.fixture(params=reversed(_native.kernel_variants()))
def variant(request):
    """Those it has not are skipped once, in test_native_primitives.py, and not by every test again."""
    _native.use_kernel_variant(request.param)
    yield request.param
    _native.use_kernel_variant(_native.kernel_variants()[0])
