"""A directory moved to another place, mostly a partition to another log dir of its broker."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import ClassVar, Self

from segmend.errors import SegmendError
from segmend.frozen import frozen
from segmend.logdir.release import Release
from segmend.surgery.fingerprint import Fingerprint, look
from segmend.surgery.step import Need, StepValue, View
from segmend.surgery.writing.atomic import require
from segmend.surgery.writing.transfer import allocated, differs_at, transfer
from segmend.surgery.writing.work import Workplace, folder


@frozen
class MoveDir(StepValue):
    """Nothing may be at `target` before; `allocated` is the size on disk, which a copy takes."""

    KIND: ClassVar[str] = "move_dir"

    source: str
    target: str
    reason: str
    before: Fingerprint
    allocated: int

    @classmethod
    def of(cls, source: str, target: str, reason: str, *, replacing: bool = False) -> Self:
        """The step for the directory as it is now; raises `Unreadable`.

        `replacing`: a step before this one sets aside what is at `target`.
        """
        before = look(source)
        if before.kind != "dir":
            raise SegmendError(f"{source}: is no directory, or a link to one; move it by hand")
        if not replacing and os.path.lexists(target):
            raise SegmendError(f"{target}: is there already")
        return cls(source=source, target=target, before=before, allocated=allocated(source), reason=reason)

    @property
    def paths(self) -> tuple[str, ...]:
        """Where it is, and where it goes."""
        return (self.source, self.target)

    def words(self) -> str:
        return f"move {self.source} to {self.target}: {self.reason}"

    def needs(self, vault: str) -> Iterator[Need]:
        """A copy, if the target is on another file system."""
        yield Need(folder(self.target), self.allocated, folder(self.source))

    def not_before(self) -> str | None:
        """Compares all that `stat` says of everything in it."""
        taken = f"{self.target} is there already" if os.path.lexists(self.target) else None
        return differs_at(self.before, self.source) or taken

    def not_after(self) -> str | None:
        """The same at the target, and nothing at the source."""
        left = f"{self.source} is there again" if os.path.lexists(self.source) else None
        return differs_at(self.before, self.target) or left

    def is_half_done(self) -> bool:
        """Whether all of it lies in both places: across disks, before the old one goes."""
        return not any(differs_at(self.before, path) for path in self.paths)

    def protect(self, work: Workplace) -> None:
        """Nothing is written over: across disks the old one goes when the copy is proven."""

    def do(self, work: Workplace) -> None:
        transfer(work, self.source, self.target)
        require(self.not_after(), self.target)

    def undo(self, work: Workplace) -> None:
        transfer(work, self.target, self.source)
        require(self.not_before(), self.source)

    def preview(self, view: View, release: Release) -> None:
        view.move(self.source, self.target)


STEP = MoveDir
