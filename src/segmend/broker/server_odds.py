"""Numbers in server.properties that `KafkaConfig` takes, and on which a start depends all the same.

What comes of them is decided by the JVM, its machine, or a race: no file of a broker tells it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from segmend.broker.rule import Rule, gone_in, new_in
from segmend.broker.server_listeners import ROLES, entries_of
from segmend.formats.java_number import LONG_MAX, parse_long
from segmend.frozen import frozen
from segmend.logdir.config import ServerConfig
from segmend.logdir.release import Release

HELD_AT_ONCE: Final = ("log.cleaner.dedupe.buffer.size", "log.cleaner.io.buffer.size", "queued.max.requests")
"""Settings for which the JVM sets memory aside as it starts."""
MUCH: Final = 128 << 20
"""Beyond that not each of them has it; the default heap has room for it beside all else."""
TOO_MUCH: Final = 1 << 30
"""All of the default heap (-Xmx1G)."""


COMES_UP: Final = "whether it comes up, and serves, with"
"""How what is named of such a setting begins."""


@frozen
class Odd:
    """`odd` is asked with the numbers of `names` (with defaults), of a node with any of the `roles`."""

    names: Mapping[str, int]
    odd: Callable[..., bool]
    why: str
    roles: str = ""
    applies: Rule[bool] | None = None


def _beyond(
    name: str,
    why: str,
    *,
    least: int = -1,
    most: int = LONG_MAX,
    roles: str = "",
    applies: Rule[bool] | None = None,
) -> Odd:
    """One number outside of what an ordinary start was seen with."""

    def odd(number: int) -> bool:
        return not least <= number <= most

    return Odd(names={name: least}, odd=odd, why=why, roles=roles, applies=applies)


_CROWD: Final = 1_000
_NO_ROOM: Final = "the JVM may not have the memory (-Xmx)"
_TOO_MANY: Final = "the machine may not have the threads, files and memory, or take long to make them"
_NO_CONNECTION: Final = "brokers and clients may get no connection"
_ODDS: Final = (
    *(_beyond(name, _NO_ROOM, most=TOO_MUCH) for name in HELD_AT_ONCE),
    *(_beyond(name, _TOO_MANY, most=_CROWD) for name in ("num.network.threads", "num.io.threads")),
    _beyond(
        "num.recovery.threads.per.data.dir", "it may take long to make metrics of each thread", most=_CROWD,
        applies=new_in("LogManager.addLogRecoveryMetrics; KIP-831", (3, 3)),
    ),
    _beyond(
        "socket.request.max.bytes", "what brokers and clients ask may be longer, and is refused then",
        least=16 << 10,
    ),
    _beyond(
        "max.connections", _NO_CONNECTION, least=16,
        applies=new_in("SocketServer.ConnectionQuotas; KIP-402", (2, 3)),
    ),
    _beyond("max.connections.per.ip", _NO_CONNECTION, least=8),
    _beyond("controller.socket.timeout.ms", "no controller may answer in that time", least=1_000),
    _beyond(
        "controller.quorum.append.linger.ms", "what the quorum writes waits as long, and brokers wait for it",
        most=1_000, roles="controller",
    ),
    _beyond(
        "initial.broker.registration.timeout.ms", "it ends if the controller takes longer to let it in",
        least=10_000, roles="broker",
    ),
    Odd(
        names={"broker.session.timeout.ms": 9_000, "broker.heartbeat.interval.ms": 2_000},
        odd=lambda session, heartbeat: session < heartbeat + 1_000,
        why="controllers may fence a broker between two heartbeats, and nobody leads its partitions then",
        roles="broker,controller",
    ),
    _beyond(
        "zookeeper.connection.timeout.ms", "ZooKeeper may not answer in that time", least=1_000,
        applies=gone_in("KIP-833", (4, 0)),
    ),
)  # fmt: skip


def much_memory(config: ServerConfig) -> list[str]:
    """The settings for which the JVM is supposed to have the memory."""
    numbers = {name: parse_long(config.given.get(name, "").strip()) or 0 for name in HELD_AT_ONCE}
    return [name for name, number in numbers.items() if MUCH < number <= TOO_MUCH]


def odd_settings(config: ServerConfig, release: Release) -> Iterator[str]:
    """What a start depends on that no file tells, by the settings that make it so."""
    given, roles = config.given, {*entries_of(config.given.get(ROLES, ""))}
    for each in _ODDS:
        numbers = {name: parse_long(given.get(name, "").strip()) for name in each.names}
        set_here = {name: number for name, number in numbers.items() if number is not None}
        if not config.cleaner_runs and min(each.names).startswith("log.cleaner."):
            continue
        asked = not each.roles or roles & {*entries_of(each.roles)}
        if not (asked and set_here and each.odd(*({**each.names, **set_here}).values())):
            continue
        # The release is asked only where it makes a difference: each other one is played, too.
        if each.applies is None or each.applies.of(release):
            told = ", ".join(f"{name}={number}" for name, number in set_here.items())
            yield f"{COMES_UP} {told}: {each.why}"
