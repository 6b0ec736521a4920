"""The checksums of the C, in every way it computes them, against other people's."""

import ctypes
import random
import zlib
from typing import Any

import crc32c as package
import pytest
from tests.kernel.test_engines_agree import needs_native

from segmend.crc32c import LIBRARY, crc32c

SIZES = (0, 1, 7, 8, 9, 63, 255, 256, 257, 511, 512, 521, 767, 768, 769, 4095, 12287, 12288, 12289, 40_000)


def function(name: str) -> Any:
    assert LIBRARY is not None
    bound = getattr(LIBRARY, name)
    bound.argtypes, bound.restype = (ctypes.c_void_p, ctypes.c_int64, ctypes.c_uint32), ctypes.c_uint32
    return bound


def test_the_check_value_of_the_polynomial() -> None:
    assert crc32c(b"123456789") == 0xE3069283


@pytest.mark.parametrize("size", SIZES)
def test_as_the_package_computes_it_of_any_buffer(size: int) -> None:
    data = random.Random(size).randbytes(size)
    expected = package.crc32c(data, 77)
    for buffer in (data, bytearray(data), memoryview(data), memoryview(bytearray(b"x" + data))[1:]):
        assert crc32c(buffer, 77) == expected


@needs_native
@pytest.mark.parametrize("size", SIZES)
def test_the_other_ways_and_the_legacy_polynomial(size: int) -> None:
    data = random.Random(size).randbytes(size)
    for way in ("portable", "narrow"):
        assert function(f"segmend_crc32c_{way}")(data, size, 5) == package.crc32c(data, 5)
    assert function("segmend_crc32")(data, size, 5) == zlib.crc32(data, 5)
