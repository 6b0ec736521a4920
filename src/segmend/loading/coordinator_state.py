"""Whose state an internal topic's partition holds: the groups, or transactional ids, that a loss concerns.

A coordinator knows nothing but what it reads there (`GroupCoordinatorShard`, `TransactionStateManager`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from segmend.broker.features import KNOWN_LEVEL
from segmend.broker.serving import NOT_LOADED, READ_STATE, WRITTEN_WITH_ZOOKEEPER
from segmend.formats.names import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE
from segmend.formats.record import Record, iter_records
from segmend.kernel.scan import iter_batches
from segmend.loading.values import WHOLE, Concerned, PartitionOutcome
from segmend.logdir.file_system import Unreadable
from segmend.logdir.files import FileEntry
from segmend.logdir.partition_dir import PartitionDir
from segmend.logdir.release import Release
from segmend.logdir.second_looks import look_again
from segmend.node.metadata_image import MetadataImage
from segmend.topics import decoder_for

_HOLDERS: Final = {
    CONSUMER_OFFSETS: "groups",
    SHARE_GROUP_STATE: "share groups",
    TRANSACTION_STATE: "transactional ids",
}
_READ_ON: Final = {
    CONSUMER_OFFSETS: "from where the groups in it read on",
    TRANSACTION_STATE: "which transactions it still knows",
}
_FIELDS: Final = ("group", "groupId", "transactionalId")
_READ: Final = 256 << 20
"""So many bytes are read, of the newest segments."""
_BATCH_LIMIT: Final = 16 << 20
_LAST_WRITTEN: Final = 16 << 20
"""So many bytes of the newest segments tell which release wrote last."""


def concerned(partition: PartitionDir, outcome: PartitionOutcome) -> Concerned | None:
    """Who is named in what a start takes away, and in what it leaves; None where it takes nothing.

    What one cause takes from all partitions is not read for that.
    """
    what = _HOLDERS.get(outcome.topic)
    if what is None or not any(each.loses and each.effect not in WHOLE for each in outcome.effects):
        return None
    start, end = outcome.after.log_start_offset, outcome.after.log_end_offset
    gone, stays = set[str](), set[str]()
    left, whole = _READ, True
    for segment in reversed(partition.segments):
        log = segment.log
        try:
            left -= 0 if log is None else log.stat().size
            if log is None or left < 0:
                whole = False
                continue
            for offset, holder in _named(outcome.topic, log):
                there = start is not None and end is not None and start <= offset < end
                (stays if there else gone).add(holder)
        except Unreadable:
            whole = False
    return Concerned(what=what, gone=tuple(sorted(gone)), stays=tuple(sorted(stays)), whole=whole)


def not_loaded(partition: PartitionDir, release: Release, image: MetadataImage | None = None) -> str | None:
    """What is not known of state that a newer release wrote: no group of such a partition is loaded.

    Only the end of its logs is looked at, where who wrote last shows; and since 2.3 only where the metadata
    tells that a newer release was here.
    """
    if partition.topic not in NOT_LOADED:
        return None
    known = (READ_STATE.of(release) or {}).get(partition.topic)
    if known is None or (WRITTEN_WITH_ZOOKEEPER.of(release) and not _was_newer(image, release)):
        return None
    left = _LAST_WRITTEN
    for log in (segment.log for segment in reversed(partition.segments) if segment.log is not None):
        size = log.stat().size
        for key, value in _pairs(log, max(size - left, 0)) if left > 0 else ():
            kind, version = (int.from_bytes(each[:2], "big") for each in (key, value))
            if version > known.get(kind, -1):
                what = f"version {version} of a value" if kind in known else f"a key of version {kind}"
                words = NOT_LOADED[partition.topic].format(partition.name)
                says = f'it holds {what}, which Kafka {release} does not know ("{words}")'
                return f"{partition.path}: {_READ_ON[partition.topic]}: {says}"
        left -= size
    return None


def _was_newer(image: MetadataImage | None, release: Release) -> bool:
    """Whether a node registered with a newer release."""
    levels = {} if image is None else image.levels
    return bool(levels) and max(levels.values()) > KNOWN_LEVEL.of(release)


def _pairs(log: FileEntry, start: int) -> Iterator[tuple[bytes, bytes]]:
    """Key and value of each record behind a byte that has both."""
    for record in _records(log, start):
        if record.key and record.value:
            yield record.key, record.value


def _named(topic: str, log: FileEntry) -> Iterator[tuple[int, str]]:
    """The offset of each record that can be read, and whose it is."""
    decode = decoder_for(topic)
    assert decode is not None
    for record in _records(log):
        data = (decode(record.key, None)["key"] or {}).get("data")
        said = data if isinstance(data, dict) else {}
        holder = next((said[name] for name in _FIELDS if name in said), None)
        if isinstance(holder, str):
            yield record.offset, holder


def _records(log: FileEntry, start: int = 0) -> Iterator[Record]:
    """Those of the batches from a byte on, which may lie within one: that is passed over."""
    with look_again(log) as reader:
        for batch in iter_batches(reader, start=start, crc=True, resync=True):
            if batch.is_control or batch.size > _BATCH_LIMIT:
                continue
            data = reader.read(batch.size, batch.position)
            yield from iter_records(data, batch, [], limit=_BATCH_LIMIT)
