"""How much of a copy of `__cluster_metadata-0` can be used: snapshots that are whole, and runs of the log.

A node needs a whole snapshot and the log from there on (or the log from offset 0); a snapshot that is
damaged, or a batch, takes away what lies before or behind it only where nothing else reaches over it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final

from segmend.formats import control
from segmend.formats.batch import RecordBatch
from segmend.frozen import dataclass, field, frozen, replace
from segmend.kernel.scan import iter_batches
from segmend.kernel.types import CHAIN_KINDS, TAIL_KINDS
from segmend.logdir.file_system import OpenFile, Unreadable
from segmend.logdir.files import FileEntry
from segmend.logdir.log_segment import LogSegment
from segmend.logdir.partition_dir import PartitionDir
from segmend.logdir.scans import whole_scan
from segmend.logdir.second_looks import look_again
from segmend.node.metadata_log import NO_HEADER, begins_as_snapshot, control_records, control_types

Position = tuple[int, int]
"""(leader epoch, offset): which of two logs is newer, as elections compare them."""
_PLAUSIBLE: Final = 1 << 20
"""So many offsets ahead, and no more, a damaged batch is believed."""


@frozen
class Snapshot:
    """A `<end offset>-<epoch>.checkpoint`; `damage` is (byte, reason), None if it is whole."""

    file: FileEntry
    end: int
    epoch: int
    damage: tuple[int, str] | None

    @property
    def position(self) -> Position:
        """Where it ends, by its name."""
        return self.epoch, self.end


@frozen
class SoundBytes:
    """Bytes `start` to `stop` of a segment's log: sound batches, the first of them at `offset`."""

    file: FileEntry
    offset: int
    start: int
    stop: int


@frozen
class Election:
    """What a leader wrote first, at `offset`: who it is, and who had given it the vote of that epoch."""

    epoch: int
    offset: int
    change: control.LeaderChange


@dataclass(slots=True)
class MetadataRun:
    """Sound batches without a gap between them, in one or more segments; `end` is one after the last.

    `epochs` are the first offsets of its leader epochs, `time` the newest timestamp.
    """

    first: int
    end: int
    parts: list[SoundBytes] = field(default_factory=list)
    epochs: dict[int, int] = field(default_factory=dict)
    elections: list[Election] = field(default_factory=list)
    time: int = 0

    @property
    def epoch(self) -> int:
        """The last leader epoch, 0 without a batch."""
        return max(self.epochs, default=0)

    def add(self, file: FileEntry, batch: RecordBatch) -> None:
        last = self.parts[-1] if self.parts else None
        if last is not None and last.file.name == file.name:
            self.parts[-1] = replace(last, stop=batch.end)
        else:
            part = SoundBytes(file=file, offset=batch.base_offset, start=batch.position, stop=batch.end)
            self.parts.append(part)
        self.end = batch.last_offset + 1
        self.epochs.setdefault(batch.partition_leader_epoch, batch.base_offset)
        self.time = max(self.time, batch.max_timestamp)


@frozen
class MetadataStanding:
    """What a node can go by: a snapshot, or None for none, and a run of the log behind it, or none."""

    snapshot: Snapshot | None = None
    run: MetadataRun | None = None

    @property
    def position(self) -> Position:
        """Where it ends: of a run without a batch in the snapshot's epoch."""
        ends = [] if self.snapshot is None else [self.snapshot.position]
        if self.run is not None:
            ends.append((self.run.epoch, self.run.end))
        return max(ends, default=(0, 0))


@frozen
class MetadataCopy:
    """The snapshots by offset, and the runs of the log in order; `first` is where its files begin.

    `beyond` is one after the offsets of damaged batches behind the last run, None without; a torn end counts
    for nothing: a kill leaves one, before anybody is told that it was written.
    """

    partition: PartitionDir
    snapshots: Sequence[Snapshot]
    runs: Sequence[MetadataRun]
    first: int | None
    beyond: int | None

    @classmethod
    def of(cls, partition: PartitionDir) -> MetadataCopy:
        """Everything read, with checksums; what cannot be read counts as damaged."""
        snapshots = sorted(map(_snapshot, partition.kraft_snapshots), key=lambda each: each.position[::-1])
        first = min(partition.layout.logs, default=None)
        runs = tuple(_with_likely_epochs(list(_runs(partition.segments))))
        return cls(
            partition=partition, snapshots=tuple(snapshots), runs=runs, first=first,
            beyond=_beyond(partition, runs),
        )  # fmt: skip

    @property
    def reached(self) -> Position:
        """How far it goes, or once went, by all that can be read of it."""
        ends = [snapshot.position for snapshot in self.snapshots]
        ends += [(run.epoch, run.end) for run in self.runs]
        if self.beyond is not None:
            ends.append((self.runs[-1].epoch if self.runs else 0, self.beyond))
        return max(ends, default=(0, 0))

    @property
    def best(self) -> MetadataStanding | None:
        """The most that a node can go by, with the newest snapshot that leads there, and its log."""
        standings = list(self._standings())
        return max(
            standings, key=lambda each: (each.position, _end(each.snapshot), bool(each.run)), default=None
        )

    @property
    def cut_short(self) -> bool:
        """Whether the log is gone, or ends before a snapshot made from it: nobody knows how far it went."""
        end = self.runs[-1].end if self.runs else -1
        return self.first is None or any(snapshot.end > end for snapshot in self.snapshots)

    @property
    def torn(self) -> bool:
        """Whether bytes that are no batch follow in the active segment, as a kill leaves them."""
        segments, run = self.partition.segments, self.runs[-1] if self.runs else None
        log = segments[-1].log if segments else None
        if log is None or run is None or self.beyond is not None:
            return False
        mine = [part.stop for part in run.parts if part.file.name == log.name]
        return log.size > max(mine, default=0)

    @property
    def has_all(self) -> bool:
        """Whether nothing is lost of it, by what can be read."""
        return self.best is not None and self.best.position == self.reached and not self.cut_short

    @property
    def loads_all(self) -> bool:
        """Whether a start loads it as it is, with nothing left out."""
        best, newest = self.best, self.snapshots[-1] if self.snapshots else None
        if best is None or best.position < self.reached or best.snapshot is not newest:
            return False
        return best.run is None or best.run is self.runs[0]

    @property
    def is_empty(self) -> bool:
        return not self.snapshots and not any(run.parts for run in self.runs)

    def _standings(self) -> Iterator[MetadataStanding]:
        whole = [snapshot for snapshot in self.snapshots if snapshot.damage is None]
        for snapshot in whole:
            yield MetadataStanding(snapshot=snapshot)
            for run in self.runs:
                if run.first <= snapshot.end <= run.end:
                    yield MetadataStanding(snapshot=snapshot, run=run)
        if self.first == 0 and self.runs and self.runs[0].first == 0:
            yield MetadataStanding(run=self.runs[0])


