"""Directories that the system refuses to list, and files that it refuses to open."""

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


def refuse_files(monkeypatch: pytest.MonkeyPatch, place: str, number: int) -> None:
    """No file of a name that ends so can be opened."""
    opened = disk._open

    def refused(path: str) -> int:
        if path.endswith(place):
            raise Unreadable(path, os.strerror(number).lower(), number)
        return opened(path)

    monkeypatch.setattr(disk, "_open", refused)
