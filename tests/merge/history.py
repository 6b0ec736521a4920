"""A model of a partition's history: leaders, truncations, elections, compactions, damage; and the truth.

The model does what brokers do to whole batches in memory. Each replica becomes a `Replica` by the same
`Walk` that reads files, so a batch that is damaged is one whose checksum is wrong.
"""

import random
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from segmend.formats.batch import HEADER_SIZE_V2, RecordBatch
from segmend.merge.packed import Packed
from segmend.merge.rows import HeaderRow
from segmend.merge.second_look import Keyed
from segmend.merge.spans import Span
from segmend.merge.values import Batch, Damaged, Replica, Run
from segmend.merge.walk import LONELY, Walk


@dataclass(frozen=True)
class Stored:
    """A batch as a replica has it; `records` are (offset, key, is a tombstone).

    Of a transaction it has a `producer`; a marker has none of the records, and says whether it `commits`.
    """

    first: int
    last: int
    epoch: int
    crc: int
    records: tuple[tuple[int, bytes, bool], ...]
    damaged: bool = False
    producer: int | None = None
    commits: bool | None = None
    horizon: bool = False
    """A cleaner has written into it when its tombstones may go (KIP-534), and left its records."""
    magic: int = 2
    codec: int = 0

    @property
    def size(self) -> int:
        """Its bytes: a cleaner that takes a record out leaves fewer."""
        return HEADER_SIZE_V2 + 10 * (len(self.records) + (self.commits is not None))


@dataclass
class Node:
    """One replica."""

    log: list[Stored] = field(default_factory=list)
    epochs: list[tuple[int, int]] = field(default_factory=list)
    high_watermark: int = 0
    cleaned: int = 0
    forgotten: bool = False
    """Its directory was saved alone: what its cleaner, and it as a follower, had noted is not beside it."""
    up: bool = True
    old: bool = False
    """Of a release, or told to be of one, to which leaders send messages of magic 1."""
    gap: tuple[int, int] | None = None
    """Offsets between two files, of one that is gone."""
    shifted: int = 1 << 62
    """What lies from here on lies elsewhere than its index says: bytes are gone before it."""

    def cut(self, offset: int) -> None:
        """Truncate, as a follower does; what was cleaned above is no longer there."""
        self.log = [batch for batch in self.log if batch.last < offset]
        self.epochs = [line for line in self.epochs if line[1] < offset]

    def take_out(self, at: int) -> None:
        """A batch, and its bytes, without a trace but the index."""
        self.shifted = min(self.shifted, self.log[at].first)
        del self.log[at]


