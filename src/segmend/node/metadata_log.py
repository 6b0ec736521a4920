"""A copy of `__cluster_metadata-0`, read once: its newest snapshot, and the log behind it.

Follows `MetadataLoader`, in transactions `MetadataBatchLoader`, and `KafkaMetadataLog` in what a start
drops: all behind the first damage of the log, and a log that ends before its newest snapshot does. Without
its beginning (`whole`) it would call every topic unknown.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from copy import deepcopy
from typing import Final, cast

from segmend.broker.gates import RECORD_VERSIONS
from segmend.broker.metadata_log import (
    BEGUN_ALREADY,
    BROKEN_TRANSACTION,
    ENDS_UNREAD,
    NO_BEGIN,
    is_ahead,
)
from segmend.broker.metadata_records import BEGINS_BEHIND, HAS_TRANSACTIONS, IN_SNAPSHOT, UNREADABLE
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
from segmend.node.metadata_image import Data, MetadataImage
from segmend.node.metadata_replay import Misfit, misfits
from segmend.topics.metadata import RECORDS, decode

_UNREADABLE: Final = CHAIN_KINDS - {"torn-tail", "header-fragment"}
"""What ends the reading of a snapshot by an exception: not a batch that is cut off."""
NO_HEADER: Final = "its first record is not a snapshot header"
_BATCH_LIMIT: Final = 64 << 20
_HEADER: Final = 3
_TWO_BYTES: Final = 128
"""Frame version, api key and version are varints, of one byte as long as they are below 128."""
_BEGIN: Final = "BEGIN_TRANSACTION_RECORD"
_END: Final = "END_TRANSACTION_RECORD"
_ABORT: Final = "ABORT_TRANSACTION_RECORD"
"""Around what a controller writes in several batches, and takes back if it could not end it (KIP-868)."""
Held = tuple[str, Data, int, int, bytes]
"""A record that was read: its kind, its fields, its offset, its time (ms; -1 in a snapshot), its bytes."""
_NO_OP: Final = bytes((FRAME_VERSION, 20, 0, 0))
"""NoOpRecord: a quiet cluster writes two a second."""


@dataclass(slots=True)
class MetadataLog:
    """What it says, and of how many records; `end` and `epoch` are where its sound part ends.

    `whole`: its beginning is there. `blank`: it holds nothing but what KRaft writes about itself.
    `snapshot`: (end offset, epoch) of the newest one, which takes the place of the log where it is
    `ahead` of it; `snapshot_damage` is why it cannot be read. `reached` is the offset after the last batch.
    `unread` has each kind of record (api key), with the newest versions of it of such releases as cannot
    read all that are here. `epochs` has the first offset of each leader epoch behind the snapshot,
    `voter_set` the voters that it names last (KIP-853). What this process may not read (`forbidden`) is
    neither whole nor blank. `held` are the records of a transaction that has not ended yet: one that never
    does is taken back by the next leader. `misplaced` is what is said of a begin or an end that is in the
    wrong place, `misfits` of the first records that do not fit those before them, one by each rule, kind and
    the releases that can read it.
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
    unread: dict[int, set[int]] = field(default_factory=dict)
    voter_set: tuple[control.VoterSetEntry, ...] = ()
    epochs: dict[int, int] = field(default_factory=dict)
    held: list[Held] | None = None
    misplaced: str | None = None
    misfits: list[Misfit] = field(default_factory=list)

    @property
    def position(self) -> tuple[int, int]:
        """Where it ends, as elections compare it: (leader epoch, offset)."""
        end, epoch = self.snapshot or (0, 0)
        return max((self.epoch, self.end), (epoch, end))

    @property
    def has_unread(self) -> bool:
        """Whether a record of it says nothing to any release."""
        return any(each.rule is ENDS_UNREAD for each in self.misfits)

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
                        self._batch(batch, data, start, in_snapshot=snapshot)
                    self.image.runs.time = max(self.image.runs.time, batch.max_timestamp)
                return position == reader.size
        except Unreadable as error:
            self.forbidden |= error.forbidden
            return False

    def _batch(self, batch: RecordBatch, data: bytes, start: int, *, in_snapshot: bool) -> None:
        for record in iter_records(data, batch, [], limit=_BATCH_LIMIT):
            if batch.is_control:
                self._control(record.key, record.value)
            elif record.offset >= start and record.value is not None:
                self._record(record.value, record.offset, -1 if in_snapshot else record.timestamp)

    def _control(self, key: bytes | None, value: bytes | None) -> None:
        voters = control.parse(key, value)[0].value
        if isinstance(voters, control.Voters):
            self.voter_set = voters.voters
            self.image.voters = {voter.voter_id: voter.directory_id for voter in voters.voters}

    def _record(self, value: bytes, offset: int, time: int) -> None:
        if value == _NO_OP:
            self.unread.setdefault(_NO_OP[1], set())
            return
        said = decode(None, as_read(value))["value"] or {}
        data = _sound(value, said.get("data"))
        if len(value) >= _HEADER:
            unread = self.unread.setdefault(value[1], set())
            unread.update(newest for newest, read in _by_others(value, unread) if read is None)
            if data is None:  # by its older table a release may read it, as another one does not
                data = next((read for _, read in _by_others(value) if read is not None), None)
        if data is not None:
            self._take(messages(RECORDS)[value[1]].name, data, offset, time, value)
        elif isinstance(said.get("data"), dict) or "error" in said:
            says = said.get("error", f"Failed to deserialize record with type {value[1]}")
            kind = value[1] if len(value) >= _HEADER else -1
            self._note(Misfit(rule=ENDS_UNREAD, offset=offset, says=UNREADABLE.format(says), kind=kind))

    def _note(self, found: Misfit) -> None:
        about = found.rule, found.kind, found.unread
        if all((each.rule, each.kind, each.unread) != about for each in self.misfits):
            self.misfits.append(found)

    def _take(self, kind: str, data: Data, offset: int, time: int, value: bytes) -> None:
        """Apply it, or hold it back until its transaction ends."""
        if kind in (_BEGIN, _END, _ABORT):
            if time < 0:
                says = IN_SNAPSHOT.format(kind)
                self._note(Misfit(rule=HAS_TRANSACTIONS, offset=offset, says=says, kind=value[1]))
            elif kind == _BEGIN and self.snapshot is not None and offset == self.snapshot[0]:
                says = BEGINS_BEHIND.format(offset - 1, offset, offset)
                rule = HAS_TRANSACTIONS
                self._note(Misfit(rule=rule, offset=offset, says=says, kind=value[1], controllers=True))
            if (kind == _BEGIN) == (self.held is not None) and self.misplaced is None:
                says = BEGUN_ALREADY if kind == _BEGIN else NO_BEGIN
                name = "".join(word.capitalize() for word in kind.split("_"))
                self.misplaced = BROKEN_TRANSACTION.format(offset, name, says)
            if kind == _END:
                self.records += self._replay(self.image)
            else:
                self.try_held()
            self.held = [] if kind == _BEGIN else None
        elif self.held is not None:
            self.held.append((kind, data, offset, time, value))
        else:
            self.records += self._replay(self.image, [(kind, data, offset, time, value)])

    def try_held(self) -> None:
        """Note what of a transaction that is taken back does not fit: a node replays it as it comes."""
        if self.held:
            self._replay(deepcopy(self.image))

    def _replay(self, image: MetadataImage, records: Sequence[Held] | None = None) -> int:
        """Apply records, those that were held back without any; how many."""
        records = self.held or () if records is None else records
        for kind, data, offset, time, value in records:
            for rule, says in misfits(kind, data, image):
                unread = tuple(newest for newest, read in _by_others(value) if read is None)
                self._note(Misfit(rule=rule, offset=offset, says=says, kind=value[1], unread=unread))
            image.apply(kind, data, time)
        return len(records)


