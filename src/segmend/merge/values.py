"""Values of a merge: replicas as runs of sound batches, and what is made of several of them.

Offsets are inclusive at both ends (`first_offset`, `last_offset`), positions are bytes of a file and
exclude their end, as everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, NamedTuple, overload

from segmend.frozen import frozen
from segmend.merge.packed import Packed
from segmend.merge.spans import Spans

NO_EPOCH: Final = -1
"""The leader epoch of magic 0 and 1."""
Digest = int
"""Of 64 bits, without a sign."""
PRODUCERS: Final = 10
"""So many producer ids of a range are named."""


class Batch(NamedTuple):
    """What a sound batch is known by; two replicas that agree on it have the same bytes."""

    first_offset: int
    last_offset: int
    epoch: int
    size: int
    crc: int


class Mark(NamedTuple):
    """A place within a run where every replica that has these batches has a mark: its content says so.

    `next_offset` and `position` are those behind the marked batch; the others sum up the run so far.
    """

    next_offset: int
    position: int
    batches: int
    records: int
    digest: int


@frozen
class Run:
    """Neighbouring sound batches of one leader epoch in one file, with no other byte between them.

    `records` adds up their counts; of magic 0 and 1, which do not tell, an offset counts as a record.
    Offsets without record in between were removed by compaction. `digest` is the sum of the hashes of
    its batches: those of neighbouring runs add up, too. Most short runs have no mark. A run of one
    batch may have another epoch `written` in its header, where it is proven that this is wrong.
    """

    first_offset: int
    last_offset: int
    epoch: int
    segment: int
    file: str
    first_position: int
    end_position: int
    batches: int
    records: int
    digest: Digest
    magic: int
    marks: tuple[Mark, ...] = ()
    written: int | None = None


@frozen
class Damaged:
    """Bytes that are no sound batch in its place, and the offsets that they may have held.

    `last_offset` is None at the end of a log, where nothing tells how much there was. `kind` is one of
    `kernel.types.KINDS`, `misplaced` (a sound batch with an offset or epoch that cannot be there),
    `missing` (no bytes at all) or `unreadable`; or `leap` (of `leaps`), a run that may be misplaced.
    """

    first_offset: int
    last_offset: int | None
    file: str
    position: int
    end: int
    kind: str


@frozen
class Replica:
    """One replica of a partition as its disk has it. None: the disk does not say.

    `name` is its directory in `dir`; `broker` the node id of meta.properties. `high_watermark` and
    `deleted_below` (the log start offset) come from checkpoints; `log_start_offset` and `log_end_offset`
    bound what is there, sound or not. `epochs` are the lines of leader-epoch-checkpoint. Compaction has
    come up to `cleaned` here, by the cleaner's checkpoint; the batches show that below `thinned` it took
    records, here or on the leader they came from, so that a gap there is no loss; below `proven`
    more than a few gaps show it. `told` are offsets that no log here has, and the file that tells of them
    all the same. `aside` are logs with another ending: first offset, the last that one may have, whether it
    waits to replace others, name. `gaps` are offsets below `thinned` between two files, of which nothing
    here tells whether it took them. `unreadable` says what could not be looked at,
    `unread_beside` which of the files beside the logs. `odd_mark` is a high watermark that may be of an older
    topic.
    """

    broker: int | None
    dir: str
    name: str
    topic: str
    partition: int
    topic_id: str | None = None
    cluster_id: str | None = None
    log_start_offset: int
    log_end_offset: int
    deleted_below: int | None = None
    high_watermark: int | None = None
    epochs: tuple[tuple[int, int], ...] = ()
    runs: Packed[Run]
    damaged: Packed[Damaged]
    cleaned: int = 0
    thinned: int = 0
    proven: int = 0
    gaps: tuple[tuple[int, int], ...] = ()
    told: tuple[tuple[int, int, str], ...] = ()
    aside: tuple[tuple[int, int, bool, str], ...] = ()
    unreadable: tuple[str, ...] = ()
    unread_beside: tuple[str, ...] = ()
    odd_mark: int | None = None

    @property
    def batches(self) -> int:
        """How many sound batches it has."""
        return sum(self.runs.column("batches"))

    @property
    def path(self) -> str:
        return f"{self.dir}/{self.name}"


@frozen
class Epoch:
    """The offsets that belong to one leader epoch of the branch; without end: the newest."""

    epoch: int
    first_offset: int
    last_offset: int | None


@frozen
class Range:
    """Offsets of the merged log, and the replica (by number) whose sound batches have them.

    Taken are the records with these offsets, except the `superseded` ones: a replica that was cleaned
    further had removed them, but is damaged here. `unacknowledged`: above the newest high watermark that
    is known, and on this replica only.
    """

    replica: int
    first_offset: int
    last_offset: int
    unacknowledged: bool = False
    superseded: tuple[int, ...] = ()


@frozen
class Diverged:
    """Offsets of a replica that are not on the branch of the newest leader.

    It left the branch at `offset`, in `epoch`, the epoch of the first batch that differs. `producers`
    are the first few ids that wrote there.
    """

    replica: int
    offset: int
    epoch: int
    first_offset: int
    last_offset: int
    records: int
    producers: tuple[int, ...] = ()


@frozen
class Conflict:
    """Sound bytes of one epoch at the same offsets that are not the same, which no rule decides.

    `held` groups the replicas by the bytes that they have; `taken` is the group that the merge follows,
    `because` `majority` or `order`.
    """

    first_offset: int
    last_offset: int
    held: tuple[tuple[int, ...], ...]
    taken: tuple[int, ...]
    because: str


class Conflicts(Sequence[Mapping[str, object]]):
    """Conflicts as lines of JSON have them, each made when it is asked for: there may be very many."""

    __slots__ = ("_brokers", "_conflicts")

    def __init__(self, conflicts: Packed[Conflict], replicas: Iterable[Replica]) -> None:
        self._conflicts = conflicts
        self._brokers = [each.broker for each in replicas]

    def __len__(self) -> int:
        return len(self._conflicts)

    @overload
    def __getitem__(self, at: int) -> Mapping[str, object]: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Mapping[str, object]]: ...
    def __getitem__(self, at: int | slice) -> Mapping[str, object] | Sequence[Mapping[str, object]]:
        if isinstance(at, slice):
            return [self[number] for number in range(*at.indices(len(self)))]
        each = self._conflicts[at]
        return {
            "first_offset": each.first_offset, "last_offset": each.last_offset, "because": each.because,
            "taken": [self._brokers[number] for number in each.taken],
        }  # fmt: skip


@frozen
class Unique:
    """Offsets of the branch that one replica only has sound."""

    first_offset: int
    last_offset: int
    records: int
    above_high_watermark: bool


@frozen
class Hurt:
    """Offsets whose batches one replica has damaged, and the replicas that have all of them sound.

    `last_offset` is None where nothing tells how far the damage goes.
    """

    first_offset: int
    last_offset: int | None
    sound_on: tuple[int, ...]


Relation = Literal["best", "equal", "behind", "ahead", "diverged", "damaged"]


@frozen
class Standing:
    """What one replica is beside the merged log.

    `lacking` are the offsets of the merged log that it does not have sound, `behind_records` how many
    that is.
    """

    relation: Relation
    behind_records: int
    lacking: Spans
    hurt: Packed[Hurt]
    unique: Packed[Unique]
    diverged_at: tuple[int, int] | None = None


@frozen
class Merged:
    """The true log of a partition, as far as any of the replicas has it.

    `best` is the replica that has most of it, and that is taken where several have the same. `missing`
    are offsets that nobody has sound. `next_offset` is the end of the log. `doubts` is what could not
    be known, in words. `left_out` are offsets that no replica has, of a topic that is not compacted, though
    nothing but the gap shows that they were: of each there is a doubt. `misplaced` records are in sound
    batches that are not where they say, or may not be (`leaps`). `assumed` is what is taken as it says, for
    nothing shows otherwise, in words.
    """

    ranges: Packed[Range]
    missing: Spans
    diverged: Packed[Diverged]
    conflicts: Packed[Conflict]
    standings: tuple[Standing, ...]
    lineage: tuple[Epoch, ...]
    best: int
    first_offset: int
    next_offset: int
    high_watermark: int | None
    doubts: tuple[str, ...] = ()
    left_out: Spans
    misplaced: int = 0
    assumed: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """The worst that is told of a replica: equal, behind, damaged or diverged."""
        relations = {standing.relation for standing in self.standings}
        if "diverged" in relations:
            return "diverged"
        if "damaged" in relations or self.missing:
            return "damaged"
        return "behind" if relations & {"behind", "ahead"} else "equal"