class History:
    """Drawn by `draw`; `truth` is the log that the newest leader stands for, before any compaction."""

    def __init__(
        self, draw: random.Random, nodes: int = 3, *, horizons: bool = False, mixed: str = ""
    ) -> None:
        self.draw, self.horizons = draw, horizons
        self.magic = 2
        self.nodes = [Node() for _ in range(nodes)]
        self.leader = 0
        self.epoch = -1
        self.unknowable = False
        """A log was cut below what its cleaner had seen: it removed records for ones that are gone now. Or no
        batch has an epoch, and the newest leader is none that wrote."""
        self.crc = 0
        self.open: set[int] = set()
        """Producers whose transaction has begun."""
        self.truths: list[list[Stored]] = [[] for _ in range(nodes)]
        self.elect(0)
        self.mixed = mixed
        if mixed:
            self.age(stays=mixed == "old")

    @property
    def truth(self) -> list[Stored]:
        return self.truths[self.leader]

    def end(self, number: int) -> int:
        """The log end offset, which no cleaner moves: it leaves the active segment alone."""
        true = self.truths[number]
        return true[-1].last + 1 if true else 0

    def elect(self, number: int) -> None:
        """Make it leader, in the ISR or not; those that are up follow it."""
        self.leader = number
        self.epoch += 1
        node = self.nodes[number]
        node.up = True
        node.epochs = [line for line in node.epochs if line[1] < self.end(number)]
        node.epochs.append((self.epoch, self.end(number)))
        self.follow()

    def follow(self) -> None:
        """Followers truncate to where they left the leader's log, and fetch what they lack."""
        leader, true = self.nodes[self.leader], self.truth
        for number, node in enumerate(self.nodes):
            if not node.up or number == self.leader:
                continue
            mine = self.truths[number]
            same = 0
            while same < min(len(mine), len(true)) and mine[same].crc == true[same].crc:
                same += 1
            left = true[same - 1].last + 1 if same else 0
            self.unknowable |= node.cleaned > left
            node.cut(left)
            node.cleaned = min(node.cleaned, left)
            node.log += [
                each
                for batch in leader.log
                if batch.first >= left
                for each in (converted(batch) if node.old else [batch])
            ]
            self.truths[number] = list(true)
            known = {line[0] for line in node.epochs}
            for batch in node.log:
                if batch.epoch not in known and batch.epoch >= 0:
                    known.add(batch.epoch)
                    node.epochs.append((batch.epoch, batch.first))
            node.epochs.sort()
        for node in self.nodes:
            if node.up:  # all of them have fetched everything
                node.high_watermark = self.end(self.leader)

    def write(self, producer: int | None = None) -> None:
        """The leader appends a batch, those that are up fetch it."""
        first = self.end(self.leader)
        count = self.draw.randrange(1, 4)
        self.crc += 1
        records = tuple(
            (first + at, b"k%d" % self.draw.randrange(4), self.draw.random() < 0.3) for at in range(count)
        )
        batch = Stored(first, first + count - 1, self.epoch, self.crc, records, producer=producer)
        for each in [batch] if self.magic == 2 else converted(batch):
            self._append(each)

    def age(self, *, stays: bool) -> None:
        """Begin before there were epochs; then the cluster is upgraded; some of it `stays`."""
        self.magic, self.epoch = 1, -1
        for node in self.nodes:
            node.epochs = []
        for _ in range(self.draw.randrange(8)):
            self.write()
            if self.draw.random() < 0.3:  # leaders of 0.11 to 1.1 note their epochs all the same
                self.follow()
                self.elect(self.draw.choice([at for at, node in enumerate(self.nodes) if node.up]))
                self.nodes[self.draw.randrange(len(self.nodes))].up &= self.draw.random() < 0.5
                self.nodes[self.leader].up = True
        self.magic = 2
        for node in self.nodes:
            node.old = stays and self.draw.random() < 0.4
        self.elect(self.leader)

    def forget(self) -> None:
        """Some of the directories were saved alone."""
        for node in self.nodes:
            node.forgotten = self.draw.random() < 0.5

    def end_one(self) -> None:
        """A transaction ends, with a marker."""
        if self.open:
            producer, first = self.draw.choice(sorted(self.open)), self.end(self.leader)
            self.crc += 1
            commits = self.draw.random() < 0.6
            self._append(Stored(first, first, self.epoch, self.crc, (), producer=producer, commits=commits))

    def _append(self, batch: Stored) -> None:
        if batch.producer is not None:
            (self.open.add if batch.commits is None else self.open.discard)(batch.producer)
        self.nodes[self.leader].log.append(batch)
        self.truth.append(batch)
        if self.draw.random() < 0.8:
            self.follow()

    def clean(self, number: int) -> None:
        """Compaction of all below the high watermark, tombstones and all where it is the second time."""
        node = self.nodes[number]
        bound = min(node.high_watermark, self.end(number))
        if bound <= node.cleaned:
            return
        fates = fates_of(self.truths[number])
        # It goes nowhere near an open transaction.
        bound = min([bound, *(b.first for b in self.truths[number] if fates.get(b.first, "") is None)])
        if bound <= node.cleaned:
            return
        bound = self.draw.randrange(node.cleaned, bound) + 1
        bound = max((b.last + 1 for b in node.log if b.last < bound), default=0)
        stands = [b for b in node.log if fates.get(b.first, True)]
        newest = {key: offset for b in stands for offset, key, _ in b.records if offset < bound}
        with_tombstones = self.draw.random() < 0.5
        last = {b.producer: b.first for b in node.log}
        kept = []
        traversed = set[int]()
        """Producers with a batch since their last marker."""
        for batch in node.log:
            if batch.first >= bound:
                kept.append(batch)
                continue
            if batch.commits is not None and batch.producer is not None:
                stays = with_tombstones or (self.horizons and not batch.horizon)
                if stays or batch.producer in traversed or last[batch.producer] == batch.first:
                    dated = self.horizons and batch.producer not in traversed
                    self.crc += dated and not batch.horizon
                    crc = self.crc + 10**6 if dated and not batch.horizon else batch.crc
                    kept.append(replace(batch, crc=crc, horizon=dated or batch.horizon))
                traversed.discard(batch.producer)
                continue
            if batch.producer is not None:
                traversed.add(batch.producer)
            left = tuple(
                (offset, key, gone)
                for offset, key, gone in batch.records
                if fates.get(batch.first, True)
                and newest[key] == offset
                and (with_tombstones or not gone or (self.horizons and not batch.horizon))
            )
            if batch.magic < 2 and left:  # it is named after its last message
                batch = replace(batch, first=left[0][0], last=left[-1][0])
            # The last batch of a producer stays, without records if need be.
            if left or (batch.producer is not None and last[batch.producer] == batch.first):
                dated = batch.horizon or (self.horizons and any(gone for _, _, gone in left))
                changed = (left, dated) != (batch.records, batch.horizon)
                self.crc += changed
                crc = self.crc + 10**6 if changed else batch.crc
                kept.append(replace(batch, records=left, crc=crc, horizon=dated))
        node.log, node.cleaned = kept, max(node.cleaned, bound)

    def hurt(self, number: int) -> None:
        """Flip a bit somewhere, or in a few batches in a row."""
        log = self.nodes[number].log
        if log:
            at = self.draw.randrange(len(log))
            for each in range(at, min(at + self.draw.randrange(1, 4), len(log))):
                log[each] = replace(log[each], damaged=True)

    def lose(self, number: int) -> None:
        """A file is gone from between two others."""
        log = self.nodes[number].log
        if len(log) > 2:
            at = self.draw.randrange(1, len(log) - 1)
            behind = self.draw.randrange(at + 1, len(log))
            self.nodes[number].gap = log[at - 1].last + 1, log[behind].first - 1
            del log[at:behind]
            self.nodes[number].shifted = 0

    def cut_out(self, number: int) -> None:
        """A few batches are gone from between two others, and their bytes with them."""
        log = self.nodes[number].log
        for _ in range(self.draw.randrange(1, 12)):
            if len(log) > 2:
                self.nodes[number].take_out(self.draw.randrange(1, len(log) - 1))
        self.ask_epochs()

    def ask_epochs(self) -> None:
        """Where no sound batch of an upgraded log has an epoch, nothing tells whose the others are."""
        batches = (batch for node in self.nodes for batch in node.log)
        self.unknowable |= self.mixed != "" and all(each.magic < 2 or each.damaged for each in batches)

    def lift(self, number: int) -> None:
        """A few batches are gone from within a file that was compacted there."""
        node = self.nodes[number]
        for _ in range(self.draw.randrange(1, 4)):
            cleaned = [at for at, batch in enumerate(node.log) if at > 0 and batch.last < node.cleaned]
            if cleaned:
                node.take_out(self.draw.choice(cleaned))

    def replicas(self, *, lonely: int = LONELY) -> list[Replica]:
        """What would be read from the disks; `lonely` is as of `Walk`."""
        return [self._replica(number, lonely) for number in range(len(self.nodes))]

    def _replica(self, number: int, lonely: int) -> Replica:
        node = self.nodes[number]
        cleaned = 0 if node.forgotten else node.cleaned

        def inside(batch: RecordBatch) -> tuple[int, int]:
            return next((b.first, b.last) for b in node.log if b.last == batch.last_offset)

        starts = [0] if node.gap is None else [0, node.gap[1] + 1]
        walks = [
            Walk(f"{base}.log", base, following, inside, lonely=lonely)
            for base, following in zip(starts, [*starts[1:], None], strict=True)
        ]
        position = 0
        for batch in node.log:
            header = RecordBatch(
                position, batch.size, batch.last if batch.codec else batch.first, batch.last, batch.epoch,
                batch.magic, batch.crc, batch.codec | batch.horizon << 6, batch.last - batch.first, 0, 0, -1,
                -1, -1, -1 if batch.codec else len(batch.records) + (batch.commits is not None),
            )  # fmt: skip
            walks[bisect_right(starts, batch.first) - 1].take(HeaderRow(header, not batch.damaged))
            position += batch.size
        for walk in walks:
            walk.finish([], position)
        damaged: list[Damaged] = [each for walk in walks for each in walk.damaged]
        thinned = max(cleaned, *(walk.removed_below for walk in walks))
        gaps = () if node.gap is None else (node.gap,)
        if thinned and gaps:
            thinned = max(thinned, gaps[0][1] + 1)
        elif gaps:
            damaged.append(
                Damaged(
                    first_offset=gaps[0][0], last_offset=gaps[0][1], file="0.log", position=0, end=0,
                    kind="missing",
                )
            )  # fmt: skip
        return Replica(
            broker=number, dir="d", name="t-0", topic="t", partition=0, log_start_offset=0,
            log_end_offset=self.end(number),
            high_watermark=None if node.forgotten else node.high_watermark, epochs=tuple(node.epochs),
            runs=Packed(Run, (run for walk in walks for run in walk.runs)),
            damaged=Packed(Damaged, damaged), cleaned=cleaned, thinned=thinned,
            proven=max(cleaned, *(walk.proven_below for walk in walks)),
            gaps=gaps if thinned else (),
        )  # fmt: skip

    # What `second_look.Look` promises.

    def sound(self, number: int, first: int, last: int) -> Iterator[Stored]:
        """The sound batches with any of these offsets."""
        log = self.nodes[number].log
        return (b for b in log if not b.damaged and b.last >= first and b.first <= last)

    def batches(self, replica: int, first: int, last: int) -> Iterator[Batch]:
        for batch in self.sound(replica, first, last):
            yield Batch(batch.first, batch.last, batch.epoch, batch.size, batch.crc)

    def count(self, replica: int, first: int, last: int) -> int:
        return self.tally(replica, first, last)[0]

    def tally(self, replica: int, first: int, last: int) -> tuple[int, tuple[int, ...]]:
        found = (offset for b in self.sound(replica, first, last) for offset, _, _ in b.records)
        return sum(first <= offset <= last for offset in found), ()

    def keys(self, replica: int, first: int, last: int) -> Iterator[Keyed]:
        for batch in self.sound(replica, first, last):
            if batch.commits is not None:
                yield Keyed(batch.last, None, False, producer=batch.producer, commits=batch.commits)
            for offset, key, gone in batch.records:
                if first <= offset <= last:
                    yield Keyed(offset, key, gone, producer=batch.producer)

    def aborted(self, replica: int, first: int, last: int) -> Iterator[Span]:
        sound = [*self.sound(replica, first, 1 << 62)]
        fates = fates_of(sound)
        return ((b.first, b.last) for b in sound if b.first <= last and fates.get(b.first, True) is False)

    def cleaned_at(self, replica: int, offset: int) -> bool:
        node = self.nodes[replica]
        behind = next((b for b in node.log if not b.damaged and b.last >= offset), None)
        if behind is None:
            return False
        # Of every second batch there is an entry.
        entries = (b.last for b in node.log if b.last > offset and not b.damaged and b.last < node.shifted)
        return (behind.magic > 1 and behind.first <= offset) or any(last % 2 for last in entries)


