"""Records sent to a live cluster: same topic, same partition, in order.

OUT holds how far each partition came (`<topic>-<partition>.sent.json`). Who goes on reads what the partition
got since then, and leaves out what is there.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from confluent_kafka import Message

from segmend.errors import SegmendError, UsageError
from segmend.formats.java_properties import parse
from segmend.logdir import disk
from segmend.logdir.files import FileEntry
from segmend.node.metadata_image import MetadataImage
from segmend.rescue.live import Cluster
from segmend.rescue.outlet import Folder, Line
from segmend.rescue.request import Due, Home, Job, Request, Written
from segmend.rescue.rows import Row, Tally, rows

_EACH: Final = 1.0
"""Seconds from note to note."""
_REPLICAS: Final = 3


def prepare(request: Request, outlet: Folder, due: Sequence[Due], known: MetadataImage | None) -> None:
    """Look whether all topics are there with enough partitions, and make them if that is asked for."""
    cluster = _cluster(request)
    _same_cluster(cluster, outlet)
    needed: dict[str, int] = {}
    for each in due:
        needed[each.topic] = max(needed.get(each.topic, 0), each.partition + 1)
    lacking = []
    for topic, count in needed.items():
        found = cluster.topic(topic)
        if found is None:
            lacking.append(topic)
        elif found.partitions < count:
            raise SegmendError(
                f"{request.bootstrap}: topic {topic} has {found.partitions} partitions, too few for "
                f"{topic}-{count - 1}; add some (kafka-topics.sh --alter), or choose with --topic"
            )
    if lacking and not request.create_topics:
        raise SegmendError(
            f"{request.bootstrap}: has no topic {', '.join(lacking)}; give --create-topics, or make them"
        )
    if not request.append:
        _refuse_filled(cluster, request, outlet, [each for each in due if each.topic not in lacking])
    for topic in lacking:
        cluster.create(topic, *_shape(topic, needed[topic], cluster.nodes(), known))


def _shape(
    topic: str, needed: int, nodes: int, known: MetadataImage | None
) -> tuple[int, int, dict[str, str]]:
    """How many partitions and replicas a topic had, with which settings, as far as the metadata tells."""
    topic_id = None if known is None else known.ids.get(topic)
    if known is None or topic_id is None:
        return needed, min(_REPLICAS, nodes), {}
    replicas = {key[1]: len(value) for key, value in known.replicas.items() if key[0] == topic_id}
    had = max(replicas.values(), default=_REPLICAS)
    settings = {
        name: value
        for name, value in known.configs.get(topic, {}).items()
        if not name.startswith("internal.")
    }
    return max(needed, len(replicas)), min(had, nodes), settings


def _refuse_filled(cluster: Cluster, request: Request, outlet: Folder, due: Sequence[Due]) -> None:
    """A partition with records in it may be the one that was rescued before."""
    for each in due:
        begun = _Note.read(outlet, f"{each.topic}-{each.partition}") is not None
        if not begun and (end := cluster.end(each.topic, each.partition)):
            raise SegmendError(
                f"{request.bootstrap}: {each.topic}-{each.partition} is not new, its next offset is {end}; "
                "give --append to send behind what is there, or choose with --topic"
            )


def _cluster(request: Request) -> Cluster:
    settings: dict[str, str] = {}
    if request.client_config is not None:
        found, damages = parse(FileEntry.at(request.client_config).read())
        if damages:
            raise UsageError(f"{request.client_config}: byte {damages[0].position}: {damages[0].reason}")
        settings = {line.key: line.value or "" for line in found.lines if line.key is not None}
    return Cluster(request.bootstrap or "", settings)


def _same_cluster(cluster: Cluster, outlet: Folder) -> None:
    """Raise `SegmendError` if what was sent before went to another one."""
    path, mine = f"{outlet.path}/_kafka.json", {"cluster": cluster.id()}
    if disk.path_type(path) is None:
        outlet.put("_kafka.json", json.dumps(mine).encode())
    elif (before := json.loads(FileEntry.at(path).read())) != mine:
        raise SegmendError(
            f"{cluster.bootstrap}: is cluster {mine['cluster']}, and this rescue began with "
            f"{before['cluster']}; give a new OUT for another cluster"
        )


class _Note:
    """Up to where a partition is acknowledged, in its source and in the cluster."""

    def __init__(self, outlet: Folder, name: str, next_offset: int, target_offset: int) -> None:
        self._outlet, self._name = outlet, name
        self.next_offset, self.target_offset = next_offset, target_offset
        self.sent = 0
        self._written = 0.0

    @classmethod
    def read(cls, outlet: Folder, name: str) -> _Note | None:
        """As it was left."""
        path = f"{outlet.path}/{name}.sent.json"
        if disk.path_type(path) is None:
            return None
        return cls(outlet, name, **json.loads(FileEntry.at(path).read()))

    def acknowledged(self, offset: int, target: int) -> None:
        """One more."""
        self.next_offset, self.target_offset = offset + 1, target + 1
        self.sent += 1
        if time.monotonic() - self._written >= _EACH:
            self.write()

    def write(self) -> None:
        """Have it on the disk."""
        held = {"next_offset": self.next_offset, "target_offset": self.target_offset}
        self._outlet.put(f"{self._name}.sent.json", json.dumps(held).encode())
        self._written = time.monotonic()


def write(job: Job, outlet: Folder) -> Written:
    """Send a partition, and wait until all of it is acknowledged."""
    cluster = _cluster(job.request)
    topic = cluster.topic(job.topic)
    if topic is None or topic.partitions <= job.partition:
        raise SegmendError(f"{cluster.bootstrap}: {job.name} is gone")
    note, before = _Note.read(outlet, job.name), True
    if note is None:
        note, before = _Note(outlet, job.name, -1 << 63, cluster.end(job.topic, job.partition)), False
        note.write()
    tally, changed = Tally(), _Changed(topic.append_time)
    found: Iterator[Row] = (row for row in rows(job, tally, outlet.tell) if row.offset >= note.next_offset)
    if before:
        found = _without(
            found, cluster.records(job.topic, job.partition, note.target_offset), topic.append_time
        )
    sender = cluster.sender(job.topic, job.partition, topic.largest, note.acknowledged)
    size = 0
    try:
        for row in found:
            changed.see(row)
            sender.send(row.offset, row.key, row.value, **_more(row))
            size += len(row.key or b"") + len(row.value or b"")
        sender.finish()
    finally:
        sender.give_up()
        note.write()
    return tally.written(
        size, sent=note.sent, next_target_offset=note.target_offset, notes=list(changed.words())
    )


def _without(found: Iterator[Row], there: Iterable[Message], append_time: bool) -> Iterator[Row]:
    """The rows behind those that are there, in this order; others may have written between them."""
    row = next(found, None)
    for message in there:
        if row is None:
            return
        if _is_in(row, message, append_time):
            row = next(found, None)
    if row is not None:
        yield row
    yield from found


def _is_in(row: Row, message: Message, append_time: bool) -> bool:
    sent = _more(row)
    return (
        (row.key, row.value, sent["headers"]) == (message.key(), message.value(), message.headers() or [])
        and (append_time or sent["timestamp"] == message.timestamp()[1])
    )  # fmt: skip


def _more(row: Row) -> dict[str, Any]:
    # librdkafka takes 0 for "now".
    return {"timestamp": row.timestamp or 1, "headers": row.headers}


class _Changed:
    """Counts what cannot be the same there."""

    def __init__(self, append_time: bool) -> None:
        self._append_time = append_time
        self._of_brokers = self._zero = 0

    def see(self, row: Row) -> None:
        """One more record."""
        self._of_brokers += row.timestamp_type == 1
        self._zero += row.timestamp == 0

    def words(self) -> Iterator[str]:
        """What is to be told of it."""
        if self._append_time:
            yield "message.timestamp.type is LogAppendTime there: all timestamps are those of sending"
            return
        if self._of_brokers:
            yield f"{self._of_brokers} timestamps of type LogAppendTime were sent as CreateTime"
        if self._zero:
            yield f"{self._zero} timestamps of 0 were sent as 1 ms: librdkafka cannot send 0"


def finish(home: Home, outlet: Folder, lines: Sequence[Line]) -> None:
    """Nothing is left to do."""
    del home, outlet, lines
