"""What the newest metadata log says that is among the dirs of several brokers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from segmend.cluster.members import members
from segmend.cluster.nodes import image_of
from segmend.logdir.tree import LogDir
from segmend.node.broker_dirs import BrokerDirs
from segmend.node.metadata_image import MetadataImage


def by_cluster(dirs: Iterable[LogDir]) -> Collection[Sequence[LogDir]]:
    """The dirs of each cluster; those that do not say are a group, too."""
    clusters: dict[str | None, list[LogDir]] = {}
    for log_dir in dirs:
        identity = log_dir.meta_properties.value
        clusters.setdefault(None if identity is None else identity.cluster_id, []).append(log_dir)
    return clusters.values()


def newest_image(brokers: Iterable[BrokerDirs]) -> MetadataImage | None:
    """What the newest metadata log among the dirs says."""
    newest: tuple[tuple[int, int], MetadataImage] | None = None
    for broker in brokers:
        home = broker.metadata_dir
        log = None if home is None else broker.metadata_log(home)
        image = image_of(broker)
        if log is not None and image is not None and log.position is not None:
            newest = max(newest or (log.position, image), (log.position, image), key=lambda each: each[0])
    return newest and newest[1]


def compacts_by(dirs: Iterable[LogDir]) -> Callable[[str], bool | None]:
    """What tells of a topic whether it is compacted; it gives None where no metadata says."""
    images = [newest_image(members(group).brokers.values()) for group in by_cluster(dirs)]

    def compacts(topic: str) -> bool | None:
        told = (image.compacts(topic) for image in images if image is not None)
        return next((each for each in told if each is not None), None)

    return compacts
