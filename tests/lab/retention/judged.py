"""What segmend says of a drawn log dir: judged from its own metadata, or told what that says (replay)."""

import base64
from collections.abc import Container, Iterator
from pathlib import Path

from segmend.explain.retention import Reasons, reasons
from segmend.loading import ForecastOptions
from segmend.loading.limits import TopicSettings
from segmend.logdir.config import ServerConfig
from segmend.logdir.log_dir import LogDir
from segmend.logdir.release import Release as Version
from segmend.node.broker_dirs import BrokerDirs
from segmend.node.metadata_image import MetadataImage, PartitionLeader
from tests.lab.releases import Release
from tests.lab.retention.draw import Trial

NODE = 1
INTERVAL = 5_000
INTERVALS = {key: str(INTERVAL) for key in ("log.retention.check.interval.ms", "log.cleaner.backoff.ms")}


def topic_id(name: str) -> str:
    """An id for a topic whose name has four letters."""
    return base64.urlsafe_b64encode(name.encode() * 4).decode().rstrip("=")


def image_of(trial: Trial) -> MetadataImage:
    """The metadata of a cluster with these topics, led by this node."""
    image = MetadataImage(registered={NODE})
    for topic in trial.topics:
        key = topic_id(topic.name)
        image.names[key], image.ids[topic.name] = topic.name, key
        image.replicas[key, 0] = (NODE, 2)[: topic.replicas]
        image.leaders[key, 0] = PartitionLeader(leader=NODE, isr=(NODE,))
        image.configs[topic.name] = dict(topic.settings)
    return image


def asked(
    log_dir: Path, release: Release, trial: Trial, now: int, *, replayed: bool
) -> tuple[BrokerDirs, ForecastOptions]:
    """The broker, and what is known of its topics."""
    version, config = Version(release.number), ServerConfig(given={**INTERVALS, **trial.config})
    broker = BrokerDirs([LogDir.open(str(log_dir))], release=version, given=config)
    if release.mode == "kraft":
        return broker.told(image_of(trial)) if replayed else broker, ForecastOptions(now_ms=now)
    told = TopicSettings(
        of={each.name: each.settings for each in trial.topics}, source="as created",
        replicas={(each.name, 0): ((NODE,), (NODE,)) for each in trial.topics},
    )  # fmt: skip
    return broker, ForecastOptions(now_ms=now, topics=told)


def judged(
    log_dir: Path, release: Release, trial: Trial, now: int, topics: Container[str] = (), *, replayed: bool
) -> Iterator[Reasons]:
    """Each of these topics of the trial (all, if none is named), judged for `now`."""
    broker, options = asked(log_dir, release, trial, now, replayed=replayed)
    wanted = topics or {each.name for each in trial.topics}
    return reasons(broker, options, lambda partition: partition.topic in wanted)
