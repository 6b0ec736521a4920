"""An upgrade or downgrade for people and as JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Final

from segmend.broker.upgrades import Line, Mode, Topic
from segmend.explain.upgrade import Here, Upgrade
from segmend.report.forecast import broker_lines
from segmend.report.style import PLAIN, Style

_HEADINGS: Final = {
    Topic.REFUSES: "what refuses",
    Topic.ONE_WAY: "what cannot be taken back",
    Topic.CHANGES: "what changes",
    Topic.CHECK: "what to check first",
}
_WIDTH: Final = 108
_NOTHING: Final = "nothing that is known"
_MODES: Final = {Mode.ANY: "", Mode.ZOOKEEPER: "ZooKeeper: ", Mode.KRAFT: "KRaft: "}


def lines(pair: Upgrade, here: Here | None, style: Style = PLAIN) -> Iterator[str]:
    """The pair, then these directories."""
    way = "downgrade" if pair.down else "upgrade"
    yield style("bold", f"Kafka {pair.from_} to {pair.to}: {way}")
    for topic, heading in _HEADINGS.items():
        told = pair.of(topic)
        yield ""
        yield style("bold", heading)
        for line in told:
            yield from _wrapped(f"{_MODES[line.mode] if len(pair.modes) > 1 else ''}{line.text}")
        if not told:
            yield f"  {_NOTHING}"
    yield from _settings(pair, style)
    if here is not None:
        yield from _here(pair, here, style)


def _settings(pair: Upgrade, style: Style) -> Iterator[str]:
    if pair.changed:
        yield ""
        yield style("bold", "settings with narrower limits: a value outside of them ends the start")
        for each in pair.changed:
            where = "topic" if each.topic else "server.properties"
            yield from _wrapped(f"{where} {each.name}: {each.before} becomes {each.after}")
    if pair.removed:
        yield ""
        yield style("bold", "settings that are no longer known, and ignored")
        yield from _wrapped(", ".join(pair.removed))


def _here(pair: Upgrade, here: Here, style: Style) -> Iterator[str]:
    yield ""
    yield style("bold", f"these log dirs under Kafka {pair.to}")
    for topic, said in here.topics:
        yield from _wrapped(f"topic {topic} is refused: {said}")
    for said in here.server:
        yield from _wrapped(f"server.properties is refused: {said}")
    if here.ignored:
        yield from _wrapped(f"server.properties says what is ignored: {', '.join(here.ignored)}")
    yield from broker_lines(here.outcome, style=style)


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(
        text, _WIDTH, initial_indent="  ", subsequent_indent="    ", break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


def json_lines(pair: Upgrade, here: Here | None) -> Iterator[dict[str, object]]:
    """One object for the pair, with these directories one more for the start."""
    yield {
        "type": "upgrade",
        "from": str(pair.from_),
        "to": str(pair.to),
        "direction": "down" if pair.down else "up",
        **{topic.value: [_line(line) for line in pair.of(topic)] for topic in _HEADINGS},
        "settings": [
            {
                "where": "topic" if each.topic else "server",
                "name": each.name,
                "before": each.before,
                "after": each.after,
            }
            for each in pair.changed
        ],
        "removed": list(pair.removed),
    }
    if here is not None:
        yield {
            "type": "upgrade-here",
            "refused_topics": [{"topic": topic, "broker_says": said} for topic, said in here.topics],
            "refused_server": list(here.server),
            "ignored": list(here.ignored),
        }
        yield here.outcome.to_json()


def _line(line: Line) -> dict[str, object]:
    return {"since": ".".join(map(str, line.since)), "mode": line.mode.value, "text": line.text}
