"""`.kafka_cleanshutdown`: its existence says that the log dir was closed in order.

Follows `org.apache.kafka.storage.internals.checkpoint.CleanShutdownFileHandler`: empty up to
3.6, since 3.7 JSON with the broker epoch. Content that cannot be read only loses the epoch;
the one Damage kind is `malformed`.
"""

from __future__ import annotations

from segmend.formats import json_text
from segmend.formats.cursor import Malformed
from segmend.formats.damage import Damage
from segmend.frozen import frozen

FILE_NAME = ".kafka_cleanshutdown"


@frozen
class CleanShutdown:
    """Both None for an empty file."""

    version: int | None = None
    broker_epoch: int | None = None


def parse(data: bytes) -> tuple[CleanShutdown, tuple[Damage, ...]]:
    if not data:
        return CleanShutdown(), ()
    try:
        marker = json_text.parse_object(data)
    except Malformed as error:
        return CleanShutdown(), (Damage("malformed", error.position, error.reason),)
    value = CleanShutdown(
        version=json_text.integer(marker, "version", 32),
        broker_epoch=json_text.integer(marker, "brokerEpoch", 64),
    )
    if value.broker_epoch is None:
        return value, (Damage("malformed", 0, "Unable to read the broker epoch: no brokerEpoch"),)
    return value, ()


def render(marker: CleanShutdown) -> bytes:
    """The file as the broker writes it; empty without an epoch."""
    if marker.broker_epoch is None:
        return b""
    return json_text.compact({"version": marker.version or 0, "brokerEpoch": marker.broker_epoch})
