"""New bytes of a step: in the plan itself, or a range of another file."""

from __future__ import annotations

import base64
import os
from typing import Final, Self

from segmend.errors import SegmendError
from segmend.frozen import frozen
from segmend.json_values import JsonObject, text
from segmend.logdir import disk
from segmend.logdir.disk import FileReader
from segmend.logdir.file_system import Unreadable
from segmend.surgery.fingerprint import hash_bytes, hash_of
from segmend.surgery.typed_json import fields_from_json
from segmend.surgery.writing import copying
from segmend.surgery.writing.atomic import Fill
from segmend.surgery.writing.work import Workplace, is_plain

MOST_INLINE: Final = 1 << 20
"""A plan stays a file that one can read: more bytes than this come from a recipe or another file."""


@frozen
class NewBytes:
    """`data`, or `length` bytes from `position` of the file `source`; `sha256` is of these bytes.

    `made_of` is what `source` was then (`disk.identity`): as long as it still is, it need not be read.
    """

    sha256: str
    length: int
    data: bytes | None = None
    source: str | None = None
    position: int = 0
    made_of: str | None = None

    @classmethod
    def inline(cls, data: bytes) -> Self:
        """Bytes that stand in the plan."""
        return cls(sha256=hash_bytes(data), length=len(data), data=data)

    @classmethod
    def range_of(cls, source: str, position: int, length: int) -> Self:
        """A range of a file as it is now; raises `Unreadable`."""
        made_of = disk.identity(source)
        sha256 = hash_of(source, position, length)
        return cls(sha256=sha256, length=length, source=source, position=position, made_of=made_of)

    def to_json(self) -> dict[str, object]:
        data: dict[str, object] = {"sha256": self.sha256, "length": self.length}
        if self.data is not None:
            return {**data, "base64": base64.b64encode(self.data).decode("ascii")}
        return {**data, "source": self.source, "position": self.position, "made_of": self.made_of}

    @classmethod
    def from_json(cls, data: JsonObject) -> Self:
        """The reverse; `KeyError`, `TypeError`, `ValueError` for what is none."""
        if "base64" in data:
            whole = cls.inline(base64.b64decode(text(data, "base64"), validate=True))
            if (whole.sha256, whole.length) != (data["sha256"], data["length"]):
                raise ValueError("bytes that are not those of the hash beside them")
            return whole
        told = ("sha256", "length", "source", "position")
        known = {name: data[name] for name in told} | {"made_of": data.get("made_of")}
        new_bytes = fields_from_json(cls, known)
        source = new_bytes.source
        if source is None or not is_plain(source) or min(new_bytes.length, new_bytes.position) < 0:
            raise ValueError("a range of a file that is none")
        return new_bytes

    def changed(self) -> str | None:
        """How the source differs from what it was, None if it does not."""
        if self.source is None:
            return None
        try:
            if self._untouched():
                return None
            same = hash_of(self.source, self.position, self.length) == self.sha256
        except Unreadable as refused:
            return refused.told()
        end = self.position + self.length
        return None if same else f"bytes {self.position} to {end} of {self.source} are not what they were"

    def hash_of_first(self, length: int) -> str:
        """SHA-256 (hex) of the first bytes; raises `Unreadable`."""
        if self.source is None:
            return hash_bytes((self.data or b"")[:length])
        return hash_of(self.source, self.position, length)

    def fill(self, work: Workplace, at: int) -> Fill:
        """Writes the bytes at byte `at` of a file; those of a source are proven to be there."""
        data = self.data or b""

        def fill(fd: int) -> None:
            if self.source is not None:
                self._copy(work, fd, at)
            else:
                work.fx.write(fd, data, at)
                work.tell(len(data))

        return fill

    def _copy(self, work: Workplace, fd: int, at: int) -> None:
        whole = (self.position, self.position + self.length)
        with FileReader(self.source or "") as reader:
            if not (self._untouched() and copying.shared(work, reader, fd, whole, at - self.position)):
                copying.copy_hashed(work, reader, fd, whole, at - self.position, self.sha256)
        if os.fstat(fd).st_size < at + self.length:
            work.fx.truncate(fd, at + self.length)

    def _untouched(self) -> bool:
        """Whether the source surely has the bytes of the plan, by what the system says of it."""
        return (
            self.made_of is not None
            and self.source is not None
            and disk.identity(self.source) == self.made_of
        )

    def read(self) -> bytes:
        """All of it; for what fits into memory. Raises `Unreadable`, `SegmendError` if it changed."""
        if self.source is None:
            return self.data or b""
        if why := self.changed():
            raise SegmendError(why)
        with FileReader(self.source) as reader:
            return reader.read(self.length, self.position)
