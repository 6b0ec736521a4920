"""Which golden topics a release has, and with which settings: one row a topic."""

from dataclasses import dataclass, field

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from tests.lab.admin import admin
from tests.lab.releases import Release

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
FOREVER = "9223372036854775807"


@dataclass(frozen=True)
class Topic:
    """A topic of the golden directories; `settings` are topic level configurations."""

    name: str
    settings: dict[str, str] = field(default_factory=dict)
    partitions: int = 1


def codecs(release: Release) -> list[str]:
    """The codecs that this release's brokers know."""
    return CODECS if release.number >= (2, 1) else CODECS[:-1]


def small_segments(release: Release, size: int = 4096) -> dict[str, str]:
    """Settings for many small segments that never expire."""
    name = "internal.segment.bytes" if release.number >= (4, 1) else "segment.bytes"
    return {name: str(size), "index.interval.bytes": "512", "retention.ms": "-1"}


def legacy(release: Release) -> list[Topic]:
    """Topics whose message.format.version makes the broker write magic 0 and 1 (impossible since 3.0)."""
    if release.number >= (3, 0):
        return []
    formats = {"v0": "0.8.2", "v1": "0.10.0"} if release.number < (2, 0) else {"v1": "0.10.2"}
    if release.number < (0, 11):
        formats = {"v0": "0.9.0"}
    upgraded = [Topic("upgraded", {"message.format.version": next(iter(formats.values()))})]
    if release.number < (0, 11):
        upgraded = []  # they cannot change a topic's settings by a request
    return [
        *(
            Topic(f"{magic}-{codec}", {"message.format.version": version})
            for magic, version in formats.items()
            for codec in CODECS[:-1]
        ),
        *upgraded,
    ]


def topics(release: Release) -> list[Topic]:
    """All golden topics of that release."""
    any_time = {}
    if release.number >= (3, 6):
        any_time = {"message.timestamp.after.max.ms": FOREVER, "message.timestamp.before.max.ms": FOREVER}
    compact = {
        "cleanup.policy": "compact",
        "min.cleanable.dirty.ratio": "0.01",
        "delete.retention.ms": "86400000",
    }
    rows = [
        *(Topic(f"codec-{codec}") for codec in codecs(release)),
        *(Topic(f"broker-{codec}", {"compression.type": codec}) for codec in codecs(release)[1:]),
        *legacy(release),
        Topic("orders.eu-west_1", partitions=3),
        Topic("nulls"),
        Topic("appendtime", {"message.timestamp.type": "LogAppendTime"}),
        Topic("times", any_time),
        Topic("single"),
        Topic("empty"),
        Topic("compacted", compact),
        Topic("doomed"),
    ]
    if release.number >= (0, 11):
        rows += [
            Topic("headers"),
            Topic("idem"),
            Topic("txn"),
            Topic("txn-open"),
            Topic("trimmed"),
            Topic("compacted-txn", {**compact, "delete.retention.ms": "1"}),
        ]
    if release.number >= (1, 1):
        rows.append(Topic("moved"))
    return [Topic(row.name, {**small_segments(release), **row.settings}, row.partitions) for row in rows]


def create(bootstrap: str, wanted: list[Topic], replicas: int = 1) -> None:
    """Create the topics and wait until the broker says so."""
    client = admin(bootstrap)  # its futures die with it
    fresh = {row.name: NewTopic(row.name, row.partitions, replicas, config=row.settings) for row in wanted}
    for name, future in client.create_topics([*fresh.values()], operation_timeout=60).items():
        try:
            try:
                future.result(90)
            except KafkaException as error:
                # librdkafka gives up the address it began with, and what it asked there, once it knows all.
                if error.args[0].code() != KafkaError._DESTROY_BROKER:
                    raise
                _once_more(client, fresh[name])
        except Exception as error:
            raise RuntimeError(f"topic {name}: {error}") from error


def _once_more(client: AdminClient, topic: NewTopic) -> None:
    """It may have been made."""
    try:
        client.create_topics([topic], operation_timeout=60)[topic.topic].result(90)
    except KafkaException as error:
        if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise
