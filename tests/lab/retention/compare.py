"""What segmend said of each segment, against what the broker did."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Protocol

from segmend.broker.retention import RetentionLook, SegmentFate, judge
from segmend.explain.retention import Reasons
from tests.lab.retention.judged import INTERVAL
from tests.lab.retention.seen import Gone

SLACK = 1_000


class Judged(Protocol):
    """What is said of some topics (of all, if none is named) at a look at `now`."""

    def __call__(self, now: int, topics: set[str] = ..., /) -> Iterable[Reasons]: ...


def disagreements(judged: Judged, gone: Gone, first: int, last: int) -> Iterator[str]:
    """A line for each segment that went otherwise than `judged` said of the first look.

    `first` and `last` are when retention first and last looked; at logs with compact the cleaner looks, and
    begins earlier: with the first deletion there. A look comes to a log some time after its begin: both ends
    of that second are asked.
    """
    early = list(judged(first))
    swept = {each.topic for each in early if each.failure is None and each.retention.limits.compact}
    begun = min([first, *(at for (topic, _), (at, _) in gone.items() if topic in swept)])
    yield from _wrong_at([(first, early), (first + SLACK, judged(first + SLACK))], swept, gone, last)
    if swept:
        looks = [(at, list(judged(at, swept))) for at in (begun, begun + SLACK)]
        second = [list(judged(begun + INTERVAL + late, swept)) for late in (0, SLACK)]
        unled = [
            (begun, [_led_later(*pair) for pair in zip(looks[0][1], each, strict=True)]) for each in second
        ]
        yield from _wrong_at([*looks, *unled], set(), gone, last)


def _wrong_at(
    looks: list[tuple[int, Iterable[Reasons]]], without: set[str], gone: Gone, last: int
) -> Iterator[str]:
    """What is wrong with each topic as said for the first of these looks, unless one of the others has it."""
    for told in zip(*(said for _, said in looks), strict=True):
        if told[0].topic not in without:
            first = looks[0][0]
            wrong = [_in_topic(each, gone, first, last) for each in told]
            yield from wrong[0] if all(wrong) else ()


def _led_later(each: Reasons, second: Reasons) -> Reasons:
    """What is said if the broker leads the partition only after the cleaner's first look.

    Its high watermark is then where the log starts, and the second look takes what is left. Which of both
    came first, server.log does not tell.
    """
    start, limits, release = each.log_start_offset, each.retention.limits, each.release
    look = RetentionLook(log_start=start, high_watermark=start, now_ms=each.now_ms, release=release)
    segments = [fate.segment for fate in each.verdicts]
    first = [fate for fate in judge(segments, limits, look) if fate.goes]
    left = segments[len(first) :]
    look = RetentionLook(
        log_start=left[0].base_offset if first and left else start, high_watermark=second.mark.offset,
        now_ms=second.now_ms, release=release, reach=second.mark.reach,
    )  # fmt: skip
    return replace(each, verdicts=(*first, *judge(left, limits, look, INTERVAL)))


def _in_topic(each: Reasons, gone: Gone, first: int, last: int) -> list[str]:
    if each.failure is not None:
        return [f"{each.topic}: does not load: {each.failure}"]
    found = []
    for fate in each.verdicts:
        was = gone.get((each.topic, fate.segment.base_offset))
        wrong = _wrong(fate, was, first, last)
        if wrong is not None:
            found.append(f"{each.topic}/{fate.segment.base_offset}: {wrong} ({each.mark.why}, {fate.holds})")
    return found


def _wrong(fate: SegmentFate, was: tuple[int, str] | None, first: int, last: int) -> str | None:
    when = first if fate.goes else fate.goes_ms
    if was is None:
        if when is None or when > last - SLACK:
            return None
        return f"stayed, said to go by {fate.goes_by} {when - first} ms after the first look"
    at, rule = was
    if when is None:
        return f"went by {rule} {at - first} ms after the first look, said to stay"
    if not max(when, first) - SLACK <= at <= max(when, first) + INTERVAL + SLACK:
        return f"went by {rule} at {at - first}, said {when - first}"
    return None if rule == fate.goes_by else f"went by {rule}, said by {fate.goes_by}"
