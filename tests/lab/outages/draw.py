"""Draw outages: a base, wounds on the disks of its nodes, who is started and in which order, all from a seed.

A wound is `name@node:target#salt`, and drawn from these words alone: one of the disasters of single nodes, or
one of `BETWEEN`, of what happens between nodes.
"""

from __future__ import annotations

import itertools
import os
import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.copies import copy_tree
from tests.faults.on_disk import exchange, keep_lines
from tests.lab.disasters.bases import Node
from tests.lab.disasters.scene import META, Scene
from tests.lab.disasters.wounds import CANNOT, WOUNDS
from tests.lab.elections import HERE as ELECTIONS
from tests.lab.outages.base import (
    BESIDE,
    OLD,
    PURE,
    STRICT,
    TOGETHER,
    TWINS,
    ZOOKEEPER,
    controllers,
    node_ids,
)
from tests.lab.outages.base import HERE as BASES
from tests.lab.outages.changes import BEFORE, CHANGED, LATE
from tests.lab.releases import release

DIRS = ("d0", "d1")
BROKERS = (1, 2, 3)
ALONE = (
    "torn-zeros", "torn-cut", "torn-short", "torn-empty", "torn-gone", "torn-flip", "full", "half-copied",
    "gone", "hollow", "file", "moved", "identity", "temporary",
)  # fmt: skip
OLD_TARGETS = ("full-0", "full-1", "safe-0", "safe-1", "any-0", "any-1")
"""Of the bases of `elections`."""
TARGETS = (
    *OLD_TARGETS,
    *(f"{name}-{number}" for name in ("one", "two") for number in range(3)),
    "pair-0",
    "pair-1",
)
CHANGED_TARGETS = (*TARGETS, *(f"{name}-{number}" for name in (*BEFORE, LATE) for number in range(2)))
OF_META = tuple(name for name in WOUNDS if name.startswith("meta-"))
OF_REPLICAS = (
    "wiped", "halved", "replica-of", "gone", "hollow", "torn-cut", "torn-zeros", "torn-flip", "killed",
    "no-marks",
)  # fmt: skip
"""With which a node mostly starts."""
OF_METADATA = ("metadata-of", "no-metadata")
OF_CHANGED = ("restored", "future-of")
"""Only drawn of bases that have a backup."""
OF_TOGETHER = ("cut", "dropped", "lines-lost")
"""Only drawn of those whose nodes ended at one moment."""
SAID = "said:"
"""Before the nodes that are started in the order which the forecast names."""


@dataclass(frozen=True)
class OneOf(Scene):
    """One node of several: `root` holds all, a topic's name is that of a partition."""

    number: int = 1

    @property
    def home(self) -> Path:
        """Where its log dirs lie."""
        return self.root / f"b{self.number}"

    @property
    def dirs(self) -> list[Path]:
        """All log dirs."""
        return [self.home / name for name in DIRS]

    def log_dir(self, name: str) -> Path:
        """`d0` or `d1`."""
        return self.home / name

    def partition(self, topic: str) -> Path:
        """The directory of a partition; raises LookupError where it is gone."""
        for path in self.dirs:
            if (path / topic).is_dir():
                return path / topic
        raise LookupError(topic)

    def places(self, target: str) -> list[Path]:
        """The directories of a target."""
        return [self.partition(META)] if target == "meta" else super().places(target)

    @property
    def dropped_list(self) -> Path:
        """Each node has its own."""
        return self.home / "dropped"

    @property
    def other(self) -> OneOf:
        """The next node; of two the first one follows the last."""
        following = self.number % 3 + 1
        there = (self.root / f"b{following}").exists()
        return OneOf(self.root, self.node, self.stage, following if there else 1)


Between = Callable[[OneOf, str, random.Random], object]


def of_topic(scene: OneOf, target: str) -> list[Path]:
    """Its replicas of all partitions of the topic."""
    name = target.rpartition("-")[0]
    return [path for each in scene.dirs if each.is_dir() for path in sorted(each.glob(f"{name}-*"))]


def wiped(scene: OneOf, target: str, _draw: random.Random) -> None:
    """Its replicas of a topic are gone."""
    for folder in of_topic(scene, target):
        shutil.rmtree(folder)


