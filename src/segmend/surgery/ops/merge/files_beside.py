"""What goes with the merged log: indexes, aborted transactions, snapshots, epochs, checkpoint lines.

All of it is computed by the recipes from the log as the steps before will leave it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from segmend.broker.checkpoints import LEADER_EPOCHS
from segmend.broker.recovery import PRODUCER_STATE
from segmend.broker.sanity import TIME_INDEX
from segmend.formats import epoch_checkpoint, offset_checkpoint, producer_snapshot
from segmend.formats.names import file_prefix
from segmend.frozen import dataclass
from segmend.logdir.log_dir import LogDir
from segmend.logdir.partition_dir import PartitionDir
from segmend.logdir.release import Release
from segmend.logdir.witnesses import is_loadable
from segmend.merge.values import Merged
from segmend.surgery.counted import Tell
from segmend.surgery.derive.file_bytes import joined_leader_epochs
from segmend.surgery.derive.index_interval import interval_of
from segmend.surgery.ops.merge.case import HOME, Case
from segmend.surgery.ops.merge.layout import NewLog
from segmend.surgery.ops.merge.log_steps import Change
from segmend.surgery.planning import assembly
from segmend.surgery.planning.expected import topic_id_step
from segmend.surgery.planning.view import PlannedView
from segmend.surgery.recipes import Rebuild
from segmend.surgery.replicas.recovery import unflushed_from
from segmend.surgery.step import Step
from segmend.surgery.steps.append_file import AppendFile
from segmend.surgery.steps.quarantine import Quarantine
from segmend.surgery.steps.replace_file import ReplaceFile

_WHY = "of the merged log"


@dataclass(slots=True)
class FilesBeside:
    """The files beside the logs. `parted` is the first offset at which this replica was another log.

    `tell` is told (done, total) segments of which they are made.
    """

    case: Case
    merged: Merged
    logs: Sequence[NewLog]
    changed: Sequence[Change]
    release: Release
    view: PlannedView
    tell: Tell

    @property
    def parted(self) -> int:
        """Where it left the branch, where it ended, or where it has to go on in another way."""
        last = max((run.last_offset for run in self.case.own.runs), default=-1) + 1
        own = [piece.last + 1 for log in self.logs for piece in log.pieces if piece.replica is self.case.own]
        left = self.merged.standings[HOME].diverged_at
        return min([last, self.merged.next_offset, max(own, default=0), *([] if left is None else [left[0]])])

    def steps(self) -> Iterator[Step]:
        """All but the lines of the checkpoints; raises `Unreadable`, `SegmendError`."""
        yield from self._shown(self._topic_id())
        yield from self._shown(self._stale())
        yield from self._shown(self._indexes())
        yield from self._shown(self._snapshots())
        yield from self._epochs()

    def _shown(self, steps: Iterator[Step]) -> Iterator[Step]:
        for step in steps:
            step.preview(self.view, self.release)
            yield step

    @property
    def _later(self) -> PartitionDir:
        """The directory as the steps so far leave it."""
        place = self.case.target
        partition = LogDir.narrow(place.log_dir.path, place.name, self.view).partition(place.name)
        assert partition is not None, "no step takes the directory away"
        return partition

    def _topic_id(self) -> Iterator[Step]:
        """Where the file is missing: without it a start takes the replica for a stray."""
        target, known = self.case.target, self.case.topic_id
        if target.topic_id is None and known is not None:
            yield topic_id_step(target, target.path, known, "the topic id")

    def _stale(self) -> Iterator[Step]:
        ends = self._ends()
        for offset, entry in self.case.target.snapshots:
            if offset > self.parted and offset not in ends:
                yield Quarantine.of(entry.path, f"of offset {offset}, which another log has now")

    def _ends(self) -> list[int]:
        """Offsets at which a snapshot is made: the segments that are new, and the end."""
        if not PRODUCER_STATE.of(self.release):
            return []
        bases = {change.base for change in self.changed if change.stays} | {self.merged.next_offset}
        return sorted(base for base in bases if base > self.parted or self._is_missing(base))

    def _is_missing(self, offset: int) -> bool:
        there = {each for each, _ in self.case.target.snapshots}
        return bool(self.changed) and offset == self.merged.next_offset > 0 and offset not in there

    def _indexes(self) -> Iterator[Step]:
        place, later = self.case.target, self._later
        sound = [base for base in place.base_offsets if base not in {each.base for each in self.changed}]
        interval = interval_of(place, sound or place.base_offsets, None)
        changed, unflushed = {each.base for each in self.changed if each.stays}, self._unflushed
        low = min(each.at for each in self.changed)
        bases = sorted(changed | unflushed)
        for done, base in enumerate(bases):
            self.tell(done, len(bases))
            stem, known, sync = file_prefix(base), self._known(min(base, low)), base in unflushed
            if sync:
                yield AppendFile.synced(f"{place.path}/{stem}.log")
            rule = {"base_offset": base, "interval": interval}
            yield from self._made(later, f"{stem}.index", "offset-index", sync=sync, **rule)
            if TIME_INDEX.of(self.release):
                yield from self._made(later, f"{stem}.timeindex", "time-index", sync=sync, **rule)
            if PRODUCER_STATE.of(self.release):
                state = {"base_offset": base, "snapshot": known}
                yield from self._made(later, f"{stem}.txnindex", "transaction-index", sync=sync, **state)

    @property
    def _unflushed(self) -> set[int]:
        """The segments that stay, which an unclean start need not recover once they are synced."""
        place, bases = self.case.target, [log.base for log in self.logs]
        first = unflushed_from(place.log_dir, place.key, bases)
        return {base for base in bases if base >= first} - {each.base for each in self.changed}

    def _snapshots(self) -> Iterator[Step]:
        snapshot = self._known(min(each.at for each in self.changed))
        for offset in self._ends():
            name, start = f"{file_prefix(offset)}{producer_snapshot.SUFFIX}", self._before(snapshot, offset)
            made = list(self._made(self._later, name, "producer-snapshot", offset=offset, snapshot=start))
            yield from made
            if made:
                snapshot = offset

    def _known(self, offset: int) -> int | None:
        """The newest snapshot of this replica that says what it had before all that changes."""
        limit = min(offset, self.parted)
        known = [at for at, entry in self.case.target.snapshots if at <= limit and is_loadable(entry)]
        return max(known, default=None)

    @staticmethod
    def _before(snapshot: int | None, offset: int) -> int | None:
        return snapshot if snapshot is not None and snapshot <= offset else None

    def _made(
        self, later: PartitionDir, name: str, recipe: str, *, sync: bool = False, **arguments: object
    ) -> Iterator[Step]:
        """The file, unless it is right (and only to `sync`), or there is none and nothing to say in one."""
        step = ReplaceFile.with_recipe(Rebuild.within(later, name, recipe, **arguments), _WHY, self.release)
        nothing = not step.after.size and step.before.kind == "missing" and name.endswith(".txnindex")
        if step.before.sha256 != step.after.sha256 and not nothing:
            yield step
        elif sync and not nothing:
            yield AppendFile.synced(step.path)

    def _epochs(self) -> Iterator[Step]:
        """Its own lines below where it parted, those of the branch from there on."""
        if not LEADER_EPOCHS.of(self.release):
            return
        loaded, start = self.case.target.leader_epochs, self.parted
        branch = [(each.epoch, each.first_offset) for each in self.merged.lineage if each.epoch >= 0]
        own = [] if loaded.value is None or loaded.damages else [*loaded.value.entries]
        mine = [(each.epoch, each.start_offset) for each in own] or branch
        data = joined_leader_epochs(mine, branch, (), start=start, end=self.merged.next_offset)
        if data != loaded.data and (data or loaded.data is not None):
            path = f"{self.case.target.path}/{epoch_checkpoint.FILE_NAME}"
            yield ReplaceFile.with_bytes(path, data, "leader epochs of the merged log")

    def lines(self) -> Iterator[Step]:
        """The offsets of this partition in the checkpoints of its log dir.

        The recovery point goes to the end: all above the old one is verified, and synced by these steps.
        """
        place, end = self.case.target, self.merged.next_offset
        log_dir, key = place.log_dir, place.key
        mark = self.merged.high_watermark
        if mark is None:
            mark = assembly.at_most(log_dir.high_watermarks.get(key), self.parted)
        offsets = {
            offset_checkpoint.RECOVERY_POINT: end,
            offset_checkpoint.HIGH_WATERMARK: assembly.at_most(mark, end),
            offset_checkpoint.LOG_START_OFFSET: assembly.at_most(log_dir.log_start_offsets.get(key), end),
            offset_checkpoint.CLEANER_OFFSET: assembly.at_most(
                log_dir.cleaner_offsets.get(key), min(each.at for each in self.changed)
            ),
        }
        for name, offset in offsets.items():
            yield from assembly.checkpoint_step(log_dir, name, {key: offset}, f"the line of {place.name}")
