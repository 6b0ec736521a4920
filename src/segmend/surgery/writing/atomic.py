"""Files written so that a power cut leaves either the old one or the new one, and backups of old bytes."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from segmend.errors import SegmendError
from segmend.frozen import replace
from segmend.logdir import disk
from segmend.logdir.disk import FileReader
from segmend.logdir.file_system import Unreadable
from segmend.logdir.layout import UNFINISHED
from segmend.surgery.fingerprint import Fingerprint, hash_of, look
from segmend.surgery.writing.copying import PIECE, copy
from segmend.surgery.writing.effects import Effects, sync_dir
from segmend.surgery.writing.work import Workplace, folder

TEMPORARY: Final = UNFINISHED
"""Ends the name of a file that is being written."""

LINKED: Final = "linked"
"""In the vault, another name of a file that was parted from the others it had."""

Fill = Callable[[int], None]


def write_atomically(work: Workplace, path: str, fill: Fill, like: Fingerprint) -> None:
    """Write a file under a temporary name, dress it as `like`, sync it, and rename it into place.

    A file that has the name is replaced at once; after an error the temporary file is gone again.
    """
    assert not path.endswith(TEMPORARY), "no file keeps the name of one that is being written"
    fx, temporary = work.fx, path + TEMPORARY
    try:
        fd = fx.create(temporary)
        try:
            fill(fd)
            dress(fx, fd, like)
            fx.sync(fd)
        finally:
            fx.close(fd)
        fx.rename(temporary, path)
    except OSError:
        _remove_if_possible(fx, temporary)
        raise
    work.sync_names(folder(path))


def dress(fx: Effects, fd: int, like: Fingerprint) -> None:
    """Owner, attributes, mode and time of an open file as they are to be; the time last, all unsynced.

    The mode after the attributes: of a file that is read-only even its owner may set none.
    """
    if like.uid is not None and like.gid is not None:
        fx.set_owner(fd, like.uid, like.gid)
    if like.xattrs is not None:
        fx.set_attributes(fd, {name: bytes.fromhex(value) for name, value in like.xattrs})
    if like.mode is not None:
        fx.set_mode(fd, like.mode)
    if like.mtime_ns is not None:
        fx.set_mtime(fd, like.mtime_ns)


def clear(fx: Effects, path: str) -> None:
    """Remove the temporary file of a `write_atomically` that was stopped."""
    if os.path.lexists(path + TEMPORARY):
        fx.remove(path + TEMPORARY)
        sync_dir(fx, folder(path))


def _remove_if_possible(fx: Effects, path: str) -> None:
    """On a full disk a half-written file is the last thing to leave behind."""
    try:
        fx.remove(path)
    except OSError:
        return


def bytes_of(data: bytes, work: Workplace) -> Fill:
    """Fills a file with bytes from memory."""

    def fill(fd: int) -> None:
        for start in range(0, len(data), PIECE):
            work.fx.write(fd, memoryview(data)[start : start + PIECE], start)
            work.tell(min(PIECE, len(data) - start))

    return fill


def part_of(
    source: str,
    work: Workplace,
    position: int = 0,
    length: int | None = None,
    at: int = 0,
    *,
    holes: bool = True,
) -> Fill:
    """Fills a file from byte `at` on with `length` bytes of `source`; with `holes` its holes stay holes.

    Raises `SegmendError` if `source` is shorter by then.
    """

    def fill(fd: int) -> None:
        with FileReader(source) as reader:
            end = reader.size if length is None else position + length
            if reader.size < end:
                raise SegmendError(f"{source}: is {reader.size} bytes long, {end} are needed")
            extents = reader.extents() if holes else [(0, end)]
            copy(work, reader, fd, _overlapping(extents, position, end), at - position)
        if at + end - position > os.fstat(fd).st_size:
            work.fx.truncate(fd, at + end - position)

    return fill


def _overlapping(extents: Iterable[tuple[int, int]], start: int, end: int) -> Iterable[tuple[int, int]]:
    return ((max(a, start), min(b, end)) for a, b in extents if a < end and b > start)


def keep(work: Workplace, name: str, fill: Fill, sha256: str) -> None:
    """Have bytes with this hash in the vault as `name`, synced; what is there already is looked at.

    Raises `SegmendError` if they do not read back as they were written.
    """
    path = f"{work.vault}/{name}"
    if disk.path_type(path) not in ("file", None):
        raise SegmendError(f"{path}: is no plain file; move it out of the way, and the same command goes on")
    if unkept(work.vault, name, sha256) is None:
        sync_dir(work.fx, work.vault)
    else:
        write_atomically(replace(work, later=None), path, fill, Fingerprint(kind="file", mode=0o600))
        if unkept(work.vault, name, sha256) is not None:
            raise SegmendError(f"{path}: the backup does not read back as what was written; check this disk")


def unkept(vault: str, name: str, sha256: str) -> str | None:
    """What to say where a vault does not have these bytes; None if it has."""
    path = f"{vault}/{name}"
    there = disk.path_type(path) == "file" and hash_of(path) == sha256
    return None if there else f"{path}: the backup is missing or damaged"


def read_kept(work: Workplace, name: str, sha256: str) -> str:
    """The path of bytes in the vault; raises `SegmendError` if they are not the ones that were kept."""
    if (why := unkept(work.vault, name, sha256)) is not None:
        raise SegmendError(f"{why}; nothing was written over")
    return f"{work.vault}/{name}"


def require(difference: str | None, path: str) -> None:
    """Raise `SegmendError` if a step did not leave what the plan says."""
    if difference is not None:
        raise SegmendError(f"{path}: {difference} after the step that should have made it so")


@contextmanager
def change_in_place(work: Workplace, path: str, like: Fingerprint) -> Iterator[int]:
    """An open file to be changed; then it is dressed as `like` and synced. After an error it is not.

    A file with other names (hard links, as of a snapshot by `cp -al`) is copied first: those keep its bytes.
    """
    assert not path.startswith(f"{work.vault}/"), "old bytes are never written over"
    clear(work.fx, path)
    if other_names(path):
        hold_link(work, path)
        write_atomically(work, path, part_of(path, work), like)
    fd = work.fx.open(path)
    try:
        yield fd
        dress(work.fx, fd, like)
        work.fx.sync(fd)
    finally:
        work.fx.close(fd)


def hold_link(work: Workplace, path: str, name: str = LINKED) -> None:
    """Before a file with other names goes: one more in the vault, if that is on the same disk."""
    place = f"{work.vault}/{name}"
    if not other_names(path) or os.path.lexists(place):
        return
    try:
        work.fx.link(path, place)
    except OSError as error:
        if error.errno not in (errno.EXDEV, errno.EPERM, errno.EMLINK, errno.EOPNOTSUPP):
            raise
        return
    sync_dir(work.fx, work.vault)


def restore_link(work: Workplace, path: str, name: str = LINKED) -> None:
    """Of a file that is again what it was, one with its other names, unless these were changed meanwhile."""
    place = f"{work.vault}/{name}"
    if disk.path_type(place) != "file" or disk.file_stat(place).device != disk.file_stat(path).device:
        return
    if os.path.samefile(place, path):
        work.fx.remove(place)
    elif look(place) == look(path):
        try:
            work.fx.rename(place, path)
        except OSError as error:
            if error.errno != errno.EXDEV:  # two mounts of one disk
                raise
            return
        sync_dir(work.fx, folder(path))
    sync_dir(work.fx, work.vault)


def other_names(path: str) -> int:
    """How many hard links a file has beside this one; 0 where there is no file that can be looked at."""
    try:
        status = disk.file_stat(path, follow=False)
    except (Unreadable, ValueError):
        return 0
    return status.nlink - 1 if status.type == "file" else 0


def settle(work: Workplace, path: str) -> None:
    """Sync a file that is as it should be: whoever made it so may have been killed before it was synced."""
    clear(work.fx, path)
    fd = work.fx.open_to_sync(path)
    try:
        work.fx.sync(fd)
    finally:
        work.fx.close(fd)
