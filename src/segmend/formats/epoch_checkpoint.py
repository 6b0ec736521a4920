"""`leader-epoch-checkpoint`: the first offset written in each leader epoch.

Follows `LeaderEpochCheckpointFile` and `LeaderEpochFileCache`. Damage kinds are those of
`checkpoint_file`, and `negative-entry` (IllegalArgumentException: the broker dies) and
`not-increasing` (earlier conflicting entries are dropped).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from segmend.formats.checkpoint_file import MAX_DAMAGES, read_entries, render_entries
from segmend.formats.damage import Damage
from segmend.formats.java_number import parse_int, parse_long
from segmend.frozen import frozen

FILE_NAME = "leader-epoch-checkpoint"


class EpochEntry(NamedTuple):
    epoch: int
    start_offset: int


@frozen
class EpochCheckpoint:
    """The lines in file order. `header_lines` is 0 for an empty file, 1 with a version only."""

    entries: tuple[EpochEntry, ...] = ()
    header_lines: int = 2


def parse(data: bytes) -> tuple[EpochCheckpoint, tuple[Damage, ...]]:
    """Every readable entry, and the damages: what stops the reader first, then the values."""
    header_lines, entries, damages = read_entries(data, 2, _convert)
    damages += list(_value_damages(entries))[: max(MAX_DAMAGES - len(damages), 0)]
    value = EpochCheckpoint(entries=tuple(entry for _, entry in entries), header_lines=header_lines)
    return value, tuple(damages)


def _convert(tokens: Sequence[str]) -> EpochEntry | None:
    epoch, start_offset = parse_int(tokens[0]), parse_long(tokens[1])
    return None if epoch is None or start_offset is None else EpochEntry(epoch, start_offset)


def _value_damages(entries: Sequence[tuple[int, EpochEntry]]) -> Iterator[Damage]:
    previous: EpochEntry | None = None
    for at, entry in entries:
        words = f"EpochEntry(epoch={entry.epoch}, startOffset={entry.start_offset})"
        if entry.epoch < 0 or entry.start_offset < 0:
            yield Damage("negative-entry", at, f"Received invalid partition leader epoch entry {words}")
        elif previous and (entry.epoch <= previous.epoch or entry.start_offset <= previous.start_offset):
            yield Damage("not-increasing", at, f"{words} caused truncation of conflicting entries before it")
        previous = entry


def render(checkpoint: EpochCheckpoint) -> bytes:
    return render_entries(
        checkpoint.header_lines, [f"{epoch} {offset}" for epoch, offset in checkpoint.entries]
    )
