"""What a file or a directory is: enough to see whether somebody changed it."""

from __future__ import annotations

import hashlib
import posixpath
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, Self

from segmend.frozen import as_dict, frozen, replace
from segmend.json_values import JsonObject, member
from segmend.logdir import disk
from segmend.logdir.disk import FileReader
from segmend.logdir.file_system import FileStat, Unreadable
from segmend.surgery.typed_json import fields_from_json

_PIECE: Final = 1 << 20
_HEARD: Final[ContextVar[Callable[[int], None]]] = ContextVar("hashed", default=lambda _: None)
_WORDS: Final = {
    "size": "size",
    "mtime_ns": "modification time",
    "sha256": "content",
    "xattrs": "extended attributes",
}
_RIGHTS: Final = {"uid": ("owner", "chown"), "gid": ("group", "chgrp"), "mode": ("mode", "chmod")}
"""In this order they are given back: a new owner takes SUID and SGID away."""
KINDS: Final = ("file", "dir", "link", "other", "missing")
_OWN: Final = ("mode", "uid", "gid", "xattrs")
_NOBODY: Final = (1 << 32) - 2
_MOST: Final = {"size": (1 << 63) - 1, "mode": 0o7777, "uid": _NOBODY, "gid": _NOBODY}


@frozen
class Fingerprint:
    """A path's state. What is None was not looked at, or does not matter.

    `kind` is file, dir, link, other or missing; `mode` the permission bits; `mtime_ns` in ns since the
    epoch; `xattrs` pairs of name and value (hex). `sha256` is that of a file's bytes; of a
    directory that of the list of everything below it: names, kinds, sizes, owners, modes, times.
    """

    kind: str
    size: int | None = None
    mode: int | None = None
    uid: int | None = None
    gid: int | None = None
    mtime_ns: int | None = None
    sha256: str | None = None
    xattrs: tuple[tuple[str, str], ...] | None = None

    def to_json(self) -> dict[str, object]:
        """The object in a plan, without what is None."""
        data = as_dict(self)
        if self.xattrs is not None:
            data["xattrs"] = dict(self.xattrs)
        return {name: value for name, value in data.items() if value is not None}

    @classmethod
    def from_json(cls, data: JsonObject) -> Self:
        """The reverse of `to_json`; raises `TypeError` and `ValueError` for what is none."""
        xattrs = tuple(sorted(member(data, "xattrs").items())) if data.get("xattrs") is not None else None
        fingerprint = fields_from_json(cls, {**data, "xattrs": xattrs})
        if fingerprint.kind not in KINDS or any(
            not 0 <= (getattr(fingerprint, n) or 0) <= m for n, m in _MOST.items()
        ):
            raise ValueError("a fingerprint that nothing can have")
        for _, value in fingerprint.xattrs or ():
            bytes.fromhex(value)
        return fingerprint

    def difference(self, now: Fingerprint) -> str | None:
        """How `found` differs from what is expected here, None if it does not."""
        return self.other_bytes(now) or self.other_rights(now)

    def other_bytes(self, now: Fingerprint) -> str | None:
        """The same but for owner, group and mode: what `chmod` does is no sign of a broker."""
        if now.kind != self.kind:
            return f"there is {_a(now.kind)}, not {_a(self.kind)}"
        for name, word in _WORDS.items():
            expected, is_now = getattr(self, name), getattr(now, name)
            if expected is not None and is_now is not None and expected != is_now:
                if name in ("sha256", "xattrs"):
                    return f"its {word} changed"
                return f"its {word} is {is_now}, not {expected}"
        return None

    def other_rights(self, now: Fingerprint) -> str | None:
        """How owner, group and mode differ, and what gives them back."""
        differs, back = [], []
        for name, (word, command) in _RIGHTS.items():
            expected, is_now = getattr(self, name), getattr(now, name)
            if expected is not None and is_now is not None and expected != is_now:
                shown = "o" if name == "mode" else "d"
                differs.append(f"its {word} is {is_now:{shown}}, not {expected:{shown}}")
                # Only five digits take SUID and SGID off a directory.
                back.append(f"{command} {expected:{'05o' if name == 'mode' and is_now & 0o6000 else shown}}")
        return f"{', '.join(differs)} ({', '.join(back)})" if differs else None

    @property
    def is_whole(self) -> bool:
        """Whether it says all that an undo has to bring back."""
        needed = {"missing": (), "file": ("size", "mtime_ns", *_OWN), "dir": ("sha256", *_OWN)}.get(self.kind)
        return needed is not None and all(getattr(self, name) is not None for name in needed)

    def must_be(self, kind: str) -> None:
        """Raise `ValueError` for another kind: a step that leaves a file can end with nothing else."""
        if self.kind != kind:
            raise ValueError(f"it would leave {_a(self.kind)}, not {_a(kind)}")

    def but(self, **changes: object) -> Self:
        """The same with other values."""
        return replace(self, **changes)


