"""Lines of JSON, ASCII only, in pieces: what is told of a log may be as much as it has batches."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

_AT_ONCE: Final = (str, list, tuple, Mapping)
# One encoder for all lines: `json.dumps` with separators makes a new one each time.
encode: Final = json.JSONEncoder(separators=(",", ":")).encode


def pieces(item: Mapping[str, object]) -> Iterator[str]:
    """One object; what it has as an iterable of another kind becomes a list, of which one item is held."""
    begin = "{"
    for name, value in item.items():
        yield f"{begin}{encode(name)}:"
        begin = ","
        if isinstance(value, Iterable) and not isinstance(value, _AT_ONCE):
            yield "["
            for number, each in enumerate(value):
                yield f",{encode(each)}" if number else encode(each)
            yield "]"
        else:
            yield encode(value)
    yield "}"
