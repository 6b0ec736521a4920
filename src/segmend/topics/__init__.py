"""What records of Kafka's internal topics say: one module a family, found by `decoder_for`.

A module has `DECODERS`: functions by topic that take key and value, give `{"key": ..., "value": ...}`
as plain JSON values, and never raise on content.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from segmend.discovery import modules_in
from segmend.formats.envelope import DecodedRecord

Decoder = Callable[[bytes | None, bytes | None], DecodedRecord]


def decoder_for(topic: str) -> Decoder | None:
    if not topic.startswith("__"):
        return None
    for name in modules_in(__path__):
        decoders = import_module(f"{__name__}.{name}")
        decoder: Decoder | None = decoders.DECODERS.get(topic)
        if decoder is not None:
            return decoder
    return None
