"""Whether logs may speak against derived files: only where none of their batches is damaged."""

from __future__ import annotations

from segmend.checks.weighing.mending import witnesses
from segmend.findings import Finding
from segmend.logdir.partition_dir import PartitionDir
from segmend.logdir.witnesses import damaged_log
from segmend.surgery.ops.repair.scene import BeyondRepair, Scene


def require_undamaged(finding: Finding, partition: PartitionDir, scene: Scene) -> None:
    """Raise `BeyondRepair` if a log is damaged that the file of the finding is made of; also `Unreadable`."""
    damaged = damaged_log(partition, *witnesses(finding, partition, scene.damaged))
    if damaged is not None:
        segment, problem = damaged
        raise BeyondRepair(
            f"{partition.path}/{segment.name} is damaged at byte {problem.position}, so its word "
            "may be wrong; mend the log first (segmend plan repair --deep, --from REPLICA_DIR or "
            "--blank), then plan again"
        )
