"""Recipes against every file of every clean golden directory: the same bytes, or a reason.

What a broker's file depends on beyond the log is listed in `reason`; each file that differs must
have one of them, proven from the bytes. How many are the same is written down, so that it
cannot fall unseen.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.golden.shared import golden
from tests.surgery import recovery_rule as rule

from segmend.formats import epoch_checkpoint, offset_checkpoint, producer_snapshot
from segmend.kernel.scan import ScanTask, scan_log
from segmend.kernel.types import BytesReader
from segmend.logdir.log_dir import LogDir
from segmend.logdir.partition_dir import PartitionDir
from segmend.logdir.release import Release
from segmend.surgery import recipes

DAY_MS = 86_400_000
COMPACTED = ("compacted", "customers", "__consumer_offsets", "__transaction_state", "__cluster_metadata")

KINDS = (".index", ".timeindex", ".snapshot", "epochs", ".txnindex")
SAME = {
    "0.8.2.2-clean": [(17, 12)],
    "0.10.2.2-clean": [(47, 29), (51, 25)],
    "1.1.0-clean": [(95, 33), (107, 21), (90, 5), (35, 2), (4, 0)],
    "2.8.2-clean": [(98, 27), (105, 20), (137, 6), (28, 3), (4, 1)],
    "3.9.2-clean": [(101, 17), (106, 12), (130, 7), (27, 4), (4, 1)],
    "4.3.1-clean": [(101, 17), (106, 12), (130, 7), (27, 4), (4, 1)],
    "4.3.1-fleet": [(305, 32), (302, 35), (373, 0), (48, 7), (24, 0)],
}
"""(files with the same bytes, files that differ for a reason), in the order of KINDS."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One derived file of a golden: what it is, the broker's bytes, and the recipe's."""

    kind: str
    partition: PartitionDir
    number: int
    interval: int
    release: Release
    broker: bytes
    mine: bytes

    @property
    def log(self) -> Path:
        """The log of the file's segment."""
        return Path(self.partition.path) / f"{self.number:020d}.log"

    def __str__(self) -> str:
        return f"{self.partition.name}/{self.number:020d}{self.kind}"


def interval_of(name: str, partition: str) -> int:
    """index.interval.bytes of the golden's topics; see tests/golden."""
    if partition.startswith("__"):
        return 4096
    return {"0.8.2.2-clean": 100, "4.3.1-fleet": 1024}.get(name, 512)


def cases(name: str, root: Path) -> Iterator[Case]:
    """Every derived file of the current replicas in log dirs that were stopped cleanly."""
    release = Release.parse(name.partition("-")[0])
    for place in sorted(root.rglob(".kafka_cleanshutdown")):
        log_dir = LogDir.open(str(place.parent))
        for partition in log_dir.partitions:
            if partition.kind in ("current", "cluster-metadata"):
                yield from partition_cases(log_dir, partition, release, interval_of(name, partition.name))


def partition_cases(
    log_dir: LogDir, partition: PartitionDir, release: Release, interval: int
) -> Iterator[Case]:
    snapshots = dict(partition.snapshots)
    bases = sorted(partition.layout.logs)
    first = min((offset for offset in snapshots if offset <= bases[0]), default=None)
    known = {"interval": interval, "snapshot": first}

    def case(kind: str, recipe: str, number: int, broker: bytes, **arguments: object) -> Case:
        mine = recipes.build(recipe, log_dir, partition.name, {**known, **arguments}, release)
        return Case(
            kind=kind, partition=partition, number=number, interval=interval, release=release,
            broker=broker, mine=mine,
        )  # fmt: skip

    for base in bases:
        for suffix, recipe in (
            (".index", "offset-index"),
            (".timeindex", "time-index"),
            (".txnindex", "transaction-index"),
        ):
            entry = partition.file(f"{base:020d}{suffix}")
            if entry is not None:
                yield case(suffix, recipe, base, entry.read(), base_offset=base)
    for offset, entry in snapshots.items():
        if offset != first:
            yield case(".snapshot", "producer-snapshot", offset, entry.read(), offset=offset)
    epochs = partition.file(epoch_checkpoint.FILE_NAME)
    if epochs is not None:
        start = max(bases[0], log_start(log_dir, partition))
        yield case("epochs", "leader-epochs", 0, epochs.read(), start=start)


