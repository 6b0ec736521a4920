"""New bytes of a step: in the plan itself, or a range of another file."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from segmend.errors import SegmendError
from segmend.logdir.disk import FileReader, Unreadable
from segmend.surgery.fingerprint import hash_bytes, hash_of
from segmend.surgery.step import Work
from segmend.surgery.writing import Fill, part_of

MOST_INLINE: Final = 1 << 20
"""A plan stays a file that one can read: more bytes than this come from a recipe or another file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """`data`, or `length` bytes from `position` of the file `source`; `sha256` is of these bytes."""

    sha256: str
    length: int
    data: bytes | None = None
    source: str | None = None
    position: int = 0

    @classmethod
    def inline(cls, data: bytes) -> Self:
        """Bytes that stand in the plan."""
        return cls(sha256=hash_bytes(data), length=len(data), data=data)

    @classmethod
    def range_of(cls, source: str, position: int, length: int) -> Self:
        """A range of a file as it is now; raises `Unreadable`."""
        return cls(sha256=hash_of(source, position, length), length=length, source=source, position=position)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        found: dict[str, Any] = {"sha256": self.sha256, "length": self.length}
        if self.data is not None:
            return {**found, "base64": base64.b64encode(self.data).decode("ascii")}
        return {**found, "source": self.source, "position": self.position}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The reverse."""
        inline = None if "base64" not in data else base64.b64decode(data["base64"], validate=True)
        return cls(
            sha256=str(data["sha256"]), length=int(data["length"]), data=inline,
            source=data.get("source"), position=int(data.get("position", 0)),
        )  # fmt: skip

    def changed(self) -> str | None:
        """How the source differs from what it was, None if it does not."""
        if self.source is None:
            return None
        try:
            same = hash_of(self.source, self.position, self.length) == self.sha256
        except Unreadable as refused:
            return str(refused)
        end = self.position + self.length
        return None if same else f"bytes {self.position} to {end} of {self.source} are not what they were"

    def fill(self, work: Work, at: int) -> Fill:
        """Writes the bytes at byte `at` of a file."""
        if self.source is not None:
            return part_of(self.source, work, self.position, self.length, at)
        data = self.data or b""

        def fill(fd: int) -> None:
            work.fx.write(fd, data, at)
            work.tell(len(data))

        return fill

    def read(self) -> bytes:
        """All of it; for what fits into memory. Raises `Unreadable`, `SegmendError` if it changed."""
        if self.source is None:
            return self.data or b""
        if why := self.changed():
            raise SegmendError(why)
        with FileReader(self.source) as reader:
            return reader.read(self.length, self.position)
