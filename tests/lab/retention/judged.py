"""What segmend says of a drawn log dir: judged from its own metadata, or told what that says (replay)."""

from collections.abc import Iterator
from pathlib import Path

from segmend.explain.retention import Reasons, reasons
from segmend.loading import Options
from segmend.loading.limits import TopicSettings
from segmend.logdir.config import ServerConfig
from segmend.logdir.release import Release as Version
from segmend.logdir.tree import LogDir
from segmend.node.broker_dirs import BrokerDirs
from segmend.node.metadata_image import MetadataImage, PartitionLeader
from tests.lab.releases import Release
from tests.lab.retention.draw import Trial

NODE = 1
INTERVAL = 5_000
INTERVALS = {"log.retention.check.interval.ms": str(INTERVAL)}


def image_of(trial: Trial) -> MetadataImage:
    """The metadata of a cluster with these topics, led by this node."""
    image = MetadataImage(registered={NODE})
    for topic in trial.topics:
        key = f"id-{topic.name}"
        image.names[key], image.ids[topic.name] = topic.name, key
        image.replicas[key, 0] = (NODE, 2)[: topic.replicas]
        image.leaders[key, 0] = PartitionLeader(leader=NODE, isr=(NODE,))
        image.configs[topic.name] = dict(topic.settings)
    return image


def judged(log_dir: Path, release: Release, trial: Trial, now: int, *, replayed: bool) -> Iterator[Reasons]:
    """Each topic of the trial, judged for `now`."""
    version = Version(release.number)
    config = ServerConfig(given={**INTERVALS, **trial.config})
    broker = BrokerDirs([LogDir.open(str(log_dir))], release=version, given=config)
    old = release.mode == "zookeeper"
    told = TopicSettings(
        of={each.name: each.settings for each in trial.topics}, source="as created",
        replicas={(each.name, 0): ((NODE,), (NODE,)) for each in trial.topics},
    )  # fmt: skip
    if replayed and not old:
        broker = broker.told(image_of(trial))
    names = {each.name for each in trial.topics}
    options = Options(now_ms=now, topics=told if old else None)
    return reasons(broker, options, lambda partition: partition.topic in names)
