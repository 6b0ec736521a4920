"""Hands that hurt what lies on a disk: bytes in their place, lines of checkpoints, files, directories.

What is hurt by chance gets the `draw`, which it asks for the place first, then for what comes there.
"""

import os
import random
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

from segmend.formats.batch import RecordBatch
from segmend.kernel.batches import iter_batches
from segmend.logdir.disk import FileReader
from tests.faults.hands import Change


def overwrite(path: Path, at: int, data: bytes) -> None:
    """Bytes in the place of others; the rest stays, holes too."""
    with open(path, "r+b") as stream:
        stream.seek(at)
        stream.write(data)


def lengthen(path: Path, data: bytes) -> None:
    """Bytes behind the end."""
    with open(path, "ab") as stream:
        stream.write(data)


def rewrite(path: Path, change: Change) -> None:
    """What a change makes of all of it."""
    path.write_bytes(change(path.read_bytes()))


def flip(path: Path, at: int, bits: int = 1) -> None:
    """Turn bits of one byte over; it is counted from the end if it is negative."""
    with open(path, "r+b") as stream:
        stream.seek(at, os.SEEK_SET if at >= 0 else os.SEEK_END)
        byte = stream.read(1)[0]
        stream.seek(-1, os.SEEK_CUR)
        stream.write(bytes([byte ^ bits]))


def flip_at_share(path: Path, share: float, bits: int = 1) -> None:
    """Those of the byte at that share of the file."""
    flip(path, int(path.stat().st_size * share), bits)


def flip_any(path: Path, draw: random.Random, first: int, end: int) -> None:
    """One bit of these bytes of a file."""
    flip(path, draw.randrange(first, end), 1 << draw.randrange(8))


def remove(path: Path) -> None:
    """Nothing is there any more, whatever it was; a link goes, not what it leads to."""
    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def remove_all(folder: Path, *patterns: str) -> None:
    """Whatever is named so."""
    for pattern in patterns:
        for path in [*folder.glob(pattern)]:
            remove(path)


def put_folder(path: Path, inside: str = "") -> None:
    """A directory in the place of what is there, perhaps with a file in it."""
    if path.is_symlink() or path.exists():
        remove(path)
    path.mkdir()
    if inside:
        (path / inside).write_text("x")


def put_link(path: Path, target: Path | str) -> None:
    """A link in the place of what is there."""
    if path.is_symlink() or path.exists():
        remove(path)
    path.symlink_to(target)


def move_away(path: Path, away: Path) -> None:
    """It lies elsewhere, with a link in its place."""
    away.parent.mkdir(exist_ok=True)
    path.rename(away)
    path.symlink_to(away)


def exchange(one: Path, other: Path) -> None:
    """Two in each other's place."""
    aside = one.with_name("aside")
    one.rename(aside)
    other.rename(one)
    aside.rename(other)


def lines_of(path: Path) -> list[str]:
    """The entries of a checkpoint, of offsets or epochs; none where there is no file."""
    return path.read_text().splitlines()[2:] if path.exists() else []


def put_lines(path: Path, lines: Iterable[str], version: str = "0") -> None:
    """A checkpoint with these entries, and their count."""
    kept = [*lines]
    path.write_text("\n".join([version, str(len(kept)), *kept, ""]))


def keep_lines(path: Path, wanted: Callable[[str], object]) -> None:
    """A checkpoint with some of its entries; raises ValueError where it has not even a count."""
    version, _, *lines = path.read_text().splitlines()
    put_lines(path, filter(wanted, lines), version)


def batches_of(log: Path) -> list[RecordBatch]:
    """The batches of a log of the disk, as far as they follow each other."""
    with FileReader(str(log)) as reader:
        return [*iter_batches(reader)]
