"""The listeners that server.properties names, as `KafkaConfig` reads them.

Follows `KafkaConfig.listeners` and `CoreUtils.listenerListToEndPoints`.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from functools import cached_property
from typing import Final

from segmend.broker.rule import Rule, gone_in, new_in
from segmend.formats.java_number import INT_MAX, parse_int
from segmend.frozen import frozen
from segmend.logdir.release import Release

LISTENERS: Final = "listeners"
ADVERTISED: Final = "advertised.listeners"
PROTOCOLS: Final = "listener.security.protocol.map"
CONTROLLERS: Final = "controller.listener.names"
ROLES: Final = "process.roles"
MECHANISMS: Final = "sasl.enabled.mechanisms"
STORES: Final = ("ssl.keystore.location", "ssl.truststore.location")
FAILED: Final = "requirement failed: {}"
"""How Scala's `require` says it."""
KNOWN: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
KRAFT_KNOWN: Final = new_in("KafkaConfig; KIP-500", (2, 8))
_ENDPOINT: Final = re.compile(r"(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]+)")
_ONE_HOST: Final = gone_in("KafkaConfig: host.name, port, and as advertised; KIP-722", (3, 0))
_DISTINCT_ADVERTISED: Final = gone_in("KafkaConfig.advertisedListeners; KAFKA-10478", (2, 7))
_TWO_STACKS: Final = new_in("CoreUtils.listenerListToEndPoints; KIP-797", (3, 6))
_PLAIN_CONTROLLERS: Final = new_in("KafkaConfig.effectiveListenerSecurityProtocolMap", (3, 1))
_IS_A_LIST: Final = new_in("KafkaConfig: lists of names are no texts any more", (4, 2))
_BROKEN: Final = "Error creating broker listeners from '{}': {}"
_UNREADABLE: Final = "Unable to parse {} to a broker endpoint"
_NO_PROTOCOL: Final = "No security protocol defined for listener {}"
_NO_MAP: Final = "Error parsing configuration property '{}': begin 0, end -1, length {}"
_NO_SUCH_PROTOCOL: Final = "Invalid security protocol `{}` defined in {}"
_SAME_NAME: Final = "Each listener must have a different name, listeners: {}"
_SAYS_WHERE: Final = Rule(
    "CoreUtils.listenerListToEndPoints", (((0, 8), FAILED.format(_SAME_NAME)), ((4, 3), _BROKEN))
)
_SAME_PORT: Final = FAILED.format("Each listener must have a different port, listeners: {}")
_ONE_STACK: Final = FAILED.format(
    "If you have two listeners on the same port then one needs to be IPv4 and the other IPv6, "
    "listeners: {}, port: {}"
)


def entries_of(text: str) -> list[str]:
    """`CoreUtils.parseCsvList`: without blanks and empty ones."""
    return [part.strip() for part in text.split(",") if part.strip()]


def unmapped(name: str, entry: str) -> str:
    return _NO_MAP.format(name, len(entry))


def wants_jaas(given: Mapping[str, str]) -> bool:
    """Whether nothing in the file says who may log in by a mechanism of a listener: the JVM must know then.

    Follows `JaasContext.loadServerContext`, which wants the setting with listener and mechanism before it.
    """
    mapped = _mapped(given)
    for name in {entry.partition("://")[0].upper() for entry in entries_of(given.get(LISTENERS, ""))}:
        prefix = f"listener.name.{name.lower()}."
        mechanisms = given.get(f"{prefix}{MECHANISMS}", given.get(MECHANISMS, "GSSAPI"))
        wanted = {f"{prefix}{each.lower()}.sasl.jaas.config" for each in entries_of(mechanisms)}
        if mapped.get(name, name).startswith("SASL") and not wanted <= given.keys():
            return True
    return False


def stores(given: Mapping[str, str]) -> dict[str, str]:
    """The key stores and trust stores that a listener loads as it is opened, by the settings that name them.

    Follows `SslFactory.configure`: a broker ends without one. Those of a listener without TLS nobody opens.
    """
    mapped, named = _mapped(given), {}
    for name in {entry.partition("://")[0].upper() for entry in entries_of(given.get(LISTENERS, ""))}:
        for each in STORES if "SSL" in mapped.get(name, name).split("_") else ():
            own = f"listener.name.{name.lower()}.{each}"
            setting = own if own in given else each
            if given.get(setting, "").strip():
                named[setting] = given[setting].strip()
    return named


def _mapped(given: Mapping[str, str]) -> dict[str, str]:
    """The protocols by listener, in capitals, that the map names."""
    entries = (entry.rpartition(":") for entry in entries_of(given.get(PROTOCOLS, "")))
    return {name.strip().upper(): protocol.strip() for name, _, protocol in entries}


@frozen
class Listener:
    """One entry of `listeners`: its name in capitals, host and port."""

    name: str
    host: str
    port: int


@frozen
class Listeners:
    """A list of them as far as it can be read, and what is said of the rest."""

    found: tuple[Listener, ...] = ()
    refused: str | None = None

    @property
    def names(self) -> dict[str, None]:
        """In their order, each once."""
        return dict.fromkeys(each.name for each in self.found)


