"""A partition of two replicas, of which one is left."""

from typing import Any

from segmend.cluster.leadership import Outage
from segmend.cluster.values import Leadership
from segmend.loading import Extent, PartitionOutcome
from segmend.logdir.release import Release
from segmend.node.metadata_image import MetadataImage, PartitionLeader


def one_of_two(release: str, up: int, isr: tuple[int, ...] = (1,), **more: Any) -> Leadership:
    """What is said of `t-0`, with nine records, which node 1 led; `configs` are of topics, by name."""
    image = MetadataImage(configs=more.pop("configs", {}))
    image.names["id"], image.replicas["id", 0] = "t", (1, 2)
    image.leaders["id", 0] = PartitionLeader(leader=1, epoch=0, isr=isr)
    extent = Extent(log_start_offset=0, log_end_offset=9, segments=1, bytes=9)
    copy = PartitionOutcome(dir="/d", name="t-0", topic="t", partition=0, before=extent, after=extent)
    given = {"clean": frozenset(), "marks": {}, "replicas": {("t", 0): {up: copy}}, **more}
    seen = Outage(release=Release.parse(release), down={3 - up: "left out"}, **given)
    (line,) = seen.leaderships(image)
    return line