def log_start(log_dir: LogDir, partition: PartitionDir) -> int:
    data = log_dir.offset_checkpoint(offset_checkpoint.LOG_START_OFFSET).data or b""
    return offset_checkpoint.parse(data)[0].offsets().get((partition.topic, partition.partition), 0)


def reason(case: Case) -> str | None:
    """Why a broker's file is not what the log alone says; None if there is no reason."""
    if case.kind == ".snapshot":
        return producer_expired(case) or compacted(case)
    if case.kind == "epochs":
        return epoch_without_batches(case) or compacted(case)
    if case.kind == ".txnindex":
        return compacted(case)
    return appended_together(case) or began_to_append_again(case) or compacted(case)


def compacted(case: Case) -> str | None:
    return "compacted" if case.partition.topic.startswith(COMPACTED) else None


def appended_together(case: Case) -> str | None:
    """Before magic 2 one produce request holds many messages of a partition, and is one append."""
    magics = {batch.magic for batch in rule.batches_of(case.log)}
    return "several batches in one append" if magics & {0, 1} else None


def began_to_append_again(case: Case) -> str | None:
    """The counter of bytes since the last entry begins at 0 where a start found the active segment."""
    batches = rule.batches_of(case.log)
    index = case.log.with_suffix(".index").read_bytes()
    broker = [position for _, position in rule.offset_entries(index)]
    if broker not in rule.ways_with_a_start(batches, case.interval):
        return None
    if case.kind == ".index":
        return "active at a start"
    stamps = {stamp for stamp, _ in rule.time_entries(case.broker)}
    own = {batch.max_timestamp for batch in batches}
    return "active at a start, or the offset of a record" if stamps <= own else None


def producer_expired(case: Case) -> str | None:
    broker, mine = (producer_snapshot.parse(data)[0].entries for data in (case.broker, case.mine))
    gone = set(mine) - set(broker)
    newest = max((row.timestamp for row in mine), default=0)
    old = all(row.timestamp < newest - DAY_MS / 24 for row in gone)
    return "a producer expired" if set(broker) < set(mine) and old else None


def epoch_without_batches(case: Case) -> str | None:
    broker, mine = (epoch_checkpoint.parse(data)[0].entries for data in (case.broker, case.mine))
    same = broker[: len(mine)] == mine and len(broker) == len(mine) + 1
    return "an epoch that has no batch yet" if same else None


@pytest.mark.slow
@pytest.mark.parametrize("name", SAME)
def test_the_same_bytes_as_a_clean_stop_leaves(name: str) -> None:
    same: Counter[str] = Counter()
    differ: Counter[str] = Counter()
    unexplained = []
    for case in cases(name, golden(name)):
        if case.mine == case.broker:
            same[case.kind] += 1
            continue
        differ[case.kind] += 1
        if reason(case) is None:
            unexplained.append(str(case))
    assert unexplained == []
    assert {kind: (same[kind], differ[kind]) for kind in same | differ} == dict(
        zip(KINDS, SAME[name], strict=False)
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", SAME)
def test_indexes_made_anew_agree_with_the_batches(name: str) -> None:
    for case in cases(name, golden(name)):
        if case.kind in (".index", ".timeindex"):
            option = "offset_index" if case.kind == ".index" else "time_index"
            found = scan_log(
                BytesReader(case.log.read_bytes()), ScanTask(base_offset=case.number, **{option: case.mine})
            )  # type: ignore[arg-type]
            match = getattr(found, option)
            assert (match.mismatched, match.surplus_bytes, match.padding) == (0, 0, 0)
