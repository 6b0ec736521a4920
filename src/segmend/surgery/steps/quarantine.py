"""A file or directory set aside: moved out of the log dirs into the vault, with the reason."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import ClassVar, Self

from segmend.errors import SegmendError
from segmend.frozen import frozen
from segmend.logdir.release import Release
from segmend.surgery.fingerprint import look
from segmend.surgery.step import Need, OnePath, View
from segmend.surgery.writing.transfer import allocated, differs_at, transfer, vault_name
from segmend.surgery.writing.work import Workplace, folder


@frozen
class Quarantine(OnePath):
    """What was at `path` lies in the vault afterwards, under its name; `allocated` is its size on disk."""

    KIND: ClassVar[str] = "quarantine"

    allocated: int

    @classmethod
    def of(cls, path: str, reason: str) -> Self:
        """The step for what is there now; raises `Unreadable`."""
        before = look(path, content=look(path, content=False).kind == "dir")
        if before.kind not in ("file", "dir"):
            raise SegmendError(f"{path}: is neither a file nor a directory")
        return cls(path=path, before=before, allocated=allocated(path), reason=reason)

    def words(self) -> str:
        return f"set aside {self.path}: {self.reason}"

    def needs(self, vault: str) -> Iterator[Need]:
        """A copy, if the vault is on another file system."""
        yield Need(vault, self.allocated, folder(self.path))

    def not_before(self) -> str | None:
        """Compares all that `stat` says, below a directory too."""
        return differs_at(self.before, self.path)

    def not_after(self) -> str | None:
        return f"there is {self.path} again" if os.path.lexists(self.path) else None

    def protect(self, work: Workplace) -> None:
        """The move itself is the backup."""

    def do(self, work: Workplace) -> None:
        transfer(work, self.path, vault_name(work.vault, self.path))

    def undo(self, work: Workplace) -> None:
        transfer(work, vault_name(work.vault, self.path), self.path)

    def preview(self, view: View, release: Release) -> None:
        view.hide(self.path)


STEP = Quarantine
