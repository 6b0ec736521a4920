"""Numbers in server.properties that `KafkaConfig` takes, and on which a start depends all the same.

What comes of them is decided by the JVM, its machine, or a race: no file of a broker tells it. But there are
numbers with which no node comes up that has nobody but itself to be registered by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from segmend.broker.authorizer import REGISTERING
from segmend.broker.rule import Rule, gone_in, new_in
from segmend.broker.server_listeners import ROLES, entries_of
from segmend.broker.server_rules import ELSEWHERE, PLACES
from segmend.broker.server_texts import unheard
from segmend.formats.config_values import long_integer
from segmend.formats.java_number import LONG_MAX
from segmend.frozen import frozen
from segmend.logdir.config import ServerConfig
from segmend.logdir.release import Release
from segmend.wording import few

HELD_AT_ONCE: Final = ("log.cleaner.dedupe.buffer.size", "log.cleaner.io.buffer.size", "queued.max.requests")
"""Settings for which the JVM sets memory aside as it starts."""
MUCH: Final = 128 << 20
"""Beyond that not each of them has it; the default heap has room for it beside all else."""
TOO_MUCH: Final = 1 << 30
"""All of the default heap (-Xmx1G)."""
_CONNECTING: Final = (
    "ssl.", "sasl.", "listener.name.", "zookeeper.ssl.", "advertised.", "password.encoder.",
    "delegation.token.", "num.network.", "num.io.", "config.providers.",
)  # fmt: skip
_SECRETS: Final = (".password", ".secret")
"""Settings of which every value leaves the log dirs as they are: how it is reached, by whom, and secrets."""

COMES_UP: Final = "whether it comes up, and serves, with"
"""How what is named of such a setting begins."""


@frozen
class Odd:
    """`odd` is asked with the numbers of `names` (with defaults), of a node with any of the `roles`.

    `shuts_out` is asked with the release and the same numbers, of a broker that is the only controller, too:
    no machine is so quick that it is registered then, because of `surely`.
    """

    names: Mapping[str, int]
    odd: Callable[..., bool]
    why: str
    roles: str = ""
    applies: Rule[bool] | None = None
    shuts_out: Callable[..., bool] | None = None
    surely: str = ""
    ends: str = ""
    """Kafka's words, where they are not those of a broker that is never registered."""


def _beyond(
    name: str,
    why: str,
    *,
    least: int = -1,
    most: int = LONG_MAX,
    roles: str = "",
    applies: Rule[bool] | None = None,
    never: tuple[int | Rule[int], str] | None = None,
    ends: str = "",
) -> Odd:
    """One number outside of what an ordinary start was seen with; `never` with one up to that, and why."""

    def odd(number: int) -> bool:
        return not least <= number <= most

    def shuts_out(release: Release, number: int) -> bool:
        if never is None:
            return False
        up_to = never[0].of(release) if isinstance(never[0], Rule) else never[0]
        return number <= up_to

    return Odd(
        names={name: least}, odd=odd, why=why, roles=roles, applies=applies, shuts_out=shuts_out,
        surely=never[1] if never else "", ends=ends,
    )  # fmt: skip


_CROWD: Final = 1_000
_NO_ROOM: Final = "the JVM may not have the memory (-Xmx)"
_TOO_MANY: Final = "the machine may not have the threads, files and memory, or take long to make them"
_NO_CONNECTION: Final = "brokers and clients may get no connection"
_CONNECTED_BY: Final = Rule(
    "BrokerLifecycleManager, and ControllerRegistrationManager beside it; KIP-919", (((0, 8), 0), ((3, 7), 1))
)
"""So many connections to its own controller are not enough for a broker."""
_MORE: Final = "it needs more connections to its own controller"
_REGISTERED_IN: Final = "initial.broker.registration.timeout.ms"
_TIMED_OUT: Final = "Timed out while waiting for controller quorum voters future"
_OVERRIDES: Final = ".overrides"
_SESSION: Final = {"broker.session.timeout.ms": 9_000, "broker.heartbeat.interval.ms": 2_000}
_MOSTLY: Final = 4
"""It is led for less than one in so many seconds."""
FENCED: Final = "Fencing broker {} because its session has timed out"
"""`ReplicationControlManager`, of a broker whose heartbeats come too late."""
_ODDS: Final = (
    *(_beyond(name, _NO_ROOM, most=TOO_MUCH) for name in HELD_AT_ONCE),
    *(_beyond(name, _TOO_MANY, most=_CROWD) for name in ("num.network.threads", "num.io.threads")),
    _beyond(
        "num.recovery.threads.per.data.dir", "it may take long to make metrics of each thread", most=_CROWD,
        applies=new_in("LogManager.addLogRecoveryMetrics; KIP-831", (3, 3)),
    ),
    _beyond(
        "socket.request.max.bytes", "what brokers and clients ask may be longer, and is refused then",
        least=16 << 10, never=(80, "its registration is longer, and its own controller refuses it"),
    ),
    _beyond(
        "max.connections", _NO_CONNECTION, least=16, never=(_CONNECTED_BY, _MORE),
        applies=new_in("SocketServer.ConnectionQuotas; KIP-402", (2, 3)),
    ),
    _beyond("max.connections.per.ip", _NO_CONNECTION, least=8, never=(_CONNECTED_BY, _MORE)),
    _beyond(
        "controller.socket.timeout.ms", "no controller may answer in that time", least=1_000,
        never=(1, "its own controller does not answer in that time"),
    ),
    Odd(
        names={"controller.quorum.append.linger.ms": 25, _REGISTERED_IN: 60_000},
        odd=lambda linger, _timeout: linger > 1_000,
        why="what the quorum writes waits as long, and brokers wait for it", roles="controller",
        shuts_out=lambda _release, linger, timeout: linger >= timeout,
        surely="its registration waits as long to be written",
    ),
    _beyond(
        _REGISTERED_IN, "it ends if the controller takes longer to let it in", least=10_000, roles="broker",
        never=(10, "its own controller takes longer to let it in"),
    ),
    _beyond(
        "broker.heartbeat.interval.ms", "a controller may not be done with one before the next", least=10,
        roles="broker",
    ),
    _beyond(
        "server.max.startup.time.ms", "it ends if it takes longer to start", least=600_000,
        roles="broker,controller", never=(10, "it takes longer to start"), ends=_TIMED_OUT,
        applies=new_in("FutureUtils.waitWithLogging", (3, 5)),
    ),
    Odd(
        names=_SESSION,
        odd=lambda session, heartbeat: session < heartbeat + 1_000,
        why="controllers may fence a broker between two heartbeats, and nobody leads its partitions then",
        roles="broker,controller",
    ),
    _beyond(
        "zookeeper.connection.timeout.ms", "ZooKeeper may not answer in that time", least=1_000,
        applies=gone_in("KIP-833", (4, 0)),
    ),
)  # fmt: skip


