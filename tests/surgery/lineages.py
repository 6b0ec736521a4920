"""Replicas that left one another again and again: `python -m tests.surgery.lineages [--seed N] [4.3.1]`.

Brokers 2 and 3 lead several topics in turns, alone, elected uncleanly, as drawn, and take records that are
acknowledged; then all are killed. Of each topic one replica is merged with the other one, or grafted from it,
as drawn, with `--prefer` or without. Its broker starts and leads: what a consumer gets, and what the side
files hold, are all that was acknowledged, each once, and what is not served is what the plan said it costs.
"""

from __future__ import annotations

import base64
import json
import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from confluent_kafka import TopicPartition
from confluent_kafka.admin import NewTopic  # type: ignore[attr-defined]
from tests.cli.run import Ran, run
from tests.copies import copy_tree
from tests.golden.observe import consume
from tests.golden.produce import producer, send
from tests.golden.records import Rec
from tests.golden.topics import small_segments
from tests.lab.admin import admin, until_all, wait_until_known
from tests.lab.broker import Broker
from tests.lab.cluster import Cluster, until_marks_are_written
from tests.lab.reader import consumer
from tests.merge.test_unclean import OF_ZOOKEEPER, SETTINGS
from tests.surgery.trials import each_of, main

RELEASES = ("4.3.1", "3.9.2", "2.8.2")
TOPICS = tuple(f"t{number}" for number in range(5))
REPLICAS = (2, 3)
ACCEPTED = re.compile(r"--accept-loss (\d+-records)")


@dataclass
class Lineages:
    """A cluster whose replicas have left one another; `branches` has by topic what each broker took alone."""

    cluster: Cluster
    draw: Random
    both: dict[str, list[str]] = field(default_factory=lambda: {name: [] for name in TOPICS})
    branches: dict[str, dict[int, list[str]]] = field(
        default_factory=lambda: {name: {node: [] for node in REPLICAS} for name in TOPICS}
    )
    said: list[str] = field(default_factory=list)

    def write(self, leader: int | None) -> None:
        for name in TOPICS:
            taken = [f"{leader}-{len(self.said)}-{number}" for number in range(self.draw.randrange(0, 30))]
            size = self.draw.choice([1, 3, 7])
            batches = [taken[at : at + size] for at in range(0, len(taken), size)]
            records = [[Rec(b"key", value.encode()) for value in batch] for batch in batches]
            send(producer(self.cluster.bootstrap), name, records)
            (self.both[name] if leader is None else self.branches[name][leader]).extend(taken)
        self.said.append(str(leader))

    def until_led_by(self, nodes: Sequence[int]) -> None:
        until_all(self.cluster.bootstrap, lambda now: now.leader in nodes, TOPICS)

    def play(self) -> None:
        cluster = self.cluster
        cluster.start()
        wait_until_known(cluster.bootstrap, 3)
        config = {**small_segments(cluster.release, 1024), "unclean.leader.election.enable": "true"}
        topics = [NewTopic(name, 1, replica_assignment=[[2, 3]], config=config) for name in TOPICS]
        client = admin(cluster.bootstrap)  # Who is let go of answers nothing.
        for done in client.create_topics(topics).values():
            done.result(60)
        self.until_led_by(REPLICAS)
        self.write(None)
        leader = self.draw.choice(REPLICAS)
        self.broker(5 - leader).kill()
        for _ in range(self.draw.randrange(2, 5)):
            self.until_led_by([leader])
            self.write(leader)
            until_marks_are_written(self.cluster)
            self.broker(leader).kill()
            leader = 5 - leader
            self.broker(leader).launch()
            self.broker(leader).wait_ready()
        self.until_led_by([leader])
        self.write(leader)
        until_marks_are_written(cluster)
        cluster.kill()

    def broker(self, node: int) -> Broker:
        return self.cluster.brokers[node - 1]

    def replica(self, node: int, topic: str) -> Path:
        return next(path for each in self.broker(node).dirs for path in each.glob(f"{topic}-0"))


@dataclass
class Served:
    """What is to come of one topic: asked for, and what the plan said that it costs."""

    topic: str
    asked: str
    target: int
    lost: int
    side: Path


def trial(version: str, seed: int, number: int, folder: Path) -> Iterable[str]:
    draw = Random(f"{seed} {number} {version}")
    settings = SETTINGS | OF_ZOOKEEPER if version == "2.8.2" else SETTINGS
    with Cluster(version, folder / "live", 3, settings=settings) as cluster:
        lineages = Lineages(cluster, draw)
        lineages.play()
        target = draw.choice(REPLICAS)
        copy_tree(cluster.root, folder / "saved")
        plans = [found for name in TOPICS if (found := planned(lineages, name, target, folder)) is not None]
        serve(lineages, plans, target)
        yield from (f"{version} {each.asked}" for each in plans)
        yield from [f"{version} refused"] * (len(TOPICS) - len(plans))


