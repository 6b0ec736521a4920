"""What `KafkaConfig` asks of listeners, roles and voters together: their names must fit one another.

Follows `KafkaConfig.validateValues`, `QuorumConfig.parseVoterConnections` and `parseBootstrapServers`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from segmend.broker.rule import Rule, Words, gone_in, new_in
from segmend.broker.server_listeners import (
    ADVERTISED,
    CONTROLLERS,
    FAILED,
    KNOWN,
    KRAFT_KNOWN,
    LISTENERS,
    MECHANISMS,
    PROTOCOLS,
    ROLES,
    Listener,
    Server,
    entries_of,
)
from segmend.formats.config_values import boolean
from segmend.formats.java_number import parse_int
from segmend.logdir.release import Release

VOTERS: Final = "controller.quorum.voters"
BOOTSTRAP: Final = "controller.quorum.bootstrap.servers"
MIGRATION: Final = "zookeeper.metadata.migration.enable"
BETWEEN: Final = "inter.broker.listener.name"
BETWEEN_BY_PROTOCOL: Final = "security.inter.broker.protocol"
CONTROL_PLANE: Final = "control.plane.listener.name"
EARLY: Final = "early.start.listeners"
MECHANISM: Final = "sasl.mechanism.inter.broker.protocol"
BOOTSTRAP_SERVERS: Final = new_in("QuorumConfig; KIP-853", (3, 9))
"""Whether `controller.quorum.bootstrap.servers` takes the place of voters."""
_ADDRESS: Final = re.compile(r".*?\[?([0-9a-zA-Z\-%._:]*)\]?:([0-9]+)")
_ROLES_FIT: Final = new_in("KafkaConfig.validateValues; KAFKA-13456", (3, 1))
_ZOOKEEPER_KNOWN: Final = gone_in("KafkaConfig; KIP-866", (4, 0))
_CONTROLLERS_ADVERTISED: Final = new_in("KafkaConfig.effectiveAdvertisedControllerListeners; KIP-853", (3, 9))
_CONTROL_PLANE_KNOWN: Final = Rule(
    "KafkaConfig; KIP-291, gone with ZooKeeper", (((0, 8), False), ((2, 2), True), ((4, 0), False))
)
_HINT: Final = f" Perhaps all listeners appear in {CONTROLLERS}?"
_NONE: Final = Words.since(
    "KafkaConfig.validateValues",
    ((3, 1), FAILED.format("There must be at least one advertised listener.{}")),
    ((3, 9), FAILED.format("There must be at least one broker advertised listener.{}")),
)
_OF_CONTROLLERS: Final = Words.since(
    "KafkaConfig.validateValues",
    ((2, 8), FAILED.format(f"{ADVERTISED} cannot contain any of {CONTROLLERS}")),
    (
        (3, 1),
        FAILED.format(
            f"The {ADVERTISED} config must not contain KRaft controller listeners from {CONTROLLERS} when "
            f"{ROLES} contains the broker role because Kafka clients that send requests via advertised "
            "listeners do not send requests to KRaft controllers -- they only send requests to KRaft brokers."
        ),
    ),
    ((3, 9), None),
)
_ANY_ADDRESS: Final = FAILED.format(
    f"{ADVERTISED} cannot use the nonroutable meta-address 0.0.0.0. Use a routable IP address."
)
_NOT_ADVERTISED: Final = FAILED.format(
    f"{{}} must be a listener name defined in {ADVERTISED}. The valid options based on currently configured "
    "listeners are {}"
)
_MORE_ADVERTISED: Final = FAILED.format(
    f"{ADVERTISED} listener names must be equal to or a subset of the ones defined in {LISTENERS}. "
    "Found {}. The valid options based on the current configuration are {}"
)
_BOTH: Final = f"Only one of {BETWEEN} and {BETWEEN_BY_PROTOCOL} should be set."
_UNKNOWN: Final = f"Listener with {{}}{{}} defined in {{}} not found in {PROTOCOLS}."
_NO_NAME: Final = Words.since(
    "ListenerName.normalised", ((3, 6), "The provided listener name is null or empty string")
)
_NO_MECHANISM: Final = FAILED.format(
    f"{MECHANISM} must be included in {MECHANISMS} when SASL is used for inter-broker communication"
)
_NOT_EARLY: Final = (
    f"{EARLY} contains listener {{}}, but this is not contained in {LISTENERS} or {CONTROLLERS}"
)
_NO_CONTROL_PLANE: Final = FAILED.format(f"{CONTROL_PLANE} is not supported in KRaft mode.")
_SAME_PLANE: Final = FAILED.format(
    f"{CONTROL_PLANE}, when defined, should have a different value from the inter broker listener name. "
    "Currently they both have the value ListenerName({})"
)
_NOT_OF_ZOOKEEPER: Final = FAILED.format(
    f"{CONTROLLERS} must be empty when not running in KRaft mode: [{{}}]"
)
_NO_CONTROLLERS: Final = FAILED.format(
    f"{CONTROLLERS} must contain at least one value when running KRaft with just the broker role"
)
_OPENS_CONTROLLERS: Final = FAILED.format(
    f"{CONTROLLERS} must not contain a value appearing in the '{LISTENERS}' configuration when running KRaft "
    "with just the broker role"
)
_CONTROLLER_UNKNOWN: Final = (
    f"Controller listener with name {{}} defined in {CONTROLLERS} not found in {PROTOCOLS}  (an explicit "
    f"security mapping for each controller listener is required if {PROTOCOLS} is non-empty, or if there are "
    "security protocols other than PLAINTEXT in use)"
)
_MORE_THAN_CONTROLLERS: Final = FAILED.format(
    f"The {LISTENERS} config must only contain KRaft controller listeners from {CONTROLLERS} when "
    f"{ROLES}=controller"
)
_CONTROLLERS_MUST: Final = FAILED.format(
    f"{CONTROLLERS} must {{}} appearing in the '{LISTENERS}' configuration when running the KRaft controller "
    "role"
)
_ENTRY: Final = (
    f"for the configuration {VOTERS}. Each entry should be in the form `{{id}}@{{host}}:{{port}}`."
)
_NO_VOTER: Final = _ENTRY.replace("for the configuration", "Invalid configuration value for")
_NO_VOTER_ID: Final = "Failed to parse voter ID as an integer from {}"
_NO_HOST: Final = "Failed to parse host name from {}{} {}"
_SERVER: Final = f'for the configuration {BOOTSTRAP}. Each entry should be in the form "{{host}}:{{port}}"'
_MUST_VOTE: Final = FAILED.format(
    f"If {ROLES} contains the 'controller' role, the node id {{}} must be included in the set of voters "
    f"{VOTERS}=Set({{}})"
)
_MUST_NOT_VOTE: Final = FAILED.format(
    f"If {ROLES} contains just the 'broker' role, the node id {{}} must not be included in the set of voters "
    f"{VOTERS}=Set({{}})"
)


def name_refusals(given: Mapping[str, str], release: Release) -> Iterator[str]:
    """Kafka's words on all of it; nothing if it fits."""
    server = Server(given, release)
    yield from _of_voters(server)
    if server.refused_map is not None:
        yield server.refused_map
        return
    advertised = server.advertised if server.advertises else server.listeners
    refused = [each for each in dict.fromkeys((server.listeners.refused, advertised.refused)) if each]
    yield from refused
    if refused:
        return
    told = [each for each in advertised.found if _is_told(each, server)]
    names = dict.fromkeys(each.name for each in told)
    if not server.roles or "broker" in server.roles:
        yield from _of_brokers(server, names)
    if any(each.host == "0.0.0.0" for each in told):
        yield _ANY_ADDRESS
    if _CONTROL_PLANE_KNOWN.of(release) and CONTROL_PLANE in given:
        yield from _of_control_plane(server, names)
    if _ROLES_FIT.of(release):
        yield from _of_roles(server)


