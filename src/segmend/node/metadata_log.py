"""A copy of `__cluster_metadata-0`, read once: its newest snapshot, and the log behind it.

Follows `MetadataLoader`, in transactions `MetadataBatchLoader`, and `KafkaMetadataLog` in what a start
drops: all behind the first damage of the log, and a log that ends before its newest snapshot does. Without
its beginning (`whole`) it would call every topic unknown.
"""

from __future__ import annotations

from typing import Final, cast

from segmend.broker.metadata_log import BEGUN_ALREADY, BROKEN_TRANSACTION, NO_BEGIN, is_ahead
from segmend.formats import control
from segmend.formats.batch import RecordBatch
from segmend.formats.envelope import FRAME_VERSION
from segmend.formats.record import iter_records
from segmend.formats.schema import messages
from segmend.frozen import dataclass, field
from segmend.kernel.scan import iter_batches
from segmend.kernel.types import CHAIN_KINDS
from segmend.logdir.file_system import OpenFile, Unreadable
from segmend.logdir.files import FileEntry
from segmend.logdir.log_segment import LogSegment
from segmend.logdir.partition_dir import PartitionDir
from segmend.logdir.scans import whole_scan
from segmend.logdir.second_looks import look_again
from segmend.node.metadata_image import APPLIED, Data, MetadataImage
from segmend.topics.metadata import RECORDS, decode

_UNREADABLE: Final = CHAIN_KINDS - {"torn-tail", "header-fragment"}
"""What ends the reading of a snapshot by an exception: not a batch that is cut off."""
NO_HEADER: Final = "its first record is not a snapshot header"
_BATCH_LIMIT: Final = 64 << 20
_HEADER: Final = 3
"""Frame version, api key and version are varints, of one byte as long as they are below 128."""
_BEGIN: Final = "BEGIN_TRANSACTION_RECORD"
_END: Final = "END_TRANSACTION_RECORD"
_ABORT: Final = "ABORT_TRANSACTION_RECORD"
"""Around what a controller writes in several batches, and takes back if it could not end it (KIP-868)."""
_TAKEN: Final = APPLIED | {_BEGIN, _END, _ABORT}
_DECODED: Final = frozenset(
    bytes((FRAME_VERSION, key)) for key, message in messages(RECORDS).items() if message.name in _TAKEN
)
"""How the records begin that the image takes; a quiet cluster writes two others a second (NoOpRecord)."""


@dataclass(slots=True)
class MetadataLog:
    """What it says, and of how many records; `end` and `epoch` are where its sound part ends.

    `whole`: its beginning is there. `blank`: it holds nothing but what KRaft writes about itself.
    `snapshot`: (end offset, epoch) of the newest one, which takes the place of the log where it is
    `ahead` of it; `snapshot_damage` is why it cannot be read. `reached` is the offset after the last batch.
    `versions` are the newest versions of each kind of record (api key), `epochs` the first offset of each
    leader epoch behind the snapshot, `voter_set` the voters that it names last (KIP-853). What this process
    may not read (`forbidden`) is neither whole nor blank. `held` are the records of a transaction that has
    not ended yet: one that never does is taken back by the next leader. `misplaced` is what is said of a
    begin or an end that is in the wrong place.
    """

    image: MetadataImage = field(default_factory=MetadataImage)
    records: int = 0
    whole: bool = False
    blank: bool = True
    end: int = 0
    epoch: int = 0
    reached: int = 0
    snapshot_damage: str | None = None
    snapshot: tuple[int, int] | None = None
    ahead: bool = False
    forbidden: bool = False
    versions: dict[int, int] = field(default_factory=dict)
    voter_set: tuple[control.VoterSetEntry, ...] = ()
    epochs: dict[int, int] = field(default_factory=dict)
    held: list[tuple[str, Data, int, int]] | None = None
    misplaced: str | None = None

    @property
    def position(self) -> tuple[int, int]:
        """Where it ends, as elections compare it: (leader epoch, offset)."""
        end, epoch = self.snapshot or (0, 0)
        return max((self.epoch, self.end), (epoch, end))

    def take_snapshot(self, file: FileEntry) -> None:
        """Take a snapshot; a batch that is cut off at its end is not seen."""
        sound = self._walk(file, -1, snapshot=True)
        try:
            if file.stat().size == 0:
                self.snapshot_damage = "it is empty"
            elif not sound:
                scan = whole_scan(file, base_offset=0)
                damage = next((each for each in scan.problems if each.kind in _UNREADABLE), None)
                self.snapshot_damage = None if damage is None else damage.kind
            with look_again(file) as reader:
                if self.snapshot_damage is None and not begins_as_snapshot(reader):
                    self.snapshot_damage = NO_HEADER
        except Unreadable as error:
            self.snapshot_damage = None if error.forbidden else str(error)
            self.forbidden |= error.forbidden
            return
        self.whole = self.snapshot_damage is None

    def take_log(self, segment: LogSegment, start: int) -> bool:
        """Take what a segment holds from offset `start` on; whether it is sound to its end."""
        self.end = max(self.end, segment.base_offset)
        if segment.log is None:
            return False
        if segment.next_base_offset is not None and segment.next_base_offset <= start:
            return _is_sound(segment.log, segment.base_offset)
        return self._walk(segment.log, start)

    def _walk(self, file: FileEntry, start: int, *, snapshot: bool = False) -> bool:
        """Whether it is sound to its end."""
        position = 0
        try:
            with look_again(file) as reader:
                for batch in iter_batches(reader, crc=True):
                    position = batch.end
                    if not snapshot:
                        self.end = self.reached = batch.last_offset + 1
                        if batch.partition_leader_epoch > self.epoch:
                            self.image.runs.led_anew()
                        self.epoch = batch.partition_leader_epoch
                        self.epochs.setdefault(self.epoch, batch.base_offset)
                    self.blank = self.blank and batch.is_control
                    if batch.last_offset >= start and batch.size <= _BATCH_LIMIT:
                        data = reader.read(batch.size, batch.position)
                        self._batch(batch, data, start, timed=not snapshot)
                    self.image.runs.time = max(self.image.runs.time, batch.max_timestamp)
                return position == reader.size
        except Unreadable as error:
            self.forbidden |= error.forbidden
            return False

    def _batch(self, batch: RecordBatch, data: bytes, start: int, *, timed: bool) -> None:
        for record in iter_records(data, batch, [], limit=_BATCH_LIMIT):
            if batch.is_control:
                self._control(record.key, record.value)
            elif record.offset >= start and record.value is not None:
                self._record(record.value, record.offset, record.timestamp if timed else -1)

    def _control(self, key: bytes | None, value: bytes | None) -> None:
        voters = control.parse(key, value)[0].value
        if isinstance(voters, control.Voters):
            self.voter_set = voters.voters
            self.image.voters = {voter.voter_id: voter.directory_id for voter in voters.voters}

    def _record(self, value: bytes, offset: int, time: int) -> None:
        if len(value) >= _HEADER and value[2] > self.versions.get(value[1], -1):
            self.versions[value[1]] = value[2]
        if value[:2] in _DECODED:
            decoded = decode(None, value)["value"] or {}
            data = decoded.get("data")
            if isinstance(data, dict):
                self._take(str(decoded["type"]), cast(Data, data), offset, time)

    def _take(self, kind: str, data: Data, offset: int, time: int) -> None:
        """Apply it, or hold it back until its transaction ends."""
        if kind in (_BEGIN, _END, _ABORT):
            if (kind == _BEGIN) == (self.held is not None) and self.misplaced is None:
                says = BEGUN_ALREADY if kind == _BEGIN else NO_BEGIN
                name = "".join(word.capitalize() for word in kind.split("_"))
                self.misplaced = BROKEN_TRANSACTION.format(offset, name, says)
            ended = self.held if kind == _END else None
            self.held = [] if kind == _BEGIN else None
            for each in ended or ():
                self._take(*each)
        elif self.held is not None:
            self.held.append((kind, data, offset, time))
        else:
            self.image.apply(kind, data, offset, time)
            self.records += 1


