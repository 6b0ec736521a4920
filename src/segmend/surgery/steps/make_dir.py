"""A new, empty directory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import ClassVar, Self

from segmend.frozen import frozen
from segmend.logdir import disk
from segmend.logdir.release import Release
from segmend.surgery.fingerprint import MISSING, Fingerprint, look
from segmend.surgery.step import Need, StepValue, View
from segmend.surgery.writing.atomic import dress, require
from segmend.surgery.writing.effects import sync_dir
from segmend.surgery.writing.work import Workplace, folder


@frozen
class MakeDir(StepValue):
    """`after` has owner and mode; only steps of the same plan may put anything into it."""

    KIND: ClassVar[str] = "make_dir"

    path: str
    after: Fingerprint
    reason: str

    def __post_init__(self) -> None:
        self.after.must_be("dir")

    @classmethod
    def like(cls, path: str, model: str, reason: str) -> Self:
        """The step for a directory with owner, mode and attributes of another; raises `Unreadable`."""
        return cls(path=path, after=look(model, content=False).but(mtime_ns=None), reason=reason)

    @property
    def before(self) -> Fingerprint:
        """Nothing."""
        return MISSING

    @property
    def paths(self) -> tuple[str, ...]:
        return (self.path,)

    def words(self) -> str:
        return f"make the directory {self.path}: {self.reason}"

    def needs(self, vault: str) -> Iterator[Need]:
        yield Need(folder(self.path), 4096)

    def not_before(self) -> str | None:
        return f"there is {self.path} already" if os.path.lexists(self.path) else None

    def not_after(self) -> str | None:
        return self.after.difference(look(self.path, content=False))

    def is_half_done(self) -> bool:
        """Whether it is there, and nothing in it: who made it may have been stopped before it was dressed."""
        return disk.path_type(self.path) == "dir" and not disk.names(self.path)

    def protect(self, work: Workplace) -> None:
        """Nothing is written over."""

    def do(self, work: Workplace) -> None:
        if not os.path.lexists(self.path):
            work.fx.make_dir(self.path)
        fd = work.fx.open_dir(self.path)
        try:
            dress(work.fx, fd, self.after)
            work.fx.sync(fd)
        finally:
            work.fx.close(fd)
        sync_dir(work.fx, folder(self.path))
        require(self.not_after(), self.path)

    def undo(self, work: Workplace) -> None:
        """Removes it; it is empty, since steps are undone in reverse."""
        if os.path.lexists(self.path):
            work.fx.remove_dir(self.path)
        sync_dir(work.fx, folder(self.path))

    def preview(self, view: View, release: Release) -> None:
        view.make_dir(self.path, self.after)


STEP = MakeDir
