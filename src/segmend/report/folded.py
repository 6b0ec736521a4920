"""Partitions of a forecast that fare alike by one cause, told once instead of one by one."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence

from segmend.frozen import frozen
from segmend.grouping import grouped
from segmend.loading.values import EFFECTS, WHOLE, Effect, PartitionOutcome, Service
from segmend.report import text
from segmend.report.style import Style
from segmend.wording import plural

_ALIKE = 3
"""So many partitions that lose are still told one by one."""
_NAMED = 8
"""So many of them are named, those that lose most."""


@frozen
class Unserved:
    """Nothing is amiss with the partition but what keeps others from service as well."""

    reason: str | None


@frozen
class TakenWhole:
    """The partition loses all it loses by these effects on it whole."""

    outcome: Service
    effects: tuple[str, ...]


Shared = Unserved | TakenWhole


def cause_of(outcome: PartitionOutcome) -> Shared | None:
    """What it can have in common with others; None where it has something of its own to tell."""
    if outcome.failure is not None:
        return None
    losing = tuple(effect.effect for effect in _losing(outcome))
    if losing:
        return TakenWhole(outcome=outcome.outcome, effects=losing) if WHOLE.issuperset(losing) else None
    return Unserved(reason=outcome.reason) if outcome.unserved else None


def folded(
    outcomes: Iterable[PartitionOutcome], refusal: Unserved | None
) -> dict[Shared, list[PartitionOutcome]]:
    """The partitions told at once, the worst first; always those of `refusal`, which stops the broker."""
    shared = [
        (cause, group)
        for cause, group in grouped(outcomes, cause_of).items()
        if cause is not None
        and (cause == refusal or len(group) > (_ALIKE if isinstance(cause, TakenWhole) else 1))
    ]
    return dict(sorted(shared, key=lambda each: -sum(outcome.records_lost for outcome in each[1])))


def taken_lines(group: Sequence[PartitionOutcome], style: Style, rules: str) -> Iterator[str]:
    """One group: what becomes of it, the broker's words of the first, the largest, and what to do."""
    ordered = sorted(group, key=lambda e: (-e.records_lost, -e.bytes_lost, e.dir, e.name))
    first = ordered[0]
    yield style("bold", f"{plural(len(group), 'partition')}: {style('red', first.outcome)}")
    words = [effect.broker_says for effect in _losing(first) if effect.broker_says]
    if first.reason and not any(said.startswith(first.reason) for said in words):
        yield f"  the first: {text.clean(first.reason)}"
    for effect in _losing(first):
        yield f"  {style('red', effect.effect)}: {EFFECTS[effect.effect]}"
        if effect.broker_says:
            yield f"          broker of the first: {style('dim', text.clean(effect.broker_says))}"
    lost = f"{plural(sum(e.records_lost for e in group), 'record')}, {_size(group)}"
    yield f"  lost: {lost}; the largest (--all shows each):"
    for each in ordered[:_NAMED]:
        path = text.clean(f"{each.dir}  {each.name}")
        yield f"    {path}: {plural(each.records_lost, 'record')}, {_size([each])}"
    if len(ordered) > _NAMED:
        yield f"    ... and {len(ordered) - _NAMED:,} more"
    yield _check_next(group, style, rules)


def refused_lines(
    number: int, outcomes: Iterable[PartitionOutcome], style: Style, rules: str
) -> Iterator[str]:
    """So many of `outcomes` are not served because the broker refuses to start, and what to do."""
    yield f"{plural(number, 'partition')} not served: the broker refuses to start"
    yield _check_next(outcomes, style, rules)


def _check_next(group: Iterable[PartitionOutcome], style: Style, rules: str) -> str:
    dirs = " ".join(shlex.quote(path) for path in dict.fromkeys(each.dir for each in group))
    return f"  next:   {style.command(f'segmend check {dirs}{rules}')}"


def unserved_line(cause: Unserved, group: Sequence[PartitionOutcome], style: Style) -> str:
    """One line for all that one reason keeps from service."""
    words = f"{plural(len(group), 'more partition')} with nothing of their own (--all shows each)"
    return f"{words}: {style('red', 'unserved')}: {text.clean(cause.reason or '')}"


def _losing(outcome: PartitionOutcome) -> list[Effect]:
    return [effect for effect in outcome.effects if effect.loses]


def _size(group: Iterable[PartitionOutcome]) -> str:
    return text.size(sum(each.bytes_lost for each in group))
