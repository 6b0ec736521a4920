"""JSON lines: a file a partition, a line a record. Keys and values are base64, as of Spark's `to_json`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

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

_encode = json.JSONEncoder(separators=(",", ":")).encode


def prepare(request: RescueRequest, outlet: Folder, due: Sequence[Due], known: MetadataImage | None) -> None:
    del outlet, known
    fields = columns(request.salvage)
    require_space(request, due, lambda row, decoding: _line(row, fields, decoding))


def write(job: Job, outlet: Folder) -> Written:
    with part(job, outlet, f"{stem(job.name)}.jsonl") as opened:
        stream, tally, decoding = opened.stream, opened.tally, opened.tally.decoding
        fields = columns(job.request.salvage)
        for row in rows(opened.job, tally, outlet.tell):
            for piece in _line(row, fields, decoding):
                stream.write(piece)
            opened.wrote(row.offset)
        size = stream.tell()
    return tally.written(size)


def _line(row: Row, fields: Sequence[str], decoding: Decoding) -> Iterable[bytes]:
    line = dict(zip(fields, row, strict=False)) | {
        "timestamp": instant(row.timestamp),
        "headers": headers(row.headers),
    }
    decoded = dict(zip(decoding.columns, decoding.of({"key": row.key, "value": row.value}), strict=True))
    if is_long(row.key, row.value):
        return _pieces(line | decoded)
    line |= {"key": base64(row.key), "value": base64(row.value)}
    return (_encode(line | decoded).encode() + b"\n",)


def _pieces(line: Mapping[str, object]) -> Iterator[bytes]:
    for number, (name, value) in enumerate(line.items()):
        yield f"{',' if number else '{'}{_encode(name)}:".encode()
        yield from base64_pieces(value) if isinstance(value, bytes) else (_encode(value).encode(),)
    yield b"}\n"
