"""`read_committed` of drawn histories that are hurt: no row that was not committed, none lost silently."""

import errno
import random
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.checks.build_partition import PartitionWriter
from tests.faults.hands import turn_any
from tests.fleet.build import write_broker
from tests.fleet.refused import refuse_files
from tests.seeds import SEED, sampled

from segmend.fleet.damaged import DamagedPlace, DamageTally
from segmend.fleet.options import parse_options
from segmend.fleet.tables import open_table, read
from segmend.formats.java_number import LONG_MAX
from segmend.frozen import replace
from segmend.kernel.batches import iter_batches
from segmend.kernel.types import BytesReader

PRODUCERS = range(100, 104)
HEADER = range(8, 61)
"""Bytes of a batch in which bits flip; what flips in its offset no checksum tells."""


@dataclass
class History:
    """A partition of interleaved transactions, and the offsets that were committed."""

    draw: random.Random
    writer: PartitionWriter = field(default_factory=PartitionWriter)
    open: dict[int, list[int]] = field(default_factory=dict)
    committed: set[int] = field(default_factory=set)

    def write(self, steps: int) -> None:
        for _ in range(steps):
            what = self.draw.choice(("plain", "data", "data", "data", "end", "end", "roll"))
            if what == "plain":
                self.committed |= {*self._append(None)}
            elif what == "data":
                producer = self.draw.choice(PRODUCERS)
                self.open.setdefault(producer, []).extend(self._append(producer))
            elif what == "end" and self.open:
                self._end(self.draw.choice(sorted(self.open)))
            elif what == "roll" and self.draw.random() < 0.4 and self.writer.segments[-1].log:
                self.writer.roll()
        for producer in sorted(self.open):
            if self.draw.random() < 0.7:
                self._end(producer)

    def _append(self, producer: int | None) -> range:
        count, size = self.draw.randrange(1, 5), self.draw.choice((1, 20, 200))
        at = self.writer.append(count, producer=producer, transactional=producer is not None, size=size)
        return range(at, at + count)

    def _end(self, producer: int) -> None:
        offsets = self.open.pop(producer)
        if self.draw.random() < 0.5:
            self.writer.abort(producer)
        else:
            self.writer.commit(producer)
            self.committed |= {*offsets}


def flip(draw: random.Random, log: Path) -> str:
    data = bytearray(log.read_bytes())
    told = [batch for batch in iter_batches(BytesReader(bytes(data))) if batch.is_transactional]
    if not told:
        return "no transaction to flip"
    batch = draw.choice(told)
    at, bit = draw.choice(HEADER), draw.randrange(8)
    data[batch.position + at] ^= 1 << bit
    log.write_bytes(data)
    return f"bit {bit} of byte {at} of the batch at {batch.base_offset}"


def cut_out(draw: random.Random, log: Path) -> str:
    data = log.read_bytes()
    batches = [*iter_batches(BytesReader(data))]
    # That the end of a log is gone its high watermark tells.
    batches = batches if log != max(log.parent.glob("*.log")) else batches[:-1]
    if not batches:
        return "nothing to cut out"
    batch = draw.choice(batches)
    log.write_bytes(data[: batch.position] + data[batch.end :])
    return f"the batch at {batch.base_offset} is cut out"


def hurt_index(draw: random.Random, log: Path) -> str:
    index = log.with_suffix(".txnindex")
    if not index.exists():
        return "no index to hurt"
    data = bytearray(index.read_bytes())
    what = draw.choice(("gone", "cut", "bit"))
    if what == "gone":
        index.unlink()
    elif what == "cut":
        index.write_bytes(data[: draw.randrange(len(data))])
    else:
        turn_any(data, draw)
        index.write_bytes(data)
    return f"{index.name} {what}"


def lose_file(_draw: random.Random, log: Path) -> str:
    """One in between: of the first one the checkpoints of epochs tell, of the last the high watermark."""
    logs = sorted(log.parent.glob("*.log"))
    if log in (logs[0], logs[-1]):
        return "no log to lose"
    log.unlink()
    return f"{log.name} gone"


def lose_snapshots(_draw: random.Random, log: Path) -> str:
    for each in log.parent.glob("*.snapshot"):
        each.unlink()
    return "no snapshot"


WOUNDS = (flip, flip, flip, cut_out, hurt_index, lose_file, lose_snapshots)


def given_and_named(
    root: Path, monkeypatch: pytest.MonkeyPatch, *, compacted: bool | None = False, **more: str
) -> tuple[list[int], list[range]]:
    """The offsets of a read, and those of which it says that something cost them."""
    named: list[range] = []
    report = DamageTally.report

    def noted(tally: DamageTally, damage: DamagedPlace) -> None:
        last = LONG_MAX if damage.last_offset is None else damage.last_offset
        named.append(range(damage.first_offset or 0, last + 1))
        report(tally, damage)

    monkeypatch.setattr(DamageTally, "report", noted)
    options = parse_options({"isolation": "read_committed", "columns": "offset,value", **more})
    works = open_table([str(root)], options, cores=1)
    works = [
        replace(work, ranges=tuple(replace(each, compacted=compacted) for each in work.ranges))
        for work in works
    ]
    batches = [batch for work in works for batch in read(work)]
    return [offset for batch in batches for offset in batch["offset"].to_pylist()], named


