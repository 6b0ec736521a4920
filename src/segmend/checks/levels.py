"""How deep a check looks, and what it looks at."""

from __future__ import annotations

import enum


class Level(enum.IntEnum):
    """STARTUP: what a broker reads while loading. DEFAULT: all metadata and indexes against
    the batch headers. DEEP: every CRC and every record."""

    STARTUP = 0
    DEFAULT = 1
    DEEP = 2


class Scope(enum.IntEnum):
    """What `run` is called with: a `BrokerContext`, a `LogDir`, a `PartitionDir`, a `SegmentView`, or
    a `ReadFailure`: a thing in a dir that could not be read while the others were looked at."""

    BROKER = 0
    DIR = 1
    PARTITION = 2
    SEGMENT = 3
    FAILURE = 4
