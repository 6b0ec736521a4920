"""What `KafkaConfig` asks of numbers that must fit one another: a row for each.

Follows `KafkaConfig.validateValues`; of each single value `settings` speaks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from segmend.broker.failures import NOT_A_NUMBER
from segmend.broker.rule import Rule, Words
from segmend.broker.server_groups import group_refusals
from segmend.broker.server_listeners import unmapped
from segmend.formats.config_values import boolean, long_integer
from segmend.formats.java_number import parse_long
from segmend.frozen import frozen
from segmend.logdir.release import Release

_FAILED: Final = "requirement failed: "
_MIB: Final = 1 << 20
_HOUR: Final = 3_600_000


@frozen
class Limit:
    """`broken` is asked with the numbers of the settings, `words` are given them."""

    defaults: Mapping[str, int | Rule[int]]
    broken: Callable[..., bool]
    words: Words


def _limit(
    follows: str,
    broken: Callable[..., bool],
    *words: tuple[tuple[int, ...], str | None],
    **defaults: int | Rule[int],
) -> Limit:
    named = {name.replace("_", "."): value for name, value in defaults.items()}
    return Limit(
        defaults=named, broken=broken, words=Words.since(f"KafkaConfig.validateValues; {follows}", *words)
    )


_SINCE: Final = (0, 9)
_LAG: Final = Rule("KafkaConfig; KIP-537", (((0, 8), 10_000), ((2, 5), 30_000)))
_ACKS: Final = (
    "offsets.commit.required.acks must be greater or equal {}-1 and less or equal to "
    "offsets.topic.replication.factor"
)
_ANY_CODEC: Final = Rule("CompressionCodec; zstd, KIP-110", (((0, 8), 3), ((2, 1), 4)))
LIMITS: Final = (
    _limit(
        "CleanerConfig", lambda size, threads: threads > 0 and size // threads <= _MIB,
        (_SINCE, _FAILED + "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread."),
        log_cleaner_dedupe_buffer_size=128 * _MIB, log_cleaner_threads=1,
    ),
    _limit("CleanerConfig", lambda threads: threads == 0, (_SINCE, "/ by zero"), log_cleaner_threads=1),
    _limit(
        "fetchers", lambda wait, timeout: wait > timeout,
        (_SINCE, _FAILED + "replica.socket.timeout.ms should always be at least replica.fetch.wait.max.ms to "
                 "prevent unnecessary socket timeouts"),
        replica_fetch_wait_max_ms=500, replica_socket_timeout_ms=30_000,
    ),
    _limit(
        "fetchers", lambda wait, lag: wait > lag,
        (_SINCE, _FAILED + "replica.fetch.wait.max.ms should always be less than or equal to "
                 "replica.lag.time.max.ms to prevent frequent changes in ISR"),
        replica_fetch_wait_max_ms=500, replica_lag_time_max_ms=_LAG,
    ),
    _limit(
        "gone with 4.0", lambda acks, replicas: not -1 <= acks <= replicas,
        (_SINCE, _FAILED + _ACKS.format("")), ((3, 9), _ACKS.format("to ")), ((4, 0), None),
        offsets_commit_required_acks=-1, offsets_topic_replication_factor=3,
    ),
    _limit(
        "KIP-72", lambda queued, largest: 0 < queued < largest,
        ((1, 0), _FAILED + "queued.max.request.bytes must be larger or equal to socket.request.max.bytes"),
        queued_max_request_bytes=-1, socket_request_max_bytes=100 * _MIB,
    ),
    _limit(
        "KIP-306", lambda delay, idle: 0 <= idle <= delay,
        ((2, 1), _FAILED + "connection.failed.authentication.delay.ms={} should always be less than "
                 "connections.max.idle.ms={} to prevent failed authentication responses from timing out"),
        connection_failed_authentication_delay_ms=100, connections_max_idle_ms=600_000,
    ),
    _limit(
        "CompressionCodec", lambda codec, most: not 0 <= codec <= most,
        (_SINCE, "{} is an unknown compression codec"), ((3, 5), "Unknown compression type id: {}"),
        offsets_topic_compression_codec=0, _=_ANY_CODEC,
    ),
    _limit(
        "CompressionType", lambda codec, most: not 0 <= codec <= most,
        ((4, 0), "Unknown compression type id: {}"),
        share_coordinator_state_topic_compression_codec=0, _=_ANY_CODEC,
    ),
    _limit(
        "ShareCoordinatorConfig; has a validator since 4.3", lambda records: records > 500,
        ((4, 0), "share.coordinator.snapshot.update.records.per.snapshot must be between [0, 500]"),
        ((4, 3), None), share_coordinator_snapshot_update_records_per_snapshot=500,
    ),
    *(
        _limit(
            "RemoteLogManagerConfig; a range of its own in 3.8 and since 4.0",
            lambda threads: threads < -1 or threads == 0,
            ((3, 9), f"Invalid value {{}} for configuration remote.log.manager.{pool}.thread.pool.size: "
                     "Value can be -1 or greater than 0"),
            ((4, 0), None), **{f"remote_log_manager_{pool}_thread_pool_size": -1},
        )
        for pool in ("copier", "expiration")
    ),
)  # fmt: skip
_NO_LESS: Final = "{0} must be {1} {2}"
_GREATER: Final = Rule(
    "KafkaConfig.validateValues", (((0, 8), "equal or greater than"), ((2, 8), "greater than or equal to"))
)


def limit_refusals(given: Mapping[str, str], release: Release) -> Iterator[str]:
    for each in LIMITS:
        numbers = [_number(given, name, default, release) for name, default in each.defaults.items()]
        if each.broken(*numbers) and (words := each.words.say(release, *numbers)):
            yield words
    yield from _of_times(given, release)
    yield from _of_brokers(given, release)
    yield from _of_connections(given, release)
    yield from group_refusals(given, release)


def _number(given: Mapping[str, str], name: str, default: int | Rule[int], release: Release) -> int:
    number = long_integer(given.get(name))
    if number is not None:
        return number
    return default if isinstance(default, int) else default.of(release)


def _time(given: Mapping[str, str], name: str, default: int) -> int:
    """Of the units that are given the finest counts."""
    for unit, factor in (("ms", 1), ("minutes", 60_000), ("hours", _HOUR)):
        number = long_integer(given.get(f"{name}.{unit}"))
        if number is not None:
            return number * factor
    return default


def _of_times(given: Mapping[str, str], release: Release) -> Iterator[str]:
    no_less = _GREATER.of(release)
    if _time(given, "log.roll", _HOUR) < 1:
        yield _FAILED + _NO_LESS.format("log.roll.ms", no_less, 1)
    if _time(given, "log.roll.jitter", 0) < 0:
        yield _FAILED + _NO_LESS.format("log.roll.jitter.ms", no_less, 0)
    if _time(given, "log.retention", _HOUR) == 0:
        yield _FAILED + f"log.retention.ms must be unlimited (-1) or, {no_less} 1"


def _of_brokers(given: Mapping[str, str], release: Release) -> Iterator[str]:
    """The number of a broker with ZooKeeper."""
    mine, no_less = long_integer(given.get("broker.id", "-1")), _GREATER.of(release)
    if mine is None or "zookeeper.connect" not in given or given.get("process.roles", "").strip():
        return
    if boolean(given.get("broker.id.generation.enable")) is False:
        if mine < 0:
            yield _FAILED + _NO_LESS.format("broker.id", no_less, 0)
    elif not -1 <= mine <= _number(given, "reserved.broker.max.id", 1000, release):
        yield _FAILED + _NO_LESS.format(
            "broker.id", no_less, "-1 and not greater than reserved.broker.max.id"
        )


_NO_CONNECTIONS: Final = Words.since(
    "KafkaConfig.validateValues",
    (
        (2, 1),
        _FAILED
        + "max.connections.per.ip can be set to zero only if max.connections.per.ip.overrides property is "
        "set.",
    ),
)


def _of_connections(given: Mapping[str, str], release: Release) -> Iterator[str]:
    text = given.get("max.connections.per.ip.overrides", "").strip()
    entries = [entry.strip() for entry in text.split(",") if entry.strip()]
    for entry in entries:
        _, colon, number = entry.rpartition(":")
        if not colon:
            yield unmapped("max.connections.per.ip.overrides", entry)
        elif parse_long(number.strip()) is None:
            yield NOT_A_NUMBER.format(number.strip())
    if _number(given, "max.connections.per.ip", 1, release) == 0 and not entries:
        words = _NO_CONNECTIONS.say(release)
        if words is not None:
            yield words