MISSING: Final = Fingerprint(kind="missing")


def _a(kind: str) -> str:
    return {"missing": "nothing", "dir": "a directory", "other": "something special"}.get(kind, f"a {kind}")


def look(path: str, *, content: bool = True) -> Fingerprint:
    """The state of a path; a link is not followed. Raises `Unreadable`.

    With `content` the bytes of a file are hashed. Of a directory the list of what is below it is
    hashed, never the bytes.
    """
    try:
        status = disk.file_stat(path, follow=False)
    except Unreadable as refused:
        if refused.missing:
            return MISSING
        raise
    kind = _kind(status)
    fingerprint = Fingerprint(
        kind=kind, mode=stat.S_IMODE(status.mode), uid=status.uid, gid=status.gid,
        xattrs=disk.attributes(path) if kind in ("file", "dir") else None,
    )  # fmt: skip
    if kind == "dir":
        return (
            fingerprint.but(size=tree_size(path), sha256=hash_bytes(rows_of(path)))
            if content
            else fingerprint
        )
    sha256 = hash_of(path) if content and kind == "file" else None
    return fingerprint.but(size=status.size, mtime_ns=status.mtime_ns, sha256=sha256)


def changed(expected: Fingerprint, path: str) -> str | None:
    """How a path differs from what is expected there; None if it does not. Raises `Unreadable`.

    Its rights are looked at first: of what may not be read any more it is said how that was before.
    """
    return expected.difference(look(path, content=False)) or expected.difference(look(path))


def _kind(status: FileStat) -> str:
    if stat.S_ISREG(status.mode):
        return "file"
    return "dir" if stat.S_ISDIR(status.mode) else "link" if stat.S_ISLNK(status.mode) else "other"


def hash_of(path: str, position: int = 0, length: int | None = None) -> str:
    """SHA-256 (hex) of a file, or of `length` bytes of it from `position`; raises `Unreadable`."""
    digest, tell = hashlib.sha256(), _HEARD.get()
    with FileReader(path) as reader:
        end = reader.size if length is None else min(reader.size, position + length)
        buffer = memoryview(bytearray(max(0, min(_PIECE, end - position))))
        while position < end:
            got = reader.read_into(buffer[: end - position], position)
            if got == 0:
                break
            digest.update(buffer[:got])
            position += got
            tell(got)
    return digest.hexdigest()


@contextmanager
def hashing_told(tell: Callable[[int], None]) -> Iterator[None]:
    """Have `tell` be told the bytes of files that are hashed by this thread meanwhile, piece by piece."""
    before = _HEARD.set(tell)
    try:
        yield
    finally:
        _HEARD.reset(before)


def hash_bytes(data: bytes) -> str:
    """SHA-256 (hex) of bytes."""
    return hashlib.sha256(data).hexdigest()


def below(path: str) -> Iterator[tuple[str, FileStat]]:
    """Everything below a directory by its relative path, each directory before what is in it."""
    for name in sorted(disk.listing(path)):
        full = f"{path}/{name}"
        status = disk.file_stat(full, follow=False)
        yield name, status
        if stat.S_ISDIR(status.mode):
            for inner, its in below(full):
                yield posixpath.join(name, inner), its


def tree_size(path: str) -> int:
    """Bytes of all files below a directory."""
    return sum(status.size for _, status in below(path) if stat.S_ISREG(status.mode))


def look_without(path: str, changes: Mapping[str, Fingerprint]) -> Fingerprint | None:
    """The state of a directory before these `changes`: files in it (by relative path), and what they were.

    None where that does not say all that is hashed of a file.
    """
    rows = {name: _row(name, status) for name, status in below(path) if name not in changes}
    size = sum(s.size for name, s in below(path) if stat.S_ISREG(s.mode) and name not in changes)
    for name, was in changes.items():
        if was.kind == "missing":
            continue
        told = (was.mode, was.uid, was.gid, was.size, was.mtime_ns)
        if was.kind != "file" or None in told:
            return None
        rows[name] = _told(name, stat.S_IFREG | (was.mode or 0), *told[1:])
        size += was.size or 0
    ordered = [rows[name] for name in sorted(rows, key=lambda name: name.split("/"))]
    return look(path, content=False).but(size=size, sha256=hash_bytes(b"".join(ordered)))


def rows_of(path: str) -> bytes:
    """What is hashed of a directory: a line of each file and directory below it."""
    return b"".join(_row(name, status) for name, status in below(path))


def _row(name: str, s: FileStat) -> bytes:
    # A directory's own size and time change when something in it is renamed and renamed back.
    times = ("-", "-") if stat.S_ISDIR(s.mode) else (s.size, s.mtime_ns)
    return _told(name, s.mode, s.uid, s.gid, *times)


def _told(name: str, mode: int, *rest: object) -> bytes:
    row = "\0".join([name, f"{mode:o}", *map(str, rest)])
    return f"{row}\n".encode("utf-8", "surrogateescape")
