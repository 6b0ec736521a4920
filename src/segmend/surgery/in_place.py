"""What steps have in common that change a file where it lies: the old bytes go to the vault first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, NamedTuple

from segmend.frozen import frozen
from segmend.surgery.fingerprint import hash_of
from segmend.surgery.step import Need, OnePath
from segmend.surgery.writing.atomic import (
    change_in_place,
    keep,
    part_of,
    read_kept,
    require,
    restore_link,
    settle,
    unkept,
)
from segmend.surgery.writing.effects import Effects
from segmend.surgery.writing.work import Workplace


class OldBytes(NamedTuple):
    """Those that a step takes away, or writes over."""

    position: int
    length: int
    sha256: str


@frozen
class InPlace(OnePath):
    """`KEPT` is the name of the old bytes in the vault, `OF_HOLES` whether holes come back as such."""

    KEPT: ClassVar[str]
    OF_HOLES: ClassVar[bool]

    @property
    def old(self) -> OldBytes:
        raise NotImplementedError

    @property
    def sizes(self) -> tuple[int, ...]:
        """What the file may be long, wherever the step was stopped."""
        return (self.before.size or 0,)

    def clear_for_old(self, fx: Effects, fd: int) -> None:
        """Take out of the open file what the old bytes do not write over."""

    def needs(self, vault: str) -> Iterator[Need]:
        yield Need(vault, self.old.length)
        yield from self.room_for_a_copy(vault)

    def differs_from(self, sha256: str) -> str | None:
        """How size, owner, mode, time differ from before, or the bytes in this place from these."""
        differs, (position, length, _) = self.differs(self.before), self.old
        if differs is None and hash_of(self.path, position, length) != sha256:
            words = "were" if sha256 == self.old.sha256 else "should be"
            return f"its bytes from {position} on are not what they {words}"
        return differs

    def protect(self, work: Workplace) -> None:
        position, length, sha256 = self.old
        if self.differs_from(sha256) is None:
            keep(work, self.KEPT, part_of(self.path, work, position, length), sha256)

    def unkept(self, vault: str) -> str | None:
        why = unkept(vault, self.KEPT, self.old.sha256)
        return why if why and self.differs_from(self.old.sha256) else None

    def undo(self, work: Workplace) -> None:
        position, _, sha256 = self.old
        if self.differs_from(sha256) is None:
            settle(work, self.path)
            restore_link(work, self.path)
            return
        self.refuse_changed(*self.sizes)
        kept = read_kept(work, self.KEPT, sha256)
        with change_in_place(work, self.path, self.before) as fd:
            self.clear_for_old(work.fx, fd)
            part_of(kept, work, at=position, holes=self.OF_HOLES)(fd)
        require(self.differs_from(sha256), self.path)
        restore_link(work, self.path)