def converted(batch: Stored) -> list[Stored]:
    """The same in magic 1: messages, or all of them in one that is compressed."""
    if batch.magic < 2:
        return [batch]
    if batch.crc % 2:
        return [replace(batch, epoch=-1, crc=batch.crc + 10**8, magic=1, codec=1)]
    return [
        replace(
            batch, first=each[0], last=each[0], epoch=-1, crc=10**8 + each[0] * 10**3 + batch.crc,
            records=(each,), magic=1,
        )
        for each in batch.records
    ]  # fmt: skip


def fates_of(log: Sequence[Stored]) -> dict[int, bool | None]:
    """By first offset, whether a batch of a transaction was committed; None where nothing tells."""
    fates: dict[int, bool | None] = {}
    open_ones: dict[int, list[int]] = {}
    for batch in log:
        if batch.producer is not None and batch.commits is None:
            fates[batch.first] = None
            open_ones.setdefault(batch.producer, []).append(batch.first)
        elif batch.producer is not None:
            fates.update(dict.fromkeys(open_ones.pop(batch.producer, []), batch.commits))
    return fates


def played(
    seed: int, *, compacted: bool, steps: int = 40, transactions: bool = False, horizons: bool = False,
    mixed: str = "",
) -> History:  # fmt: skip
    """A history of so many steps, some replicas down at its end, some hurt.

    `mixed`: it began before there were epochs, and brokers of that release may be among the replicas yet.
    """
    draw = random.Random(seed)
    history = History(draw, draw.randrange(2, 5), horizons=horizons, mixed=mixed)
    for _ in range(draw.randrange(steps)):
        what = draw.random() * (1.2 if compacted else 0.9)
        number = draw.randrange(len(history.nodes))
        if transactions and draw.random() < 0.5:
            if draw.random() < 0.6:
                history.write(draw.randrange(2))
            else:
                history.end_one()
        elif what < 0.6:
            history.write()
        elif what < 0.7:
            history.nodes[number].up = number == history.leader
        elif what < 0.8:
            history.nodes[number].up = True
            history.follow()
        elif what < 0.9:
            history.nodes[history.leader].up = draw.random() < 0.5
            history.elect(number)
        else:
            history.clean(number)
    for _ in range(draw.randrange(6)):
        history.hurt(draw.randrange(len(history.nodes)))
    if draw.random() < 0.3:
        history.lose(draw.randrange(len(history.nodes)))
    history.ask_epochs()
    return history
