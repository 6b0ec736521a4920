"""Draw disasters: a moment of a node's life, wounds, the release that starts on it, all from a seed."""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from tests.faults.table import Fault, recorded_faults
from tests.lab.disasters.bases import RELEASES, TOPICS
from tests.lab.disasters.owners import ROOT, USER
from tests.lab.disasters.wound import Wound
from tests.lab.disasters.wounds import WOUNDS
from tests.lab.releases import release

KINDS = {"logs": 34, "power": 18, "rsync": 12, "full": 7, "node": 13, "meta": 8, "around": 8}
"""How often each kind of disaster is drawn."""
FIRST_SEED, PER_SEED = 7, 10_000
"""The numbers of the first seed are as drawn; those of another begin at so many times the seed."""
WIDER = 50
"""The first numbers were drawn before there were wounds of the last two kinds, and run as root."""
WIDER_KINDS = {
    "logs": 20, "power": 18, "rsync": 14, "full": 8, "node": 12, "meta": 8, "around": 6, "owners": 14,
    "strangers": 18,
}  # fmt: skip
ODD = 200
"""From there on batches of odd shape are drawn as well."""
ODD_KINDS = {**WIDER_KINDS, "batches": 110}
NAMED = 300
"""From there on also what one moment leaves, and odd names."""
NAMED_KINDS = {**ODD_KINDS, "moments": 120, "names": 120}
EXTREME = 400
"""From there on also sound files with numbers that no broker writes."""
EXTREME_KINDS = {**NAMED_KINDS, "rows": 380}
SIGNED = 500
"""From there on also files whose number has a sign."""
SIGNED_KINDS = {**EXTREME_KINDS, "signs": 250}
RIVAL = 600
"""From there on also two files of one number, of which the order of listing decides."""
RIVAL_KINDS = {**SIGNED_KINDS, "rivals": 400}
HANDS = 700
"""From there on mostly what operators and other programs leave, and little beside it."""
HANDS_KINDS = {"edits": 30, "things": 40, "setup": 40}
FORGERY = 4000
"""From there on what a right checksum covers, and little beside it."""
FORGERY_KINDS = {"forged": 100}
CONTROLLER = 5000
"""From there on what a controller leaves, and little beside it."""
CONTROLLER_KINDS = {"controller": 100}
IMAGE = 6000
"""From there on metadata that no controller writes, and little beside it; of releases with ZooKeeper alone
what a node is hurt by."""
IMAGE_KINDS = {"images": 100}
SINCE = (
    (WIDER, KINDS),
    (ODD, WIDER_KINDS),
    (NAMED, ODD_KINDS),
    (EXTREME, NAMED_KINDS),
    (SIGNED, EXTREME_KINDS),
    (RIVAL, SIGNED_KINDS),
    (HANDS, RIVAL_KINDS),
    (FORGERY, HANDS_KINDS),
    (CONTROLLER, FORGERY_KINDS),
    (IMAGE, CONTROLLER_KINDS),
)
MOST = {
    "power": 6,
    "rsync": 3,
    "full": 3,
    "strangers": 3,
    "moments": 3,
    "names": 6,
    "rows": 5,
    "signs": 4,
    "rivals": 8,
    "edits": 3,
    "forged": 5,
}
"""How many wounds of one kind a disaster has at most, where that is not two."""
AS_USER = 0.25
"""The share of them whose broker is no root; of those with wounds of owners all but this."""
OTHER_WRITER = 0.12
"""The share of those whose dirs another release wrote."""


@dataclass(frozen=True)
class Disaster:
    """A `stage` that `writer` wrote, with `wounds` done one after the other, started by `version`."""

    version: str
    writer: str
    stage: str
    wounds: tuple[str, ...]
    kind: str = ""
    uid: int | None = None
    number: int = field(default=-1, compare=False)
    hurt: str = field(default="", compare=False)
    """The `fingerprint` of what the broker was started over, once it is recorded."""

    def without(self, number: int) -> Disaster:
        """One wound fewer."""
        return replace(self, wounds=self.wounds[:number] + self.wounds[number + 1 :], hurt="")

    def command(self) -> str:
        """A line that does it again."""
        of = "" if self.writer == self.version else f" --of {self.writer}"
        wounds = " ".join(f"'{each}'" for each in self.wounds)
        user = "" if self.uid is None else f" --as-user {self.uid}"
        return f"python -m tests.lab.disasters {self.version} --stage {self.stage}{of}{user} --do {wounds}"

    def to_json(self) -> dict[str, Any]:
        """As it is recorded."""
        of = {} if self.writer == self.version else {"of": self.writer}
        user = {} if self.uid is None else {"uid": self.uid}
        about = {"n": self.number, "kind": self.kind, "stage": self.stage}
        return {**about, **of, **user, "wounds": list(self.wounds)}

    @classmethod
    def from_json(cls, version: str, row: dict[str, Any]) -> Disaster:
        """As it was recorded."""
        return cls(
            version,
            row.get("of", version),
            row["stage"],
            tuple(row["wounds"]),
            row.get("kind", ""),
            row.get("uid"),
            row.get("n", -1),
            row.get("hurt", ""),
        )


