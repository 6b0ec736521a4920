"""A table that is text, gone on with inside a partition: a note beside it says how far it is synced.

Who goes on cuts the file where the note says and writes the rest, if what is to be written is the same still.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from itertools import chain
from typing import TYPE_CHECKING, Final, TypedDict, cast

from segmend.frozen import replace
from segmend.json_values import JsonObject
from segmend.logdir import disk
from segmend.logdir.files import FileEntry
from segmend.merge.packed import Packed
from segmend.merge.pieces import Piece
from segmend.rescue.outlet import Folder, Stream
from segmend.rescue.request import Job
from segmend.rescue.rows import Tally

if TYPE_CHECKING:
    from hashlib import _Hash as Hash

_EACH: Final = 64 << 20
"""Bytes from note to note."""


class _PartNote(TypedDict):
    """Of what, how far it is synced, and where it goes on."""

    of: str
    size: int
    next_offset: int
    tally: JsonObject


class PartlyWritten:
    """A file as its form writes it: `stream` and `tally` stand where it goes on, `job` is what is left."""

    def __init__(
        self, outlet: Folder, name: str, job: Job, stream: Stream, tally: Tally, fingerprint: str
    ) -> None:
        self.stream, self.job, self.tally = stream, job, tally
        self._outlet, self._name, self._of = outlet, name, fingerprint
        self._noted = stream.tell()

    @property
    def is_new(self) -> bool:
        return self.stream.tell() == 0

    def wrote(self, offset: int) -> None:
        """The record at this offset is in the stream, and all before it."""
        if self.stream.tell() - self._noted < _EACH or self.tally.decoding.columns:
            return
        self.stream.sync()
        self._noted = self.stream.tell()
        note: _PartNote = {
            "of": self._of, "size": self._noted, "next_offset": offset + 1, "tally": self.tally.counts(),
        }  # fmt: skip
        self._outlet.put(self._name, json.dumps(note).encode())


@contextmanager
def part(job: Job, outlet: Folder, name: str) -> Iterator[PartlyWritten]:
    """A file of OUT, from where a killed run left it; whole and synced when the block ends well."""
    notes, tally = f"{name}.part", Tally(job.request.decode)
    note, fingerprint = _read(outlet, notes), _fingerprint(job)
    known = note is not None and note["of"] == fingerprint and outlet.begun(name) >= note["size"]
    rest = job
    if note is not None and known:
        tally.go_on(note["tally"])
        low = max(job.request.low, note["next_offset"])
        left = Packed(Piece, (piece for piece in job.pieces if piece.last >= low))
        outlet.tell(sum(piece.size for piece in job.pieces) - sum(piece.size for piece in left))
        rest = replace(job, request=replace(job.request, offsets=(low, job.request.high)), pieces=left)
    with outlet.file(name, keep=note["size"] if note is not None and known else 0) as stream:
        yield PartlyWritten(outlet, notes, rest if known else job, stream, tally, fingerprint)
    outlet.drop(notes)


def _read(outlet: Folder, name: str) -> _PartNote | None:
    path = f"{outlet.path}/{name}"
    if disk.path_type(path) is None:
        return None
    try:
        note = json.loads(FileEntry.at(path).read())
    except ValueError:
        return None
    whole = isinstance(note, dict) and note.keys() == _PartNote.__annotations__.keys()
    return cast(_PartNote, note) if whole else None


def _fingerprint(job: Job) -> str:
    """A hash of all that decides what is written, but for the offsets that are left of it."""
    whole = sha256()
    for each in job.replicas:
        runs = ((run.file, run.first_position, run.digest) for run in each.runs)
        _add(whole, chain((each.path,), each.damaged, runs))
    _add(whole, job.merged.ranges)
    _add(whole, job.merged.missing)
    return whole.hexdigest()


def _add(whole: Hash, values: Iterable[object]) -> None:
    """One by one: of a log of very many holes there are millions."""
    for each in values:
        whole.update(f"{each!r};".encode())
    whole.update(b"\n")