def lost(history: History, given: list[int]) -> list[int]:
    """What was committed and is not given; behind an open transaction a consumer gets nothing."""
    stable = min((offsets[0] for offsets in history.open.values()), default=history.writer.next_offset)
    return sorted(offset for offset in history.committed - {*given} if offset < stable)


@pytest.mark.parametrize("number", range(sampled(4000, 150)))
def test_no_row_is_given_that_was_not_committed_and_none_is_lost_silently(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = random.Random(SEED * 100_000 + number)
    history = History(draw)
    history.write(draw.randrange(10, 80))
    folder = write_broker(tmp_path, 1, [history.writer], clean=draw.random() < 0.5) / "t-0"
    did = []
    for _ in range(draw.randrange(0, 4)):
        log = draw.choice(sorted(folder.glob("*.log")) or [None])
        if log is not None:
            did.append(draw.choice(WOUNDS)(draw, log))
    refused = draw.random() < 0.2
    if refused and (logs := sorted(folder.glob("*.log"))):
        log = draw.choice(logs)
        did.append(f"{log.name} unreadable")
        refuse_files(monkeypatch, log.name, errno.EACCES)
    split = {"splitBytes": str(draw.choice((300, 1000)))} if draw.random() < 0.5 else {}
    given, named = given_and_named(tmp_path / "b1", monkeypatch, **split)
    assert len({*given}) == len(given)
    assert {*given} <= history.committed, (sorted({*given} - history.committed), named, did)
    silent = [offset for offset in lost(history, given) if not any(offset in each for each in named)]
    assert not silent, (silent, named, did)


@pytest.mark.parametrize("number", range(sampled(2000, 60)))
def test_a_log_between_is_lost_where_no_policy_is_told_and_no_cleaner_was(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = random.Random(SEED * 100_000 + number)
    history = History(draw)
    history.write(draw.randrange(40, 80))
    folder = write_broker(tmp_path, 1, [history.writer]) / "t-0"
    did = []
    for wound in (lose_file, draw.choice((flip, hurt_index, lose_snapshots))):
        did.append(wound(draw, draw.choice(sorted(folder.glob("*.log")))))
    split = {"splitBytes": str(draw.choice((300, 1000)))} if draw.random() < 0.5 else {}
    given, named = given_and_named(tmp_path / "b1", monkeypatch, compacted=None, **split)
    assert {*given} <= history.committed, (sorted({*given} - history.committed), named, did)
    silent = [offset for offset in lost(history, given) if not any(offset in each for each in named)]
    assert not silent, (silent, named, did)


@pytest.mark.parametrize("number", range(sampled(2000, 60)))
def test_what_another_replica_knows_of_a_transaction_is_asked(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = random.Random(SEED * 100_000 + number)
    history = History(draw)
    history.write(draw.randrange(10, 80))
    folder, _ = (write_broker(tmp_path / "all", broker, [history.writer]) / "t-0" for broker in (1, 2))
    did = [draw.choice(WOUNDS)(draw, draw.choice(sorted(folder.glob("*.log")))) for _ in range(2)]
    split = {"splitBytes": str(draw.choice((300, 1000)))} if draw.random() < 0.5 else {}
    given, named = given_and_named(tmp_path / "all", monkeypatch, **split)
    assert len({*given}) == len(given)
    assert {*given} <= history.committed, (sorted({*given} - history.committed), named, did)
    assert not lost(history, given), (lost(history, given), named, did)


@pytest.mark.parametrize("at", range(2, 26))
def test_an_index_that_lies_of_the_transaction_whose_marker_is_lost_makes_none_committed(
    at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bit of its producer or its offsets: what is behind it in the index would vouch for all others."""
    writer = PartitionWriter()
    for producer in (102, 103, 100):
        writer.append(2, producer=producer, transactional=True)
    lost = writer.abort(100)
    writer.append(1, producer=100, transactional=True)
    for producer in (102, 103):
        writer.commit(producer)
    writer.append(1, producer=101, transactional=True)
    for end, producer in ((writer.abort, 101), (writer.commit, 100)):
        end(producer)
    folder = write_broker(tmp_path, 1, [writer]) / "t-0"
    log, index = folder / f"{0:020d}.log", folder / f"{0:020d}.txnindex"
    data = bytearray(log.read_bytes())
    marker = next(each for each in iter_batches(BytesReader(bytes(data))) if each.base_offset == lost)
    data[marker.end - 1] ^= 1
    log.write_bytes(data)
    entries = index.read_bytes()
    for bit in range(8):
        hurt = bytearray(entries)
        hurt[at] ^= 1 << bit
        index.write_bytes(hurt)
        given, named = given_and_named(tmp_path / "b1", monkeypatch)
        assert not {4, 5} & {*given}, bit
        assert all(any(offset in each for each in named) for offset in {0, 1, 2, 3, 7} - {*given}), bit
    index.write_bytes(entries)
    assert given_and_named(tmp_path / "b1", monkeypatch)[0] == [0, 1, 2, 3, 7]
