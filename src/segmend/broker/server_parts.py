"""What ends a start on settings that `KafkaConfig` takes: something that is built of them later."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from segmend.broker.authorizer import ACL_AUTHORIZER, AUTHORIZER, SIMPLE, STANDARD, super_users
from segmend.broker.cleaner import map_load, offset_maps
from segmend.broker.rule import Rule, Words, gone_in, new_in
from segmend.broker.server_listeners import LISTENERS, ROLES, Server
from segmend.broker.server_rules import ELSEWHERE, ZOOKEEPER, is_whole
from segmend.broker.settings import refusal
from segmend.formats.config_values import boolean, integer
from segmend.formats.java_number import INT_MAX
from segmend.logdir.config import ServerConfig
from segmend.logdir.release import Release

REMOTE_WITHOUT_CLASS = Words.since("RemoteLogManager: it has no default", ((3, 6), "NullPointerException"))
SMALL_METADATA = Words.since(
    "KafkaMetadataLog.apply; has a limit of its own since 4.1",
    ((3, 0), "Cannot set metadata.log.segment.bytes below {}: {}"),
    ((4, 1), None),
)
_METADATA_SEGMENT: Final = "metadata.log.segment.bytes", "metadata.log.segment.min.bytes"
_METADATA_ROLL: Final = "metadata.log.segment.ms"
ASKS_ZOOKEEPER = Words.since(
    "AclAuthorizer.configure: its ACLs are in ZooKeeper, and it is not told where",
    (
        (2, 8),
        'java.lang.NullPointerException: Cannot invoke "String.indexOf(String)" because "connectString" is '
        "null",
    ),
    ((4, 0), None),
)
NO_PRINCIPAL: Final = (
    "java.lang.IllegalArgumentException: expected a string in format principalType:principalName but got {}"
)
"""`SecurityUtils.parseKafkaPrincipal`, of one of super.users."""
SMALL_MAP = Words(
    "CleanerThread; not asked any more since 4.1",
    (
        (
            (0, 8),
            "java.lang.IllegalArgumentException: requirement failed: offset map is too small to fit in even "
            "a single message, so log cleaning will never make progress. You can increase "
            "log.cleaner.dedupe.buffer.size or decrease log.cleaner.threads",
        ),
        ((4, 1), None),
    ),
)
NO_PORT: Final = "java.lang.IllegalArgumentException: port out of range:{}"
"""`InetSocketAddress`, of a socket that is to be opened."""
UNTOLD_PORT = Words.since(
    "BrokerLifecycleManager: the controller is told two bytes of it; ListenerInfo since 3.7",
    ((3, 0), "java.lang.RuntimeException: Invalid value {1} for unsigned short field."),
    ((3, 7), "java.lang.RuntimeException: Cannot serialize {0} port number {1} in ListenerInfo."),
)
_MOST_PORT: Final = (1 << 16) - 1
NO_SUCH_ARRAY: Final = "java.lang.OutOfMemoryError: Requested array size exceeds VM limit"
"""`SkimpyOffsetMap` (a log cleaner's thread has one map) or `RequestChannel`, whatever heap the JVM has."""
_LONGEST: Final = INT_MAX - 2
_OWN_CLASSES: Final = {
    SIMPLE: gone_in("SimpleAclAuthorizer; KIP-504", (3, 0)),
    ACL_AUTHORIZER: Rule(
        "AclAuthorizer: new with KIP-504, gone with ZooKeeper",
        (((0, 8), False), ((2, 4), True), ((4, 0), False)),
    ),
    STANDARD: new_in("StandardAuthorizer; KIP-801", (3, 2)),
}
"""What server.properties names and Kafka itself brings in some releases: a start needs it there."""


def part_refusals(config: ServerConfig, release: Release) -> Iterator[str]:
    """The words of what cannot be built; what a provider tells, or a part of a file lacks, is not known."""
    given = {name: value.strip() for name, value in config.given.items() if name not in config.provided}
    roles, said = given.get(ROLES, ""), []
    for name, value in given.items():
        own = _OWN_CLASSES.get(value)
        if own is not None and name.endswith(ELSEWHERE) and not own.of(release):
            yield f"java.lang.ClassNotFoundException: {value}"
    if roles and ZOOKEEPER not in given and ACL_AUTHORIZER in given.values():
        said.append(ASKS_ZOOKEEPER.of(release))
    if given.get(AUTHORIZER, "") == STANDARD:
        said += [NO_PRINCIPAL.format(each) for each in super_users(given) if ":" not in each]
    remote = boolean(given.get("remote.log.storage.system.enable"))
    if remote and is_whole(given) and not given.get("remote.log.storage.manager.class.name"):
        said.append(REMOTE_WITHOUT_CLASS.of(release))
    if roles:
        said += _of_metadata(given, release)
    if (integer(given.get("queued.max.requests")) or 0) > _LONGEST:
        said.append(NO_SUCH_ARRAY)
    if config.cleaner_runs and "log.cleaner.threads" not in config.provided:
        said += _of_cleaner(given, release)
    if LISTENERS not in config.provided:
        said += _of_ports(Server(given, release))
    yield from filter(None, said)


def _of_metadata(given: Mapping[str, str], release: Release) -> Iterator[str | None]:
    """What its log is made of: `KafkaMetadataLog.createLog` takes settings of topics."""
    size, least = (integer(given.get(name, str(8 << 20))) for name in _METADATA_SEGMENT)
    if size is not None and least is not None and size < least:
        yield SMALL_METADATA.say(release, least, size)
    if _METADATA_ROLL in given:
        yield refusal("segment.ms", given[_METADATA_ROLL], release, topic=True)


def _of_ports(server: Server) -> Iterator[str | None]:
    """Numbers that no port has: what brokers tell the controller, and what the process opens."""
    opened, mine = server.listeners.found, set() if "controller" in server.roles else {*server.controllers}
    told = server.advertised.found if server.advertises else opened
    for each in told if "broker" in server.roles else ():
        if not 0 <= each.port <= _MOST_PORT and each.name not in server.controllers:
            yield UNTOLD_PORT.say(server.release, "negative" if each.port < 0 else "invalid", each.port)
    for each in opened:
        if not 0 <= each.port <= _MOST_PORT and each.name not in mine:
            yield NO_PORT.format(each.port)


def _of_cleaner(given: Mapping[str, str], release: Release) -> Iterator[str | None]:
    """What its threads are made of, once all logs are loaded."""
    size, threads, load = offset_maps(given)
    if size // threads > _LONGEST:
        yield NO_SUCH_ARRAY
    elif load is not None and not map_load(size, threads, load) > 1:
        yield SMALL_MAP.of(release)
