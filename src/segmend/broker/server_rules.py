"""What `KafkaConfig` asks of server.properties as a whole, beyond each single value.

Follows `KafkaConfig.validateValues` and `ConfigDef.parse`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from segmend.broker.features import knows_version, version_number
from segmend.broker.rule import Rule, Words, gone_in, new_in
from segmend.broker.server_limits import limit_refusals
from segmend.broker.server_listeners import LISTENERS, ROLES, entries_of
from segmend.broker.server_names import BOOTSTRAP, BOOTSTRAP_SERVERS, MIGRATION, VOTERS, name_refusals
from segmend.broker.settings import MISSING, definitions, refusal
from segmend.formats.config_values import boolean
from segmend.formats.java_number import parse_int
from segmend.logdir.config import ServerConfig
from segmend.logdir.release import Release

ZOOKEEPER: Final = "zookeeper.connect"
INTER_BROKER: Final = "inter.broker.protocol.version"
MESSAGE_FORMAT: Final = "log.message.format.version"
_EVERY_BROKER_HAS_ONE: Final = frozenset(
    {"listeners", ZOOKEEPER, "controller.listener.names", "controller.quorum.voters",
     "controller.quorum.bootstrap.servers"}
)  # fmt: skip
NO_ZOOKEEPER = Words(
    "KafkaConfig.validateValues; KIP-500 (2.8): unless there are roles",
    (
        ((0, 8), MISSING.format(ZOOKEEPER)),
        ((2, 8), MISSING.format(ZOOKEEPER).replace('"', "`")),
        ((4, 0), None),
    ),
)
NO_NODE_ID = Words.since(
    "KafkaConfig.validateValues; required of itself since 4.0",
    (
        (2, 8),
        "Missing configuration `node.id` which is required when `process.roles` is defined "
        "(i.e. when running in KRaft mode).",
    ),
    ((4, 0), None),
)
OTHER_ID = Words.since(
    "KafkaConfig.populateSynonyms", ((3, 3), "You must set `node.id` to the same value as `broker.id`.")
)
_SYNONYM: Final = {"node.id": "broker.id"}
"""`KafkaConfig.populateSynonyms`."""
NO_VOTERS = Words.since(
    "KafkaConfig.validateValues; KIP-853 (3.9)",
    ((3, 0), "If using process.roles, controller.quorum.voters must contain a parseable set of voters."),
    (
        (3, 9),
        "If using process.roles, either controller.quorum.bootstrap.servers must contain the set of "
        "bootstrap controllers or controller.quorum.voters must contain a parseable set of controllers.",
    ),
)
MIGRATES_NOWHERE = Words.since(
    "KafkaConfig.validateValues; KIP-866",
    ((3, 4), f"If using `{MIGRATION}` in KRaft mode, `{ZOOKEEPER}` must also be set."),
    ((4, 0), None),
)
REMOTE_AND_MANY_DIRS = Words.since(
    "KafkaConfig.validateValues; KIP-405",
    ((3, 6), "Multiple log directories `{}` are not supported when remote log storage is enabled"),
    ((3, 8), None),
)
NO_CONTROLLER_LISTENER = Words.since(
    "KafkaConfig.validateValues; required of itself since 4.2",
    (
        (3, 0),
        "requirement failed: controller.listener.names must contain at least one value appearing in the "
        "'listeners' configuration when running the KRaft controller role",
    ),
    ((4, 2), None),
)
NO_LOG_DIR = Words(
    "KafkaConfig.validateValues: also an empty `log.dirs` beside `log.dir`; has a validator since 4.2",
    (
        ((0, 8), "requirement failed: At least one log directory must be defined via log.dirs or log.dir."),
        ((4, 2), None),
    ),
)
NOT_OF_KRAFT = Words.since(
    "KafkaConfig.validateValues; KIP-778, and not asked any more since 4.0",
    (
        (3, 3),
        "A non-KRaft version {} given for inter.broker.protocol.version. The minimum version is 3.0-IV1",
    ),
    ((4, 0), None),
)
FORMAT_TOO_NEW = Words(
    "KafkaConfig.validateValues, KIP-724: from 3.0 on only below version 3.0",
    (
        (
            (0, 8),
            "requirement failed: log.message.format.version {} can only be used when "
            "inter.broker.protocol.version is set to version {} or higher",
        ),
        ((4, 0), None),
    ),
)
"""The format may not be newer than what brokers speak to each other: only 0.10.0 and 0.11.0 changed it."""
_DEFAULT_FORMAT: Rule[str] = Rule(
    "ApiVersion.latestVersion; MessageFormatVersion, KIP-724 (3.0)",
    (((0, 8), "0.11.0-IV2"), ((1, 0), "1.0-IV0"), ((1, 1), "1.1-IV0"), ((2, 0), "2.0-IV1"),
     ((2, 1), "2.1-IV2"), ((2, 2), "2.2-IV1"), ((2, 4), "2.4-IV1"), ((2, 5), "2.5-IV0"),
     ((2, 6), "2.6-IV0"), ((2, 7), "2.7-IV2"), ((2, 8), "2.8-IV1"), ((3, 0), "3.0-IV1")),
)  # fmt: skip
TWICE = Words.since(
    "KafkaConfig.processRoles; a list without duplicates since 4.2",
    ((2, 8), "Duplicate role names found in `process.roles`: ArrayBuffer({})"),
    ((4, 2), None),
)
_ROLES_AS_CLASSES: Final = gone_in("KafkaConfig; ProcessRole is an enum of Java since 3.6", (3, 6))
NO_CONSUMER_PROTOCOL = Words.since(
    "KafkaConfig, KIP-848",
    ((3, 8), "The new 'consumer' rebalance protocol is only supported in KRaft cluster."),
    ((4, 0), None),
)
CHECKED_LATE: Final = {
    "compression.type": Words(
        "KafkaConfig.validateValues; a validator of its own since 3.3",
        (
            ((0, 8), "requirement failed: compression.type : {0} is not valid. Valid options are "
                     "uncompressed,snappy,lz4,gzip,producer"),
            ((2, 1), "requirement failed: compression.type : {0} is not valid. Valid options are "
                     "uncompressed,zstd,lz4,snappy,gzip,producer"),
            ((3, 3), None),
        ),
    ),
    "security.inter.broker.protocol": Words(
        "KafkaConfig.getInterBrokerListenerNameAndSecurityProtocol; a validator of its own since 3.3",
        (
            ((0, 8), "Invalid security protocol `{0}` defined in security.inter.broker.protocol"),
            ((3, 3), None),
        ),
    ),
}  # fmt: skip
"""Settings of a few words that took any text when they were parsed, and were looked at afterwards."""
ELSEWHERE: Final = (
    ".class", ".class.name", ".classes", ".class.names", ".reporters", ".assignors", ".location", ".keyfile",
    "security.providers", "sasl.jaas.config", ".certificates", ".certificate.chain", ".keystore.key",
)  # fmt: skip
"""Endings of settings that name what is neither in server.properties nor in a log dir, classes and files, or
have what is not looked into, keys and logins."""
PLACES: Final = frozenset({LISTENERS, VOTERS, BOOTSTRAP, ZOOKEEPER, "max.connections.per.ip.overrides"})
"""Settings that name hosts and ports: to be found, to be bound, and to answer."""
CORDONED: Final = "cordoned.log.dirs"
OTHERS_CORDONED = Words.since(
    "KafkaConfig.validateValues; KIP-1066",
    (
        (4, 3),
        "requirement failed: All entries in cordoned.log.dirs must be present in log.dirs or log.dir. "
        "Missing entries : {}",
    ),
)
ALL_AND_MORE_CORDONED = Words.since(
    "KafkaConfig.validateValues; KIP-1066",
    ((4, 3), "requirement failed: When cordoned.log.dirs is set to *, it must not contain other values"),
)
FIT: Final = new_in("KafkaConfig: looked at from 0.11 on", (0, 11))
"""Whether segmend knows how settings must fit one another."""


def is_whole(given: Mapping[str, str]) -> bool:
    """Whether it is the file of a broker, and not a few lines of one."""
    return not _EVERY_BROKER_HAS_ONE.isdisjoint(given)


def server_refusals(given: Mapping[str, str], release: Release) -> Iterator[str]:
    """Kafka's words on a server.properties that the release refuses; nothing if it takes it.

    What a part of a file lacks is no reason to refuse it.
    """
    config = ServerConfig(given=given, release=release)
    provided = config.provided
    for name, value in given.items():
        if name in provided:
            continue
        refused = refusal(name, value, release, topic=False)
        if refused is not None:
            yield refused
    if is_whole(given):
        yield from _of_whole(config, release)
    node, broker = given.get("node.id"), given.get("broker.id")
    if node is not None and broker is not None and _differ(node.strip(), broker.strip()):
        yield from _said(OTHER_ID, release)
    if given.get(ROLES, "").strip():
        yield from _kraft(given, release)
    if config.log_dir_entries and not config.log_dirs:
        yield from _said(NO_LOG_DIR, release)
    if config.log_dir_entries and CORDONED not in provided:
        yield from _cordoned(entries_of(given.get(CORDONED, "")), config.log_dirs, release)
    yield from _late(given, release)
    yield from _format(given, release)


def _of_whole(config: ServerConfig, release: Release) -> Iterator[str]:
    """What only a whole file can lack, or not fit; what a provider tells may fit."""
    given = config.given
    yield from _missing(given, release)
    if MIGRATES_NOWHERE.of(release):
        yield from _migration(given, release)
    if not config.provided:
        yield from _remote(given, config.log_dirs, release)
    if not config.provided and FIT.of(release):
        yield from name_refusals(given, release)
        yield from limit_refusals(given, release)


def _cordoned(cordoned: Sequence[str], dirs: Sequence[str], release: Release) -> Iterator[str]:
    """Dirs that get no new replicas are named as in `log.dirs`, or all by a star."""
    others = [path for path in cordoned if path not in dirs]
    if "*" in cordoned and len(cordoned) > 1:
        yield from _said(ALL_AND_MORE_CORDONED, release)
    elif others and others != ["*"]:
        yield from _said(OTHERS_CORDONED, release, ", ".join(others))


def _late(given: Mapping[str, str], release: Release) -> Iterator[str]:
    for name, words in CHECKED_LATE.items():
        value = given.get(name, "").strip()
        choices = definitions(topic=False)[name].steps[-1][1]
        known = choices is None or value in choices.valid.strip("[]").split(", ")
        if name in given and not (known or words.of(release) is None):
            yield from _said(words, release, value)
    protocols = given.get("group.coordinator.rebalance.protocols", "").replace(" ", "").split(",")
    if "consumer" in protocols and not given.get(ROLES, "").strip():
        yield from _said(NO_CONSUMER_PROTOCOL, release)


def _missing(given: Mapping[str, str], release: Release) -> Iterator[str]:
    for name, rule in definitions(topic=False).items():
        known = rule.of(release)
        if (
            known is not None
            and "required" in known.flags
            and given.keys().isdisjoint((name, _SYNONYM.get(name)))
        ):
            yield MISSING.format(name)
    if not given.get(ROLES, "").strip() and ZOOKEEPER not in given:
        yield from _said(NO_ZOOKEEPER, release)


def _kraft(given: Mapping[str, str], release: Release) -> Iterator[str]:
    if is_whole(given) and "node.id" not in given and "broker.id" not in given:
        yield from _said(NO_NODE_ID, release)
    if (parse_int(given.get("node.id", "").strip()) or 0) < 0:
        yield from _said(NO_NODE_ID, release)
    roles = entries_of(given.get(ROLES, ""))
    if len({*roles}) < len(roles) and TWICE.of(release):
        shown = [f"{each.capitalize()}Role" if _ROLES_AS_CLASSES.of(release) else each for each in roles]
        yield from _said(TWICE, release, ", ".join(shown))
    dynamic = BOOTSTRAP_SERVERS.of(release) and given.get(BOOTSTRAP, "").strip()
    if is_whole(given) and not given.get(VOTERS, "").strip() and not dynamic:
        yield from _said(NO_VOTERS, release)
    if is_whole(given) and "controller" in given.get(ROLES, "") and "controller.listener.names" not in given:
        yield from _said(NO_CONTROLLER_LISTENER, release)
    spoken = given.get(INTER_BROKER, "").strip()
    if spoken and knows_version(release, spoken) and version_number(spoken) < (3, 0):
        yield from _said(NOT_OF_KRAFT, release, spoken)


def _remote(given: Mapping[str, str], dirs: Sequence[str], release: Release) -> Iterator[str]:
    """Remote storage, once it is switched on."""
    if not boolean(given.get("remote.log.storage.system.enable")):
        return
    if len(dirs) > 1 and (words := REMOTE_AND_MANY_DIRS.say(release, ",".join(dirs))):
        yield words


def _migration(given: Mapping[str, str], release: Release) -> Iterator[str]:
    """A broker on its way from ZooKeeper to KRaft."""
    if not boolean(given.get(MIGRATION)):
        return
    voters = given.get(VOTERS, "").strip() or (
        BOOTSTRAP_SERVERS.of(release) and given.get(BOOTSTRAP, "").strip()
    )
    if given.get(ROLES, "").strip():
        if ZOOKEEPER not in given:
            yield from _said(MIGRATES_NOWHERE, release)
    elif not voters and ZOOKEEPER in given and (words := NO_VOTERS.say(release)):
        yield words.replace(ROLES, MIGRATION)


def _format(given: Mapping[str, str], release: Release) -> Iterator[str]:
    """The default of both versions is the newest."""
    spoken = given.get(INTER_BROKER, "").strip()
    if not spoken or not knows_version(release, spoken):
        return
    written = given.get(MESSAGE_FORMAT, "").strip()
    if written and not knows_version(release, written):
        return
    limit = _format_since(version_number(spoken))
    name = written or _DEFAULT_FORMAT.of(release)
    asked = _format_since(version_number(name))
    if asked > limit:
        yield from _said(FORMAT_TOO_NEW, release, name, ".".join(map(str, asked)))


def _format_since(version: tuple[int, ...]) -> tuple[int, ...]:
    """The first version with the message format of this one."""
    return max(since for since in ((0, 0, 0), (0, 10, 0), (0, 11, 0)) if version >= since)


def _differ(one: str, other: str) -> bool:
    return one != other and parse_int(one) != parse_int(other)


def _said(words: Words, release: Release, *values: object) -> Iterator[str]:
    said = words.say(release, *values)
    if said is not None:
        yield said
