"""An amount of bytes as a person writes it on the command line."""

from __future__ import annotations

import argparse
import re
from typing import Final

_BYTES: Final = re.compile(r"(\d{1,15})(?:\.(\d{1,3}))?\s*([KMGTP]?)(i?)B?", re.ASCII | re.IGNORECASE)
_POWER: Final = {letter: power for power, letter in enumerate(("", "K", "M", "G", "T", "P"))}


def size(value: str) -> int:
    """`40GB`, `1.5GiB`, `500000`: a number of bytes; GB is 10^9, GiB (and G, as of `df -h`) 2^30."""
    found = _BYTES.fullmatch(value.strip())
    count = 0
    if found is not None:
        decimal = value.upper().rstrip().endswith("B") and not found[4]
        whole, rest = int(found[1]), int((found[2] or "0").ljust(3, "0"))
        count = (whole * 1000 + rest) * (1000 if decimal else 1024) ** _POWER[found[3].upper()] // 1000
    if count <= 0:
        raise argparse.ArgumentTypeError(f"'{value}' is no number of bytes; write 40GB or 512MiB")
    return count