def planned(lineages: Lineages, topic: str, target: int, folder: Path) -> Served | None:
    """Planned and applied for one replica; None where it is refused, and all is as it was."""
    draw, source = lineages.draw, lineages.replica(5 - target, topic)
    dirs, file, side = lineages.broker(target).dirs, folder / f"{topic}.json", folder / f"side-{topic}"
    asked = draw.choice(["merge", "merge", f"merge --prefer {draw.choice(REPLICAS)}", "graft"])
    words: list[object] = [*asked.split(), *dirs, "--partition", f"{topic}-0", "--from", source]
    words += [] if asked == "graft" else ["--side", side]
    ran = run("plan", *words, "-o", file)
    if ran.code == 16 and (price := ACCEPTED.search(ran.err)):
        ran = run("plan", *words, "--accept-loss", price[1], "-o", file)
    lineages.said.append(f"{topic} {asked} for {target}: {ran.code} {ran.err.strip()[-300:]}")
    if ran.code == 8 and asked != "merge":
        return None
    assert ran.code in (0, 4), told(lineages)
    plan = json.loads(file.read_bytes())
    if plan["steps"]:
        ran = run("apply", file, "--yes", "--state-dir", folder / "state")
        assert ran.code in (1, 5), told(lineages, ran)
    own = sum(each["records"] for each in plan["losses"])
    if asked == "graft":
        return Served(topic, asked, target, own, side)
    (chosen,) = (each for each in plan["extra"]["merge"]["choices"] if each["chosen"])
    assert own <= chosen["records_lost"] == sum(each["records"] for each in chosen["lost"]), told(lineages)
    return Served(topic, asked, target, chosen["records_lost"], side)


def told(lineages: Lineages, ran: Ran | None = None) -> str:
    counts = {
        name: (len(lineages.both[name]), {node: len(each) for node, each in lineages.branches[name].items()})
        for name in TOPICS
    }
    return "\n".join(["", *lineages.said, str(counts), "" if ran is None else ran.err[-600:]])


def serve(lineages: Lineages, plans: Sequence[Served], target: int) -> None:
    cluster = lineages.cluster
    if cluster.zookeeper:
        cluster.zookeeper.start()
        cluster.zookeeper.until_forgotten()
    for broker in (cluster.brokers[0], lineages.broker(target)):
        broker.launch()
    lineages.broker(target).wait_ready()
    lineages.until_led_by([target])
    for each in plans:
        reader = consumer(cluster.bootstrap, "read_uncommitted")
        rows = consume(reader, [TopicPartition(each.topic, 0)])[f"{each.topic}-0"]
        reader.close()
        compare(lineages, each, [bytes.fromhex(row["value"]).decode() for row in rows])


def compare(lineages: Lineages, each: Served, served: list[str]) -> None:
    branches = lineages.branches[each.topic]
    acknowledged = Counter([*lineages.both[each.topic], *branches[2], *branches[3]])
    aside = Counter(beside(each.side))
    here, gone = Counter(served), acknowledged - Counter(served)
    why = f"{each}: {told(lineages)}"
    assert max(here.values(), default=0) <= 1, f"twice: {here.most_common(3)} {why}"
    assert not here - acknowledged, f"nobody wrote {here - acknowledged} {why}"
    assert gone.total() == each.lost, f"gone {gone.total()}, said {each.lost} {why}"
    if each.asked != "graft":
        assert aside == gone, f"beside {aside.total()}, gone {gone.total()} {why}"
    elif each.lost == 0:
        assert not gone, f"gone {gone} {why}"


def beside(side: Path) -> list[str]:
    """The values in the files beside, as `rescue` reads them."""
    if not side.exists():
        return []
    out = side.with_name(f"{side.name}-out")
    shutil.rmtree(out, ignore_errors=True)
    ran = run("rescue", side, "--out", out, "--as", "jsonl")
    assert ran.code in (0, 4), ran.err
    lines = [line for path in sorted(out.rglob("[!_]*.jsonl")) for line in path.read_text().splitlines()]
    return [base64.b64decode(json.loads(line)["value"]).decode() for line in lines]


def play(numbers: Iterable[int], seed: int, of: Sequence[str], home: Path) -> Counter[str]:
    sums: Counter[str] = Counter()
    for version in of:
        sums += each_of(numbers, home, lambda number, folder, v=version: trial(v, seed, number, folder))
    return sums


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], "tests.surgery.lineages", RELEASES, play, count=1))
