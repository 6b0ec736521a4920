"""partition.metadata, with the id that the cluster's metadata or a sibling partition knows."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.metadata_log import METADATA_TOPIC_ID
from segmend.findings import Finding
from segmend.formats.partition_metadata import FILE_NAME
from segmend.logdir.partition_dir import PartitionDir
from segmend.node.topic_identity import twin_of, why_not_the_file
from segmend.surgery.ops.repair.scene import BeyondRepair, Scene
from segmend.surgery.recipes import Rebuild

CODES = frozenset(("M01", "M02", "M03", "M04", "M05"))


def jobs(finding: Finding, scene: Scene) -> Iterator[Rebuild]:
    """The file of the partition; `BeyondRepair` if nothing on these disks knows the id."""
    partition = scene.partition(finding)
    if partition.kind == "current" and (twin := twin_of(scene.broker, partition)) is not None:
        raise BeyondRepair(f"{twin.path} is the same partition, and has the topic's id already")
    if finding.code == "M05" and (why := why_not_the_file(scene.broker, partition)) is not None:
        raise BeyondRepair(f"nothing proves that partition.metadata alone is wrong: {why}")
    yield Rebuild.within(partition, FILE_NAME, "partition-metadata", topic_id=_topic_id(partition, scene))


def _topic_id(partition: PartitionDir, scene: Scene) -> str:
    known = (
        METADATA_TOPIC_ID if partition.kind == "cluster-metadata" else scene.image.ids.get(partition.topic)
    )
    if known is not None:
        return known
    ids = {
        topic_id
        for sibling in scene.request.broker.current
        if sibling.topic == partition.topic
        and (topic_id := sibling.topic_id) is not None
    }  # fmt: skip
    if len(ids) == 1:
        return ids.pop()
    raise BeyondRepair(
        f"the id of topic {partition.topic} is not on these disks: "
        + ("its other partitions disagree" if ids else "no __cluster_metadata-0, no other partition of it")
        + f"; `kafka-topics --describe --topic {partition.topic}` tells it, another replica has the same file"
        + _without_it(scene)
    )


def _without_it(scene: Scene) -> str:
    """With ZooKeeper a broker that misses the file starts all the same (seen on 2.8.2), one that cannot
    read it does not."""
    if scene.broker.kraft:
        return ""
    return "; a broker with ZooKeeper starts without the file: move it out of the log dirs"