class Server:
    """The settings of one server.properties, asked by the rules of a release."""

    def __init__(self, given: Mapping[str, str], release: Release) -> None:
        self.given = given
        self.release = release

    def text(self, name: str) -> str:
        return self.given.get(name, "").strip()

    @cached_property
    def roles(self) -> set[str]:
        return {*entries_of(self.text(ROLES))}

    @cached_property
    def controllers(self) -> list[str]:
        """The names of controllers' listeners; up to 4.1 blanks belong to them."""
        text = self.text(CONTROLLERS) if KRAFT_KNOWN.of(self.release) else ""
        if _IS_A_LIST.of(self.release):
            return entries_of(text)
        return text.rstrip(",").split(",") if text.rstrip(",") else []  # `String.split` drops empty ends

    @property
    def protocols(self) -> frozenset[str]:
        """The names of listeners whose protocol is known; none if the map cannot be read."""
        return self._read_protocols[0]

    @property
    def refused_map(self) -> str | None:
        """Kafka's words on a map of protocols that it cannot read."""
        return self._read_protocols[1]

    @cached_property
    def _read_protocols(self) -> tuple[frozenset[str], str | None]:
        if PROTOCOLS not in self.given:
            return frozenset((*KNOWN, *self._plain_controllers())), None
        names_known = set()
        for entry in entries_of(self.given[PROTOCOLS]):
            name, colon, protocol = entry.rpartition(":")
            if not colon:
                return frozenset(), unmapped(PROTOCOLS, entry)
            if protocol.strip() not in KNOWN:
                return frozenset(), _NO_SUCH_PROTOCOL.format(protocol.strip(), PROTOCOLS)
            names_known.add(name.strip().upper())
        return frozenset(names_known), None

    def protocol(self, name: str) -> str | None:
        """The security protocol of a listener; None where it has none."""
        mapped = _mapped(self.given)
        if PROTOCOLS in self.given:
            return mapped.get(name)
        return name if name in KNOWN else "PLAINTEXT" if name in self.protocols else None

    def _plain_controllers(self) -> list[str]:
        """Without a map controllers talk plainly, unless anything does not."""
        used = {entry.partition("://")[0].upper() for entry in entries_of(self.text(LISTENERS))}
        plain = {*used, *self.controllers}.isdisjoint(KNOWN[1:])
        return self.controllers if self.roles and plain and _PLAIN_CONTROLLERS.of(self.release) else []

    @cached_property
    def listeners(self) -> Listeners:
        """Those that the process opens."""
        return self._read(self.given.get(LISTENERS, self._by_host("")), distinct=True)

    @cached_property
    def advertised(self) -> Listeners:
        """Those that clients are told, if they are given."""
        distinct = _DISTINCT_ADVERTISED.of(self.release)
        return self._read(self.given.get(ADVERTISED, self._by_host("advertised.")), distinct=distinct)

    @cached_property
    def advertises(self) -> bool:
        """Whether clients are told others than the process opens."""
        one = {"advertised.host.name", "advertised.port"} if _ONE_HOST.of(self.release) else set()
        return not {ADVERTISED, *one}.isdisjoint(self.given)

    def _by_host(self, prefix: str) -> str:
        """What stands for a list that is not given."""
        host, port = (self.text(f"{prefix}{name}") or self.text(name) for name in ("host.name", "port"))
        number = parse_int(port)  # `+5` is one
        port = port if number is None else str(number)
        return f"PLAINTEXT://{host}:{port or 9092}" if _ONE_HOST.of(self.release) else "PLAINTEXT://:9092"

    def _read(self, text: str, *, distinct: bool) -> Listeners:
        entries, listeners = entries_of(text), []
        shown = f"[{', '.join(entries)}]" if _IS_A_LIST.of(self.release) else text.strip()
        for entry in entries:
            match = _ENDPOINT.fullmatch(entry)
            if match is None or int(match[3]) > INT_MAX:
                return Listeners(refused=_BROKEN.format(shown, _UNREADABLE.format(entry)))
            if match[1].upper() not in self.protocols:
                return Listeners(refused=_BROKEN.format(shown, _NO_PROTOCOL.format(match[1].upper())))
            listeners.append(Listener(name=match[1].upper(), host=match[2], port=int(match[3])))
        whole = Listeners(found=tuple(listeners))
        refused = self._on_one_port(listeners, shown) if distinct else None
        if len(whole.names) < len(listeners):
            refused = refused or _SAYS_WHERE.of(self.release).format(shown, _SAME_NAME.format(shown))
        return Listeners(found=whole.found, refused=refused)

    def _on_one_port(self, listeners: list[Listener], shown: str) -> str | None:
        """What is said of two on one port; port 0 is any."""
        by_port: dict[int, list[int]] = {}
        for each in listeners:
            by_port.setdefault(each.port, []).append(_version_of(each.host))
        for port, versions in by_port.items():
            if port == 0 or len(versions) == 1:
                continue
            if not _TWO_STACKS.of(self.release) or versions.count(0) > 1:
                return _SAME_PORT.format(shown)
            if sorted(versions) != [4, 6]:
                return _ONE_STACK.format(shown, port)
        return None


def _version_of(host: str) -> int:
    """4 or 6 of an address, 0 of a name."""
    try:
        return ipaddress.ip_address(host).version
    except ValueError:
        return 0
