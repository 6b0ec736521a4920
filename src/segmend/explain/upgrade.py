"""What an upgrade or downgrade changes, refuses and cannot take back; and what it would do to these dirs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from segmend.broker.settings import Definition, definitions, narrowed, removed
from segmend.broker.upgrades import Line, Mode, Topic, lines, modes_of
from segmend.frozen import frozen
from segmend.loading import BrokerOutcome, ForecastOptions, forecast_any
from segmend.logdir.release import Release
from segmend.node.broker_dirs import BrokerDirs
from segmend.node.gates import refused_topics, server_reasons

_FLAGS: Final = {"required": "required", "no-empty": "not empty", "no-blank": "without empty elements"}


@frozen
class Changed:
    """A setting, of topics or of server.properties, of which the other release refuses more values."""

    name: str
    topic: bool
    before: str
    after: str


@frozen
class Upgrade:
    """From one release to another, in these modes."""

    from_: Release
    to: Release
    modes: frozenset[Mode]
    lines: tuple[Line, ...]
    changed: tuple[Changed, ...]
    removed: tuple[str, ...]

    @property
    def down(self) -> bool:
        return self.to < self.from_.padded

    def of(self, topic: Topic) -> list[Line]:
        return [line for line in self.lines if line.topic == topic]


@frozen
class Here:
    """What these log dirs have to do with it: the start of the other release, and settings that matter."""

    outcome: BrokerOutcome
    topics: tuple[tuple[str, str], ...]
    server: tuple[str, ...]
    ignored: tuple[str, ...]


def upgrade(from_: Release, to: Release, modes: frozenset[Mode] | None = None) -> Upgrade:
    """All that is known of the pair; without modes those that both have."""
    modes = modes_of(from_) | modes_of(to) if modes is None else modes
    return Upgrade(
        from_=from_, to=to, modes=modes, lines=tuple(lines(from_, to, modes)),
        changed=tuple(_changed(from_, to)),
        removed=tuple(name for name in sorted(definitions(topic=False)) if removed(name, from_, to)),
    )  # fmt: skip


def _changed(from_: Release, to: Release) -> Iterator[Changed]:
    for topic in (True, False):
        for name, old, new in narrowed(from_, to, topic=topic):
            yield Changed(name=name, topic=topic, before=_definition(old), after=_definition(new))


def _definition(known: Definition) -> str:
    words = ", ".join(_FLAGS[flag] for flag in known.flags)
    return " ".join(filter(None, (known.kind, known.valid, words)))


def here(
    present: BrokerDirs,
    future: BrokerDirs,
    options: ForecastOptions,
    tell: Callable[[int, int], None] | None = None,
) -> Here:
    """The start of `future`, the same dirs by the rules of the other release."""
    outcome = list(forecast_any(future, options, tell))[-1]
    assert isinstance(outcome, BrokerOutcome)
    given = {} if future.given is None else future.given.given
    return Here(
        outcome=outcome,
        topics=tuple((topic, each.said) for topic, each in refused_topics(future).items()),
        server=tuple(server_reasons(future)),
        ignored=tuple(name for name in sorted(given) if removed(name, present.release, future.release)),
    )