def begins_as_snapshot(reader: OpenFile) -> bool:
    """Whether the first record is a snapshot's header (`RecordsSnapshotReader.nextBatch`)."""
    first = next(iter_batches(reader), None)
    return first is not None and control_types(reader, first)[:1] == [control.SNAPSHOT_HEADER]


def control_types(reader: OpenFile, batch: RecordBatch) -> list[int]:
    """The types of a batch's control records; empty for one that has others."""
    if not batch.is_control or batch.size > _BATCH_LIMIT:
        return []
    records = iter_records(reader.read(batch.size, batch.position), batch, [], limit=_BATCH_LIMIT)
    return [control.parse(record.key, record.value)[0].type for record in records]


def read_metadata_log(partition: PartitionDir, *, snapshot_first: bool = True) -> MetadataLog:
    """Read it as a start leaves it: up to the first damage of its log; never raises.

    Without `snapshot_first` a snapshot is read only if the log does not begin at offset 0.
    """
    log = _read(partition, with_log=True)
    if log.snapshot is None:
        return log
    if is_ahead(log.snapshot, end=log.end, epoch=log.epoch):
        end, epoch = log.end, log.epoch
        log = _read(partition, with_log=False)
        log.end, log.epoch, log.ahead = end, epoch, True
    elif not snapshot_first and min(partition.layout.logs, default=1) == 0:
        log = _read(partition, with_log=True, with_snapshot=False)
    return log


def _read(partition: PartitionDir, *, with_log: bool, with_snapshot: bool = True) -> MetadataLog:
    log, start = MetadataLog(), 0
    snapshots = partition.kraft_snapshots if with_snapshot else []
    if snapshots:
        newest = max(snapshots, key=lambda file: (file.parsed.base_offset or 0, file.parsed.epoch or 0))
        start = newest.parsed.base_offset or 0
        log.snapshot = start, newest.parsed.epoch or 0
        log.take_snapshot(newest)
    else:
        log.whole = min(partition.layout.logs, default=0) == 0
    for segment in partition.segments if with_log else ():
        if not log.take_log(segment, start):
            break
    if log.forbidden:
        log.whole = log.blank = False
    return log


def _is_sound(log: FileEntry, base_offset: int) -> bool:
    """Whether a start cuts nothing off a segment whose records are in the snapshot."""
    try:
        return not whole_scan(log, base_offset=base_offset).problems
    except Unreadable:
        return False
