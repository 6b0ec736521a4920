"""leader-epoch-checkpoint, from the epochs in the batch headers."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.findings import Finding
from segmend.formats.epoch_checkpoint import FILE_NAME
from segmend.surgery.mending import Job, Scene

CODES = frozenset(("E01", "E02", "E03", "E04", "E05", "E07"))


def jobs(finding: Finding, scene: Scene) -> Iterator[Job]:
    """The file of the partition."""
    partition = scene.partition(finding)
    starts = partition.log_dir.log_start_offsets
    start = max(starts.get((partition.topic, partition.partition), 0), min(partition.layout.logs, default=0))
    yield Job(
        log_dir=partition.log_dir, partition=partition.name, file=f"{partition.name}/{FILE_NAME}",
        recipe="leader-epochs", arguments={"start": start},
    )  # fmt: skip
