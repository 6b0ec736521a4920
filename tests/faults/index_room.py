"""Indexes with more than `segment.index.bytes` has room for."""

import os

from tests.checks import build_metadata
from tests.checks.build_metadata import cluster
from tests.faults.hurts import unhurt
from tests.faults.patient import Patient
from tests.faults.table import killed, written
from tests.faults.written import with_metadata

SMALLER = [
    *cluster(["t", "u"], epochs={"t": 6, "u": 0}),
    build_metadata.topic_setting("t", "segment.index.bytes", "16"),
    build_metadata.topic_setting("t", "index.interval.bytes", "64"),
]
KIB = 1 << 10
ROOM = [
    *cluster(["t", "u"], epochs={"t": 6, "u": 0}),
    build_metadata.topic_setting("t", "segment.index.bytes", str(10 * KIB)),
]


def longer_by_zeros(patient: Patient) -> None:
    """Behind the entries, as a preallocated index has them."""
    os.truncate(patient.file("active", "index"), 11 * KIB)


FAULTS = [
    written("index-longer-than-room", longer_by_zeros,
        "I26 I12+ C12", "refuses index-trimmed", killed("", "recovery-scan 0..220"),
        says="newPosition > limit: (11264 > 10240)", base=with_metadata(ROOM), mend="repair"),
    written("index-room-made-smaller", unhurt,
        "I26", "refuses index-trimmed",
        killed("I26", "refuses recovery-scan", says="Attempt to append to a full time index (size = 0)."),
        base=with_metadata(SMALLER), says="newPosition > limit: (64 > 16)"),
]  # fmt: skip