@functools.cache
def rows(version: str, mark: str) -> tuple[Fault, ...]:
    """The rows of `tests/faults` that the lab tries on that release."""
    return tuple(each for each in recorded_faults() if each.applies(release(version).number, mark))


def drawn(version: str, seed: int) -> Iterator[Disaster]:
    """Disasters without end, in an order that the arguments and the tables of faults and wounds decide."""
    return (drawn_at(version, seed, number) for number in itertools.count())


def writers(version: str, number: int) -> list[str]:
    """Other releases whose dirs it is given; later draws leave out those that it refuses without a look."""
    others, mine = [each for each in sorted(RELEASES) if each != version], release(version)
    if number < WIDER:
        return others
    since = (4, 1) if mine.number >= (4, 1) else (0,)
    return [each for each in others if release(each).mode == mine.mode and release(each).number >= since]


def drawn_at(version: str, seed: int, number: int) -> Disaster:
    """The one of that number."""
    draw = random.Random(f"{version} {seed} {number}")
    kinds = next((each for below, each in SINCE if number < below), IMAGE_KINDS)
    kind = draw.choices(list(kinds), list(kinds.values()))[0]
    writer, uid = version, None
    if draw.random() < OTHER_WRITER:
        writer, kind = draw.choice(writers(version, number)), "release"
    stage = draw.choice(("clean", "killed"))
    if kind in ("power", "rsync"):
        stage = draw.choice(("killed", "killed", "live", "clean"))
    wounds = tuple(f"{each}#{draw.randrange(1000)}" for each in words(draw, kind, writer, stage))
    if number >= WIDER:
        uid = draw_user(draw, kind)
    return Disaster(version, writer, stage, wounds, kind, uid, numbered(seed, number))


def numbered(seed: int, number: int) -> int:
    """The number in the records, which are of several seeds."""
    return number if seed == FIRST_SEED else seed * PER_SEED + number


def of_another(version: str, writer: str, seed: int) -> Iterator[Disaster]:
    """Those of the writer that a release of before or after it starts on, each with a number of its own."""
    series = 100 * seed + 1 + RELEASES.index(writer)
    for number, each in enumerate(drawn(writer, seed)):
        if each.writer == writer:
            yield replace(each, version=version, kind="pair", number=numbered(series, number))


def draw_user(draw: random.Random, kind: str) -> int:
    """As whom the broker runs."""
    ordinary = (draw.random() < AS_USER) != (kind == "owners")
    return USER if ordinary else ROOT


def words(draw: random.Random, kind: str, writer: str, stage: str) -> list[str]:
    """The wounds of one disaster."""
    topics = draw.sample(TOPICS, len(TOPICS))
    mark = "clean" if stage == "clean" else "killed"
    inside = [each for each in rows(writer, mark) if each.scope(mark) == "partition"]
    alone = [each for each in rows(writer, mark) if each.scope(mark) == "broker"]
    if kind == "logs":
        hurt = topics[: draw.randint(4, 9)]
        found = [
            f"{draw.choice(inside).name}@{topic}" for topic in hurt for _ in range(draw.choice((1, 1, 2, 3)))
        ]
        if draw.random() < 0.5:
            found.append(drawn_of(draw, "logs", writer))
        return found
    if kind == "around":
        return [f"{draw.choice(alone).name}@{topics[0]}", *few(draw, inside, topics[1:])]
    if kind == "release":
        return few(draw, inside, topics) if draw.random() < 0.5 else []
    most = MOST.get(kind, 2)
    found = [drawn_of(draw, kind, writer) for _ in range(draw.randint(1, most))]
    return (
        [*found, *few(draw, inside, topics)]
        if draw.random()
        < (0.15 if kind in (*HANDS_KINDS, *FORGERY_KINDS, *CONTROLLER_KINDS, *IMAGE_KINDS) else 0.6)
        else found
    )


def few(draw: random.Random, inside: list[Fault], topics: list[str]) -> list[str]:
    """One to three rows, each on a topic of its own."""
    return [f"{draw.choice(inside).name}@{topic}" for topic in topics[: draw.randint(1, 3)]]


def drawn_of(draw: random.Random, kind: str, writer: str) -> str:
    """A wound of that kind and its target."""
    number = release(writer).number
    found: list[tuple[str, Wound]] = [
        (name, each) for name, each in WOUNDS.items() if each.kind == kind and each.since <= number
    ]
    if not found:
        found = [
            (name, each) for name, each in WOUNDS.items() if each.kind == "node" and each.since <= number
        ]
    name, wound = draw.choice(found)
    targets = [target for target in wound.targets if target != "meta" or number >= (3, 0)]
    return f"{name}@{draw.choice(targets)}"