def _end(snapshot: Snapshot | None) -> int:
    return -1 if snapshot is None else snapshot.end


def _snapshot(file: FileEntry) -> Snapshot:
    name = file.parsed
    return Snapshot(file=file, end=name.base_offset or 0, epoch=name.epoch or 0, damage=_damage(file))


def _damage(file: FileEntry) -> tuple[int, str] | None:
    try:
        return snapshot_damage(file)
    except Unreadable as refused:
        return 0, str(refused)


def snapshot_damage(file: FileEntry) -> tuple[int, str] | None:
    """(position, reason), None for a snapshot that is whole, from its header to its footer.

    Raises `Unreadable` where this process may not read it.
    """
    try:
        scan = whole_scan(file, base_offset=0)
        if scan.problems:
            return scan.problems[0].position, scan.problems[0].kind
        with look_again(file) as reader:
            if not begins_as_snapshot(reader):
                return 0, NO_HEADER
            last = deque(iter_batches(reader), maxlen=1)
            if last and control_types(reader, last[0])[-1:] == [control.SNAPSHOT_FOOTER]:
                return None
            return reader.size, "the footer is missing"
    except Unreadable as refused:
        if refused.forbidden:
            raise
        return 0, str(refused)


def _beyond(partition: PartitionDir, runs: Sequence[MetadataRun]) -> int | None:
    """One after the last batch of the active segment, where that is damaged; at least one after the run."""
    log = partition.segments[-1].log if partition.segments else None
    if log is None or not runs:
        return None
    last = runs[-1].parts[-1] if runs[-1].parts else None
    stop = last.stop if last is not None and last.file.name == log.name else 0
    try:
        scan = whole_scan(log, base_offset=partition.segments[-1].base_offset)
    except Unreadable:
        return runs[-1].end + 1
    behind = [each for each in scan.problems if each.position >= stop and each.kind in CHAIN_KINDS]
    if not behind or behind[0].kind in TAIL_KINDS:
        return None
    told = max((each.offset or 0 for each in behind), default=0) + 1
    return told if runs[-1].end < told <= runs[-1].end + _PLAUSIBLE else runs[-1].end + 1


def _elections(reader: OpenFile, batch: RecordBatch) -> Iterator[Election]:
    for value in (record.value for record in control_records(reader, batch)):
        if isinstance(value, control.LeaderChange):
            yield Election(epoch=batch.partition_leader_epoch, offset=batch.base_offset, change=value)


def _with_likely_epochs(runs: Sequence[MetadataRun]) -> Sequence[MetadataRun]:
    """Without leader epochs above those of later runs: no checksum covers them, and they never fall."""
    for run, following in zip(reversed(runs[:-1]), reversed(runs[1:]), strict=True):
        run.epochs = {epoch: first for epoch, first in run.epochs.items() if epoch <= following.epoch}
        run.elections = [each for each in run.elections if each.epoch in run.epochs]
    return runs


def _runs(segments: Sequence[LogSegment]) -> Iterator[MetadataRun]:
    """Each ends where a batch is damaged, or is not the one that should come."""
    run: MetadataRun | None = None
    for segment in segments:
        if segment.log is None:
            continue
        if run is not None and run.end != segment.base_offset:
            yield run
            run = None
        run = run or MetadataRun(segment.base_offset, segment.base_offset)
        position = 0
        try:
            with look_again(segment.log) as reader:
                walk = iter_batches(reader, crc=True, resync=True, base_offset=segment.base_offset)
                for batch in walk:
                    follows = batch.position == position and batch.base_offset == run.end
                    if not follows and not 0 <= batch.base_offset - run.end < _PLAUSIBLE:
                        continue  # No checksum covers the offset.
                    if not follows or batch.partition_leader_epoch < run.epoch:
                        yield run
                        run = MetadataRun(batch.base_offset, batch.base_offset)
                    run.add(segment.log, batch)
                    run.elections += _elections(reader, batch)
                    position = batch.end
                size = reader.size
        except Unreadable:
            size = position + 1
        if position < size and not segment.is_active:
            yield run
            run = None
    if run is not None:
        yield run
