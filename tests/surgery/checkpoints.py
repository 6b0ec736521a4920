"""The lines of offset checkpoints, looked at and changed."""

from collections.abc import Mapping
from pathlib import Path

from segmend.formats import offset_checkpoint
from segmend.formats.offset_checkpoint import CheckpointEntry, OffsetCheckpoint

Lines = Mapping[tuple[str, int], int]


def lines(path: Path) -> dict[tuple[str, int], int]:
    """The offset of each partition; the file must be sound."""
    value, damages = offset_checkpoint.parse(path.read_bytes())
    assert damages == ()
    return value.offsets()


def write(path: Path, wanted: Lines) -> None:
    """A checkpoint with these lines."""
    entries = tuple(CheckpointEntry(*key, offset) for key, offset in wanted.items())
    path.write_bytes(offset_checkpoint.render(OffsetCheckpoint(entries=entries)))


def drop(log_dir: Path, topic: str, number: int) -> None:
    """No checkpoint of a log dir knows of a partition any more."""
    for path in log_dir.glob("*-offset-checkpoint"):
        write(path, {key: offset for key, offset in lines(path).items() if key != (topic, number)})
