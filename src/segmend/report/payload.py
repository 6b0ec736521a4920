"""Keys, values and header values: bytes as text, as hex, or as JSON."""

from __future__ import annotations

import json
from typing import Literal

from segmend.formats.json_text import no_constant
from segmend.frozen import dataclass
from segmend.report import text

As = Literal["text", "hex", "json"]


@dataclass(frozen=True, slots=True)
class Payload:
    """Makes bytes presentable. `bound` cuts what is decoded for people (0: nothing is cut)."""

    kind: As = "text"
    bound: int = 0

    def text(self, data: bytes | None) -> str:
        """A safe string for a terminal; null and empty are told apart."""
        if data is None:
            return "<null>"
        if not data:
            return "<empty>"
        if self.kind == "json":
            parsed = _parsed(data)
            return text.clean(_decoded(data)) if parsed is _NOT_JSON else self.compact(parsed)
        cut = data[: self.bound] if self.bound else data
        more = "…" if len(cut) < len(data) else ""
        return (cut.hex() if self.kind == "hex" else text.clean(_decoded(cut))) + more

    def json(self, data: bytes | None) -> object:
        """A value for JSON: null, hex digits, text, or (kind json) what the bytes say.

        Bytes that are no UTF-8 become the object `{"hex": "..."}`, so that nothing is lost.
        """
        if data is None:
            return None
        if self.kind == "hex":
            return data.hex()
        if self.kind == "json":
            parsed = _parsed(data)
            if parsed is not _NOT_JSON:
                return parsed
        try:
            return data.decode()
        except UnicodeDecodeError:
            return {"hex": data.hex()}

    def compact(self, value: object) -> str:
        """Any JSON value in one safe line."""
        return "<null>" if value is None else text.clean(json.dumps(value, ensure_ascii=False))


_NOT_JSON = object()


def _parsed(data: bytes) -> object:
    try:
        value = json.loads(data, parse_constant=no_constant)
        # What nests too deeply to be written again is better shown as the text it is.
        json.dumps(value)
    except (ValueError, RecursionError):
        return _NOT_JSON
    return value


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
