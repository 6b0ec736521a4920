"""Which topics get a colour of their own: the biggest ones, the same colour in every plot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from segmend.frozen import frozen

from .columns import Tables, number, sums
from .units import percent, share, size

COLOURS: Final = 8
OTHER: Final = "other"


@frozen
class TopicKey:
    """A line of the legend."""

    name: str
    colour: str
    bytes: str
    share: str


@frozen
class Slice:
    """One stretch of a stacked bar."""

    colour: str
    label: str
    width: float
    tip: str


@frozen
class Palette:
    """Topic name to colour slot: `t0`..`t7`, `other` for the rest."""

    slots: Mapping[str, str]
    legend: tuple[TopicKey, ...]

    def colour(self, topic: str | None) -> str:
        """The CSS class of a topic."""
        return self.slots.get(topic or "", OTHER)


def palette(tables: Tables) -> Palette:
    """The topics by bytes of log, over the whole fleet."""
    rows = sums(tables, "partitions", ["topic"], ["log_bytes"])
    by_size = sorted(
        ((number(row["log_bytes"]), row["topic"] or "") for row in rows), key=lambda pair: (-pair[0], pair[1])
    )
    whole = sum(bytes_ for bytes_, _ in by_size)
    slots = {topic: f"t{slot}" for slot, (_, topic) in enumerate(by_size[:COLOURS])}
    legend = [_key(topic, slots[topic], bytes_, whole) for bytes_, topic in by_size[:COLOURS]]
    if rest := by_size[COLOURS:]:
        bytes_ = sum(pair[0] for pair in rest)
        legend.append(_key(f"{len(rest):,} other topics", OTHER, bytes_, whole))
    return Palette(slots=slots, legend=tuple(legend))


def _key(name: str, colour: str, bytes_: int, whole: int) -> TopicKey:
    return TopicKey(name=name, colour=colour, bytes=size(bytes_), share=share(bytes_, whole))


def stack(parts: Mapping[str, int], palette: Palette, whole: int) -> tuple[Slice, ...]:
    """A stacked bar of bytes by topic, `whole` being its full width; small topics share one slice."""
    named = [(topic, bytes_) for topic, bytes_ in parts.items() if palette.colour(topic) != OTHER]
    named.sort(key=lambda pair: palette.colour(pair[0]))
    rest = sum(bytes_ for topic, bytes_ in parts.items() if palette.colour(topic) == OTHER)
    mine = sum(parts.values())
    slices = [_slice(topic, palette.colour(topic), bytes_, mine, whole) for topic, bytes_ in named if bytes_]
    if rest:
        slices.append(_slice("other topics", OTHER, rest, mine, whole))
    return tuple(slices)


def _slice(label: str, colour: str, bytes_: int, mine: int, whole: int) -> Slice:
    tip = f"{label}\n{size(bytes_)} · {share(bytes_, mine)} of this log dir"
    return Slice(colour=colour, label=label, width=percent(bytes_, whole), tip=tip)
