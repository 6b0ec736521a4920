"""A start by the rules of each release that the disks may be of, where they do not tell which.

The lines are those of the release that is taken for granted. Where another one does something else, the
last line says so; where it is worse, that is something not known, and no all-clear. Of a broker with very
many partitions only some are compared, those of which anything was said first; the last line says so, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from segmend.frozen import frozen, replace
from segmend.loading.prelude import ForecastOptions
from segmend.loading.run import Forecast, Line
from segmend.loading.values import (
    BrokerOutcome,
    DirectoryOutcome,
    DirOutcome,
    Effect,
    Extent,
    Later,
    PartitionOutcome,
    Service,
)
from segmend.node.broker_dirs import BrokerDirs
from segmend.node.candidates import each_release
from segmend.wording import plural

Place = tuple[str, str]
_FAILED: Final = "failed"
_SERVED: Final = str(Service.SERVED)
COMPARED: Final = 1_000
"""Partitions that the start by another release's rules is played for."""


class AnyForecast(Forecast):
    """As `Forecast`; its last line also says by which other releases the start would be another one."""

    def __iter__(self) -> Iterator[Line]:
        plays = each_release(self._broker, self._play)
        taken = _Start()
        for line in next(plays)[1]:
            taken.note(line)
            if isinstance(line, BrokerOutcome):
                self._only = taken.worth_comparing(COMPARED)
                line = self.broker = _with_others(line, self._broker, taken, plays, self._only)
            yield line

    def _play(self, broker: BrokerDirs) -> Forecast:
        if broker is self._broker:
            return Forecast(broker, self._options, self._progress)
        options = self._options if self._only is None else replace(self._options, only=self._only)
        return Forecast(broker, options)

    _only: frozenset[str] | None = None


def forecast_any(
    broker: BrokerDirs, options: ForecastOptions, on_progress: Callable[[int, int], None] | None = None
) -> Forecast:
    """What the broker would do to these dirs, whichever of the releases that it may be it is."""
    return AnyForecast(broker, options, on_progress)


@frozen
class _Becomes:
    """What becomes of one directory, or of a whole dir (an empty name)."""

    state: str
    effects: tuple[tuple[str, str | None, int | None], ...] = ()
    records_lost: int = 0
    after: Extent | None = None

    @classmethod
    def of(cls, state: str, effects: tuple[Effect, ...], after: Extent | None = None) -> _Becomes:
        return cls(
            state=state,
            effects=tuple((each.effect, each.file, each.offset) for each in effects),
            records_lost=sum(each.records_lost for each in effects),
            after=after,
        )

    @property
    def failed(self) -> bool:
        return self.state == _FAILED

    @property
    def is_told(self) -> bool:
        return bool(self.effects) or self.state != _SERVED

    def is_worse_than(self, other: _Becomes) -> bool:
        """Whether it loses more, fails, or is served no longer."""
        unserved = self.state != _SERVED and other.state == _SERVED
        return self.records_lost > other.records_lost or self.failed > other.failed or unserved


