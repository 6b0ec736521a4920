"""Transaction indexes, from the batches and the producers before them."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.findings import Finding
from segmend.formats import txn_index
from segmend.logdir.tree import PartitionDir
from segmend.surgery.mending import Job, Scene
from segmend.surgery.undamaged import require_undamaged

CODES = frozenset(("I17", "I18", "I19", "I20", "I21"))


def jobs(finding: Finding, scene: Scene) -> Iterator[Job]:
    """The transaction index of the segment; `BeyondRepair` if it tells more than a damaged log."""
    partition = scene.partition(finding)
    name = (finding.file or "").rpartition("/")[2]
    base = int(name.partition(".")[0])
    snapshot = scene.snapshot_before(partition, base)
    if _tells_something(partition, name):
        require_undamaged(partition, snapshot or 0, base + 1)
    yield Job(
        log_dir=partition.log_dir, partition=partition.name, file=f"{partition.name}/{name}",
        recipe="transaction-index",
        arguments={"base_offset": base, "snapshot": snapshot},
    )  # fmt: skip


def _tells_something(partition: PartitionDir, name: str) -> bool:
    """Whether there are entries that every broker can read."""
    entry = partition.file(name)
    rows = () if entry is None else txn_index.parse(entry.read())[0].entries
    return bool(rows) and all(row.version == txn_index.VERSION for row in rows)
