"""Bytes put behind the end of a file, or into a new one; mostly from another replica's file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import ClassVar, Self

from segmend.errors import SegmendError
from segmend.frozen import frozen
from segmend.logdir.files import FileEntry
from segmend.logdir.release import Release
from segmend.surgery.fingerprint import MISSING, Fingerprint, hash_of, look
from segmend.surgery.new_bytes import NewBytes
from segmend.surgery.step import Need, OnePath, View
from segmend.surgery.writing.atomic import (
    change_in_place,
    clear,
    keep,
    part_of,
    require,
    restore_link,
    settle,
    write_atomically,
)
from segmend.surgery.writing.effects import sync_dir
from segmend.surgery.writing.work import Workplace, folder

_APPENDED = "appended"


@frozen
class AppendFile(OnePath):
    """`content` goes behind the `before.size` bytes; a file that is missing before is written beside."""

    KIND: ClassVar[str] = "append_file"

    after: Fingerprint
    content: NewBytes

    def __post_init__(self) -> None:
        self.after.must_be("file")
        if (self.before.size or 0) + self.content.length != self.after.size:
            raise ValueError("sizes that do not add up")

    @classmethod
    def to(cls, path: str, content: NewBytes, reason: str, *, like: Fingerprint | None = None) -> Self:
        """The step; a new file has owner, mode and time of `like`, an old one takes only its time."""
        before = look(path, content=False)
        if before.kind not in ("file", "missing") or (before.kind == "missing" and like is None):
            raise SegmendError(f"{path}: is no plain file")
        base = like if before.kind == "missing" and like is not None else before
        mtime_ns = base.mtime_ns if like is None else like.mtime_ns
        after = base.but(size=(before.size or 0) + content.length, mtime_ns=mtime_ns, sha256=None)
        return cls(path=path, before=before, after=after, content=content, reason=reason)

    @classmethod
    def copied(cls, path: str, file: FileEntry, like: Fingerprint, reason: str, *part: int) -> Self:
        """A new file with all of another one, or the `part` from one byte to another, and with its time."""
        start, stop = part or (0, file.size)
        after = like.but(size=stop - start, mtime_ns=file.stat().mtime_ns)
        content = NewBytes.range_of(file.path, start, stop - start)
        return cls(path=path, before=MISSING, after=after, content=content, reason=reason)

    @classmethod
    def synced(cls, path: str) -> Self:
        """No bytes behind a right file, which a kill of its broker may have left in memory only."""
        return cls.to(path, NewBytes.inline(b""), "is right, and perhaps not on the disk yet")

    def words(self) -> str:
        if not self.content.length and not self._new:
            return f"sync {self.path}: {self.reason}"
        source = "" if self.content.source is None else f" of {self.content.source}"
        how = "copy" if self._new else "append"
        return f"{how} {self.content.length} bytes{source} to {self.path}: {self.reason}"

    def needs(self, vault: str) -> Iterator[Need]:
        yield Need(folder(self.path), self.content.length)
        yield from self.room_for_a_copy(vault)

    def not_before(self) -> str | None:
        """Compares size, owner, mode and time; also the source of the new bytes."""
        return self.differs(self.before) or self.content.changed()

    def not_after(self) -> str | None:
        """Compares size, owner, mode, time, and the new bytes."""
        differs = self.differs(self.after)
        if differs is None and hash_of(self.path, self._start) != self.content.sha256:
            return f"its bytes from {self._start} on are not those that were put there"
        return differs

    def is_half_done(self) -> bool:
        """Whether new bytes, perhaps all of them, and nothing else stand behind those that were there."""
        now = look(self.path, content=False)
        part = (now.size or 0) - self._start
        if self._new or now.kind != "file" or not 0 < part <= self.content.length:
            return False
        return hash_of(self.path, self._start) == self.content.hash_of_first(part)

    def protect(self, work: Workplace) -> None:
        """Nothing is written over."""

    def do(self, work: Workplace) -> None:
        """Appends, or writes the new file."""
        if self._new:
            clear(work.fx, self.path)
        if self.not_after() is None:
            self._settle(work)
            return
        self._must_be_ours()
        if self._new:
            write_atomically(work, self.path, self.content.fill(work, 0), self.after)
        else:
            with change_in_place(work, self.path, self.after) as fd:
                # Else only a time would change, of which nothing tells.
                if os.fstat(fd).st_size != self._start:
                    work.fx.truncate(fd, self._start)
                self.content.fill(work, self._start)(fd)
        # What comes out of a file was compared as it was written, and is not read again.
        proven = self.content.source is not None
        differs = self.differs(self.after) if proven else self.not_after()
        require(differs, self.path)

    def undo(self, work: Workplace) -> None:
        """Cuts the new bytes off; if their source is gone they are kept in the vault."""
        if self._new:
            clear(work.fx, self.path)
        if self.differs(self.before) is not None:
            self._must_be_ours()
            if self.not_after() is None and self.content.changed() is not None:
                keep(work, _APPENDED, part_of(self.path, work, self._start), self.content.sha256)
            self._take_away(work)
        self._settle(work)
        require(self.differs(self.before), self.path)
        if not self._new:
            restore_link(work, self.path)

    def preview(self, view: View, release: Release) -> None:
        """A file that is only synced stays the one it is, of which scans are remembered."""
        if self.content.length or self._new:
            self.show(view, self.content, self._start, self.after)

    @property
    def _new(self) -> bool:
        return self.before.kind == "missing"

    @property
    def _start(self) -> int:
        return self.before.size or 0

    def _settle(self, work: Workplace) -> None:
        if self._new:
            sync_dir(work.fx, folder(self.path))
        else:
            settle(work, self.path)

    def _take_away(self, work: Workplace) -> None:
        if self._new:
            work.fx.remove(self.path)
            return
        with change_in_place(work, self.path, self.before) as fd:
            work.fx.truncate(fd, self._start)

    def _must_be_ours(self) -> None:
        if look(self.path, content=False).kind != "missing":
            self.refuse_changed(self.after.size or 0, *(() if self._new else (self._start,)))
        elif not self._new:
            raise SegmendError(f"{self.path}: is gone")


STEP = AppendFile