def _is_told(listener: Listener, server: Server) -> bool:
    """Those of controllers are not, unless `advertised.listeners` names them, before 3.9."""
    named = server.advertises and not _CONTROLLERS_ADVERTISED.of(server.release)
    return named or listener.name not in server.controllers


def _between(server: Server) -> str:
    """The listener by which brokers speak to each other."""
    return server.text(BETWEEN).upper() or server.text(BETWEEN_BY_PROTOCOL) or KNOWN[0]


def _of_brokers(server: Server, names: Mapping[str, None]) -> Iterator[str]:
    if not names and (words := _NONE.say(server.release, _HINT if server.roles else "")):
        yield words
    if BETWEEN in server.given and BETWEEN_BY_PROTOCOL in server.given:
        yield _BOTH
    elif BETWEEN in server.given and server.text(BETWEEN).upper() not in server.protocols:
        name = server.text(BETWEEN).upper()
        unknown = _UNKNOWN.format("name ", name, BETWEEN)
        yield unknown if name else _NO_NAME.say(server.release) or unknown
    elif _between(server) not in names:
        yield _NOT_ADVERTISED.format(BETWEEN, ",".join(names))
    mechanism = server.text(MECHANISM) or "GSSAPI"
    known = entries_of(server.given.get(MECHANISMS, "GSSAPI"))
    if server.text(BETWEEN_BY_PROTOCOL).startswith("SASL") and mechanism not in known:
        yield _NO_MECHANISM
    if not names.keys() <= server.listeners.names.keys():
        yield _MORE_ADVERTISED.format(",".join(names), ",".join(server.listeners.names))
    if any(each in server.controllers for each in names) and (words := _OF_CONTROLLERS.say(server.release)):
        yield words


