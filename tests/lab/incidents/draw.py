"""Draw incidents: what befalls one node while it runs and while it is down, act by act, all from a seed.

An act is `name@target#salt`, and drawn from these words alone; a release and its acts are an incident, which
can so be told, shrunk and done again in one line.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tests.lab.disasters.bases import TOPICS
from tests.lab.disasters.owners import USER

DIRS = ("d0", "d1")
START, STOP, KILL = "start", "stop", "kill"
UP = {"write": 5, "transactions": 3, "trim": 2, "create": 2, "delete": 1, "wait": 2, "copy": 2}
"""What is done while it runs, and how often; a copy of a running broker too."""
COPIES, RESTORES = ("copy", "copy-bare"), ("restore", "restore-over", "restore-topic")
DOWN = {
    "copy": 3,
    "copy-bare": 2,
    "restore": 3,
    "restore-over": 2,
    "restore-topic": 3,
    "own-topic": 1,
    "gone": 2,
    "anew": 2,
}
"""What is done while it is down."""
LAST = {
    "restore": 4, "restore-over": 3, "restore-topic": 3, "away": 2, "back": 1, "empty": 1, "own-dir": 2,
    "own-topic": 2, "gone": 2, "twice": 2, "dropped": 3, "anew": 4,
}  # fmt: skip
"""And what before the last start, which more of it may end: nobody restores a copy of then any more."""
OF_DIRS = (
    "copy",
    "copy-bare",
    "restore",
    "restore-over",
    "away",
    "back",
    "empty",
    "own-dir",
    "dropped",
    "anew",
)
WITHOUT = ("away", "empty", "dropped", "anew", "anew")
"""How a disk is missed for a run; a KRaft node starts after the last two only."""
MADE = "made-{}"
"""Topics that the story makes."""
AS_USER = 0.4


@dataclass(frozen=True)
class Incident:
    """The acts of a story over the `clean` base of a release, by a broker of that user."""

    version: str
    acts: tuple[str, ...]
    uid: int | None = None

    @property
    def words(self) -> str:
        """As it is asked for again."""
        return " ".join((self.version, str(self.uid or 0), *self.acts))

    @classmethod
    def of(cls, words: str) -> Incident:
        """Back from its words."""
        version, uid, *acts = words.split()
        return cls(version, tuple(acts), int(uid) or None)

    def without(self, number: int) -> Incident:
        """One act fewer."""
        return replace(self, acts=self.acts[:number] + self.acts[number + 1 :])


def drawn(version: str, seed: int) -> Iterator[Incident]:
    """Incidents without end."""
    return (drawn_at(version, seed, number) for number in itertools.count())


def drawn_at(version: str, seed: int, number: int) -> Incident:
    """The one of that number: it runs up to three times, and is down in the end."""
    draw = random.Random(f"{version} {seed} {number}")
    acts: list[str] = []
    for _ in range(draw.choice((1, 2, 2, 3))):
        acts += some(draw, DOWN, draw.choice((0, 0, 1, 2)))
        if draw.random() < 0.2:  # a start without a disk, which is there again then
            name = draw.choice(DIRS)
            acts += [f"{draw.choice(WITHOUT)}@{name}#0", START, KILL, f"back@{name}#0"]
        acts += [START, *some(draw, UP, draw.randint(1, 3)), draw.choice((STOP, KILL))]
    acts += some(draw, LAST, draw.randint(1, 3))
    return Incident(version, tuple(with_copies(draw, acts)), USER if draw.random() < AS_USER else None)


def some(draw: random.Random, kinds: dict[str, int], count: int) -> list[str]:
    """So many acts."""
    names = draw.choices(list(kinds), list(kinds.values()), k=count)
    return [f"{name}@{target(draw, name)}#{draw.randrange(1000)}" for name in names]


def target(draw: random.Random, name: str) -> str:
    """What it is done to."""
    if name in ("create", "wait"):
        return "all"
    return draw.choice(DIRS if name in OF_DIRS else TOPICS)


def with_copies(draw: random.Random, acts: Sequence[str]) -> Iterator[str]:
    """Before what restores there is a copy to restore from."""
    first = next((number for number, act in enumerate(acts) if named(act)[0] in RESTORES), None)
    copied = any(named(act)[0] in COPIES for act in acts[:first])
    place = None if first is None or copied else draw.randint(0, first)
    for number, act in enumerate(acts):
        if number == place:
            for name in DIRS:
                yield f"{draw.choice(COPIES)}@{name}#{draw.randrange(1000)}"
        yield act


def named(act: str) -> tuple[str, str]:
    """Its name and its target."""
    name, _, rest = act.partition("@")
    return name, rest.partition("#")[0]


def to_json(incident: Incident, **more: Any) -> dict[str, Any]:
    """As it is recorded."""
    return {"incident": incident.words, **more}
