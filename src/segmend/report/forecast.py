"""A forecast for people: the losses first, what Kafka will log, and the next command."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from segmend.loading.timing.costs import PARTS
from segmend.loading.timing.estimate import Estimate
from segmend.loading.values import (
    COMPACTED,
    EFFECTS,
    TOO_EARLY,
    BrokerOutcome,
    DirectoryOutcome,
    DirOutcome,
    Effect,
    Extent,
    Later,
    PartitionOutcome,
)
from segmend.logdir.release import AS_GIVEN
from segmend.report import text
from segmend.report.concerned import concerned_lines
from segmend.report.folded import (
    TakenWhole,
    Unserved,
    cause_of,
    folded,
    refused_lines,
    taken_lines,
    unserved_line,
)
from segmend.report.style import PLAIN, Style
from segmend.wording import plural

_PART_TOLD = 0.05
"""Parts of the time of a start that are told: those of so much of it."""
_LATER = 8
"""Lines of what follows later that are told one by one."""
_RUN = 3
"""Effects, and directories, of one kind that are told one by one; more of them are counted."""


def partition_lines(
    outcomes: Sequence[PartitionOutcome],
    style: Style = PLAIN,
    *,
    broker: BrokerOutcome | None = None,
    every: bool = False,
) -> Iterator[str]:
    """The partitions that matter, the worst first; the others fold into one line unless `every`.

    So do those that one cause keeps from service or takes away whole (`folded.py`).
    """
    # The release for the next command, where it was given for this one.
    given = broker is not None and broker.release_reason == AS_GIVEN
    rules = f" --kafka {broker.release}" if broker is not None and given else ""
    refusal = Unserved(reason=broker.reason) if broker is not None and not broker.starts else None
    groups = {} if every else folded(outcomes, refusal)
    if refusal in groups:
        yield from refused_lines(len(groups[refusal]), outcomes, style, rules)
        yield ""
    for cause, group in groups.items():
        if isinstance(cause, TakenWhole):
            yield from taken_lines(group, style, rules)
            yield ""
    told = [each for each in outcomes if every or (each.matters and cause_of(each) not in groups)]
    told.sort(key=lambda o: (o.failure is None, -o.records_lost, -o.bytes_lost, o.dir, o.name))
    for outcome in told:
        yield from _partition(outcome, style, rules)
        yield ""
    for cause, group in groups.items():
        if isinstance(cause, Unserved) and cause != refusal:
            yield unserved_line(cause, group, style)
    rest = len(outcomes) - len(told) - sum(map(len, groups.values()))
    if rest:
        scanned = sum(_scans(each.effects) for each in outcomes if not each.matters)
        recovered = f", {plural(scanned, 'segment')} recovered" if scanned else ""
        words = f"{plural(rest, 'partition')} {'lose' if rest > 1 else 'loses'} nothing"
        if broker is not None and broker.unknown:
            words = f"{plural(rest, 'partition')} of which no loss is seen"
        yield f"{words}{recovered}"


def _scans(effects: Iterable[Effect]) -> int:
    return sum(effect.effect == "recovery-scan" for effect in effects)


def _partition(outcome: PartitionOutcome, style: Style, rules: str = "") -> Iterator[str]:
    yield style("bold", text.clean(f"{outcome.dir}  {outcome.name}"))
    yield f"  {_extents(outcome.before, outcome.after)}"
    if outcome.unserved and outcome.failure is None:
        yield f"  {style('red', outcome.outcome)}: {text.clean(outcome.reason or '')}"
    if outcome.failure is not None:
        yield f"  {style('red', 'does not load:')} {text.clean(outcome.failure)}"
    yield from _effects(outcome.effects, style)
    if outcome.concerns is not None:
        fails = any(each.effect == "reads-fail" for each in outcome.effects)
        yield from concerned_lines(outcome.concerns, style, fails=fails)
    if outcome.matters:
        path = shlex.quote(f"{outcome.dir.rstrip('/')}/{outcome.name}")
        yield f"  next:   {style.command(f'segmend check --deep {path}{rules}')}"


def _extents(before: Extent, after: Extent) -> str:
    now = f"{_range(before)} in {plural(before.segments or 0, 'segment')}, {text.size(before.bytes or 0)}"
    if after.log_end_offset is None:
        return f"offsets {now}; not served after the start"
    if after == before:
        return f"offsets {now}; the same after the start"
    segments = plural(after.segments or 0, "segment")
    return f"offsets {now}; after the start {_range(after)} in {segments}, {text.size(after.bytes or 0)}"


def _range(extent: Extent) -> str:
    return f"{extent.log_start_offset} to {extent.log_end_offset}"


def _effects(effects: Sequence[Effect], style: Style) -> Iterator[str]:
    counts: dict[str, int] = {}
    ordered = sorted(effects, key=lambda e: (-e.records_lost, not e.loses))
    for effect in ordered:
        counts[effect.effect] = counts.get(effect.effect, 0) + 1
        if counts[effect.effect] <= _RUN:
            name = style("red" if effect.loses else "dim", effect.effect)
            where = text.clean((effect.file or "").rpartition("/")[2])
            offset = "" if effect.offset is None else f" offset {effect.offset}"
            yield f"  {name} {where}{offset}: {EFFECTS[effect.effect]}{_loss(effect)}"
            if effect.broker_says and effect.loses:
                yield f"          broker: {style('dim', text.clean(effect.broker_says))}"
    for name, count in counts.items():
        if count > _RUN:
            yield f"  ... and {plural(count - _RUN, f'more {name}', f'more {name}')}"


def _loss(effect: Effect) -> str:
    if not effect.records_lost:
        return ""
    words = f"; lost: {plural(effect.records_lost, 'record')}, {text.size(effect.bytes_lost)}"
    if effect.last_timestamp < 0:
        return words
    return f"{words}, from {text.when(effect.first_timestamp)} to {text.when(effect.last_timestamp)}"


def directory_lines(
    outcomes: Iterable[DirectoryOutcome], style: Style = PLAIN, *, every: bool = False
) -> Iterator[str]:
    """Directories that are no current replica: one line each, with what matters below.

    Of those that share a fate without a loss the first are told, unless `every`.
    """
    alike: Counter[tuple[str, str]] = Counter()
    for outcome in outcomes:
        if not every and not outcome.matters:
            if outcome.kind in ("cluster-metadata", "remote-index-cache"):
                continue
            alike[outcome.kind, outcome.outcome] += 1
            if alike[outcome.kind, outcome.outcome] > _RUN:
                continue
        yield text.clean(f"{outcome.dir}  {outcome.name}: {outcome.kind}, {outcome.outcome}")
        if outcome.failure is not None:
            yield f"  {style('red', 'does not load:')} {text.clean(outcome.failure)}"
        yield from _effects([e for e in outcome.effects if every or e.loses], style)
    for (kind, fate), number in alike.items():
        if number > _RUN:
            words = plural(number - _RUN, "more directory", "more directories")
            yield f"... and {words}: {kind}, {fate} (--all)"


def later_lines(outcomes: Iterable[Later], style: Style = PLAIN, *, every: bool = False) -> Iterator[str]:
    """What follows within minutes, the largest first; only the first of them unless `every`."""
    ordered = sorted(outcomes, key=lambda later: (-later.bytes_lost, later.dir, later.file))
    shown = ordered if every else ordered[:_LATER]
    more = ordered[len(shown) :]
    for later in shown:
        when = "later" if later.seconds is None else f"{later.seconds} s after the start"
        where = text.clean(f"{later.dir}  {later.file}")
        counted = f"{plural(later.records_lost, 'record')}, " if later.records_lost else ""
        amount = f"{plural(later.segments, 'segment')}, {counted}"
        amount = f": {amount}{text.size(later.bytes_lost)}" if later.what != "directory replaced" else ""
        if later.what == COMPACTED:
            amount = f": {plural(later.segments, 'segment')}"
        undue = f", {style('red', 'too early')}: {TOO_EARLY}" if later.undue else ""
        yield f"{when}: {style('yellow', later.what)} {where}{amount} ({later.why}{undue})"
    if more:
        lost = sum(later.bytes_lost for later in more)
        yield f"... and later in {plural(len(more), 'more place')}, {text.size(lost)} (--all)"


def dir_lines(outcomes: Iterable[DirOutcome], style: Style = PLAIN) -> Iterator[str]:
    """One line a log dir, with the reason if it does not serve."""
    for outcome in outcomes:
        stop = "stopped cleanly" if outcome.clean_shutdown else "not stopped cleanly"
        stop = "the cluster's metadata alone" if outcome.metadata_alone else stop
        state = "online" if outcome.online else style("red", "offline")
        yield f"{text.clean(outcome.dir)}: {state}; {stop}"
        if outcome.reason is not None:
            yield f"  because: {text.clean(outcome.reason)}"


def _parts(time: Estimate | None) -> str:
    """The largest parts of the time of the start."""
    if time is None:
        return ""
    parts = sorted(time.parts.items(), key=lambda part: -part[1])
    told = [_part(time, *part) for part in parts if part[1] >= _PART_TOLD * time.seconds]
    return f" ({', '.join(told)})"


def _part(time: Estimate, part: str, seconds: float) -> str:
    words = f"{text.duration(seconds)} {PARTS[part]}"
    if part != "recovery_scan" or not seconds:
        return words
    return f"{words} of {text.size(time.scanned_bytes)} at {time.scanned_bytes / seconds / 1e6:,.0f} MB/s"


def broker_lines(
    outcome: BrokerOutcome, deleted: int = 0, style: Style = PLAIN, *, undue: int = 0, compacted: int = 0
) -> Iterator[str]:
    """The verdict; `deleted` are records that go within minutes after it, `undue` of them too early.

    `compacted` are logs that the cleaner takes then for the first time.
    """
    rules = f"rules of Kafka {outcome.release} ({outcome.release_reason})"
    if not outcome.starts:
        yield f"{style('red', 'the broker refuses to start')}: {text.clean(outcome.reason or '')}"
        yield rules
    else:
        words = "; ".join(_became(outcome, deleted, undue, compacted, style))
        seconds = f"about {text.duration(outcome.seconds)}{_parts(outcome.time)}"
        worst = "" if outcome.supposed is None else f"; if {text.clean(outcome.supposed)}"
        yield f"the broker starts{worst}, {words}; {seconds}; {rules}"
    if outcome.unknown:
        yield f"{style('red', 'not known')}: {text.clean('; '.join(outcome.unknown))}"
    if outcome.assumed:
        yield f"assumed: {text.clean('; '.join(outcome.assumed))}"


def _became(outcome: BrokerOutcome, deleted: int, undue: int, compacted: int, style: Style) -> Iterator[str]:
    """What is lost, what is not served, and what can be said of neither."""
    lost = outcome.lost
    if lost.partitions:
        size = text.size(lost.bytes)
        counted = f"{plural(lost.records, 'record')} lost, {size}" if lost.records else f"{size} unreadable"
        yield style("red", f"{plural(lost.partitions, 'partition')} damaged or lost: {counted}")
    if outcome.unserved:
        yield style("red", f"{plural(outcome.unserved, 'partition')} not served")
    if outcome.offline:
        yield style("red", f"{plural(outcome.offline, 'log dir')} offline")
    metadata = outcome.metadata_lost
    if metadata.partitions:
        yield style("red", text.metadata_lost(metadata.records))
    if outcome.nothing_lost:
        yield "nothing lost by the start" if deleted or compacted else "nothing lost"
    elif not lost.partitions:
        other, of = (" other", "topics") if metadata.partitions else ("", "the others")
        yield f"no{other} loss seen" if outcome.unknown else f"nothing lost of {of}"
    if deleted:
        early = f", {style('red', f'{undue:,} of them too early')}" if undue else ""
        yield f"{plural(deleted, 'record')} deleted within minutes after it{early}"
    if compacted:
        yield f"{plural(compacted, 'log')} compacted for the first time soon after it"
