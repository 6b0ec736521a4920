"""Keys and values of one partition decoded on request, beside the raw ones, and counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from segmend.rescue.decoders import Decode, Decoded, Decoder, decoder
from segmend.rescue.lines import DecodedCount

_WORDS: Final = ("decoded", "schema_id", "undecoded")
"""The columns of a side: its text, the id of its schema in a registry, and why there is no text."""
_REASONS: Final = 20


def columns(sides: Iterable[str]) -> tuple[str, ...]:
    """The names of the columns that are added, whatever the kind is."""
    return tuple(f"{side}_{word}" for side in sides for word in _WORDS)


class _Side:
    def __init__(self, of: Decode) -> None:
        self.of = of
        self._decoder: Decoder = decoder(of)
        self._count, self._raw, self._nulls = 0, 0, 0
        self._reasons: Counter[str] = Counter()

    def decode(self, data: bytes | None) -> Decoded:
        if data is None:
            self._nulls += 1
            return Decoded()
        decoded = self._decoder.decode(data)
        if decoded.reason is None:
            self._count += 1
        else:
            self._raw += 1
            known = decoded.reason in self._reasons or len(self._reasons) < _REASONS
            self._reasons[decoded.reason if known else "other reasons"] += 1
        return decoded

    def told(self) -> DecodedCount:
        return {
            "as": self.of.kind, "decoded": self._count, "raw": self._raw, "null": self._nulls,
            "reasons": dict(self._reasons.most_common()), "schema": self._decoder.schema(),
        }  # fmt: skip


class Decoding:
    """Of one partition. Raises `SegmendError` for schemas that cannot be used."""

    def __init__(self, asked: Sequence[Decode]) -> None:
        self._sides = [_Side(each) for each in asked]
        self.columns = columns(each.side for each in asked)

    def of(self, raw: Mapping[str, bytes | None]) -> list[object]:
        """The values of the columns; `raw` has key and value."""
        return [word for side in self._sides for word in side.decode(raw[side.of.side])]

    def told(self) -> dict[str, DecodedCount]:
        """How many of each side were decoded, and why others were not."""
        return {side.of.side: side.told() for side in self._sides}
