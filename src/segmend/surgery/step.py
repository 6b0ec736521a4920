"""What a step is: a value that says what it changes, and how to do and undo it from anywhere.

Every step keeps four promises, which the crash tests hold it to:

- `protect` brings what the step will change to a safe place and syncs it; it may run again.
- `do` ends in the state after, whether it begins before, after, or where an earlier `do` or
  `undo` was stopped; `undo` likewise ends in the state before. Both end with everything synced.
- at every moment each old byte is in its place, or in the vault, or (moved) in its new place.
- nothing but its own `paths` and its vault is touched.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Protocol, Self

from segmend.errors import SegmendError
from segmend.frozen import dataclass, frozen
from segmend.logdir.file_system import Files
from segmend.logdir.release import Release
from segmend.surgery.fingerprint import Fingerprint, look
from segmend.surgery.new_bytes import NewBytes
from segmend.surgery.typed_json import fields_from_json, fields_to_json
from segmend.surgery.writing.atomic import other_names
from segmend.surgery.writing.work import Workplace, folder


@dataclass(frozen=True, slots=True)
class Need:
    """Bytes that a step takes up on the file system of `where`, for good or for a while.

    None are taken if `origin` is on that file system too: the bytes are only renamed.
    """

    where: str
    bytes: int
    origin: str | None = None


class View(Files, Protocol):
    """Files as they will be: what a plan is looked at through before it is applied."""

    def write(self, path: str, position: int, data: bytes, like: Fingerprint) -> None:
        """Bytes at a position of a file, which is made if it is not there."""

    def copy(self, path: str, position: int, source: str, start: int, length: int, like: Fingerprint) -> None:
        """The same with `length` bytes of the real file `source` from `start` on, which may be many."""

    def replace(self, path: str, data: bytes, like: Fingerprint) -> None:
        """A file with these bytes, and the owner, mode and time of `like`."""

    def cut(self, path: str, size: int) -> None:
        """A file cut to `size` bytes."""

    def move(self, source: str, target: str) -> None:
        """A file or directory under another path."""

    def hide(self, path: str) -> None:
        """A file or directory that is gone."""

    def make_dir(self, path: str, like: Fingerprint) -> None:
        """A new, empty directory."""


class Step(Protocol):
    """One change. All paths are absolute and real."""

    KIND: ClassVar[str]
    AT_ONCE: ClassVar[bool]
    """Whether its file is at every moment as it is before or after, by one rename that ends it."""

    @property
    def paths(self) -> tuple[str, ...]:
        """What it changes."""

    @property
    def before(self) -> Fingerprint:
        """What must be at the first of `paths` before it."""

    def to_json(self) -> dict[str, object]:
        """All fields as plain JSON values."""

    @classmethod
    def from_json(cls, data: Mapping[str, object]) -> Self:
        """The reverse; `TypeError`, `KeyError` or `ValueError` for what is no such step."""

    def words(self) -> str:
        """One line for a person: what is done to which file, and why."""

    def needs(self, vault: str) -> Iterator[Need]:
        """What it takes up."""

    def not_before(self) -> str | None:
        """How the disk differs from what is expected before the step; None if it does not."""

    def not_after(self) -> str | None:
        """How the disk differs from what the step leaves; None if it does not."""

    def not_ours(self) -> str | None:
        """How what is there is neither before nor after, of one `AT_ONCE`; None if it is either, or gone."""

    def protect(self, work: Workplace) -> None:
        """Bring the old bytes to safety."""

    def unkept(self, vault: str) -> str | None:
        """Which old bytes that an undo would write are not in the vault as they were; None if all are."""

    def do(self, work: Workplace) -> None:
        """Make the change."""

    def undo(self, work: Workplace) -> None:
        """Take it back."""

    def preview(self, view: View, release: Release) -> None:
        """Make the change in a view."""


class StepValue:
    """To and from JSON, by the fields of the step."""

    __slots__ = ()
    AT_ONCE: ClassVar[bool] = False

    def to_json(self) -> dict[str, object]:
        return fields_to_json(self)

    @classmethod
    def from_json(cls, data: Mapping[str, object]) -> Self:
        return fields_from_json(cls, data)

    def not_ours(self) -> str | None:
        return None

    def unkept(self, _vault: str) -> str | None:
        return None


@frozen
class OnePath(StepValue):
    """What all steps on one path have."""

    path: str
    reason: str
    before: Fingerprint

    @property
    def paths(self) -> tuple[str, ...]:
        return (self.path,)

    def room_for_a_copy(self, vault: str) -> Iterator[Need]:
        """What a step takes that changes a file in place, where that has other names (`change_in_place`).

        Not before there is a vault: how many names a file has is no part of a plan, which asks no disk.
        """
        if vault and other_names(self.path):
            yield Need(folder(self.path), self.before.size or 0)

    def show(self, view: View, content: NewBytes, position: int, like: Fingerprint) -> None:
        """New bytes in a view; those of a source may be many, and are not read."""
        if content.source is None:
            view.write(self.path, position, content.read(), like)
        else:
            view.copy(self.path, position, content.source, content.position, content.length, like)

    def refuse_changed(self, *sizes: int) -> None:
        """Raise `SegmendError` unless the size lies between these, as it does wherever a step was stopped."""
        now = look(self.path, content=False)
        if now.kind != "file" or not min(sizes) <= (now.size or 0) <= max(sizes):
            raise SegmendError(f"{self.path}: somebody changed it in between (its size is {now.size})")

    def differs(self, expected: Fingerprint) -> str | None:
        """How size, owner, mode or time differ from what is expected; the bytes of a file are not read."""
        return expected.difference(look(self.path, content=False))


class Neighbours:
    """Which steps touch the same file, or one a file in a directory that the other moves."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._paths = [step.paths for step in steps]
        self._rows = sorted((path, number) for number, paths in enumerate(self._paths) for path in paths)
        self._at: dict[str, list[int]] = {}
        for path, number in self._rows:
            self._at.setdefault(path, []).append(number)

    def of(self, number: int) -> set[int]:
        """The numbers of the other steps that do so with this one."""
        numbers: set[int] = set()
        for path in self._paths[number]:
            # All below a directory sorts behind its name and a slash, and before what follows a slash.
            low, high = (bisect_left(self._rows, (path + end,)) for end in ("/", "0"))
            numbers.update(other for _, other in self._rows[low:high])
            at = len(path)
            while at > 0:
                numbers.update(self._at.get(path[:at], ()))
                at = path.rfind("/", 0, at)
        return numbers - {number}
