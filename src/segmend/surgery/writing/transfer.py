"""A file or a directory brought to another place, from wherever an earlier attempt was stopped.

On one file system that is a rename. Across two: a copy, synced and compared, gets its name only
when it is complete; then the old one is removed. Until then the copy of a directory has a name
that ends in `-delete`, and the files in it names that end in `.tmp`: a broker that is started in
between takes nothing of it for a partition. The old directory gets such a name before its first
file is removed; on a disk that has no room even for a name (XFS), as soon as a file less makes some.
"""

from __future__ import annotations

import errno
import hashlib
import os
import posixpath
import stat
from collections.abc import Collection

from segmend.crc32c import crc32c
from segmend.errors import SegmendError
from segmend.logdir import disk
from segmend.logdir.disk import FileReader
from segmend.logdir.file_system import FileStat
from segmend.surgery.fingerprint import Fingerprint, below, changed, look
from segmend.surgery.writing.atomic import (
    LINKED,
    TEMPORARY,
    bytes_of,
    clear,
    dress,
    hold_link,
    part_of,
    restore_link,
    settle,
    write_atomically,
)
from segmend.surgery.writing.copying import PIECE, copy
from segmend.surgery.writing.effects import FULL, Effects, sync_dir
from segmend.surgery.writing.pairwise import each
from segmend.surgery.writing.work import Workplace, folder


def transfer(work: Workplace, source: str, target: str) -> None:
    """Have at `target` what is at `source`, and nothing at `source`; both synced.

    Goes on where an earlier `transfer`, in either direction, was stopped.
    """
    _tidy(work, source, target)
    there, moved = os.path.lexists(source), os.path.lexists(target)
    if not there and not moved:
        raise SegmendError(f"{source}: is gone, and is not at {target} either")
    if there and not (not moved and _renamed(work.fx, source, target)):
        copied = frozenset() if moved else _copy(work, source, target)
        sync_dir(work.fx, folder(target))
        _same(source, target, copied)
        assert os.path.lexists(target), "nothing is removed that is nowhere else"
        _hold_links(work, source)
        _remove(work, source)
    # The new name first: if only one of the two reached the disk, there would be two and not none.
    sync_dir(work.fx, folder(target))
    sync_dir(work.fx, folder(source))