def untold_settings(config: ServerConfig, release: Release) -> list[str]:
    """The settings on which an answer may hang, and of which only a config provider knows the value."""
    kept = (*ELSEWHERE, *_SECRETS)
    names = [each for each in config.provided if each not in PLACES and not each.startswith(_CONNECTING)]
    heard = {*names} - {*unheard(names, release)}
    return [each for each in names if each in heard and not each.endswith(kept)]


def untold(config: ServerConfig, release: Release) -> Iterator[str]:
    """What nobody knows of them."""
    if names := untold_settings(config, release):
        yield f"what the config provider has for {few(names)}: taken are Kafka's defaults, and these dirs"


def much_memory(config: ServerConfig) -> list[str]:
    """The settings for which the JVM is supposed to have the memory."""
    numbers = {name: long_integer(config.given.get(name)) or 0 for name in HELD_AT_ONCE}
    return [name for name, number in numbers.items() if MUCH < number <= TOO_MUCH]


def odd_settings(config: ServerConfig, release: Release) -> Iterator[str]:
    """What a start depends on that no file tells, by the settings that make it so."""
    yield from untold(config, release)
    yield from (f"{COMES_UP} {told}: {each.why}" for each, told, _ in _given(config, release))


def shut_out_by(config: ServerConfig, release: Release) -> Iterator[str]:
    """Why a broker that is its own and only controller is never registered by it, whatever the machine."""
    for each, told, numbers in _given(config, release):
        overridden = any(config.given.get(f"{name}{_OVERRIDES}") for name in each.names)
        if each.shuts_out is not None and each.shuts_out(release, *numbers) and not overridden:
            yield f"{each.ends or REGISTERING.of(release)}: with {told} {each.surely}"


def fenced_by(config: ServerConfig, node_id: int | None) -> str | None:
    """Why a broker that is its own and only controller leads nothing most of the time."""
    session, heartbeat = (long_integer(config.given.get(name)) or usual for name, usual in _SESSION.items())
    if session * _MOSTLY > heartbeat:
        return None
    numbers = f"{session} ms after each heartbeat, the next of which comes after {heartbeat} ms"
    return f"{FENCED.format(node_id)}: {', '.join(_SESSION)}: that is {numbers}"


def _given(config: ServerConfig, release: Release) -> Iterator[tuple[Odd, str, tuple[int, ...]]]:
    """Each that concerns the node and of which something is set; what that is, and the numbers."""
    given, roles = config.given, {*entries_of(config.given.get(ROLES, ""))}
    for each in _ODDS:
        numbers = {name: long_integer(given.get(name)) for name in each.names}
        set_here = {name: number for name, number in numbers.items() if number is not None}
        if not config.cleaner_runs and min(each.names).startswith("log.cleaner."):
            continue
        values = tuple({**each.names, **set_here}.values())
        asked = not each.roles or roles & {*entries_of(each.roles)}
        if not (asked and set_here and each.odd(*values)):
            continue
        # The release is asked only where it makes a difference: each other one is played, too.
        if each.applies is None or each.applies.of(release):
            yield each, ", ".join(f"{name}={number}" for name, number in set_here.items()), values