def as_read(value: bytes, newest: int | None = None) -> bytes:
    """A record as a release reads it whose `newest` version of its kind is that: a higher one for its own.

    Without it by the newest of all releases.
    """
    message = messages(RECORDS).get(value[1]) if len(value) >= _HEADER else None
    if message is None or value[2] >= _TWO_BYTES:
        return value
    most = message.highest if newest is None else newest
    return value if value[2] <= most else value[:2] + bytes((most,)) + value[_HEADER:]


def _by_others(value: bytes, known: Collection[int] = ()) -> Iterator[tuple[int, Data | None]]:
    """What a release reads whose newest version of that kind is lower than the record's, the highest first.

    None if it cannot; not of those `known`.
    """
    rule = RECORD_VERSIONS.get(value[1])
    for _, newest in reversed(rule.steps) if rule is not None else ():
        if newest < value[2] and newest not in known:
            said = decode(None, as_read(value, newest))["value"] or {}
            yield newest, _sound(value, said.get("data"), newest)


def _sound(value: bytes, data: object, newest: int | None = None) -> Data | None:
    """The fields that were read; None without, or with structures that look at the version themselves."""
    if not isinstance(data, dict):
        return None
    message = messages(RECORDS)[value[1]]
    most = message.highest if newest is None else newest
    inner = (each for array in data.values() if isinstance(array, list) for each in array)
    too_new = value[2] > most and any(isinstance(each, dict) for each in inner)
    return None if too_new else cast(Data, data)


def begins_as_snapshot(reader: OpenFile) -> bool:
    """Whether the first record is a snapshot's header (`RecordsSnapshotReader.nextBatch`)."""
    first = next(iter_batches(reader), None)
    return first is not None and control_types(reader, first)[:1] == [control.SNAPSHOT_HEADER]


def control_types(reader: OpenFile, batch: RecordBatch) -> list[int]:
    """The types of a batch's control records; empty for one that has others."""
    return [record.type for record in control_records(reader, batch)]


def control_records(reader: OpenFile, batch: RecordBatch) -> list[control.ControlRecord]:
    """The control records of a batch; empty for one that has others."""
    if not batch.is_control or batch.size > _BATCH_LIMIT:
        return []
    records = iter_records(reader.read(batch.size, batch.position), batch, [], limit=_BATCH_LIMIT)
    return [control.parse(record.key, record.value)[0] for record in records]


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
    log.try_held()
    if log.forbidden:
        log.whole = log.blank = False
    return log


def _is_sound(log: FileEntry, base_offset: int) -> bool:
    """Whether a start cuts nothing off a segment whose records are in the snapshot."""
    try:
        return not whole_scan(log, base_offset=base_offset).problems
    except Unreadable:
        return False
