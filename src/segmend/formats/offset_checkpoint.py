"""The four offset checkpoints of a log dir: `topic partition offset`, one a line.

Follows `org.apache.kafka.storage.internals.checkpoint.OffsetCheckpointFile`. The four are
recovery points, high watermarks, log start offsets and the cleaner's first dirty offsets.
Damage kinds are those of `checkpoint_file`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from segmend.formats.checkpoint_file import read_entries, render_entries
from segmend.formats.damage import Damage
from segmend.formats.java_number import parse_int, parse_long
from segmend.frozen import frozen

RECOVERY_POINT = "recovery-point-offset-checkpoint"
HIGH_WATERMARK = "replication-offset-checkpoint"
LOG_START_OFFSET = "log-start-offset-checkpoint"
CLEANER_OFFSET = "cleaner-offset-checkpoint"
FILE_NAMES = (RECOVERY_POINT, HIGH_WATERMARK, LOG_START_OFFSET, CLEANER_OFFSET)


class CheckpointEntry(NamedTuple):
    topic: str
    partition: int
    offset: int


@frozen
class OffsetCheckpoint:
    """The lines in file order. `header_lines` is 0 for an empty file, 1 with a version only."""

    entries: tuple[CheckpointEntry, ...] = ()
    header_lines: int = 2

    def offsets(self) -> dict[tuple[str, int], int]:
        """Offset by (topic, partition); of duplicates the last wins, as in the broker."""
        return {(topic, partition): offset for topic, partition, offset in self.entries}


def parse(data: bytes) -> tuple[OffsetCheckpoint, tuple[Damage, ...]]:
    """Every readable entry, and the damages in the order in which the broker meets them."""
    header_lines, entries, damages = read_entries(data, 3, _convert)
    value = OffsetCheckpoint(entries=tuple(entry for _, entry in entries), header_lines=header_lines)
    return value, tuple(damages)


def _convert(tokens: Sequence[str]) -> CheckpointEntry | None:
    partition, offset = parse_int(tokens[1]), parse_long(tokens[2])
    return None if partition is None or offset is None else CheckpointEntry(tokens[0], partition, offset)


def render(checkpoint: OffsetCheckpoint) -> bytes:
    return render_entries(
        checkpoint.header_lines,
        [f"{topic} {partition} {offset}" for topic, partition, offset in checkpoint.entries],
    )
