"""Every test of the kernel runs on both engines."""

import pytest

from segmend.kernel import native

ENGINES = ("native", "reference")


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    """`native`, then `reference`. Without the compiled kernel only the second, but never in CI."""
    if request.param == "native" and not native.available():
        pytest.skip("the C kernel is not built: python hatch_build.py")
    name: str = request.param
    return name
