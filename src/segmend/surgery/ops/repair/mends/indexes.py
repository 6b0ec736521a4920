"""Offset and time indexes, from the batches of their segment."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.sanity import INDEX_SANITY, TIME_INDEX, IndexSanity
from segmend.checks.index_sanity import offset_reason, time_reason
from segmend.findings import Finding
from segmend.logdir.log_segment import LogSegment
from segmend.logdir.partition_dir import PartitionDir
from segmend.surgery.ops.repair.scene import BeyondRepair, Scene
from segmend.surgery.ops.repair.undamaged import require_undamaged
from segmend.surgery.recipes import OF_INDEXES, Rebuild

CODES = frozenset(
    ("I01", "I02", "I03", "I04", "I05", "I06", "I07", "I08", "I09", "I10", "I11", "I12", "I13", "I14", "I15",
     "I16", "I25", "I26", "K18")
)  # fmt: skip

_OF_THE_SEGMENT = ("I25",)


def jobs(finding: Finding, scene: Scene) -> Iterator[Rebuild]:
    """The index that is wrong, or missing; either or both, where the finding is about the segment.

    `BeyondRepair` if it may be the log that is wrong.
    """
    partition = scene.partition(finding)
    stem, _, suffix = finding.name.rpartition(".")
    base = int(stem)
    if base not in partition.layout.logs:
        raise BeyondRepair(f"there is no {stem}.log to make an index from")
    if finding.code == "I26" and not finding.detail["zeros"]:
        raise BeyondRepair("its entries are what the log needs; the setting is too small for them")
    require_undamaged(finding, partition, scene)
    wanted = {suffix, *_missing(partition, base)}
    if "index" in wanted or finding.code in _OF_THE_SEGMENT:
        wanted |= set(_refused(partition, base, scene))
    wanted &= OF_INDEXES.keys()
    if not TIME_INDEX.of(scene.release):
        wanted.discard("timeindex")
    for each in sorted(wanted):
        recipe, interval = OF_INDEXES[each], scene.interval(partition)
        yield Rebuild.within(partition, f"{stem}.{each}", recipe, base_offset=base, interval=interval)


def _refused(partition: PartitionDir, base: int, scene: Scene) -> Iterator[str]:
    """What a broker up to 2.2 does not take at a start; it checks a time index beside an offset index."""
    if INDEX_SANITY.of(scene.release) == IndexSanity.NONE:
        return
    segment = LogSegment(partition, base)
    if segment.index is not None and offset_reason(scene.release, base, segment.index) is not None:
        yield "index"
    if segment.timeindex is not None and time_reason(base, segment.timeindex) is not None:
        yield "timeindex"


def _missing(partition: PartitionDir, base: int) -> Iterator[str]:
    """A segment that gets an offset index is not rebuilt by the broker, so its time index must be there."""
    if base not in partition.layout.index:
        yield "index"
    if base not in partition.layout.timeindex:
        yield "timeindex"