def _of_control_plane(server: Server, names: Mapping[str, None]) -> Iterator[str]:
    """The listener by which a controller of ZooKeeper times speaks to brokers."""
    name = server.text(CONTROL_PLANE).upper()
    if name not in server.protocols:
        yield _UNKNOWN.format("", name, CONTROL_PLANE)
    elif server.roles and _ROLES_FIT.of(server.release):
        yield _NO_CONTROL_PLANE
    elif name not in names:
        yield _NOT_ADVERTISED.format(CONTROL_PLANE, ",".join(names))
    elif name == _between(server):
        yield _SAME_PLANE.format(name)


def _of_roles(server: Server) -> Iterator[str]:
    """What brokers, controllers, and nodes that are both, may listen to."""
    controllers, names = server.controllers, server.listeners.names
    opened = [each for each in controllers if each in names]
    for each in entries_of(server.text(EARLY)):
        if each.upper() not in {*names, *controllers}:
            yield _NOT_EARLY.format(each)
    if not server.roles:
        migrates = boolean(server.text(MIGRATION))
        if controllers and _ZOOKEEPER_KNOWN.of(server.release) and not migrates:
            yield _NOT_OF_ZOOKEEPER.format(", ".join(controllers))
    elif server.roles == {"broker"}:
        yield from _of_controllers(server, opened)
    else:
        if server.roles == {"controller"} and names.keys() != {*opened}:
            yield _MORE_THAN_CONTROLLERS
        if not opened or len(opened) < len(controllers):
            yield _CONTROLLERS_MUST.format("only contain values" if opened else "contain at least one value")


def _of_controllers(server: Server, opened: list[str]) -> Iterator[str]:
    """Where the controllers of one that is only a broker listen."""
    if not server.controllers:
        yield _NO_CONTROLLERS
    if opened:
        yield _OPENS_CONTROLLERS
    for each in server.controllers:
        if each.upper() not in server.protocols:
            yield _CONTROLLER_UNKNOWN.format(each.upper())


def _of_voters(server: Server) -> Iterator[str]:
    servers = server.text(BOOTSTRAP) if BOOTSTRAP_SERVERS.of(server.release) else ""
    for entry in map(str.strip, servers.split(",")) if servers else ():
        if _ADDRESS.fullmatch(entry) is None:
            yield _NO_HOST.format("", entry, _SERVER)
    text, voters = server.text(VOTERS), []
    for entry in text.split(",") if text and KRAFT_KNOWN.of(server.release) else ():
        node, at, address = entry.strip().partition("@")
        voters.append(parse_int(node))
        if not at:
            yield _NO_VOTER
        elif voters[-1] is None:
            yield _NO_VOTER_ID.format(node)
        elif _ADDRESS.fullmatch(address) is None:
            yield _NO_HOST.format("entry ", entry.strip(), _ENTRY)
    mine = parse_int(server.text("node.id") or server.text("broker.id"))
    if mine is None or not voters or not _ROLES_FIT.of(server.release):
        return
    ids = ", ".join(map(str, voters))
    if "controller" in server.roles and mine not in voters:
        yield _MUST_VOTE.format(mine, ids)
    if server.roles == {"broker"} and mine in voters:
        yield _MUST_NOT_VOTE.format(mine, ids)
