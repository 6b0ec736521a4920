"""CSV with a header line: a file a partition. Text stands in quotes, and what is empty without is null."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from segmend.rescue.decoding import Decoding
from segmend.rescue.forms import finish as finish
from segmend.rescue.rows import Row
from segmend.rescue.text_form import TextForm
from segmend.rescue.texts import base64, base64_pieces, headers, instant, is_long


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


_FORM = TextForm("csv", _line, lambda names: (",".join(names) + "\n").encode())
prepare, write = _FORM.prepare, _FORM.write
