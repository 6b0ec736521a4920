"""A voter that comes out of a backup: `python -m tests.lab.quorums.older 4.3.1 [DIR]`, real quorums of three.

Nodes 1 and 2 elect one of them and make a topic while 3 is down, and then node 1's disk is put back to what
it was before. Started as it is beside node 3, both vote and lead by what is no longer so: the topic, which
had been committed, is not there, and an epoch may have two leaders. By `plan quorum`, with the files of both
others, it has its metadata and no vote to give twice.
"""

from __future__ import annotations

import json
import sys
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
from tests.lab.quorums.base import METADATA, Voter, make_topic, nodes, start
from tests.lab.quorums.record import unpacked
from tests.waiting import until

AFTERWARDS = "afterwards"
"""A topic that was committed when node 1's backup was a while old."""
Leaders = dict[int, int]
"""By epoch, as a voter's log has it."""


def led_by(log_dir: Path) -> Leaders:
    partition = open_dir(str(log_dir)).cluster_metadata
    assert partition is not None
    runs = MetadataCopy.of(partition).runs
    return {each.epoch: each.change.leader_id for run in runs for each in run.elections}


@dataclass
class Restored:
    """The three, stopped, node 1 as of old."""

    cluster: Sequence[Voter]
    root: Path
    said: list[str] = field(default_factory=list)

    @classmethod
    def made(cls, name: str, base: Path, root: Path) -> Restored:
        for number in (1, 2, 3):
            copy_tree(base / f"b{number}" / "d0", root / f"b{number}" / "d0")
        cluster = nodes(name, root, json.loads((base / "base.json").read_text()))
        for node in cluster:
            node.settings |= {"unclean.leader.election.enable": "true"}
        scene = cls(cluster, root)
        first, second, third = cluster
        with scene.running(first, second, third):
            scene.topics(first, second, third)
        copy_tree(first.dirs[0], root / "backup")
        with scene.running(first, second) as boot:
            make_topic(boot, AFTERWARDS, 1)
        copy_tree(root / "backup", first.dirs[0])
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

    def as_it_is(self) -> tuple[set[str], Leaders, Leaders]:
        """Node 1 started beside 3 without more ado: the topics; who led, by node 1 and by node 2."""
        first, second, third = self.cluster
        with self.running(first, third):
            there = self.topics(first, third)
        return there, led_by(first.dirs[0]), led_by(second.dirs[0])

    def plan(self, *more: object) -> Ran:
        config = self.cluster[0].config
        return segmend(
            "plan", "quorum", self.dirs[0], "--config", config, *more, "-o", self.root / "plan.json"
        )

    def apply(self) -> Ran:
        return segmend("apply", self.root / "plan.json", "--yes", "--state-dir", self.root / "state")


def froms(scene: Restored, *numbers: int) -> list[object]:
    return [word for number in numbers for word in ("--from", scene.dirs[number - 1])]


def played(name: str, base: Path, root: Path) -> dict[str, Any]:
    """What was seen; raises AssertionError."""
    scene = Restored.made(name, base, root)
    there, mine, others = scene.as_it_is()
    both = {epoch: (mine[epoch], others[epoch]) for epoch in mine.keys() & others.keys()}
    twice = {epoch: leaders for epoch, leaders in both.items() if leaders[0] != leaders[1]}
    found = {"lost": AFTERWARDS not in there, "two leaders of one epoch": twice}
    scene.put_back()

    ran = scene.plan(*froms(scene, 3))  # which tells nothing
    assert "whether this node was behind, or its files are of an older copy of it" in ran.out, ran
    ran = scene.plan("--restored", *froms(scene, 3))
    assert (ran.code, "--gone 2" in ran.err) == (8, True), ran
    ran = scene.plan(*froms(scene, 2, 3))
    assert (ran.code, "are of an older copy of it" in ran.out) == (0, True), ran
    before = json.loads((scene.dirs[1] / METADATA / "quorum-state").read_text())["leaderEpoch"]
    assert scene.apply().code == 1
    after = json.loads((scene.dirs[0] / METADATA / "quorum-state").read_text())
    assert (after["leaderEpoch"] > before, after["votedId"]) == (True, -1), (before, after)
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


def main(name: str, root: Path) -> None:
    print(name, played(name, unpacked(name, root / "base"), root / "case"), flush=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="older-", dir="/var/tmp") as place:
        main(sys.argv[1], Path(sys.argv[2] if len(sys.argv) > 2 else place))
