"""CSV with a header line: a file a partition. Text stands in quotes, and what is empty without is null."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from segmend.node.metadata_image import MetadataImage
from segmend.rescue.decoding import Decoding
from segmend.rescue.forms import finish as finish
from segmend.rescue.long_names import stem
from segmend.rescue.outlet import Folder
from segmend.rescue.partly import part
from segmend.rescue.request import Due, Job, RescueRequest, Written
from segmend.rescue.rows import Row, columns, rows
from segmend.rescue.space import require_space
from segmend.rescue.texts import base64, base64_pieces, headers, instant, is_long


def prepare(request: RescueRequest, outlet: Folder, due: Sequence[Due], known: MetadataImage | None) -> None:
    del outlet, known
    fields = columns(request.salvage)
    require_space(request, due, lambda row, decoding: _line(row, fields, decoding))


def write(job: Job, outlet: Folder) -> Written:
    with part(job, outlet, f"{stem(job.name)}.csv") as opened:
        stream, tally, decoding = opened.stream, opened.tally, opened.tally.decoding
        fields = columns(job.request.salvage)
        if opened.is_new:
            stream.write((",".join((*fields, *decoding.columns)) + "\n").encode())
        for row in rows(opened.job, tally, outlet.tell):
            for piece in _line(row, fields, decoding):
                stream.write(piece)
            opened.wrote(row.offset)
        size = stream.tell()
    return tally.written(size)


def _line(row: Row, fields: Sequence[str], decoding: Decoding) -> Iterable[bytes]:
    line = (*_texts(row)[: len(fields)], *decoding.of({"key": row.key, "value": row.value}))
    if is_long(row.key, row.value):
        return _pieces(line)
    return ((",".join(map(_field, line)) + "\n").encode("utf-8", "surrogateescape"),)


def _pieces(line: Sequence[object]) -> Iterator[bytes]:
    for number, value in enumerate(line):
        yield b"," if number else b""
        if isinstance(value, bytes):
            yield from base64_pieces(value)
        else:
            yield _field(value).encode("utf-8", "surrogateescape")
    yield b"\n"


def _texts(row: Row) -> Row:
    long = is_long(row.key, row.value)
    return row._replace(
        timestamp=instant(row.timestamp),  # type: ignore[arg-type]
        key=row.key if long else base64(row.key),  # type: ignore[arg-type]
        value=row.value if long else base64(row.value),  # type: ignore[arg-type]
        headers=json.dumps(headers(row.headers), separators=(",", ":")),  # type: ignore[arg-type]
    )


def _field(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    return '"' + str(value).replace('"', '""') + '"'
