"""How each kind of small file is shown; logs and KRaft snapshots stream instead, in `report.log`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from segmend.formats import (
    clean_shutdown,
    epoch_checkpoint,
    meta_properties,
    offset_checkpoint,
    offset_index,
    partition_metadata,
    producer_snapshot,
    quorum_state,
    time_index,
    txn_index,
)
from segmend.formats.damage import Damage
from segmend.frozen import as_dict
from segmend.json_values import JsonObject
from segmend.report import text
from segmend.report.fields import Row, ShownField, preallocated, short

Rows = tuple[Iterable[Row], tuple[Damage, ...]]

_AT: Final = ShownField("at", "AT", style="dim")


class Viewer(NamedTuple):
    """A kind of file: exact names or, with a dot first, suffixes; the columns; the rows of such bytes.

    `rows` is given the base offset too. A row has the keys of all columns, and `at`, its own byte, if it has
    one.
    """

    names: Sequence[str]
    fields: Sequence[ShownField]
    rows: Callable[[bytes, int], Rows]

    def matches(self, name: str) -> bool:
        """Whether a file of this name (without .deleted, .swap, ...) is of the kind."""
        return any(name.endswith(known) if known.startswith(".") else name == known for known in self.names)


def _epochs(data: bytes, _base: int) -> Rows:
    checkpoint, damages = epoch_checkpoint.parse(data)
    return ({"type": "leader-epoch", **entry._asdict()} for entry in checkpoint.entries), damages


def _properties(data: bytes, _base: int) -> Rows:
    """A duplicate key is shown each time."""
    value, damages = meta_properties.parse(data)
    lines = (line for line in value.properties.lines if line.key is not None)
    return (
        {"type": "property", "position": line.position, "key": line.key, "value": line.value}
        for line in lines
    ), damages


def _index(data: bytes, base: int) -> Rows:
    index, damages = offset_index.parse(data)

    def rows() -> Iterator[Row]:
        for at, entry in enumerate(index):
            place = {"offset": base + entry.relative_offset, "position": entry.position}
            yield {"type": "index-entry", "at": at * offset_index.ENTRY_SIZE, **place}
        yield from preallocated(len(index) * offset_index.ENTRY_SIZE, index.zero_tail)

    return rows(), damages


def _marker(data: bytes, _base: int) -> Rows:
    """Both cells are `-` for the empty file of 3.6 and before."""
    value, damages = clean_shutdown.parse(data)
    return [{"type": "clean-shutdown", "version": value.version, "broker_epoch": value.broker_epoch}], damages


def _offsets(data: bytes, _base: int) -> Rows:
    checkpoint, damages = offset_checkpoint.parse(data)
    return ({"type": "checkpoint-entry", **entry._asdict()} for entry in checkpoint.entries), damages


def _topic_id(data: bytes, _base: int) -> Rows:
    value, damages = partition_metadata.parse(data)
    return [{"type": "partition-metadata", "version": value.version, "topic_id": value.topic_id}], damages


def _quorum(data: bytes, _base: int) -> Rows:
    """Fields that are there."""
    state, damages = quorum_state.parse(data)
    fields: JsonObject = {} if state is None else as_dict(state)
    rows = ({"type": "field", "key": key, "value": value} for key, value in fields.items())
    return (row for row in rows if row["value"] is not None), damages


def _producers(data: bytes, _base: int) -> Rows:
    snapshot, damages = producer_snapshot.parse(data)
    header, size = producer_snapshot.HEADER.size, producer_snapshot.ENTRY.size
    entries = enumerate(snapshot.entries)
    return ({"type": "producer", "at": header + i * size, **entry._asdict()} for i, entry in entries), damages


def _times(data: bytes, base: int) -> Rows:
    index, damages = time_index.parse(data)

    def rows() -> Iterator[Row]:
        for at, entry in enumerate(index):
            place = {"timestamp": entry.timestamp, "offset": base + entry.relative_offset}
            yield {"type": "timeindex-entry", "at": at * time_index.ENTRY_SIZE, **place}
        yield from preallocated(len(index) * time_index.ENTRY_SIZE, index.zero_tail)

    return rows(), damages


def _aborted(data: bytes, _base: int) -> Rows:
    index, damages = txn_index.parse(data)
    rows = enumerate(index.entries)
    return (
        {"type": "aborted-transaction", "at": i * txn_index.ENTRY_SIZE, **entry._asdict()}
        for i, entry in rows
    ), damages


def _utc(milliseconds: int) -> str:
    return text.when(milliseconds, precise=True)


VIEWERS: Final[Mapping[str, Viewer]] = {
    "leader-epochs": Viewer(
        (epoch_checkpoint.FILE_NAME,),
        (ShownField("epoch", "EPOCH"), ShownField("start_offset", "START OFFSET")), _epochs,
    ),
    "properties": Viewer(
        (meta_properties.FILE_NAME, ".properties"),
        (ShownField("key", "KEY", short, right=False), ShownField("value", "VALUE", short, right=False)),
        _properties,
    ),
    "index": Viewer(
        (".index",), (_AT, ShownField("offset", "OFFSET"), ShownField("position", "POSITION")), _index
    ),
    "clean-shutdown": Viewer(
        (clean_shutdown.FILE_NAME,),
        (ShownField("version", "VERSION"), ShownField("broker_epoch", "BROKER EPOCH")), _marker,
    ),
    "offset-checkpoint": Viewer(
        offset_checkpoint.FILE_NAMES,
        (
            ShownField("topic", "TOPIC", short, right=False), ShownField("partition", "PARTITION"),
            ShownField("offset", "OFFSET"),
        ),
        _offsets,
    ),
    "partition-metadata": Viewer(
        (partition_metadata.FILE_NAME,),
        (ShownField("version", "VERSION"), ShownField("topic_id", "TOPIC ID", right=False)), _topic_id,
    ),
    "quorum-state": Viewer(
        (quorum_state.FILE_NAME,),
        (ShownField("key", "FIELD", right=False), ShownField("value", "VALUE", short, right=False)), _quorum,
    ),
    "snapshot": Viewer(
        (".snapshot",),
        (
            _AT, ShownField("producer_id", "PRODUCER"), ShownField("producer_epoch", "EPOCH"),
            ShownField("last_sequence", "LAST SEQUENCE"), ShownField("last_offset", "LAST OFFSET"),
            ShownField("offset_delta", "DELTA"), ShownField("timestamp", "UTC", _utc),
            ShownField("coordinator_epoch", "COORDINATOR"),
            ShownField("current_txn_first_offset", "OPEN TRANSACTION", lambda o: "-" if o == -1 else str(o)),
        ),
        _producers,
    ),
    "timeindex": Viewer(
        (".timeindex",),
        (
            _AT, ShownField("timestamp", "TIMESTAMP"), ShownField("timestamp", "UTC", _utc),
            ShownField("offset", "OFFSET"),
        ),
        _times,
    ),
    "txnindex": Viewer(
        (".txnindex",),
        (
            _AT, ShownField("version", "VERSION"), ShownField("producer_id", "PRODUCER"),
            ShownField("first_offset", "FIRST OFFSET"), ShownField("last_offset", "LAST OFFSET"),
            ShownField("last_stable_offset", "LAST STABLE OFFSET"),
        ),
        _aborted,
    ),
}  # fmt: skip
"""By the word of `--kind`."""
