"""Indexes with more than `segment.index.bytes` has room for."""

from __future__ import annotations

import os

from tests.checks import build_metadata
from tests.checks.build_metadata import cluster
from tests.faults.hurts import unhurt
from tests.faults.patient import Patient
from tests.faults.table import killed, written
from tests.faults.written import with_metadata

SMALLER = [
    *cluster(["t", "u"]),
    build_metadata.topic_setting("t", "segment.index.bytes", "16"),
    build_metadata.topic_setting("t", "index.interval.bytes", "64"),
]
MIB = 1 << 20


def longer_than_default(patient: Patient) -> None:
    """Zeros behind the entries, as a preallocated index has; a hole in the file."""
    os.truncate(patient.file("active", "index"), 11 * MIB)


FAULTS = [
    written("index-longer-than-room", longer_than_default,
        "I26 I12+ C12", "refuses", killed("", "recovery-scan 0..220"),
        says="newPosition > limit: (11534336 > 10485760)", mend="repair"),
    written("index-room-made-smaller", unhurt,
        "I26", "refuses",
        killed("I26", "refuses recovery-scan", says="Attempt to append to a full time index (size = 0)."),
        base=with_metadata(SMALLER), says="newPosition > limit: (64 > 16)"),
]  # fmt: skip
