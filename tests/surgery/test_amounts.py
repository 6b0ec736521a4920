"""Figures of the command line."""

import pytest

from segmend.errors import UsageError
from segmend.surgery.planning import amounts


@pytest.mark.parametrize(
    ("text", "count"),
    [("1", 1), ("500000", 500_000), ("40GB", 40 * 10**9), ("40gb", 40 * 10**9), ("1.5GiB", 3 << 29),
     ("1G", 1 << 30), ("2K", 2048), ("0.5TB", 5 * 10**11), ("7B", 7), ("3 MB", 3_000_000)],
)  # fmt: skip
def test_bytes(text: str, count: int) -> None:
    assert amounts.size(text) == count


@pytest.mark.parametrize("text", ["", "0", "0GB", "x", "1X", "-1", "1.2.3G", "GB", "1e9", "٣GB", "9" * 16])
def test_what_is_no_number_of_bytes(text: str) -> None:
    with pytest.raises(UsageError):
        amounts.size(text)