class _Start:
    """What one start does, small enough to be compared with others."""

    def __init__(self) -> None:
        self.places: dict[Place, _Becomes] = {}
        self._outcome: BrokerOutcome | None = None

    @property
    def outcome(self) -> BrokerOutcome:
        """The last line, once there was one."""
        assert self._outcome is not None
        return self._outcome

    def note(self, line: Line) -> None:
        if isinstance(line, PartitionOutcome | DirectoryOutcome):
            after = line.after if isinstance(line, PartitionOutcome) else None
            state = _FAILED if line.failure is not None else str(line.outcome)
            self.places[line.dir, line.name] = _Becomes.of(state, line.effects, after)
        elif isinstance(line, DirOutcome):
            self.places[line.dir, ""] = _Becomes.of("online" if line.online else "offline", line.effects)
        elif not isinstance(line, Later):
            self._outcome = line

    def worth_comparing(self, count: int) -> frozenset[str] | None:
        """So many partitions: those of which anything is said, and others all over; None if these are all."""
        names = [name for (_, name), place in self.places.items() if name]
        if len(names) <= count:
            return None
        told = [name for (_, name), place in self.places.items() if name and place.is_told]
        chosen = told[:: -(-len(told) // (count // 2) or 1)] if len(told) > count // 2 else told
        return frozenset([*chosen, *names[:: -(-len(names) // (count - len(chosen)))]])

    def of(self, only: frozenset[str] | None) -> _Start:
        if only is None:
            return self
        part = _Start()
        part._outcome = self._outcome
        part.places = {key: each for key, each in self.places.items() if not key[1] or key[1] in only}
        return part

    def is_worse_than(self, other: _Start) -> bool:
        """Whether it takes anything from anybody that the other does not."""
        mine, theirs = self.outcome, other.outcome
        if theirs.starts > mine.starts or mine.unserved > theirs.unserved or mine.offline > theirs.offline:
            return True
        if len(mine.unknown) > len(theirs.unknown) or mine.lost.partitions > theirs.lost.partitions:
            return True
        pairs = ((place, other.places[key]) for key, place in self.places.items() if key in other.places)
        return any(a.is_worse_than(b) for a, b in pairs)


def _with_others(
    line: BrokerOutcome,
    broker: BrokerDirs,
    whole: _Start,
    plays: Iterator[tuple[BrokerDirs, Forecast]],
    only: frozenset[str] | None,
) -> BrokerOutcome:
    worse: list[str] = []
    other: list[str] = []
    taken, candidate = whole.of(only), None
    for candidate, play in plays:
        start = _Start()
        for each in play:
            start.note(each)
        start = start.of(only)
        if words := "; ".join(_differences(taken, start)):
            other_start = worse if start.is_worse_than(taken) else other
            other_start.append(f"by the rules of {candidate.release} {words}")
    said = f"these dirs may be of any Kafka of {broker.guess.words} (--kafka says which)"
    if only is not None and candidate is not None:
        some = (
            f"{said}: other rules than those of {broker.release} were tried on {len(only):,} partitions only"
        )
        line = replace(line, assumed=(*line.assumed, some))
    if not worse and not other:
        return replace(line, release_reason=broker.guess.same_words)
    if worse:
        line = replace(line, unknown=(*line.unknown, f"{said}: {', '.join(worse)}"))
    if other:
        line = replace(line, assumed=(*line.assumed, f"{said}: {', '.join(other)}"))
    return line


def _differences(taken: _Start, start: _Start) -> Iterator[str]:
    if taken.outcome.starts != start.outcome.starts:
        yield "it starts" if start.outcome.starts else f"it refuses to start: {start.outcome.reason}"
    both = taken.places.keys() & start.places
    changed = [place for place in both if taken.places[place] != start.places[place]]
    effects, were = _effects(start.places, changed), _effects(taken.places, changed)
    for effect in sorted(effects | were):
        if effects[effect] != were[effect]:
            more = effects[effect] - were[effect]
            yield f"{abs(more)} {effect} {'more' if more > 0 else 'fewer'}"
    lost = sum(start.places[each].records_lost - taken.places[each].records_lost for each in changed)
    if lost:
        yield f"{plural(abs(lost), 'record')} {'more' if lost > 0 else 'fewer'} lost"
    states = Counter(start.places[p].state for p in changed if start.places[p].state != taken.places[p].state)
    yield from (f"{count} {state}" for state, count in sorted(states.items()))
    if changed and effects == were and not lost and not states:
        yield f"{plural(len(changed), 'directory', 'directories')} become otherwise"


def _effects(places: Mapping[Place, _Becomes], wanted: list[Place]) -> Counter[str]:
    return Counter(effect for place in wanted for effect, _, _ in places[place].effects)
