"""How many entries an index has room for, and what a start does where there are more: it ends.

`segment.index.bytes` (log.index.size.max.bytes) is the room. A broker rolls before an index is full, so this
happens where the setting was lowered since: no start asks whether what is there still fits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from segmend.broker.failures import LoadFailure, fatal
from segmend.broker.rule import Words
from segmend.broker.sanity import TIME_INDEX
from segmend.formats import offset_index, time_index
from segmend.formats.config_values import integer
from segmend.formats.java_number import INT_MAX
from segmend.frozen import frozen
from segmend.logdir.config import ServerConfig
from segmend.logdir.release import Release

OF_TOPIC: Final = "segment.index.bytes"
OF_BROKER: Final = "log.index.size.max.bytes"
SHORTER: Final = "newPosition > limit: ({} > {})"
"""`AbstractIndex.resize`, by the buffer whose position it sets back; Java 9 and later say the numbers."""
FULL: Final = Words(
    "OffsetIndex.append, TimeIndex.maybeAppend; Scala's require up to KAFKA-14474, 3.5",
    (
        ((0, 8), "requirement failed: Attempt to append to a full {} (size = {})."),
        ((3, 5), "Attempt to append to a full {} (size = {})."),
    ),
)
_KIND: Final = "IllegalArgumentException"


def longest_index(config: ServerConfig, topic: Mapping[str, str]) -> int:
    """segment.index.bytes of a topic with these settings of its own."""
    own = integer(topic.get(OF_TOPIC))
    return config.number(OF_BROKER) if own is None else own


def known_room(given: ServerConfig | None, topic: Mapping[str, str]) -> int:
    """The same as far as anybody tells it: what is longer than Kafka's default had another setting.

    A dynamic setting of a KRaft broker counts for nothing: its logs are loaded before that is applied
    (`BrokerMetadataPublisher.onMetadataUpdate`; tried on 4.3.1). With ZooKeeper it is applied first, and that
    is not on these disks (1.1.0 and 2.8.2 die of it).
    """
    if given is None and OF_TOPIC not in topic:
        return INT_MAX
    return longest_index(given or ServerConfig(), topic)


def outgrown(size: int, entry_size: int, longest: int) -> str | None:
    """The words over an index of `size` bytes that is not rebuilt and gets room for `longest`."""
    position, limit = (each // entry_size * entry_size for each in (size, longest))
    return SHORTER.format(position, limit) if position > limit else None


def unmapped(size: int) -> str | None:
    """The words over an index that no buffer can hold (`FileChannelImpl.map`)."""
    return "Size exceeds Integer.MAX_VALUE" if size > INT_MAX else None


def too_long(words: str, path: str) -> LoadFailure:
    """Nothing catches it."""
    return fatal(_KIND, words, path)


@frozen
class IndexRoom:
    """The room that a recovery has in the indexes of a segment (`LogSegment.recover`).

    `longest` is segment.index.bytes, `path` the segment without its suffix.
    """

    release: Release
    longest: int
    path: str

    @property
    def entries(self) -> int:
        return self.longest // offset_index.ENTRY_SIZE

    @property
    def time_entries(self) -> int | None:
        """Of the time index; one more is kept for the roll (`TimeIndex.isFull`)."""
        return self.longest // time_index.ENTRY_SIZE - 1 if TIME_INDEX.of(self.release) else None

    def surely_has(self, entries: int) -> bool:
        """Whether so many of each fit."""
        return entries <= self.entries and (self.time_entries is None or entries <= self.time_entries)

    def check(self, entries: int) -> None:
        """Before the offset index gets another one; raises `LoadFailure`."""
        if entries >= self.entries:
            raise self._full("index", entries)

    def check_times(self, entries: int) -> None:
        """Before the time index is asked for another one; raises `LoadFailure`."""
        if self.time_entries is not None and entries >= self.time_entries:
            raise self._full("time index", entries)

    def _full(self, kind: str, entries: int) -> LoadFailure:
        words = FULL.say(self.release, kind, entries) or ""
        return too_long(words, f"{self.path}.{kind.replace(' ', '')}")
