"""A live cluster to which records are sent. Needs confluent-kafka: only a form imports this."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Final, NoReturn, TypedDict, Unpack

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    ClusterMetadata,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from segmend.broker.election import MIN_INSYNC
from segmend.errors import SegmendError
from segmend.frozen import frozen
from segmend.rescue.refusals import is_echo, silence, words_of

_ANSWER: Final = 20.0
"""Seconds that a cluster has to answer a question."""
PATIENCE: Final = 60.0
"""Seconds without one acknowledgement after which sending stops."""
_SOON: Final = 10.0
"""Seconds without the first one after which it is asked whether there can be any."""
SETTLED: Final = 15.0
"""Seconds in which a broker that starts gets to know its topics."""
_BEHIND: Final = 2.0
"""Seconds in which all is heard of records that are refused together."""
_BATCH: Final = 1_000_000
_QUIET: Final = logging.getLogger("segmend.librdkafka")
_QUIET.addHandler(logging.NullHandler())
_QUIET.propagate = False


@frozen
class LiveTopic:
    """What the cluster says of a topic."""

    partitions: int
    append_time: bool
    largest: int
    """Of its batches, in bytes."""
    policies: Collection[str]
    """Of its cleaning: delete, compact."""
    retention_ms: int
    """Negative: for ever."""


class LiveCluster:
    """The cluster behind `bootstrap`; `settings` are librdkafka's, for its security.

    All it is asked raises `SegmendError`.
    """

    def __init__(self, bootstrap: str, settings: Mapping[str, str]) -> None:
        self.bootstrap = bootstrap
        self._settings: dict[str, object] = {
            **settings,
            "bootstrap.servers": bootstrap,
            "error_cb": self._told,
        }
        self._last = ""
        # It never joins that group nor commits; a consumer's questions make no topics, a producer's do.
        reading = {
            "group.id": "segmend-rescue", "enable.auto.commit": False, "allow.auto.create.topics": False,
            "auto.offset.reset": "earliest", "enable.partition.eof": True,
            "isolation.level": "read_uncommitted",
        }  # fmt: skip
        try:
            self._consumer = Consumer({**self._settings, **reading}, logger=_QUIET)
            self._admin = AdminClient(dict(self._settings), logger=_QUIET)
        except (KafkaException, ValueError) as error:
            raise SegmendError(f"--client-config: {words_of(error)}") from None

    def _told(self, error: KafkaError) -> None:
        self._last = error.str()

    def id(self) -> str | None:
        """The cluster id; None if it has none (before 0.10.1)."""
        return str(cluster_id) if (cluster_id := self._metadata("").cluster_id) else None

    def nodes(self) -> int:
        """How many brokers are up."""
        return len(self._metadata("").brokers)

    def _metadata(self, topic: str) -> ClusterMetadata:
        # Not of all topics: librdkafka cannot parse the answer of a 1.1.0 about a hundred of them.
        try:
            return self._consumer.list_topics(topic or "__segmend_none", timeout=_ANSWER)
        except KafkaException as error:
            why = self._last or words_of(error)
            raise SegmendError(
                f"{self.bootstrap}: no broker answers there ({why}); see --bootstrap"
            ) from None

    def topic(self, name: str, *, was_there: bool = False) -> LiveTopic | None:
        """None if there is no such topic; a broker that only just started tells of none for a moment."""
        until = time.monotonic() + (SETTLED if was_there else 0)
        while (topic := self._topic(name)) is None and time.monotonic() < until:
            time.sleep(0.2)
        return topic

    def _topic(self, name: str) -> LiveTopic | None:
        topic_metadata = self._metadata(name).topics[name]
        if topic_metadata.error is not None:
            if topic_metadata.error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                return None
            raise SegmendError(f"{self.bootstrap}: topic {name}: {words_of(topic_metadata.error)}")
        said = self._settings_of(name)
        return LiveTopic(
            partitions=len(topic_metadata.partitions),
            append_time=said["message.timestamp.type"].value == "LogAppendTime",
            largest=min(int(said[name].value) for name in ("max.message.bytes", "segment.bytes")),
            policies=said["cleanup.policy"].value.replace(" ", "").split(","),
            retention_ms=int(said["retention.ms"].value),
        )

    def _settings_of(self, topic: str) -> Mapping[str, ConfigEntry]:
        resource = ConfigResource(ResourceType.TOPIC, topic)
        try:
            asked = self._admin.describe_configs([resource], request_timeout=_ANSWER)
            said: Mapping[str, ConfigEntry] = asked[resource].result(2 * _ANSWER)
        except KafkaException as error:
            raise SegmendError(f"{self.bootstrap}: settings of topic {topic}: {words_of(error)}") from None
        return said

    def why_silent(self, topic: str, partition: int, *, for_good: bool = False) -> str:
        """Why a partition may acknowledge nothing, in words.

        `for_good`: empty unless it has fewer replicas than are to be in sync. Since 4.0 as many are enough as
        there are (KIP-966), so who was acknowledged anything does not ask that.
        """
        try:
            there = self._metadata(topic).topics[topic].partitions[partition]
            needed = int(self._settings_of(topic)[MIN_INSYNC].value)
        except SegmendError as error:
            return "" if for_good else str(error)
        except KeyError:
            return "" if for_good else "it is gone"
        if for_good and (there.leader < 0 or len(there.replicas) >= needed):
            return ""
        return silence(there.leader, there.replicas, there.isrs, needed)

    def create(self, name: str, partitions: int, replicas: int, settings: Mapping[str, str]) -> None:
        """Make a topic and wait until it is there."""
        new = NewTopic(name, partitions, replicas, config=dict(settings))
        try:
            self._admin.create_topics([new], operation_timeout=_ANSWER)[name].result(3 * _ANSWER)
        except KafkaException as error:
            if (
                isinstance(error.args[0], KafkaError)
                and error.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS
            ):
                raise SegmendError(
                    f"{self.bootstrap}: topic {name} is there, though a moment ago it was not told of, as by "
                    "a broker that starts; give the same command again"
                ) from None
            raise SegmendError(
                f"{self.bootstrap}: topic {name} cannot be made as it was ({words_of(error)}); "
                "make it yourself"
            ) from None
        until = time.monotonic() + 3 * _ANSWER
        while not self._is_led(name, partitions):
            if time.monotonic() > until:
                raise SegmendError(f"{self.bootstrap}: topic {name} was made, but has no leaders")
            time.sleep(0.2)

    def _is_led(self, name: str, partitions: int) -> bool:
        topic_metadata = self._metadata(name).topics[name]
        return len(topic_metadata.partitions) == partitions and all(
            each.leader >= 0 for each in topic_metadata.partitions.values()
        )

    def ends(self, topic: str, partition: int) -> tuple[int, int]:
        """The first offset that is there, and the one that the next record of a partition gets."""
        try:
            first, end = self._consumer.get_watermark_offsets(
                TopicPartition(topic, partition), timeout=_ANSWER
            )
            return int(first), int(end)
        except KafkaException as error:
            raise SegmendError(f"{self.bootstrap}: {topic}-{partition}: {words_of(error)}") from None

    def records(self, topic: str, partition: int, first: int) -> Iterator[Message]:
        self._consumer.assign([TopicPartition(topic, partition, first)])
        try:
            while True:
                message = self._consumer.poll(PATIENCE)
                error = None if message is None else message.error()
                if error is not None and error.code() == KafkaError._PARTITION_EOF:
                    return
                if message is None or error is not None:
                    why = "no answer" if error is None else error.str()
                    raise SegmendError(f"{self.bootstrap}: {topic}-{partition} cannot be read: {why}")
                yield message
        finally:
            self._consumer.unassign()

    def sender(self, topic: str, partition: int, largest: int, done: Callable[[int, int], None]) -> Sender:
        """Sends to one partition; `done` hears of each that is acknowledged."""
        to = (topic, partition, largest)
        why_silent = partial(self.why_silent, topic, partition)
        return Sender(self.bootstrap, self._settings, to, done, why_silent)


class SentBeside(TypedDict):
    """What a record has beside key and value."""

    timestamp: int
    headers: list[tuple[str, bytes | None]]


class Sender:
    """Sends records to one partition, in order, each once as long as this process lives."""

    def __init__(
        self,
        bootstrap: str,
        settings: Mapping[str, object],
        to: tuple[str, int, int],
        done: Callable[[int, int], None],
        why_silent: Callable[..., str],
    ) -> None:
        self._where, (self._topic, self._partition, largest) = bootstrap, to
        self._done = done
        self._pending: deque[int] = deque()
        self._why_silent = why_silent
        self._failed: str | None = None
        self._refused: tuple[int, KafkaError] | None = None
        self._heard, self._asked = time.monotonic(), False
        wanted = {
            **settings,
            "enable.idempotence": True,
            "enable.gapless.guarantee": True,
            "compression.type": "lz4",
            "linger.ms": 20,
            "batch.size": max(1, min(_BATCH, largest - 1000)),
            "message.max.bytes": 1_000_000_000,
            "queue.buffering.max.kbytes": 65_536,
            # Nothing is given up by itself, so that nothing is left out in the middle.
            "message.timeout.ms": 0,
        }
        try:
            self._producer = Producer(wanted, logger=_QUIET)
        except (KafkaException, ValueError) as error:
            raise SegmendError(f"--client-config: {words_of(error)}") from None

    def send(self, offset: int, key: bytes | None, value: bytes | None, **more: Unpack[SentBeside]) -> None:
        """Queue a record that has this offset in its source."""
        while True:
            try:
                self._producer.produce(
                    self._topic, value, key, self._partition, on_delivery=self._delivered, **more
                )
            except BufferError:
                if not self._pending:
                    raise SegmendError(f"{self._name}: offset {offset}: too large to be sent") from None
                self._wait(1.0)
            except KafkaException as error:
                self._wait(0)
                if error.args[0].code() == KafkaError._FATAL:
                    self._fail(self._reason_of(error))
                raise SegmendError(f"{self._name}: offset {offset}: {words_of(error)}") from None
            else:
                break
        if not self._pending:
            self._heard = time.monotonic()
        self._pending.append(offset)
        self._wait(0)

    def finish(self) -> None:
        """Wait until all is acknowledged."""
        while self._pending:
            self._wait(0.2)
        self._wait(0)

    def give_up(self) -> None:
        """Send nothing more."""
        self._failed = ""
        self._producer.purge(blocking=False)
        with suppress(KafkaException):  # that what is purged is missing, which is meant
            self._producer.poll(0)

    @property
    def _name(self) -> str:
        return f"{self._where}: {self._topic}-{self._partition}"

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        offset = self._pending.popleft()
        if error is None and self._failed is None and self._refused is None:
            self._heard, self._asked = time.monotonic(), True
            self._done(offset, message.offset())
        elif error is not None and (
            self._refused is None or (is_echo(self._refused[1]) and not is_echo(error))
        ):
            self._refused = offset, error

    def _wait(self, seconds: float) -> None:
        try:
            self._producer.poll(seconds)
        except KafkaException as error:
            self._failed = self._failed or self._reason_of(error)
        if self._failed is None and self._refused is not None:
            self._failed = self._reason_of(None)
        if self._failed is None and self._pending:
            self._failed = self._why_nothing(time.monotonic() - self._heard)
        if self._failed:
            self._fail(self._failed)

    def _why_nothing(self, silent: float) -> str | None:
        """Why nothing was acknowledged for so long, if that is too long, or waiting does not help."""
        words = f"nothing was acknowledged for {silent:.0f} s"
        if silent > PATIENCE:
            return f"{words}: {self._why_silent()}"
        if silent <= _SOON or self._asked:
            return None
        self._asked = True
        why = self._why_silent(for_good=True)
        return f"{words}: {why}" if why else None

    def _fail(self, why: str) -> NoReturn:
        self._failed = why
        raise SegmendError(f"{self._name}: {why}; mend that and give the same command again, which goes on")

    def _reason_of(self, error: KafkaException | None) -> str:
        """Which record is refused, and why: what is told of each comes behind a fatal error."""
        until = time.monotonic() + _BEHIND
        while (self._refused is None or is_echo(self._refused[1])) and time.monotonic() < until:
            try:
                self._producer.poll(0.1)
            except KafkaException as fatal:
                error = error or fatal
        if error is not None and (self._refused is None or is_echo(self._refused[1])):
            return words_of(error)
        assert self._refused is not None, "without a fatal error it is a record that is refused"
        offset, refusal = self._refused
        return f"offset {offset} of the source is refused: {words_of(refusal)}"
