"""What `__cluster_metadata` on this broker's disks says of the cluster, read once for all checks.

Topics and replicas come from `segmend.loading.image`; here are the few records that only
checks ask for: the directory ids that this node registered, and the metadata.version that the
cluster has reached. Most records of a metadata log are neither and are not decoded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from segmend.formats.record import iter_records
from segmend.kernel.scan import iter_batches
from segmend.loading.image import MetadataImage, read_image
from segmend.logdir.file_system import Unreadable
from segmend.logdir.files import FileEntry
from segmend.logdir.tree import LogDir, PartitionDir
from segmend.topics.metadata import decode

DIRECTORY = "__cluster_metadata-0"

# Frame version 1 and the api keys of RegisterBroker, FeatureLevel and BrokerRegistrationChange.
_LOOKED_AT = (b"\x01\x00", b"\x01\x0c", b"\x01\x11")
_BATCH_LIMIT = 64 << 20


@dataclass(slots=True, kw_only=True)
class Cluster:
    """`log_dirs` are directory ids by node, as registered last; `features` the levels by feature.

    `log_dir` and `name` tell where it was read.
    """

    image: MetadataImage
    log_dir: LogDir
    name: str
    log_dirs: dict[int, tuple[str, ...]] = field(default_factory=dict)
    features: dict[str, int] = field(default_factory=dict)


def read_cluster(dirs: tuple[LogDir, ...]) -> Cluster | None:
    """The metadata in the first dir that has any; None without, or if nothing can be read.

    A snapshot that should be there and cannot be read leaves the log without its beginning;
    such an image would call every topic unknown, so it counts as none.
    """
    found = (log_dir.partition(DIRECTORY) for log_dir in dirs if DIRECTORY in log_dir.entries)
    partition = next(filter(None, found), None)
    image = read_image(partition) if partition else None
    if partition is None or image is None or not image.names:
        return None
    cluster = Cluster(image=image, log_dir=partition.log_dir, name=partition.name)
    files = [*partition.kraft_snapshots[-1:], *(segment.log for segment in partition.segments)]
    for data in _records(list(filter(None, files))):
        _apply(cluster, data["type"], data["data"])
    return cluster if _whole(partition) else None


def _whole(partition: PartitionDir) -> bool:
    """Whether the log begins at 0, or its newest snapshot has the footer that ends it."""
    if not partition.kraft_snapshots:
        return min(partition.layout.logs, default=0) == 0
    last = None
    with partition.kraft_snapshots[-1].reader() as reader:
        for batch in iter_batches(reader, crc=True):
            last = batch
        return last is not None and last.is_control and last.end == reader.size


def _apply(cluster: Cluster, kind: str, data: Mapping[str, Any]) -> None:
    if kind == "FEATURE_LEVEL_RECORD":
        cluster.features[data["name"]] = data["featureLevel"]
    elif data.get("logDirs"):
        cluster.log_dirs[data["brokerId"]] = tuple(data["logDirs"])


def _records(files: list[FileEntry]) -> Iterator[Mapping[str, Any]]:
    """The decoded records of `_LOOKED_AT`, in order; what cannot be read is left out."""
    for file in files:
        try:
            values = list(_values(file))
        except Unreadable:
            continue
        for value in values:
            found = decode(None, value)["value"]
            if isinstance(found.get("data"), Mapping):
                yield found


def _values(file: FileEntry) -> Iterator[bytes]:
    with file.reader() as reader:
        for batch in iter_batches(reader, crc=True):
            if batch.is_control or batch.size > _BATCH_LIMIT:
                continue
            for record in iter_records(
                reader.read(batch.size, batch.position), batch, [], limit=_BATCH_LIMIT
            ):
                if record.value is not None and record.value[:2] in _LOOKED_AT:
                    yield record.value
