"""A copy of `__cluster_metadata-0`, read once: its newest snapshot, and the log behind it.

Follows `MetadataLoader`. What cannot be read is left out: the image then says less, not wrong; but
without its beginning (`whole`) it would call every topic unknown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from segmend.formats import control
from segmend.formats.batch import RecordBatch
from segmend.formats.record import iter_records
from segmend.kernel.scan import iter_batches
from segmend.logdir.file_system import OpenFile, Unreadable
from segmend.logdir.files import FileEntry
from segmend.logdir.second_looks import look_again
from segmend.logdir.tree import PartitionDir
from segmend.node.metadata_image import MetadataImage
from segmend.topics.metadata import decode

_BATCH_LIMIT: Final = 64 << 20
_SEARCHED: Final = 16 << 20
_NEVER_REACHED: Final = 500


@dataclass(slots=True)
class MetadataLog:
    """What it says. `records` were read of it.

    `registered` is the highest metadata.version that the node itself registered with, last; None if it
    did not. Every node follows this log, so its RegisterBroker or RegisterController record is there.
    """

    image: MetadataImage = field(default_factory=MetadataImage)
    records: int = 0
    whole: bool = False
    registered: int | None = None


def read_metadata_log(partition: PartitionDir, node_id: int | None) -> MetadataLog:
    """Read it, as the copy of the node `node_id`; never raises."""
    reading = _Reading(node_id)
    found, start = reading.found, 0
    snapshots = partition.kraft_snapshots
    found.whole = bool(snapshots) or min(partition.layout.logs, default=0) == 0
    if snapshots:
        newest = max(snapshots, key=lambda file: (file.parsed.base_offset or 0, file.parsed.epoch or 0))
        start = newest.parsed.base_offset or 0
        # The footer that ends it is a control record.
        found.whole = reading.take(newest, -1)
    for segment in partition.segments:
        if segment.log is not None and (segment.next_base_offset is None or segment.next_base_offset > start):
            reading.take(segment.log, start)
    return found


class _Reading:
    """The fold over all files."""

    def __init__(self, node_id: int | None) -> None:
        self.found = MetadataLog()
        self._registration = None if node_id is None else _registration(node_id)

    def take(self, file: FileEntry, start: int) -> bool:
        """Take what a log or snapshot holds from offset `start` on; whether it ends with a control batch."""
        last = None
        try:
            with look_again(file) as reader:
                for batch in iter_batches(reader, crc=True):
                    last = batch
                    if batch.last_offset >= start and batch.size <= _BATCH_LIMIT:
                        self._batch(batch, reader.read(batch.size, batch.position), start)
                self._rest(reader, 0 if last is None else last.end)
                return last is not None and last.is_control and last.end == reader.size
        except Unreadable:
            return False

    def _batch(self, batch: RecordBatch, data: bytes, start: int) -> None:
        for record in iter_records(data, batch, [], limit=_BATCH_LIMIT):
            if batch.is_control:
                self._control(record.key, record.value)
            elif record.offset >= start and record.value is not None:
                self._record(record.value)

    def _control(self, key: bytes | None, value: bytes | None) -> None:
        voters = control.parse(key, value)[0].value
        if isinstance(voters, control.Voters):
            self.found.image.voters = {voter.voter_id: voter.directory_id for voter in voters.voters}

    def _record(self, value: bytes) -> None:
        if value[:2] in (b"\x01\x00", b"\x01\x1b"):
            self._register(value)
        decoded = decode(None, value)["value"]
        data = decoded.get("data") if isinstance(decoded, Mapping) else None
        if isinstance(data, Mapping):
            self.found.image.apply(decoded["type"], data)
            self.found.records += 1

    def _rest(self, reader: OpenFile, end: int) -> None:
        """Behind damage nothing counts but which release wrote there."""
        if end < reader.size:
            self._register(reader.read(_SEARCHED, max(end, reader.size - _SEARCHED)))

    def _register(self, data: bytes) -> None:
        for match in () if self._registration is None else self._registration.finditer(data):
            low, high = (int.from_bytes(part, "big") for part in match.groups())
            if 0 < low <= high < _NEVER_REACHED:
                self.found.registered = high


def _registration(node_id: int) -> re.Pattern[bytes]:
    """The bytes of a registration of the node, decoded or not: later releases have later versions of it.

    Frame version 1, api key 0 or 27, a small version, then the node id (RegisterBrokerRecord.json).
    """
    node = re.escape(node_id.to_bytes(4, "big", signed=True))
    return re.compile(
        rb"\x01[\x00\x1b][\x00-\x0f]" + node + rb".{0,4096}?\x11metadata\.version(..)(..)", re.DOTALL
    )
