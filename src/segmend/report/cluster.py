"""A forecast of a cluster for people: the nodes, the quorum, the partitions at risk, what to start first."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from segmend.cluster.values import (
    WORST,
    ClusterOutcome,
    Leadership,
    NodeOutcome,
    Prospect,
    Quorum,
    ReplicaCopy,
)
from segmend.report import text
from segmend.report.concerned import concerned_lines
from segmend.report.style import PLAIN, Style
from segmend.wording import plural

_SHOWN = 20
"""Partitions that are told one by one."""
_WORDS = {
    Prospect.LED: "led without loss",
    Prospect.AT_RISK: "may lose records: a short replica can lead",
    Prospect.LOSES: "lose records, whoever leads",
    Prospect.LEADERLESS: "without a leader",
    Prospect.UNKNOWN: "not known",
}


def node_lines(nodes: Iterable[NodeOutcome], style: Style = PLAIN) -> Iterator[str]:
    for node in nodes:
        name = style("bold", f"node {node.node_id}")
        stop = "stopped cleanly" if node.clean_shutdown else "killed"
        yield f"{name} ({stop}): {_start(node, style)}; {text.clean(', '.join(node.dirs))}"
        if not node.broker.starts:
            yield f"  next: {_command(style, 'check', *node.dirs)}"


def _command(style: Style, verb: str, *arguments: str) -> str:
    return style.command(f"segmend {verb} {shlex.join(arguments)}")


def _start(node: NodeOutcome, style: Style) -> str:
    broker = node.broker
    if not broker.starts:
        return f"{style('red', 'refuses')}: {text.clean(broker.reason or '')}"
    if broker.reason:
        return f"{style('red', 'waits')}: {text.clean(broker.reason)}"
    told = []
    if broker.lost.partitions:
        counted = f"{plural(broker.lost.partitions, 'partition')} damaged or lost here"
        told.append(style("red", f"{counted}, {plural(broker.lost.records, 'record')}"))
    if broker.metadata_lost.partitions:
        told.append(style("red", text.metadata_lost(broker.metadata_lost.records)))
    if broker.unserved:
        told.append(style("red", f"{plural(broker.unserved, 'partition')} not served here"))
    if not told:
        told.append("no loss seen here" if node.unknown else "loses nothing here")
    if node.may_end:
        more = f" (and {len(node.may_end) - 1} more)" if len(node.may_end) > 1 else ""
        told.append(f"{style('red', 'may end then')}: {text.clean(node.may_end[0])}{more}")
    if node.deleted:
        told.append(f"{plural(node.deleted, 'record')} deleted within minutes after it")
    return f"starts, {', '.join(told)}"


def quorum_lines(
    quorum: Quorum, style: Style = PLAIN, *, dirs: Mapping[int, Sequence[str]] = MappingProxyType({})
) -> Iterator[str]:
    if not quorum.voters:
        return
    state = "comes up" if quorum.comes_up else style("red", f"does not come up: {quorum.reason}")
    known = "" if quorum.committed is None else f", committed to {quorum.committed} at least"
    yield f"{style('bold', 'metadata quorum')}: {state}{known}"
    for voter in quorum.voters:
        log = "no log seen" if voter.end is None else f"log to {voter.end} in epoch {voter.epoch}"
        able = ", can be elected" if voter.node_id in quorum.leaders_possible else ""
        why = "" if voter.up else f"; {style('red', 'down')}: {text.clean(voter.reason or '')}"
        yield f"  voter {voter.node_id}: {log}{able}{why}"
        if voter.older is not None:
            yield f"    {style('red', 'of an older copy of it')}: {text.clean(voter.older)}"
            yield from _restored(quorum, voter.node_id, dirs, style)


def _restored(quorum: Quorum, node_id: int, dirs: Mapping[int, Sequence[str]], style: Style) -> Iterator[str]:
    """The command that gives a voter the newest metadata, and a vote that it has not given."""
    homes = {voter.node_id: voter.home for voter in quorum.voters if voter.home is not None}
    own = dirs.get(node_id, (homes[node_id],))
    froms = [word for other, home in homes.items() if other != node_id for word in ("--from", home)]
    yield f"    next: {_command(style, 'plan quorum', *own, *froms, '-o', 'plan.json')}"


def leadership_lines(
    lines: Sequence[Leadership],
    style: Style = PLAIN,
    *,
    dirs: Mapping[int, Sequence[str]],
    every: bool = False,
) -> Iterator[str]:
    """The partitions that matter, the worst first; `dirs` are those of each node."""
    told = [line for line in lines if every or line.outcome != Prospect.LED or line.refuses_writes]
    told.sort(key=lambda line: (WORST.index(line.outcome), -line.records_at_risk, not line.refuses_writes))
    shown = told if every else told[:_SHOWN]
    for line in shown:
        fate = style(None if line.outcome == Prospect.LED else "red", _WORDS[line.outcome])
        yield f"{style('bold', text.clean(f'{line.topic}-{line.partition}'))}: {fate}"
        if line.reason:
            yield f"  because: {text.clean(line.reason)}"
        if line.refuses_writes:
            few = f"{line.serving} in-sync replicas of {line.min_insync} (min.insync.replicas)"
            reads = "; consumers get nothing above its high watermark until then" if line.withholds else ""
            unless = ", ".join(map(str, line.perhaps))
            anew = f"; not if node {unless} makes its replica anew in another log dir" if unless else ""
            yield f"  {style('red', 'refuses writes with acks=all')}: {few}{reads}{anew}"
        if line.moves:
            yield f"  a reassignment goes on: in the end node {', '.join(map(str, line.ends_on))} has it"
        for copy in line.copies:
            yield f"  {_copy(copy, line)}"
            if copy.concerns is not None:
                yield from (f"  {each}" for each in concerned_lines(copy.concerns, style, copy=True))
        yield from _grafts(line, dirs, style)
    if len(told) > len(shown):
        yield f"... and {plural(len(told) - len(shown), 'more partition')} (--all)"


def _grafts(line: Leadership, dirs: Mapping[int, Sequence[str]], style: Style) -> Iterator[str]:
    """For each short copy that can lead the command that completes it, where another one is whole."""
    name = f"{line.topic}-{line.partition}"
    whole = next((copy for copy in line.copies if copy.complete and copy.dir is not None), None)
    if whole is None or line.outcome not in (Prospect.LOSES, Prospect.AT_RISK):
        return
    for copy in line.copies:
        if copy.serves and not copy.complete and copy.node_id in (line.leaders_possible or ()):
            there = ("--partition", name, "--from", f"{whole.dir}/{name}", "-o", "plan.json")
            yield f"  next: {_command(style, 'plan graft', *dirs[copy.node_id], *there)}"


def _copy(copy: ReplicaCopy, line: Leadership) -> str:
    place = "in sync" if copy.node_id in line.in_sync else "not in sync"
    if line.isr is None:
        place = "nobody tells whether in sync"
    if not copy.serves:
        return f"node {copy.node_id} ({place}): {copy.outcome}: {text.clean(copy.reason or '')}"
    extent = f"offsets {copy.after.log_start_offset} to {copy.after.log_end_offset}"
    short = plural(copy.records_lost, "record") if copy.records_lost else "nobody can tell how far"
    state = "complete" if copy.complete else f"{short} short"
    return f"node {copy.node_id} ({place}): {extent}, {state}"


def cluster_lines(outcome: ClusterOutcome, style: Style = PLAIN) -> Iterator[str]:
    """The verdict, and the order of the starts."""
    fates = [fate for fate in WORST if outcome.fates.get(fate)]
    told = "; ".join(f"{plural(outcome.fates[fate], 'partition')} {_WORDS[fate]}" for fate in fates)
    if outcome.nothing_lost:
        told = f"nothing lost{' by the starts' if outcome.deletes else ''}: {told}"
    name = style("bold", f"the cluster of {plural(outcome.nodes, 'node')}")
    yield f"{name}: {told or 'no partition known'}"
    if outcome.refusing:
        yield style("red", f"{plural(outcome.refusing, 'partition')} refuse writes with acks=all")
    if len(outcome.start_order) > 1:
        steps = ", then ".join(" and ".join(map(str, step)) for step in outcome.start_order)
        yield f"start node {steps}; each step when the one before leads its partitions"
    if outcome.order_cannot_help:
        count = plural(outcome.order_cannot_help, "partition")
        yield f"{count}: no order of starts is safe; restore the short replicas first (segmend plan graft)"
    if outcome.unknown:
        yield f"{style('red', 'not known')}: {text.clean('; '.join(outcome.unknown))}"
    if outcome.assumed:
        yield f"assumed: {text.clean('; '.join(outcome.assumed))}"
