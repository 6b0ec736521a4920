"""How long loading takes: a plain estimate from what has to be opened and read.

Per log dir, `num.recovery.threads.per.data.dir` threads load partitions; log dirs load beside
each other. The constants are rough figures of a warm JVM on a local disk, not yet measured
against real starts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

READ_BYTES_PER_SECOND: Final = 300e6
"""Recovery reads, checks CRCs and decodes headers on one thread."""
SECONDS_PER_SEGMENT: Final = 0.0002
SECONDS_PER_PARTITION: Final = 0.003
SECONDS_OF_A_START: Final = 3.0
"""The JVM, the controller, and the first metadata, before any log is opened."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What one log dir asks of the loader."""

    partitions: int
    segments: int
    scanned_bytes: int


def seconds(dirs: Iterable[Work], threads: int) -> float:
    """The time from the start of the process until all logs are loaded."""
    longest = max((_work(each) / max(threads, 1) for each in dirs), default=0.0)
    return SECONDS_OF_A_START + longest


def _work(work: Work) -> float:
    return (
        work.partitions * SECONDS_PER_PARTITION
        + work.segments * SECONDS_PER_SEGMENT
        + work.scanned_bytes / READ_BYTES_PER_SECOND
    )