def halved(scene: OneOf, target: str, draw: random.Random) -> None:
    """Its logs of a topic were cut, and it looks killed."""
    killed(scene, target, draw)
    for folder in of_topic(scene, target):
        for log in folder.glob("*.log"):
            os.truncate(log, log.stat().st_size // 2)


def killed(scene: OneOf, _target: str, _draw: random.Random) -> None:
    """As if it had not stopped cleanly."""
    for path in scene.dirs:
        (path / ".kafka_cleanshutdown").unlink(missing_ok=True)


def no_marks(scene: OneOf, _target: str, draw: random.Random) -> None:
    """A checkpoint of one dir is gone."""
    names = (
        "replication-offset-checkpoint",
        "recovery-point-offset-checkpoint",
        "log-start-offset-checkpoint",
    )
    (scene.log_dir(draw.choice(DIRS)) / draw.choice(names)).unlink()


def disk_of(scene: OneOf, target: str, draw: random.Random) -> None:
    """The disks of two nodes in each other's place; or one of them twice, and the other lost."""
    mine, theirs = scene.log_dir(target), scene.other.log_dir(target)
    if draw.random() < 0.5:
        exchange(mine, theirs)
    else:
        copy_tree(theirs, mine)


def stale_marker(scene: OneOf, target: str, _draw: random.Random) -> None:
    """The marker of a clean stop of one dir is from an earlier one, as of a backup."""
    marker = scene.log_dir(target) / ".kafka_cleanshutdown"
    marker.write_text(marker.read_text().replace('"brokerEpoch":', '"brokerEpoch":1'))


def replica_of(scene: OneOf, target: str, _draw: random.Random) -> None:
    """A replica copied from another node over its own, or beside what it has."""
    theirs = scene.other.partition(target)
    copy_tree(theirs, scene.log_dir(theirs.parent.name) / target)


def metadata_of(scene: OneOf, _target: str, draw: random.Random) -> None:
    """The metadata log of another node, perhaps with its own vote."""
    mine, theirs = scene.partition(META), scene.other.partition(META)
    vote = (mine / "quorum-state").read_bytes()
    shutil.rmtree(mine)
    copy_tree(theirs, mine)
    if draw.random() < 0.5:
        (mine / "quorum-state").write_bytes(vote)


def restored(scene: OneOf, target: str, _draw: random.Random) -> None:
    """One of its dirs, or both, or its replicas of a topic, from the backup of the base."""
    then = OneOf(scene.root / OLD, scene.node, scene.stage, scene.number)
    if target not in (*DIRS, "all"):
        for folder in of_topic(scene, target):
            shutil.rmtree(folder)
        for folder in of_topic(then, target):
            copy_tree(folder, scene.log_dir(folder.parent.name) / folder.name)
        return
    for name in DIRS if target == "all" else (target,):
        shutil.rmtree(scene.log_dir(name))
        copy_tree(then.log_dir(name), scene.log_dir(name))


def future_of(scene: OneOf, target: str, draw: random.Random) -> None:
    """A replica was on its way to the other dir: a whole copy, a part, or all of it and the old one gone."""
    mine = scene.partition(target)
    aside = scene.log_dir(next(name for name in DIRS if name != mine.parent.name))
    how = draw.choice(("whole", "part", "alone"))
    copy_tree(mine, aside / f"{target}.{draw.getrandbits(128):032x}-future")
    if how == "alone":
        shutil.rmtree(mine)
    for log in aside.glob(f"{target}.*-future/*.log") if how == "part" else ():
        os.truncate(log, log.stat().st_size // 2)


def cut(scene: OneOf, target: str, draw: random.Random) -> None:
    """The end of a log is gone: above the high watermark in the checkpoint, below it, or both."""
    killed(scene, target, draw)
    log = max(scene.partition(target).glob("*.log"))
    os.truncate(log, draw.randrange(log.stat().st_size))


def lines_lost(scene: OneOf, target: str, draw: random.Random) -> None:
    """Some lines of a checkpoint are gone, and its count says so."""
    path = scene.log_dir(target) / f"{draw.choice(('replication', 'recovery-point'))}-offset-checkpoint"
    keep_lines(path, lambda _row: draw.random() < 0.5)


def no_metadata(scene: OneOf, _target: str, _draw: random.Random) -> None:
    """Its metadata log is gone."""
    shutil.rmtree(scene.partition(META))


BETWEEN: dict[str, Between] = {
    "wiped": wiped, "halved": halved, "killed": killed, "no-marks": no_marks, "disk-of": disk_of,
    "replica-of": replica_of, "metadata-of": metadata_of, "no-metadata": no_metadata, "restored": restored,
    "future-of": future_of, "stale-marker": stale_marker, "cut": cut, "lines-lost": lines_lost,
}  # fmt: skip


@dataclass(frozen=True)
class Outage:
    """The nodes of `steps` are started over a hurt copy of `base`, a step once the one before is up.

    If they are `ordered` in the steps that the forecast names.
    """

    base: str
    steps: tuple[tuple[int, ...], ...]
    wounds: tuple[str, ...]
    ordered: bool = False

    @property
    def version(self) -> str:
        """The release."""
        return self.base.partition("-")[0]

    @property
    def story(self) -> str:
        """What the base went through."""
        return self.base.partition("-")[2]

    @property
    def up(self) -> list[int]:
        """All that are started."""
        return sorted(itertools.chain(*self.steps))

    @property
    def words(self) -> str:
        """As it is asked for again: `4.3.1-stagger 1,2/3 wiped@1:full-0#7`."""
        steps = "/".join(",".join(map(str, step)) for step in self.steps)
        return " ".join((self.base, f"{SAID * self.ordered}{steps}", *self.wounds))

    @classmethod
    def of(cls, words: str) -> Outage:
        """Back from its words."""
        base, told, *wounds = words.split()
        steps = (step.split(",") for step in told.removeprefix(SAID).split("/"))
        return cls(base, tuple(tuple(map(int, step)) for step in steps), tuple(wounds), told.startswith(SAID))

    def restored(self, root: Path, partition: str) -> set[int]:
        """The nodes whose replica of it comes from the backup."""
        found = set()
        for wound in self.wounds:
            kind, _, rest = wound.partition("@")
            node, _, target = rest.partition("#")[0].partition(":")
            of_dir = target in DIRS and (root / OLD / f"b{node}" / target / partition).is_dir()
            of_topic = target.rpartition("-")[0] == partition.rpartition("-")[0]
            if kind == "restored" and (target == "all" or of_dir or of_topic):
                found.add(int(node))
        return found

    def hurt(self, root: Path) -> list[str]:
        """Do it to the nodes at `root`; those that could not be done."""
        return [wound for wound in self.wounds if not apply(root, wound)]


def apply(root: Path, wound: str) -> bool:
    """Do one; False where its files are gone."""
    name, _, rest = wound.partition("@")
    number, _, target = rest.partition("#")[0].partition(":")
    scene = OneOf(root, Node("", root, (0, 0)), "", int(number))
    try:
        (BETWEEN[name] if name in BETWEEN else WOUNDS[name].hurt)(scene, target, random.Random(wound))
    except CANNOT:
        return False
    return True


def archive(base: str) -> Path:
    """Where it is packed."""
    here = BASES / f"{base}.tar.xz"
    return here if here.exists() else ELECTIONS / f"{base}.tar.xz"


def drawn(seed: int, base: str, *, busy: bool = False) -> Iterator[Outage]:
    """Outages without end; `busy` ones have wounds at many replicas, so that one start answers many."""
    return (drawn_at(seed, base, number, busy=busy) for number in itertools.count())


def drawn_at(seed: int, base: str, number: int, *, busy: bool = False) -> Outage:
    """The one of that number."""
    draw = random.Random(f"{base} {seed} {number}{' busy' * busy}")
    story = base.partition("-")[2]
    if story.startswith(PURE):
        return drawn_of_controllers(draw, base)
    if story.startswith((TOGETHER, TWINS)):
        return drawn_together(draw, base, node_ids(story))
    steps = drawn_beside(draw, story) if story.startswith(BESIDE) else drawn_steps(draw)
    targets = TARGETS if (BASES / f"{base}.tar.xz").exists() else OLD_TARGETS
    changed = CHANGED in base
    targets = CHANGED_TARGETS if changed else targets
    if story.startswith(BESIDE):
        targets = (*targets, *(f"{STRICT[0].name}-{number}" for number in range(2)))
    if busy:
        kinds = (*OF_REPLICAS, *OF_CHANGED * changed)
        wounds = [
            f"{draw.choice(kinds)}@{draw.choice(BROKERS)}:{target}#{draw.randrange(1000)}"
            for target in targets
            if draw.random() < 0.6
        ]
    else:
        number_of = draw.choices((0, 1, 2, 3), (10, 40, 30, 20))[0]
        kraft = release(base.partition("-")[0]).mode == "kraft" and not base.endswith(ZOOKEEPER)
        ids = node_ids(story)
        wounds = [drawn_wound(draw, targets, ids, metadata=kraft) for _ in range(number_of)]
        if changed and draw.random() < 0.5:
            target = draw.choice((*DIRS, "all", draw.choice(targets)))
            wounds += [f"restored@{node}:{target}#0" for node in draw.sample(BROKERS, draw.choice((1, 2)))]
    return Outage(base, tuple(steps), tuple(wounds))


def drawn_of_controllers(draw: random.Random, base: str) -> Outage:
    """Both brokers and some of three controllers, whose disks are hurt."""
    voters = controllers(base.partition("-")[2])
    up = draw.sample(voters, draw.choices((3, 2, 1), (50, 40, 10))[0])
    kinds = (*OF_META, *OF_METADATA, "hollow", "gone")
    wounds = [
        f"{draw.choice(kinds)}@{draw.choice(up)}:d0#{draw.randrange(1000)}"
        for _ in range(draw.choices((0, 1, 2), (15, 55, 30))[0])
    ]
    return Outage(base, (tuple(sorted((1, 2, *up))),), tuple(wounds))


def drawn_together(draw: random.Random, base: str, ids: Sequence[int]) -> Outage:
    """One to three wounds at any nodes; mostly all are started, and mostly in the order that is named."""
    kraft = release(base.partition("-")[0]).mode == "kraft" and not base.endswith(ZOOKEEPER)
    between = tuple(name for name in BETWEEN if kraft or name not in OF_METADATA)
    wounds = [
        drawn_of(draw, draw.choice(kinds), TARGETS, draw.choice(ids))
        for kinds in draw.choices(((*between, "gone", "dropped"), ALONE, OF_META), (65, 15, 20 * kraft),
                                  k=draw.randint(1, 3))
    ]  # fmt: skip
    if draw.random() < 0.3:
        return Outage(base, tuple(drawn_steps(draw, ids)), tuple(wounds))
    up = draw.sample(ids, min(draw.choices((3, 2, 1), (70, 27, 3))[0], len(ids)))
    return Outage(base, (tuple(sorted(up)),), tuple(wounds), ordered=True)


def drawn_steps(draw: random.Random, ids: Sequence[int] = BROKERS) -> list[tuple[int, ...]]:
    """Some of three nodes that vote; fewer than two of them wait for a quorum, and end after a minute."""
    up = draw.sample(ids, min(draw.choices((3, 2, 1), (60, 34, 6))[0], len(ids)))
    if len(up) == 3 and draw.random() < 0.4:
        return [tuple(sorted(up[:2])), tuple(up[2:])]
    return [tuple(sorted(up))]


def drawn_beside(draw: random.Random, story: str) -> list[tuple[int, ...]]:
    """Mostly the lone controller first, then some brokers, at once or in two steps."""
    (alone,) = controllers(story)
    up = draw.sample(BROKERS, draw.choices((3, 2, 1), (35, 40, 25))[0])
    if draw.random() < 0.05:
        return [tuple(sorted(up))]
    if len(up) > 1 and draw.random() < 0.5:
        return [tuple(sorted((up[0], alone))), tuple(sorted(up[1:]))]
    return [tuple(sorted((*up, alone)))]


def drawn_wound(draw: random.Random, targets: Sequence[str], ids: Sequence[int], *, metadata: bool) -> str:
    """One of them, on one node; `metadata` says that it has some on its disks."""
    beside = len(ids) > len(BROKERS)
    left_out = (
        *OF_TOGETHER,
        *(OF_CHANGED if beside else (*OF_CHANGED, "stale-marker")),
        *(() if metadata else OF_METADATA),
    )
    between = tuple(name for name in BETWEEN if name not in left_out)
    kind = draw.choices((between, ALONE, OF_META), (50, 30, 20 * metadata))[0]
    name, node = draw.choice(kind), draw.choice(ids)
    if name in (*OF_META, *OF_METADATA) and beside and draw.random() < 0.5:
        node = ids[-1]
    return drawn_of(draw, name, targets, node)


def drawn_of(draw: random.Random, name: str, targets: Sequence[str], node: int) -> str:
    """One of that name on that node."""
    target = draw.choice(targets)
    if name in ("disk-of", "identity", "dropped", "lines-lost") or (name in ALONE and draw.random() < 0.4):
        target = draw.choice(DIRS)
    if name == "restored" and draw.random() < 0.5:
        target = draw.choice((*DIRS, "all"))
    if name in OF_META:
        target = "d0"
    return f"{name}@{node}:{target}#{draw.randrange(1000)}"
