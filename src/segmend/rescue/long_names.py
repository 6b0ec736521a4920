"""Files of OUT for topics whose own name leaves little room: names have at most 255 bytes (NAME_MAX)."""

from __future__ import annotations

import os
from hashlib import sha256
from typing import Final

from segmend.surgery.writing.atomic import TEMPORARY

_NAME_MAX: Final = 255
_STEM: Final = 180
"""Bytes of a name that leave room for an offset, an attempt, an ending and `TEMPORARY` behind it."""
_KEPT: Final = 120


def stem(name: str) -> str:
    """What the files of a partition are called before their ending: its name, or as much as has room."""
    data = os.fsencode(name)
    if len(data) <= _STEM:
        return name
    return f"{os.fsdecode(data[:_KEPT])}-{sha256(data).hexdigest()[:16]}-{name.rpartition('-')[2]}"


def while_written(path: str) -> str:
    """The name that a file or directory has until it is whole."""
    folder, _, name = path.rpartition("/")
    data = os.fsencode(name)
    if len(data) + len(TEMPORARY) <= _NAME_MAX:
        return path + TEMPORARY
    return f"{folder}/{sha256(data).hexdigest()}{TEMPORARY}"
