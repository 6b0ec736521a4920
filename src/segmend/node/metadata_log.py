"""A copy of `__cluster_metadata-0`, read once: its newest snapshot, and the log behind it.

Follows `MetadataLoader`. What cannot be read is left out: the image then says less, not wrong; but
without its beginning (`whole`) it would call every topic unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Final

from segmend.formats import control
from segmend.formats.batch import RecordBatch
from segmend.formats.envelope import FRAME_VERSION
from segmend.formats.record import iter_records
from segmend.formats.schema import messages
from segmend.frozen import dataclass
from segmend.kernel.scan import iter_batches
from segmend.logdir.file_system import Unreadable
from segmend.logdir.files import FileEntry
from segmend.logdir.second_looks import look_again
from segmend.logdir.tree import PartitionDir
from segmend.node.metadata_image import APPLIED, MetadataImage
from segmend.topics.metadata import RECORDS, decode

_BATCH_LIMIT: Final = 64 << 20
_DECODED: Final = frozenset(
    bytes((FRAME_VERSION, key)) for key, message in messages(RECORDS).items() if message.name in APPLIED
)
"""How the records begin that the image takes; a quiet cluster writes two others a second (NoOpRecord)."""


@dataclass(slots=True)
class MetadataLog:
    """What it says, and of how many records."""

    image: MetadataImage = field(default_factory=MetadataImage)
    records: int = 0
    whole: bool = False

    def take(self, file: FileEntry, start: int) -> bool:
        """Take what a log or snapshot holds from offset `start` on; whether it ends with a control batch."""
        last = None
        try:
            with look_again(file) as reader:
                for batch in iter_batches(reader, crc=True):
                    last = batch
                    if batch.last_offset >= start and batch.size <= _BATCH_LIMIT:
                        self._batch(batch, reader.read(batch.size, batch.position), start)
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
            self.image.voters = {voter.voter_id: voter.directory_id for voter in voters.voters}

    def _record(self, value: bytes) -> None:
        if value[:2] in _DECODED:
            decoded = decode(None, value)["value"]
            data = decoded.get("data")
            if isinstance(data, Mapping):
                self.image.apply(decoded["type"], data)
                self.records += 1


def read_metadata_log(partition: PartitionDir) -> MetadataLog:
    """Read it; never raises."""
    found, start = MetadataLog(), 0
    snapshots = partition.kraft_snapshots
    if snapshots:
        newest = max(snapshots, key=lambda file: (file.parsed.base_offset or 0, file.parsed.epoch or 0))
        start = newest.parsed.base_offset or 0
        # The footer that ends it is a control record.
        found.whole = found.take(newest, -1)
    else:
        found.whole = min(partition.layout.logs, default=0) == 0
    for segment in partition.segments:
        if segment.log is not None and (segment.next_base_offset is None or segment.next_base_offset > start):
            found.take(segment.log, start)
    return found
