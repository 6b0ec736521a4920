"""What `KafkaConfig` asks of the numbers for groups: limits that must lie in their order.

Follows `GroupCoordinatorConfig`, `ShareGroupConfig` and, before 3.9, `KafkaConfig.validateValues`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from segmend.broker.rule import Rule, Words, new_in
from segmend.broker.settings import definition
from segmend.formats.config_values import long_integer
from segmend.frozen import frozen
from segmend.logdir.release import Release

_FAILED: Final = "requirement failed: "
_WORDS: Final = Rule(
    "KafkaConfig, GroupCoordinatorConfig",
    (
        ((0, 8), (_FAILED, "or equals to")),
        ((3, 9), ("", "or equals to")),
        ((4, 0), ("", "or equal to")),
    ),
)
_BELOW_SESSION: Final = new_in("GroupCoordinatorConfig; KAFKA-18304", (4, 0))
_CLASSIC: Final = Words.since(
    "GroupCoordinatorConfig; KIP-848", ((3, 7), "Disabling the 'classic' protocol is not supported.")
)
_ASSIGNORS: Final = {
    "group.consumer.assignors": Rule(
        "GroupCoordinatorConfig.consumerGroupAssignors: names for its own since 4.0",
        (((0, 8), None), ((3, 6), frozenset[str]()), ((4, 0), frozenset({"range", "uniform"}))),
    ),
    "group.share.assignors": Rule(
        "GroupCoordinatorConfig.shareGroupAssignors; KIP-932",
        (((0, 8), None), ((4, 1), frozenset({"simple"}))),
    ),
}
"""What stands for a class of Kafka's own; other classes have a package, and are looked for elsewhere."""
_DEFAULTS: Final = {
    "heartbeat.interval.ms": (5_000, 5_000, 15_000),
    "session.timeout.ms": (45_000, 45_000, 60_000),
    "assignment.interval.ms": (1_000, 0, 15_000),
    "record.lock.duration.ms": (30_000, 15_000, 60_000),
    "delivery.count.limit": (5, 2, 10),
    "partition.max.record.locks": (2_000, 100, 4_000),
}
"""Of the value, its `min` and its `max`, whichever groups it is for."""
_ALONE: Final = {
    "group.share.max.share.sessions": 2_000,
    "group.share.max.size": 200,
    "group.streams.num.standby.replicas": 0,
    "group.streams.max.standby.replicas": 2,
}


@frozen
class _Order:
    """`first` must be at least `second` (`word` is "greater"), or at most ("less")."""

    first: str
    word: str
    second: str

    def broken(self, given: Mapping[str, str]) -> bool:
        first, second = _number(given, self.first), _number(given, self.second)
        return first < second if self.word == "greater" else first > second


def _within(kind: str, what: str) -> Iterator[_Order]:
    """A value between limits that can be set themselves."""
    least, most, value = f"{kind}.min.{what}", f"{kind}.max.{what}", f"{kind}.{what}"
    yield _Order(first=most, word="greater", second=least)
    yield _Order(first=value, word="greater", second=least)
    yield _Order(first=value, word="less", second=most)


def _share(what: str) -> Iterator[_Order]:
    """As `_within`, in the words of `ShareGroupConfig`."""
    yield _Order(first=f"group.share.{what}", word="greater", second=f"group.share.min.{what}")
    yield _Order(first=f"group.share.max.{what}", word="greater", second=f"group.share.{what}")


_KINDS: Final = ("group.consumer", "group.share", "group.streams")
_ORDERS: Final = (
    *(
        order
        for kind in _KINDS
        for what in ("heartbeat.interval.ms", "session.timeout.ms", "assignment.interval.ms")
        for order in _within(kind, what)
    ),
    *(
        order
        for what in ("record.lock.duration.ms", "delivery.count.limit", "partition.max.record.locks")
        for order in _share(what)
    ),
    _Order(first="group.share.max.share.sessions", word="greater", second="group.share.max.size"),
    _Order(
        first="group.streams.num.standby.replicas", word="less", second="group.streams.max.standby.replicas"
    ),
)
"""Asked by the releases that know both settings."""


def group_refusals(given: Mapping[str, str], release: Release) -> Iterator[str]:
    """Kafka's words on what does not lie in its order."""
    failed, or_equal = _WORDS.of(release)
    for each in _ORDERS:
        if each.broken(given) and _known(each.first, release) and _known(each.second, release):
            yield f"{failed}{each.first} must be {each.word} than {or_equal} {each.second}"
    for kind in _KINDS:
        beat, session = f"{kind}.heartbeat.interval.ms", f"{kind}.session.timeout.ms"
        late = _number(given, beat) >= _number(given, session)
        if late and _known(beat, release) and _BELOW_SESSION.of(release):
            yield f"{beat} must be less than {session}"
    for name, rule in _ASSIGNORS.items():
        own = rule.of(release)
        text = given.get(name, "").strip()
        if not text or own is None:
            continue
        for entry in re.split(r"\s*,\s*", text):
            if "." not in entry and entry not in own:
                yield f"Class {entry} cannot be found"
    protocols = given.get("group.coordinator.rebalance.protocols")
    if protocols is not None and "classic" not in protocols and (words := _CLASSIC.say(release)):
        yield words


def _known(name: str, release: Release) -> bool:
    return definition(name, release, topic=False) is not None


def _number(given: Mapping[str, str], name: str) -> int:
    number = long_integer(given.get(name))
    return _default(name) if number is None else number


def _default(name: str) -> int:
    if name in _ALONE:
        return _ALONE[name]
    what = name.split(".", 2)[2]
    bound, _, rest = what.partition(".")
    value, least, most = _DEFAULTS[rest if bound in ("min", "max") else what]
    return {"min": least, "max": most}.get(bound, value)
