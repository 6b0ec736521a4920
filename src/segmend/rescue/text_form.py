"""A form of text: a file a partition, and a line, or several, a record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from segmend.node.metadata_image import MetadataImage
from segmend.rescue.decoding import Decoding
from segmend.rescue.long_names import stem
from segmend.rescue.outlet import Folder
from segmend.rescue.partly import part
from segmend.rescue.request import Due, Job, RescueRequest, Written
from segmend.rescue.rows import Row, columns, rows
from segmend.rescue.space import require_space

LineOf = Callable[[Row, Sequence[str], Decoding], Iterable[bytes]]
"""The bytes of a record: these fields of it, and what is decoded."""


class TextForm:
    """The files end in `suffix`; `header` makes the line that they begin with of the columns, if any."""

    def __init__(
        self, suffix: str, line: LineOf, header: Callable[[Iterable[str]], bytes] = lambda _: b""
    ) -> None:
        self._suffix, self._line, self._header = suffix, line, header

    def prepare(
        self, request: RescueRequest, outlet: Folder, due: Sequence[Due], known: MetadataImage | None
    ) -> None:
        del outlet, known
        fields = columns(request.salvage)
        require_space(request, due, lambda row, decoding: self._line(row, fields, decoding))

    def write(self, job: Job, outlet: Folder) -> Written:
        name = f"{stem(job.name)}.{self._suffix}"
        with part(job, outlet, name) as opened:
            stream, tally, decoding = opened.stream, opened.tally, opened.tally.decoding
            fields = columns(job.request.salvage)
            if opened.is_new:
                stream.write(self._header((*fields, *decoding.columns)))
            for row in rows(opened.job, tally, outlet.tell):
                for piece in self._line(row, fields, decoding):
                    stream.write(piece)
                opened.wrote(row.offset)
            size = stream.tell()
        return tally.written(size, held=outlet.wrote(name))
