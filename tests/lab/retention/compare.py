"""What segmend said of each segment, against what the broker did."""

from collections.abc import Callable, Iterable, Iterator

from segmend.broker.retention import SegmentFate
from segmend.explain.retention import Reasons
from tests.lab.retention.judged import INTERVAL
from tests.lab.retention.seen import Gone

SLACK = 1_000


def disagreements(
    judged: Callable[[int], Iterable[Reasons]], gone: Gone, first: int, last: int
) -> Iterator[str]:
    """A line for each segment that went otherwise than `judged`, given the time, said of the first look.

    `first` and `last` are when the broker first and last looked. It comes to a log some time after that:
    both ends of that second are asked.
    """
    for each, later in zip(judged(first), judged(first + SLACK), strict=True):
        wrong = _in_topic(each, gone, first, last)
        if wrong and _in_topic(later, gone, first, last):
            yield from wrong


def _in_topic(each: Reasons, gone: Gone, first: int, last: int) -> list[str]:
    if each.failure is not None:
        return [f"{each.topic}: does not load: {each.failure}"]
    swept, found = each.retention.limits.compact, []
    for fate in each.verdicts:
        was = gone.get((each.topic, fate.segment.base_offset))
        wrong = _wrong(fate, was, first, last, swept=swept)
        if wrong is not None:
            found.append(f"{each.topic}/{fate.segment.base_offset}: {wrong} ({each.mark.why}, {fate.holds})")
    return found


def _wrong(
    fate: SegmentFate, was: tuple[int, str] | None, first: int, last: int, *, swept: bool
) -> str | None:
    """`swept`: the cleaner looks at the log, and from the start on."""
    goes = fate.goes
    when = first if goes else fate.goes_ms
    if was is None:
        if when is None or when > last - SLACK:
            return None
        return f"stayed, said to go by {goes or fate.holds} {when - first} ms after the first look"
    at, rule = was
    if when is None:
        return f"went by {rule} {at - first} ms after the first look, said to stay"
    early = swept and (goes or fate.holds == "next-look")
    earliest = 0 if early else when if swept else max(when, first)
    if not earliest - SLACK <= at <= max(when, first) + INTERVAL + SLACK:
        return f"went by {rule} at {at - first}, said {when - first}"
    if goes and goes != rule and not (swept and at < first - SLACK):
        return f"went by {rule}, said by {goes}"
    return None
