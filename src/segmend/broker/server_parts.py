"""What ends a start on settings that `KafkaConfig` takes: something that is built of them later."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from segmend.broker.authorizer import ACL_AUTHORIZER, AUTHORIZER, SIMPLE, STANDARD, super_users
from segmend.broker.rule import Rule, Words, gone_in, new_in
from segmend.broker.server_listeners import ROLES
from segmend.broker.server_rules import ELSEWHERE, ZOOKEEPER, is_whole
from segmend.formats.java_number import parse_int
from segmend.logdir.config import ServerConfig
from segmend.logdir.release import Release

REMOTE_WITHOUT_CLASS = Words.since("RemoteLogManager: it has no default", ((3, 6), "NullPointerException"))
SMALL_METADATA = Words.since(
    "KafkaMetadataLog.apply; has a limit of its own since 4.1",
    ((3, 0), "Cannot set metadata.log.segment.bytes below {}: {}"),
    ((4, 1), None),
)
_METADATA_SEGMENT: Final = "metadata.log.segment.bytes", "metadata.log.segment.min.bytes"
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
    remote = given.get("remote.log.storage.system.enable", "").lower() == "true"
    if remote and is_whole(given) and not given.get("remote.log.storage.manager.class.name"):
        said.append(REMOTE_WITHOUT_CLASS.of(release))
    size, least = (parse_int(given.get(name, str(8 << 20))) for name in _METADATA_SEGMENT)
    if roles and size is not None and least is not None and size < least:
        said.append(SMALL_METADATA.say(release, least, size))
    yield from filter(None, said)
