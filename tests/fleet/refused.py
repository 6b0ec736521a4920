"""Directories that the system refuses to list."""

import os

import pytest

from segmend.logdir import disk
from segmend.logdir.file_system import EntryType, Unreadable


def refuse(monkeypatch: pytest.MonkeyPatch, place: str, number: int) -> None:
    """No directory of that name can be listed."""
    listing = disk.listing

    def refused(path: str) -> dict[str, EntryType]:
        if path.endswith(place):
            raise Unreadable(path, os.strerror(number).lower(), number)
        return listing(path)

    monkeypatch.setattr(disk, "listing", refused)
