"""What each thing that a start does costs, by release: the figures of the model in `minutes`.

Each was fitted to real starts of Kafka 1.1.0 and 4.3.1 (`tests/lab/startup_times.json`; the least of
several starts on two cores that were shared, all in the page cache). What they stand for is said
beside them. `docs/startup-time.md` has the measured times, the model's and its error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from segmend.broker.rule import Rule


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """Seconds on one thread, for one of each."""

    start: float
    """The JVM and all of a start but its logs, until the broker logs that it has started."""
    first_log: float
    """Classes and threads that the first log needs."""
    warm_up: float
    """Byte code that is interpreted until the JVM has compiled it: the most that is lost while logs load."""
    partition: float
    """`UnifiedLog.create`: producer snapshot, epochs; the indexes of the active segment preallocated."""
    segment: float
    """`LogSegment.open`, and up to 2.2 the memory maps of its indexes."""
    checked: float
    """`sanityCheck` of both indexes with everything in the page cache."""
    recovered: float
    """`LogSegment.recover` without its bytes: indexes preallocated and cut, a producer snapshot synced."""
    scanned_batch: float
    """Three reads (system calls) and a check of the header."""
    scanned_byte: float
    """A copy and the CRC."""
    replayed_batch: float
    """Two reads of a header, when producer state is read from the log."""
    stop: float
    """A clean stop, without the move of the leaders."""
    closed: float
    """A segment closed and flushed at a clean stop."""


WARM_SEGMENTS: Final = 500
WARM_BATCHES: Final = 12_000
"""After so many segments opened, or batches read, the code is compiled."""

COSTS: Final[Rule[Costs]] = Rule(
    "LogManager.loadLogs; before and after KAFKA-7283 (2.3), measured on 1.1.0 and 4.3.1",
    (
        (
            (0, 8),
            Costs(
                start=2.0, first_log=0.08, warm_up=0.8, partition=0.0024, segment=0.0003, checked=0.0001,
                recovered=0.01, scanned_batch=8e-6, scanned_byte=0.25e-9, replayed_batch=6e-6, stop=2.0,
                closed=0.0015,
            ),
        ),
        (
            (2, 3),
            Costs(
                start=5.5, first_log=0.08, warm_up=0.8, partition=0.0024, segment=0.00028, checked=0.0001,
                recovered=0.01, scanned_batch=8e-6, scanned_byte=0.25e-9, replayed_batch=6e-6, stop=0.6,
                closed=0.001,
            ),
        ),
    ),
)  # fmt: skip

READS_A_CHECK: Final = 3
"""Blocks that a check of indexes reads: the last of `.index`, the first and last of `.timeindex`."""

PARTS: Final[Mapping[str, str]] = {
    "jvm": "the JVM and everything but logs",
    "metadata": "the metadata log, read in full at every start",
    "warm_up": "code not compiled yet while logs load",
    "open": "partitions and segments opened",
    "sanity_checks": "index sanity checks",
    "recovery_scan": "recovery scan",
    "producer_state": "producer state read from the log",
}
"""The parts of an estimate and what they are, in the order of a start."""
