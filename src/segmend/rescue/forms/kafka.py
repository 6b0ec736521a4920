"""Records sent to a live cluster: same topic, same partition, in order.

OUT holds how far each partition came (`<topic>-<partition>.sent.json`). Who goes on where somebody was
stopped reads what the partition got since then, and leaves out what is there. An export keeps these notes
from run to run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from itertools import islice
from typing import Final, Required, TypedDict, cast

from confluent_kafka import Message

from segmend.broker.election import MIN_INSYNC
from segmend.errors import SegmendError, UsageError
from segmend.formats.java_properties import parse
from segmend.json_values import texts
from segmend.logdir import disk
from segmend.logdir.files import FileEntry
from segmend.node.metadata_image import MetadataImage
from segmend.rescue import notes
from segmend.rescue.forms import finish as finish
from segmend.rescue.lines import PartitionLine
from segmend.rescue.live import LiveCluster, LiveTopic, SentBeside
from segmend.rescue.long_names import stem
from segmend.rescue.outlet import JOURNAL, Folder
from segmend.rescue.reached import Reached, what_is_new
from segmend.rescue.request import Due, Job, RescueRequest, Written
from segmend.rescue.rows import Row, Tally, rows
from segmend.wording import plural

_CLUSTER: Final = "_kafka.json"
BEGINS: Final = frozenset({_CLUSTER})
_NOTE: Final = ".sent.json"
_ANEW: Final = "give a new --out to send it again"
_EACH: Final = 1.0
"""Seconds from note to note."""
_REPLICAS: Final = 3
_REPEATED: Final = 100_000
"""Librdkafka has no more records on their way."""


def prepare(request: RescueRequest, outlet: Folder, due: Sequence[Due], known: MetadataImage | None) -> None:
    """Look whether all topics are there with enough partitions, and make them if that is asked for.

    Nor may what was sent before be gone there, so that a report that is given once more is true.
    """
    cluster = _cluster(request)
    _same_cluster(cluster, outlet)
    for name in disk.names(outlet.path):
        note = _Note.at(outlet, name) if name.endswith(_NOTE) else None
        if note is not None and not note.sending:
            _still_there(cluster, note)
    _make_ready(cluster, request, outlet, due, known)


def _still_there(cluster: LiveCluster, note: _Note) -> None:
    """Raise `SegmendError` if a partition has no more all that was sent to it."""
    topic, _, partition = note.name.rpartition("-")
    live_topic = cluster.topic(topic, was_there=True)
    if live_topic is None or live_topic.partitions <= int(partition):
        raise SegmendError(f"{cluster.bootstrap}: {note.name}, which was sent, is gone; {_ANEW}")
    first, end = cluster.ends(topic, int(partition))
    note.refuse_shorter(cluster.bootstrap, end)
    for words in note.deleted(first):
        raise SegmendError(f"{cluster.bootstrap}: {note.name}: {words}; {_ANEW}")


def _make_ready(
    cluster: LiveCluster,
    request: RescueRequest,
    outlet: Folder,
    due: Sequence[Due],
    known: MetadataImage | None,
) -> None:
    """Have all topics there, with enough partitions; raises `SegmendError`."""
    needed: dict[str, int] = {}
    for each in due:
        needed[each.topic] = max(needed.get(each.topic, 0), each.partition + 1)
    lacking = []
    begun = {each.topic for each in due if _Note.read(outlet, f"{each.topic}-{each.partition}")}
    for topic, count in needed.items():
        live_topic = cluster.topic(topic, was_there=topic in begun)
        if live_topic is None:
            lacking.append(topic)
        elif live_topic.partitions < count:
            raise SegmendError(
                f"{request.bootstrap}: topic {topic} has {live_topic.partitions} partitions, too few for "
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
    """How many partitions and replicas a topic had, with which settings, as far as the metadata tells.

    With fewer brokers it gets fewer replicas, and no broker before 4.0 takes a record where more of them are
    to be in sync than there are (KIP-966).
    """
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
    count = min(had, nodes)
    if int(settings.get(MIN_INSYNC, "1")) > count:
        settings[MIN_INSYNC] = str(count)
    return max(needed, len(replicas)), count, settings


def _refuse_filled(cluster: LiveCluster, request: RescueRequest, outlet: Folder, due: Sequence[Due]) -> None:
    """A partition with records in it may be the one that was rescued before."""
    for each in due:
        begun = _Note.read(outlet, f"{each.topic}-{each.partition}") is not None
        if not begun and (end := cluster.ends(each.topic, each.partition)[1]):
            raise SegmendError(
                f"{request.bootstrap}: {each.topic}-{each.partition} is not new, its next offset is {end}; "
                "give --append to send behind what is there, or choose with --topic"
            )


def _cluster(request: RescueRequest) -> LiveCluster:
    settings: dict[str, str] = {}
    if request.client_config is not None:
        properties, damages = parse(FileEntry.at(request.client_config).read())
        if damages:
            raise UsageError(f"{request.client_config}: byte {damages[0].position}: {damages[0].reason}")
        settings = {line.key: line.value or "" for line in properties.lines if line.key is not None}
    return LiveCluster(request.bootstrap or "", settings)


def _same_cluster(cluster: LiveCluster, outlet: Folder) -> None:
    """Raise `SegmendError` if what was sent before went to another one, or a note of that is gone."""
    path, mine = f"{outlet.path}/{_CLUSTER}", cluster.id()
    if disk.path_type(path) is not None:
        before = notes.held(path, _ANEW)
        if before.get("cluster") != mine:
            raise SegmendError(
                f"{cluster.bootstrap}: is cluster {mine}, and this rescue began with "
                f"{before.get('cluster')}; give a new OUT for another cluster"
            )
        for name in texts(before, "notes") if "notes" in before else ():
            if disk.path_type(f"{outlet.path}/{name}") is None:
                raise SegmendError(
                    f"{outlet.path}/{name}: is gone, which told how far that partition was sent; put it back "
                    f"from a copy, or {_ANEW}"
                )
    _list_notes(mine, outlet)


def _list_notes(cluster: str | None, outlet: Folder) -> None:
    """Have it known which notes there are: a partition without one is sent from its begin."""
    path, told = (
        f"{outlet.path}/{_CLUSTER}",
        sorted(name for name in disk.names(outlet.path) if name.endswith(_NOTE)),
    )
    if disk.path_type(path) is None or notes.held(path, _ANEW).get("notes") != told:
        notes.put(outlet, _CLUSTER, {"cluster": cluster, "notes": told})


class _NoteFields(TypedDict, total=False):
    """What the file of a note has; the rest are the fields of `Reached`."""

    name: Required[str]
    target_offset: int
    sending: bool
    skipped: list[list[int]]
    anew: bool
    first_target: int | None


class _Note:
    """Up to where a partition is acknowledged, in its source and in the cluster.

    While something is on its way the partition may have got more than that: `sending`.
    """

    def __init__(
        self,
        outlet: Folder,
        name: str,
        target_offset: int = 0,
        sending: bool = True,
        skipped: Sequence[Sequence[int]] = (),
        anew: bool = False,
        first_target: int | None = None,
        **reached: int,
    ) -> None:
        self._outlet, self.name = outlet, name
        self.first_target = first_target
        """Where there the sending began."""
        self.reached, self.target_offset, self.sending = Reached(**reached), target_offset, sending
        self.sent, self.anew = 0, anew
        """`anew`: one got an offset below that of one before, so the topic was made anew meanwhile."""
        self.skipped = [(first, last) for first, last in skipped]
        """Offsets there that none of the records got, while one behind did."""
        self._written = 0.0

    @classmethod
    def read(cls, outlet: Folder, name: str) -> _Note | None:
        """As it was left."""
        return cls.at(outlet, f"{stem(name)}{_NOTE}")

    @classmethod
    def at(cls, outlet: Folder, file: str) -> _Note | None:
        """The same, by the name of its file."""
        path = f"{outlet.path}/{file}"
        if disk.path_type(path) is None:
            return None
        held = cast(_NoteFields, {"name": file.removesuffix(_NOTE), **notes.held(path, _ANEW)})
        try:
            note = cls(outlet, **held)
        except TypeError:
            note = None
        if note is None or f"{stem(note.name)}{_NOTE}" != file:
            raise SegmendError(f"{path}: is damaged; {_ANEW}")
        return note

    def begin(self, before: Reached, target_offset: int) -> None:
        """Something will be sent, which comes from there on; kept before that for good."""
        self.reached, self.target_offset, self.sending = before, target_offset, True
        self.first_target = target_offset
        self._write()
        self._outlet.keep_names()

    def acknowledged(self, offset: int, target: int) -> None:
        """One more; a request that had to be repeated may be so without the offset that it got (-1)."""
        self.anew = self.anew or 0 <= target < self.target_offset
        self.found(offset, target if target >= 0 else self.target_offset)
        self.sent += 1
        if time.monotonic() - self._written >= _EACH:
            self._write()

    def found(self, offset: int, target: int) -> None:
        if target > self.target_offset:
            self.skipped.append((self.target_offset, target - 1))
        self.reached = self.reached._replace(next_offset=offset + 1)
        self.target_offset = max(self.target_offset, target + 1)

    def end(self, after: Reached | None) -> None:
        """Have it on the disk: all is acknowledged, and it reaches so far; None if it was stopped."""
        self.reached, self.sending = after or self.reached, after is None
        self.skipped = self.skipped if after is None else []
        self._write()

    def refuse_shorter(self, there: str, end: int) -> None:
        """Raise `SegmendError` if the partition there, with this end, is not the one that was sent to."""
        if end < self.target_offset or self.anew:
            raise SegmendError(
                f"{there}: {self.name} ends at offset {end} there, and what was sent before came to "
                f"{self.target_offset}: it was deleted and made anew, or lost its end; {_ANEW}"
            )

    def deleted(self, first: int) -> Iterator[str]:
        """What was sent and is there no more, where the partition begins at `first` by now; in words."""
        if self.first_target is not None and self.first_target < (behind := min(first, self.target_offset)):
            yield (
                f"offsets {self.first_target} to {behind - 1} there, which were sent, are deleted (see "
                "retention.ms there)"
            )

    def _write(self) -> None:
        held = {
            "name": self.name, **self.reached._asdict(), "target_offset": self.target_offset,
            "sending": self.sending, "skipped": self.skipped, "anew": self.anew,
            "first_target": self.first_target,
        }  # fmt: skip
        notes.put(self._outlet, f"{stem(self.name)}{_NOTE}", held)
        self._written = time.monotonic()


def write(job: Job, outlet: Folder) -> Written:
    """Send a partition, and wait until all of it is acknowledged."""
    note = _Note.read(outlet, job.name) or _Note(outlet, job.name, sending=False)
    return _Sending(job, outlet, note).run(note.reached, lambda _: note.reached)


def grow(
    request: RescueRequest, outlet: Folder, due: Sequence[Due], known: Callable[[], MetadataImage | None]
) -> SentSoFar:
    """What was sent so far; raises `SegmendError`. What a broker deletes as time goes by is no fault here."""
    if disk.path_type(f"{outlet.path}/{JOURNAL}") is not None:
        raise UsageError(f"{outlet.path}: holds a rescue, which is done once; give an export another --out")
    cluster = _cluster(request)
    _same_cluster(cluster, outlet)
    _make_ready(cluster, request, outlet, due, known() if request.create_topics else None)
    return SentSoFar(outlet, cluster.id())


class SentSoFar:
    """What an export has sent so far: a form that sends what is new."""

    def __init__(self, outlet: Folder, cluster: str | None) -> None:
        self._outlet, self._cluster = outlet, cluster

    def reached(self, name: str) -> Reached:
        """How far the cluster has a partition."""
        note = _Note.read(self._outlet, name)
        return Reached() if note is None else note.reached

    def elsewhere(self, name: str) -> SentSoFar:
        """The same: the notes are in OUT."""
        del name
        return self

    def write(self, job: Job, outlet: Folder) -> Written:
        """Send what is new; raises `SegmendError` where this is another log."""
        note = _Note.read(outlet, job.name) or _Note(outlet, job.name, sending=False)
        new = what_is_new(job, note.reached)
        return _Sending(new.job, outlet, note).run(new.before, new.after)

    def commit(self, lines: Sequence[PartitionLine]) -> None:
        """Each partition has its note already."""
        del lines
        _list_notes(self._cluster, self._outlet)


class _Sending:
    """One partition on its way to the cluster."""

    def __init__(self, job: Job, outlet: Folder, note: _Note) -> None:
        self._job, self._outlet, self._note = job, outlet, note
        self._cluster = _cluster(job.request)
        topic = self._cluster.topic(job.topic, was_there=True)
        if topic is None or topic.partitions <= job.partition:
            raise SegmendError(f"{self._cluster.bootstrap}: {job.name} is gone")
        self._topic, self._tally, self._changed = topic, Tally(), _Changed(topic)
        self._size = 0
        self._doubts: list[str] = []

    def run(self, before: Reached, after: Callable[[int | None], Reached]) -> Written:
        """Send what is not there, and wait for it; `after` tells how far that reaches by its last offset."""
        note, job = self._note, self._job
        sent_rows = self._rows(before.next_offset)
        if note.sending:
            sent_rows = self._without_what_is_there(sent_rows)
        else:
            note.begin(before, self._ends()[1])
        sender = self._cluster.sender(job.topic, job.partition, self._topic.largest, note.acknowledged)
        reached: Reached | None = None
        try:
            for row in sent_rows:
                sender.send(row.offset, row.key, row.value, **_more(row))
                self._size += len(row.key or b"") + len(row.value or b"")
            sender.finish()
            first = self._ends()[0]
            reached = after(self._changed.last)
            self._doubts += [*self._sent_twice(), *note.deleted(first)]
        finally:
            sender.give_up()
            note.end(reached)
        return self._tally.written(
            self._size, sent=note.sent, next_target_offset=note.target_offset,
            next_offset=note.reached.next_offset, notes=list(self._changed.words()), doubts=self._doubts,
        )  # fmt: skip

    def _sent_twice(self) -> Iterator[str]:
        """What a broker took a second time when a request was repeated, in words.

        It forgets the producer of such old records when it starts anew: ProducerStateManager.loadFromSnapshot
        leaves out whose last timestamp is older than producer.id.expiration.ms, by the records' own time.
        """
        for first, last in self._note.skipped:
            count = last - first + 1
            if count > _REPEATED:
                continue  # No producer has as many on their way: these are of others.
            begin = max(first - count, 0)
            messages = self._cluster.records(self._job.topic, self._job.partition, begin)
            there = [_content(message) for message in islice(messages, first - begin + 2 * count)]
            at = first - begin
            if there[at : at + count] in (there[:at], there[at + count :]):
                yield (
                    f"offsets {first} to {last} there hold the same records as those beside them: a broker "
                    "that stopped while they were sent took them twice"
                )

    def _rows(self, low: int) -> Iterator[Row]:
        for row in rows(self._job, self._tally, self._outlet.tell):
            if row.offset >= low:
                self._changed.see(row)
                yield row

    def _ends(self) -> tuple[int, int]:
        """Of the partition there; raises `SegmendError` if that is not the one to which was sent before."""
        ends = self._cluster.ends(self._job.topic, self._job.partition)
        self._note.refuse_shorter(self._cluster.bootstrap, ends[1])
        return ends

    def _without_what_is_there(self, rows_left: Iterator[Row]) -> Iterator[Row]:
        """The rows behind those that are there, in this order; others may have written between them."""
        first, reached = self._ends()[0], self._note.target_offset
        if first > reached:
            self._doubts.append(
                f"offsets {reached} to {first - 1} were deleted there before it was looked whether they "
                "hold records of this log: some may have been sent twice"
            )
        there = self._cluster.records(self._job.topic, self._job.partition, reached)
        row = next(rows_left, None)
        for message in there:
            if row is None:
                return
            if _is_in(row, message, self._topic.append_time):
                self._note.found(row.offset, message.offset())
                row = next(rows_left, None)
        if row is not None:
            yield row
        yield from rows_left


def _is_in(row: Row, message: Message, append_time: bool) -> bool:
    sent = _more(row)
    return (
        (row.key, row.value, sent["headers"]) == (message.key(), message.value(), message.headers() or [])
        and (append_time or sent["timestamp"] == message.timestamp()[1])
    )  # fmt: skip


def _content(message: Message) -> bytes:
    told = message.key(), message.value(), message.headers(), message.timestamp()
    return blake2b(repr(told).encode(), digest_size=16).digest()


def _more(row: Row) -> SentBeside:
    # librdkafka takes 0 for "now".
    return {"timestamp": row.timestamp or 1, "headers": row.headers}


class _Changed:
    """Counts what cannot be or stay the same there; `last` is the offset of the last record."""

    def __init__(self, topic: LiveTopic) -> None:
        self._topic = topic
        deletes = "delete" in topic.policies and topic.retention_ms >= 0
        self._kept_from = time.time() * 1000 - topic.retention_ms if deletes else 0
        self._of_brokers = self._zero = self._old = 0
        self.last: int | None = None

    def see(self, row: Row) -> None:
        self.last = row.offset
        self._of_brokers += row.timestamp_type == 1
        self._zero += row.timestamp == 0
        self._old += 0 <= row.timestamp < self._kept_from

    def words(self) -> Iterator[str]:
        """What is to be told of it."""
        if "compact" in self._topic.policies:
            yield "cleanup.policy is compact there: in time its broker keeps the last record of each key only"
        if self._topic.append_time:
            yield "message.timestamp.type is LogAppendTime there: all timestamps are those of sending"
            return
        if self._of_brokers:
            yield f"{self._of_brokers} timestamps of type LogAppendTime were sent as CreateTime"
        if self._zero:
            yield f"{self._zero} timestamps of 0 were sent as 1 ms: librdkafka cannot send 0"
        if self._old:
            yield (
                f"{plural(self._old, 'record')} older than retention.ms ({self._topic.retention_ms}) there, "
                "which its broker deletes with their segments: raise that now (kafka-configs.sh --alter)"
            )
