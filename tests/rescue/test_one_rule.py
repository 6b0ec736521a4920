"""A rescue and the data source say the same of how transactions ended, and nothing that is not so."""

import random
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.checks.build_partition import PartitionWriter
from tests.faults.on_disk import batches_of
from tests.fleet.build import write_broker
from tests.seeds import SEED, sampled

from segmend.fleet.options import parse_options
from segmend.fleet.tables import open_table, read
from segmend.logdir.last_stable_offset import last_stable_offset
from segmend.logdir.log_dir import LogDir
from segmend.logdir.release import NEWEST
from segmend.rescue.request import RescueRequest
from segmend.rescue.run import RescueTask, job_of

TOLD = re.compile(r"transaction of producer (\d+) from offset (\d+) to (\d+) ended")
PRODUCERS = (9, 11, 13)
WORDS = {True: "aborted", False: "committed", None: "unknown"}


@dataclass
class Written:
    """A record, whose it is if it is of a transaction, and how that ended: None if it did not."""

    offset: int
    producer: int
    committed: bool | None


def written(draw: random.Random) -> tuple[PartitionWriter, list[Written]]:
    writer, records = PartitionWriter(), list[Written]()
    open_: dict[int, list[Written]] = {}
    for _ in range(draw.randrange(4, 40)):
        producer = draw.choice(PRODUCERS)
        if draw.random() < 0.15:
            writer.roll()
        elif producer in open_ and draw.random() < 0.5:
            ends = draw.random() < 0.5
            (writer.commit if ends else writer.abort)(producer)
            for each in open_.pop(producer):
                each.committed = ends
        else:
            begins, count = draw.random() < 0.85, draw.randrange(1, 4)
            size = draw.choice((5, 20, 400))
            first = writer.append(
                count, producer=producer if begins else None, transactional=begins, size=size
            )
            for offset in range(first, first + count):
                each = Written(offset, producer if begins else -1, None if begins else True)
                records.append(each)
                if begins:
                    open_.setdefault(producer, []).append(each)
    return writer, records


def hurt(folder: Path, draw: random.Random, *, cuts: bool) -> None:
    """A few batches, markers before others; sometimes a segment or an index."""
    for log in sorted(folder.glob("*.log")):
        batches = batches_of(log)
        data = bytearray(log.read_bytes())
        for batch in reversed(batches):
            if draw.random() < (0.3 if batch.is_control else 0.08):
                if cuts and draw.random() < 0.3:
                    del data[batch.position : batch.end]
                else:
                    data[draw.randrange(batch.position + 21, batch.end)] ^= 1 << draw.randrange(8)
        log.write_bytes(data)
    for index in sorted(folder.glob("*.txnindex")):
        how = draw.random()
        if how < 0.2:
            index.unlink()
        elif how < 0.3:
            index.write_bytes(index.read_bytes()[: 34 * draw.randrange(3)])
    inner = sorted(folder.glob("*.log"))[1:-1]
    if inner and draw.random() < 0.1:
        for each in folder.glob(f"{draw.choice(inner).stem}.*"):
            each.unlink()


@pytest.mark.parametrize("number", range(sampled(3000, 60)))
def test_rescue_and_source_say_the_same(number: int, tmp_path: Path) -> None:
    differ = differing(number, tmp_path)
    assert not differ, differ


@pytest.mark.parametrize(("seed", "number"), [(78, 73), (82, 171), (83, 17)])
def test_where_a_lost_marker_is_known_nothing_else_ended_there(
    seed: int, number: int, tmp_path: Path
) -> None:
    """Others are open over it, which markers of later files end; of the second a large batch is lost, too.

    At the third a log ends within a header.
    """
    assert not differing(number, tmp_path, seed=seed)


def differing(number: int, root: Path, seed: int = SEED) -> Counter[str]:
    """How many records of a drawn history they judge differently, or wrongly."""
    draw = random.Random(seed * 10_000 + number)
    writer, records = written(draw)
    dirs = [write_broker(root, 1, [writer], clean=draw.random() < 0.5)]
    if draw.random() < 0.5:
        dirs.append(write_broker(root, 2, [writer], clean=draw.random() < 0.5))
    compacted = draw.choice((None, False))
    for each in dirs:
        hurt(each / "t-0", draw, cuts=compacted is False)
    given, unknown = read_committed(dirs, compacted)
    places = tuple(LogDir.open(str(each)).partitions[0] for each in dirs)
    job = job_of(
        RescueTask(
            request=RescueRequest(dirs=(), out="", form=""),
            places=places,
            release=NEWEST,
            compacted=compacted,
        )
    )
    there = {offset for piece in job.pieces for offset in range(piece.first, piece.last + 1)}
    fates, differ = job.fates(), Counter[str]()
    # A read of committed records ends at the first open transaction; a snapshot may know of an earlier one.
    ends = [fates.open_from, *map(last_stable_offset, places)]
    stable = min(each for each in (*ends, writer.next_offset) if each is not None)
    for record in records:
        if record.offset not in there or record.producer < 0:
            continue
        by_rescue = WORDS[fates.of(record.producer, record.offset)]
        told = any(
            producer == record.producer and first <= record.offset <= last
            for producer, first, last in unknown
        )
        by_source = "committed" if record.offset in given else "unknown" if told else "aborted"
        if by_rescue not in ("unknown", WORDS[not record.committed]):
            differ[f"rescue says {by_rescue}, it is {record.committed}"] += 1
        if by_source == "committed" and not record.committed:
            differ[f"the source gives one that is {record.committed}"] += 1
        if by_rescue != by_source and record.offset < stable:
            differ[f"rescue says {by_rescue}, the source {by_source}, it is {record.committed}"] += 1
    return differ


def read_committed(dirs: list[Path], compacted: bool | None) -> tuple[set[int], list[tuple[int, ...]]]:
    """The offsets that the source gives, and by producer, first and last offset what it cannot know."""
    options = parse_options({"isolation": "read_committed", "columns": "offset,_damage"})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("segmend.cluster.policies.Policies.__call__", lambda *_: compacted)
        works = open_table([*map(str, dirs)], options, cores=1)
    rows = [row for work in works for batch in read(work) for row in batch.to_pylist()]
    told = (found for row in rows if row["_damage"] for found in [TOLD.search(row["_damage"])] if found)
    return {row["offset"] for row in rows if not row["_damage"]}, [
        tuple(map(int, each.groups())) for each in told
    ]
