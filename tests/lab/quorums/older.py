"""A voter that comes out of a backup, real quorums of three: the forecast of them, and `plan quorum`.

    python -m tests.lab.quorums.older 4.3.1 [DIR]
    python -m tests.lab.quorums.older 4.3.1 --seed 7 --count 10    # drawn: who, how old, beside whom

Nodes 1 and 2 elect one of them and make a topic while 3 is down, and then node 1's disk is put back to what
it was before. Started as it is beside node 3, both vote and lead by what is no longer so: the topic, which
had been committed, is not there, and an epoch may have two leaders. By `plan quorum`, with the files of both
others, it has its metadata and no vote to give twice. `forecast --cluster` must have said so before.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from segmend.api import open as open_dir
from segmend.node.metadata_copy import MetadataCopy
from tests.cli.run import Ran
from tests.cli.run import run as segmend
from tests.copies import copy_tree
from tests.lab.admin import admin
from tests.lab.errors import LabError
from tests.lab.quorums.base import METADATA, Voter, make_topic, nodes, start
from tests.lab.quorums.record import HERE, unpacked
from tests.waiting import until

AFTERWARDS = "afterwards"
"""A topic that was committed when node 1's backup was a while old."""
TRIALS = HERE / "older.jsonl"
"""What was drawn, and what real quorums made of it."""
Leaders = dict[int, int]
"""By epoch, as a voter's log has it."""


def led_by(log_dir: Path) -> Leaders:
    partition = open_dir(str(log_dir)).cluster_metadata
    assert partition is not None
    runs = MetadataCopy.of(partition).runs
    return {each.epoch: each.change.leader_id for run in runs for each in run.elections}


@dataclass(frozen=True)
class Story:
    """Which node is put back, and started `beside` which one while the third stays down.

    `whole` is its log dir, else its metadata alone; `runs` how often it and `fellow` ran since, each with a
    topic more; `snapshots` whether it wrote snapshots meanwhile.
    """

    old: int = 1
    fellow: int = 2
    beside: int = 3
    whole: bool = True
    runs: int = 1
    snapshots: bool = True

    @classmethod
    def drawn(cls, chance: random.Random) -> Story:
        old, fellow, third = chance.sample((1, 2, 3), 3)
        return cls(
            old, fellow, chance.choice((third, third, fellow)), chance.random() < 0.5,
            chance.choice((1, 1, 2, 3)), chance.random() < 0.5,
        )  # fmt: skip


@dataclass
class Restored:
    """The three, stopped, one of them as of old."""

    cluster: Sequence[Voter]
    root: Path
    story: Story = Story()
    false_alarms: list[str] = field(default_factory=list)
    ends: list[str] = field(default_factory=list)

    @classmethod
    def made(cls, name: str, base: Path, root: Path, story: Story = Story()) -> Restored:
        for number in (1, 2, 3):
            copy_tree(base / f"b{number}" / "d0", root / f"b{number}" / "d0")
        cluster = nodes(name, root, json.loads((base / "base.json").read_text()))
        for node in cluster:
            node.settings |= {"unclean.leader.election.enable": "true"}
            if not story.snapshots:
                node.settings["metadata.log.max.record.bytes.between.snapshots"] = str(20 << 20)
        scene = cls(cluster, root, story)
        first, second, third = cluster
        with scene.running(first, second, third):
            scene.topics(first, second, third)
        old, fellow = scene.old, cluster[story.fellow - 1]
        copied = old.dirs[0] if story.whole else old.dirs[0] / METADATA
        copy_tree(copied, root / "backup")
        for number in range(story.runs):
            with scene.running(old, fellow) as boot:
                make_topic(boot, AFTERWARDS if number == 0 else f"{AFTERWARDS}-{number}", 1)
        scene.false_alarms = scene.forecast().alarms
        copy_tree(root / "backup", copied)
        for number in (1, 2, 3):
            copy_tree(root / f"b{number}" / "d0", root / "kept" / f"b{number}")
        return scene

    @property
    def dirs(self) -> list[Path]:
        return [node.dirs[0] for node in self.cluster]

    @contextmanager
    def running(self, *some: Voter) -> Iterator[str]:
        try:
            start(some)
            yield ",".join(node.bootstrap for node in some)
        finally:
            for node in some:
                node.kill()

    def topics(self, *some: Voter) -> set[str]:
        boot = ",".join(node.bootstrap for node in some)
        return set(until("topics", lambda: admin(boot).list_topics(timeout=20).topics))

    def put_back(self) -> None:
        for number, place in enumerate(self.dirs, 1):
            copy_tree(self.root / "kept" / f"b{number}", place)

    @property
    def old(self) -> Voter:
        return self.cluster[self.story.old - 1]

    def as_it_is(self) -> tuple[set[str] | None, Leaders, Leaders]:
        """It is started beside that node without more ado: the topics; who led, by it and by its fellow.

        None where one of them ends.
        """
        before = led_by(self.dirs[self.story.fellow - 1])
        some = self.old, self.cluster[self.story.beside - 1]
        there = None
        try:
            with self.running(*some):
                there = self.topics(*some)
        except LabError:
            self.ends += [line for node in some for line in node.lines() if "xception: " in line][:3]
        return there, led_by(self.old.dirs[0]), before

    def forecast(self, *only: int) -> Told:
        words = ["--only", ",".join(map(str, sorted(only)))] if only else []
        return Told(segmend("forecast", "--cluster", *self.dirs, *words, "--json"))

    def plan(self, *more: object) -> Ran:
        config = self.cluster[0].config
        return segmend(
            "plan", "quorum", self.dirs[0], "--config", config, *more, "-o", self.root / "plan.json"
        )

    def apply(self) -> Ran:
        return segmend("apply", self.root / "plan.json", "--yes", "--state-dir", self.root / "state")


