"""JSON lines: a file a partition, a line a record. Keys and values are base64, as of Spark's `to_json`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from segmend.rescue.decoding import Decoding
from segmend.rescue.forms import finish as finish
from segmend.rescue.rows import Row
from segmend.rescue.text_form import TextForm
from segmend.rescue.texts import base64, base64_pieces, headers, instant, is_long

_encode = json.JSONEncoder(separators=(",", ":")).encode


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


_FORM = TextForm("jsonl", _line)
prepare, write = _FORM.prepare, _FORM.write