def _renamed(fx: Effects, source: str, target: str) -> bool:
    try:
        fx.rename(source, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        return False
    return True


def leftovers(token: str) -> tuple[str, str]:
    """The names under which a directory is copied, and under which one that was copied is removed."""
    return f"segmend-0.{token}-delete", f"segmend-0.{token[::-1]}-delete"


def _part(work: Workplace, target: str) -> str:
    return f"{folder(target)}/{leftovers(work.token)[0]}"


def _trash(work: Workplace, source: str) -> str:
    return f"{folder(source)}/{leftovers(work.token)[1]}"


def _tidy(work: Workplace, source: str, target: str) -> None:
    """Remove what is only a second copy: half-removed directories, and copies in the other direction."""
    for path in (_trash(work, source), _trash(work, target), _part(work, source)):
        if os.path.lexists(path):
            _remove_copy(work, path)
            sync_dir(work.fx, folder(path))
    for path, other in ((source, target), (target, source)):
        clear(work.fx, _doomed(work, path))
        if os.path.lexists(_doomed(work, path)):
            if os.path.lexists(path):
                assert os.path.lexists(other), "nothing is removed that is nowhere else"
                _remove_tree(work, path)
                sync_dir(work.fx, folder(path))
            _forget(work, path)
    clear(work.fx, source)
    clear(work.fx, target)


def _copy(work: Workplace, source: str, target: str) -> frozenset[str]:
    """Gives the names of the files that were copied just now, and read back."""
    fingerprint = look(source, content=False)
    if fingerprint.kind == "file":
        write_atomically(work, target, part_of(source, work), fingerprint)
        restore_link(work, target, _held(""))
        return frozenset()
    if fingerprint.kind != "dir":
        raise SegmendError(f"{source}: is neither a file nor a directory; move it by hand")
    part = _part(work, target)
    copied = _copy_tree(work, source, part)
    work.fx.rename(part, target)
    return copied


def _hold_links(work: Workplace, source: str) -> None:
    """Of files with other names, as in a snapshot by `cp -al`: brought back, they are one file with them."""
    if look(source, content=False).kind == "file":
        hold_link(work, source, _held(""))
        return
    for name, status in below(source):
        if stat.S_ISREG(status.mode):
            hold_link(work, f"{source}/{name}", _held(name))


def _restore_links(work: Workplace, part: str, folders: Collection[str], names: Collection[str]) -> None:
    """A name leaves the vault only for a directory that is there for good."""
    held = [name for name in names if os.path.lexists(f"{work.vault}/{_held(name)}")]
    for place in sorted({folder(_join(part, name)) for name in folders}) if held else ():
        sync_dir(work.fx, place)
    for name in held:
        restore_link(work, f"{part}/{name}", _held(name))


def _held(name: str) -> str:
    """Under which name in the vault: one for each file of a directory."""
    return f"{LINKED}-{hashlib.sha256(os.fsencode(name)).hexdigest()[:32]}"


def _remove(work: Workplace, source: str) -> None:
    """Remove what has been copied."""
    if look(source, content=False).kind == "file":
        work.fx.remove(source)
        return
    trash = _trash(work, source)
    try:
        work.fx.rename(source, trash)
    except OSError as error:
        if error.errno not in FULL:
            raise
        _rename_full(work, source, trash)
    sync_dir(work.fx, folder(source))
    _remove_copy(work, trash)
    _forget(work, source)


def _rename_full(work: Workplace, source: str, trash: str) -> None:
    """Files go, the largest first, until there is room for the name; a note in the vault says so before."""
    write_atomically(work, _doomed(work, source), bytes_of(b"", work), Fingerprint(kind="file", mode=0o600))
    _open_up(work.fx, source)
    files = [(status.allocated, name) for name, status in below(source) if stat.S_ISREG(status.mode)]
    for left, (_, name) in enumerate(sorted(files, reverse=True), 1 - len(files)):
        work.fx.remove(f"{source}/{name}")
        sync_dir(work.fx, folder(f"{source}/{name}"))
        try:
            work.fx.rename(source, trash)
        except OSError as error:
            if error.errno not in FULL or not left:
                raise
        else:
            return


def _doomed(work: Workplace, path: str) -> str:
    """In the vault, while a directory is no more than a second copy under its own name."""
    return f"{work.vault}/doomed-{hashlib.sha256(os.fsencode(path)).hexdigest()[:32]}"


def _forget(work: Workplace, path: str) -> None:
    if os.path.lexists(_doomed(work, path)):
        work.fx.remove(_doomed(work, path))
        sync_dir(work.fx, work.vault)


def _copy_tree(work: Workplace, source: str, part: str) -> frozenset[str]:
    """All of a directory: files under temporary names, then their own, then the directories' times.

    Gives the names of the files that were copied, and not by an earlier attempt.
    """
    rows = list(below(source))
    odd = next((n for n, s in rows if not (stat.S_ISREG(s.mode) or stat.S_ISDIR(s.mode))), None)
    if odd is not None:
        raise SegmendError(f"{source}/{odd}: is neither a file nor a directory; move it by hand")
    folders = ["", *(name for name, s in rows if stat.S_ISDIR(s.mode))]
    for name in folders:
        if not os.path.lexists(_join(part, name)):
            work.fx.make_dir(_join(part, name))
        else:  # An earlier attempt may have given it its mode already.
            _open_up(work.fx, _join(part, name))
    files = [name for name, status in rows if stat.S_ISREG(status.mode)]

    def copy_one(shared: Workplace, name: str) -> bool:
        return _copy_file(shared, f"{source}/{name}", f"{part}/{name}")

    done = each(work, copy_one, files)
    for name in files:
        if os.path.lexists(f"{part}/{name}{TEMPORARY}"):
            work.fx.rename(f"{part}/{name}{TEMPORARY}", f"{part}/{name}")
    _restore_links(work, part, folders, files)
    for name in reversed(folders):
        _dress_dir(work.fx, _join(source, name), _join(part, name))
    return frozenset(name for name, now in zip(files, done, strict=True) if now)


def _join(path: str, name: str) -> str:
    return f"{path}/{name}" if name else path


def _copy_file(work: Workplace, source: str, target: str) -> bool:
    """Copy one file unless an earlier attempt did.

    A time is only set on a file that is whole, but may have reached the disk before the bytes did.
    """
    like = look(source, content=False)
    for done in (target, target + TEMPORARY):
        if os.path.lexists(done) and _looks_whole(done, like) and _checksum(done) == _checksum(source):
            settle(work, done)
            return False
    if not os.access(target + TEMPORARY, os.W_OK, effective_ids=True):
        clear(work.fx, target)
    fd = work.fx.create(target + TEMPORARY)
    try:
        with FileReader(source) as reader:
            copy(work, reader, fd, reader.extents())
            work.fx.truncate(fd, reader.size)
        dress(work.fx, fd, like)
        work.fx.sync(fd)
    finally:
        work.fx.close(fd)
    return True


def _looks_whole(path: str, like: Fingerprint) -> bool:
    return like.difference(look(path, content=False)) is None


def _dress_dir(fx: Effects, source: str, target: str) -> None:
    like, status = look(source, content=False), disk.file_stat(source)
    fd = fx.open_dir(target)
    try:
        dress(fx, fd, like.but(mtime_ns=status.mtime_ns))
        fx.sync(fd)
    finally:
        fx.close(fd)


def _same(source: str, target: str, copied: Collection[str]) -> None:
    """Raise `SegmendError` unless both are the same, byte by byte.

    `copied` names the files that were copied just now, under the lock, and read back.
    """
    differs = look(source).difference(look(target))
    if differs is None and look(source, content=False).kind == "dir":
        files = (name for name, status in below(source) if stat.S_ISREG(status.mode) and name not in copied)
        pairs = ((name, _checksum(f"{source}/{name}"), _checksum(f"{target}/{name}")) for name in files)
        differs = next((name for name, one, other in pairs if one != other), None)
    if differs is not None:
        raise SegmendError(f"{target}: is not the same as {source} ({differs}); the latter is untouched")


def _checksum(path: str) -> tuple[int, int]:
    """Size and CRC-32C of a file's bytes; holes count as the zeros they read as."""
    value, position = 0, 0
    view = memoryview(bytearray(PIECE))
    with FileReader(path) as reader:
        while got := reader.read_into(view, position):
            value, position = crc32c(view[:got], value), position + got
        return reader.size, value


def _remove_copy(work: Workplace, path: str) -> None:
    assert posixpath.basename(path) in leftovers(work.token), "only a second copy is removed as a whole"
    _remove_tree(work, path)


def _remove_tree(work: Workplace, path: str) -> None:
    _open_up(work.fx, path)
    entries = sorted(disk.listing(path).items())
    for name in (name for name, kind in entries if kind == "dir"):
        _remove_tree(work, f"{path}/{name}")
    files = [f"{path}/{name}" for name, kind in entries if kind != "dir"]
    each(work, lambda shared, file: shared.fx.remove(file), files)
    work.fx.remove_dir(path)


def _open_up(fx: Effects, path: str) -> None:
    """Who owns a directory may take out of it what is in it, whatever its mode; the copy has that mode."""
    if os.access(path, os.R_OK | os.W_OK | os.X_OK, effective_ids=True):
        return
    mode = disk.file_stat(path, follow=False).mode
    fd = fx.open_dir(path)
    try:
        fx.set_mode(fd, stat.S_IMODE(mode) | stat.S_IRWXU)
    finally:
        fx.close(fd)


def allocated(path: str) -> int:
    """Bytes in blocks of a file or of all files below a directory: what a copy takes, holes left out."""
    if look(path, content=False).kind == "file":
        return disk.file_stat(path).allocated
    return sum(status.allocated for _, status in below(path))


def written(path: str) -> int:
    """Bytes that a copy of a file, or of all files below a directory, writes: no holes, no ends of blocks."""
    if look(path, content=False).kind == "file":
        return _content(disk.file_stat(path))
    return sum(_content(status) for _, status in below(path))


def _content(status: FileStat) -> int:
    return min(status.size, status.allocated)


def vault_name(vault: str, path: str) -> str:
    """Where something set aside lies in a step's vault: under its own name."""
    return f"{vault}/{posixpath.basename(path)}"


def differs_at(expected: Fingerprint, path: str) -> str | None:
    """How a moved file or directory differs from what it was; the bytes of files are not read."""
    return (
        changed(expected, path) if expected.kind == "dir" else expected.difference(look(path, content=False))
    )