@dataclass
class Told:
    """What `forecast --cluster` said."""

    ran: Ran

    @property
    def quorum(self) -> dict[str, Any]:
        return next(line for line in self.ran.json if line["type"] == "quorum")

    @property
    def alarms(self) -> list[str]:
        """That files are of an older copy, or an epoch may be led twice."""
        older = [each["older_copy"] for each in self.quorum["voters"] if each["older_copy"]]
        return older + ([] if self.quorum["led_twice"] is None else [f"twice: {self.quorum['led_twice']}"])

    def fates(self, topic: str) -> set[str]:
        lines = (line for line in self.ran.json if line["type"] == "partition")
        return {str(line["outcome"]) for line in lines if line["topic"] == topic}


def twice(mine: Leaders, others: Leaders) -> dict[int, tuple[int, int]]:
    """The epochs that had two leaders."""
    both = {epoch: (mine[epoch], others[epoch]) for epoch in mine.keys() & others.keys()}
    return {epoch: leaders for epoch, leaders in both.items() if leaders[0] != leaders[1]}


def judged(scene: Restored) -> dict[str, Any]:
    """What the forecast said of it as it is, and what came; `wrong` is empty where it had told."""
    story, wrong = scene.story, [f"false alarm: {each}" for each in scene.false_alarms]
    told, all_three = scene.forecast(story.old, story.beside), scene.forecast()
    there, mine, others = scene.as_it_is()
    led, lost = twice(mine, others), there is not None and AFTERWARDS not in there
    if scene.ends and not told.alarms:
        wrong.append(f"one ends: {scene.ends}")
    if (lost or led or scene.ends) and {told.ran.code, all_three.ran.code} != {4}:
        wrong.append(f"all clear: exit {told.ran.code}, {all_three.ran.code}")
    if lost and "led" in told.fates(AFTERWARDS):
        wrong.append(f"{AFTERWARDS} is gone, and was said to be led")
    if lost and not told.fates(AFTERWARDS):
        wrong.append(f"{AFTERWARDS} is gone, and nothing was said of it")
    if led and not told.alarms:
        wrong.append(f"{led} were led twice, and nothing was said of it")
    if (lost or led) and "led" in told.fates("a") | all_three.fates("a"):
        wrong.append("others were said to be led without loss")
    return {
        "story": vars(story), "lost": lost, "two leaders of one epoch": led, "ends": scene.ends,
        "said": told.alarms, "wrong": wrong,
    }  # fmt: skip


def froms(scene: Restored, *numbers: int) -> list[object]:
    return [word for number in numbers for word in ("--from", scene.dirs[number - 1])]


def played(name: str, base: Path, root: Path) -> dict[str, Any]:
    """What was seen; raises AssertionError."""
    scene = Restored.made(name, base, root)
    found = judged(scene)
    assert found["wrong"] == [], found
    scene.put_back()

    ran = scene.plan(*froms(scene, 3))  # which tells nothing
    assert "whether this node was behind, or its files are of an older copy of it" in ran.out, ran
    ran = scene.plan("--restored", *froms(scene, 3))
    assert (ran.code, "--gone 2" in ran.err) == (8, True), ran
    ran = scene.plan(*froms(scene, 2, 3))
    assert (ran.code, "are of an older copy of it" in ran.out) == (0, True), ran
    before = json.loads((scene.dirs[1] / METADATA / "quorum-state").read_text())["leaderEpoch"]
    assert scene.apply().code in (1, 5)
    after = json.loads((scene.dirs[0] / METADATA / "quorum-state").read_text())
    assert (after["leaderEpoch"] > before, after["votedId"]) == (True, -1), (before, after)
    told = scene.forecast()
    assert (told.alarms, "leaderless" in told.fates(AFTERWARDS)) == ([], False), told
    first, second, third = scene.cluster
    with scene.running(first, third):
        assert AFTERWARDS in scene.topics(first, third)
    with scene.running(first, second, third):
        assert AFTERWARDS in scene.topics(first, second, third)
    logs = [led_by(place) for place in scene.dirs]
    for one in logs:
        for other in logs:
            odd = {epoch for epoch in one.keys() & other.keys() if one[epoch] != other[epoch]}
            assert not odd, f"two leaders of one epoch: {logs}"
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("base")
    parser.add_argument("dir", nargs="?", type=Path)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--count", type=int, default=1)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="older-", dir="/var/tmp") as place:
        root = args.dir or Path(place)
        base = unpacked(args.base, root / "base")
        if args.seed is None:
            print(args.base, played(args.base, base, root / "case"), flush=True)
            return
        for number in range(args.count):
            story = Story.drawn(random.Random(f"{args.seed} {args.base} {number}"))
            case = root / f"case{number}"
            found = judged(Restored.made(args.base, base, case, story))
            print(args.base, number, found, flush=True)
            row = {
                "base": args.base, "seed": args.seed, "n": number, "story": found["story"],
                "lost": found["lost"], "twice": sorted(found["two leaders of one epoch"]),
                "ends": found["ends"], "wrong": found["wrong"],
            }  # fmt: skip
            with TRIALS.open("a") as trials:
                trials.write(json.dumps(row, separators=(",", ":")) + "\n")
            shutil.rmtree(case)


if __name__ == "__main__":
    main()
