"""Partitions of a forecast that one cause takes away whole, told once instead of one by one."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence

from segmend.loading.values import EFFECTS, WHOLE, Effect, PartitionOutcome, Service
from segmend.report import text
from segmend.report.style import Style
from segmend.wording import plural

_ALIKE = 3
"""So many partitions are still told one by one."""
_NAMED = 8
"""So many of them are named, those that lose most."""


def taken_whole(outcomes: Iterable[PartitionOutcome]) -> list[list[PartitionOutcome]]:
    """The groups of partitions that lose all they lose by the same effects on them whole, the worst first."""
    groups: dict[tuple[Service, tuple[str, ...]], list[PartitionOutcome]] = {}
    for outcome in outcomes:
        taken = tuple(effect.effect for effect in _losing(outcome))
        if taken and outcome.failure is None and WHOLE.issuperset(taken):
            groups.setdefault((outcome.outcome, taken), []).append(outcome)
    many = [group for group in groups.values() if len(group) > _ALIKE]
    return sorted(many, key=lambda group: -sum(each.records_lost for each in group))


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
    dirs = " ".join(shlex.quote(path) for path in dict.fromkeys(each.dir for each in group))
    yield f"  next:   {style.command(f'segmend check {dirs}{rules}')}"


def _losing(outcome: PartitionOutcome) -> list[Effect]:
    return [effect for effect in outcome.effects if effect.loses]


def _size(group: Iterable[PartitionOutcome]) -> str:
    return text.size(sum(each.bytes_lost for each in group))
