"""The safest order of the starts: nodes with complete replicas before nodes that could lead without."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from segmend.cluster.values import Leadership, Prospect


def start_order(
    nodes: Sequence[int], lines: Iterable[Leadership], voters: Collection[int] = (), needed: int = 0
) -> tuple[tuple[tuple[int, ...], ...], int]:
    """(the steps, how many partitions at risk no order helps).

    A step is one node or several; the next begins when the partitions of the one before have leaders. So the
    first has as many `voters` as are `needed` for a quorum: fewer wait for others, and end after a minute.
    """
    before: dict[int, set[int]] = {node: set() for node in nodes}
    lines = list(lines)
    risky = [line for line in lines if line.outcome == Prospect.AT_RISK]
    # One that is made anew, empty, cuts all others if it leads: better nobody does.
    anew = [line for line in lines if any(copy.homeless and not copy.serves for copy in line.copies)]
    for line in (*(each for each in risky if each.order_helps), *anew):
        first, last = _sides(line)
        for node in last:
            before.setdefault(node, set()).update(first)
    steps: list[tuple[int, ...]] = []
    left = set(nodes)
    while left:
        ready = sorted(node for node in left if not before[node] & left)
        if not ready:  # each waits for another: the one that the fewest wait for goes first
            ready = [min(left, key=lambda node: (len(before[node] & left), node))]
        steps.append(tuple(ready))
        left -= set(ready)
    while len(steps) > 1 and len({*voters} & {*steps[0]}) < needed:
        steps[:2] = [tuple(sorted((*steps[0], *steps[1])))]
    place = {node: number for number, step in enumerate(steps) for node in step}
    helpless = sum(not _helped(line, place) for line in risky)
    return tuple(steps), helpless


def _sides(line: Leadership) -> tuple[set[int], set[int]]:
    able = set(line.leaders_possible or ())
    whole = {copy.node_id for copy in line.copies if copy.complete} & able
    return whole, able - whole


def _helped(line: Leadership, place: dict[int, int]) -> bool:
    first, last = _sides(line)
    return line.order_helps and min(place[node] for node in first) < min(place[node] for node in last)
