"""What each thing that a start does costs, by release: the figures of the model in `minutes`.

Each was fitted to real starts of Kafka 1.1.0 and 4.3.1 (`tests/lab/startup_times.json`: the least of
several starts on two cores, all in the page cache). The model is within 25 % of each of these rows;
`docs/startup-time.md` has them, and what it is worth where a disk has to be read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from segmend.broker.rule import Rule
from segmend.frozen import frozen


@frozen
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
    """`LogSegment.open`."""
    checked: float
    """Both indexes mapped and sanity-checked, with everything in the page cache: the rest is the disk's."""
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
    """A partition closed and flushed at a clean stop."""
    closed_segment: float
    """A segment of it."""


WARM_SEGMENTS: Final = 500
WARM_BATCHES: Final = 12_000
"""After so many segments opened, or batches read, the code is compiled."""

COSTS: Final[Rule[Costs]] = Rule(
    "LogManager.loadLogs; before and after KAFKA-7283 (2.3), measured on 1.1.0 and 4.3.1",
    (
        (
            (0, 8),
            Costs(
                start=1.6, first_log=0.06, warm_up=0.13, partition=0.9e-3, segment=0.165e-3, checked=0.02e-3,
                recovered=1.2e-3, scanned_batch=1.4e-6, scanned_byte=0.49e-9, replayed_batch=1.9e-6,
                stop=1.2, closed=4e-3, closed_segment=1e-3,
            ),
        ),
        (
            (2, 3),
            Costs(
                start=2.8, first_log=0.03, warm_up=0.2, partition=1.65e-3, segment=0.165e-3, checked=0.02e-3,
                recovered=5e-3, scanned_batch=1.5e-6, scanned_byte=0.42e-9, replayed_batch=2e-6,
                stop=0.55, closed=2e-3, closed_segment=1e-3,
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
