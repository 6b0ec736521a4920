"""Counts what is opened and read of each file, by an audit hook and at the one door that reads."""

import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from segmend.logdir import scans, second_looks
from segmend.logdir.disk import FileReader


@dataclass
class Traffic:
    """Opens and bytes read by path."""

    opens: Counter[str] = field(default_factory=Counter)
    read: Counter[str] = field(default_factory=Counter)

    def times_read(self, path: str) -> float:
        """Bytes read of a file, as a multiple of its size."""
        return self.read[path] / max(os.path.getsize(path), 1)

    def logs(self) -> list[str]:
        """The logs that were opened and are still there."""
        return sorted(path for path in self.opens if path.endswith(".log") and os.path.exists(path))


_counting: list[Traffic] = []


def _count_open(event: str, arguments: tuple[Any, ...]) -> None:
    if _counting and event == "open" and isinstance(arguments[0], str):
        _counting[-1].opens[arguments[0]] += 1


sys.addaudithook(_count_open)


@contextmanager
def counted() -> Iterator[Traffic]:
    """What is opened and read meanwhile; files of this moment are remembered like older ones."""
    found = Traffic()
    read = FileReader._preadv

    def count(self: FileReader, buffer: memoryview, position: int) -> int:
        got = read(self, buffer, position)
        found.read[self.path] += got
        return got

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FileReader, "_preadv", count)
        for module in (scans, second_looks):
            patch.setattr(module, "TICK_NS", 0)
        _counting.append(found)
        try:
            yield found
        finally:
            _counting.pop()
