"""One outage: the forecast of the hurt disks, and what real nodes over them do."""

import json
import re
import shutil
import time
from pathlib import Path
from typing import Any

from segmend.broker.election import NOT_REGISTERED, majority
from tests.cli.run import run
from tests.copies import fresh
from tests.lab.broker import Broker
from tests.lab.cluster import Cluster
from tests.lab.disasters.files import fingerprint, look
from tests.lab.disasters.protocol import offsets
from tests.lab.disasters.reads import read
from tests.lab.errors import LabError
from tests.lab.outages.asked import Answers, answers, takes
from tests.lab.outages.base import LAST, needed, nodes, started_by, votes
from tests.lab.outages.draw import Outage, archive
from tests.lab.trial import offline_dirs, shortened

HERE = Path(__file__).with_name("records")
PATIENCE, LONGER, HOPELESS, SETTLED, AT_MOST = 100, 240, 25, 8, 60
"""Seconds until a node that lives waits, where it is said to start, and where too few voters live; without a
change until the answers are taken; and at most."""
ELECTED = re.compile(r"Completed transition to Leader\(.*?epoch=(\d+), epochStartOffset=(\d+)")


def said(root: Path, outage: Outage) -> list[dict[str, Any]]:
    """The lines of `forecast --cluster`, its exit code in the last.

    With ZooKeeper, and after an upgrade, no node's registration tells the release.
    """
    up, started = outage.up, started_by(outage.version, outage.story)
    dirs = [path for path in sorted(root.glob("b*/d[0-9]")) if path.name not in dropped(path.parent)]
    only = ["--only", ",".join(map(str, up))] if len(up) < len(list(root.glob("b*"))) else []
    configs = [f"--config={path}" for path in sorted(root.glob("b*/server.properties"))]
    for path in root.glob("zookeeper/data"):
        configs += [f"--zookeeper={path}"]
    if (root / "zookeeper").exists() or started != outage.version:
        configs += [f"--kafka={started}"]
    ran = run("forecast", "--cluster", *dirs, *configs, *only, "--json")
    return [*ran.json[:-1], {**ran.json[-1], "exit": ran.code}] if ran.json else []


def dropped(home: Path) -> list[str]:
    """The log dirs that a node's server.properties no longer has."""
    path = home / "dropped"
    return path.read_text().split() if path.exists() else []


def left_out(root: Path, partition: str) -> set[int]:
    """The nodes whose replica of it lies in a log dir that their server.properties no longer has."""
    homes = [home for home in root.glob("b*") for d in dropped(home) if (home / d / partition).is_dir()]
    return {int(home.name[1:]) for home in homes}


def prepared(outage: Outage, root: Path) -> Cluster:
    """The nodes over a hurt copy, each with its server.properties."""
    fresh(archive(outage.base), root)
    outage.hurt(root)
    cluster = nodes(outage.version, root, outage.story)
    for broker in cluster.brokers:
        broker.dirs = [path for path in broker.dirs if path.name not in dropped(broker.root)]
        broker.write_config()
    return cluster


def hurt(root: Path) -> str:
    """The digits of what the nodes are started over."""
    return fingerprint(*(look(root, path.name) for path in sorted(root.glob("b*"))))


def last_said(root: Path, outage: Outage) -> Answers:
    """What the cluster said of its partitions before the end: without what no disk can tell any more."""
    found = next(path for name in (LAST, "isr.json") if (path := root / name).exists())
    told: Answers = json.loads(found.read_text())
    for name, one in told.items():
        older = outage.restored(root, name)
        if older and set(one["isr"]) <= older | left_out(root, name):
            one.pop("end", None)
    return told


def tried(
    outage: Outage, root: Path, logs: Path | None = None
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """What is said, and what became of it."""
    cluster = prepared(outage, root)
    lines = said(root, outage)
    if not lines:
        raise LabError("nothing is said of dirs of two clusters, which nobody starts as one")
    became: dict[str, Any] = {"hurt": hurt(root), "last": last_said(root, outage)}
    with cluster:
        if cluster.zookeeper:
            cluster.zookeeper.start()
            cluster.zookeeper.until_forgotten()
        some = [broker for broker in cluster.brokers if broker.seat.node_id in outage.up]
        voters = [each for each in cluster.brokers if votes(outage.story, each.seat.node_id)]
        voters = [] if cluster.zookeeper else voters
        steps = lines[-1]["start_order"] if outage.ordered else outage.steps
        became |= {"steps": steps, "ordered": True} if outage.ordered else {}
        left = [broker for broker in some if not any(broker.seat.node_id in step for step in steps)]
        for number, step in enumerate(steps):
            mine = [broker for broker in some if broker.seat.node_id in step]
            for broker in (*mine, *left * (not number)):
                broker.launch()
            waited(mine, PATIENCE, voters)
            if outage.ordered and number + 1 < len(steps):
                settled(some)
        waited(some, LONGER if any(line.get("leaders_possible") for line in lines) else 0, voters)
        if any(broker.running for broker in some):
            became["partitions"] = settled(some)
            became["reads"] = reads(some, became["partitions"])
            led = [name for name, one in became["partitions"].items() if one["leader"] >= 0]
            became["takes"] = takes([each.seat for each in some], led, needed(outage.story))
        became["nodes"] = {str(broker.seat.node_id): now(broker) for broker in some}
        became["offline"] = {
            str(broker.seat.node_id): gone
            for broker in some
            if (gone := offline_dirs(shortened(broker.lines(), broker.root.parent)))
        }
        terms = [
            (int(found.group(1)), broker.seat.node_id, int(found.group(2)))
            for broker in some
            for line in broker.lines()
            if (found := ELECTED.search(line))
        ]
        became["elected"] = min(terms)[1] if terms else None
        became["metadata_end"] = min(terms)[2] if terms else None
        became["fatal"] = {str(broker.seat.node_id): fatal(broker) for broker in some if not broker.running}
    for broker in some if logs else ():
        shutil.copy(broker.log, logs / f"{broker.seat.node_id}.log")
    return lines, became


def reads(some: list[Broker], told: Answers) -> dict[str, Any]:
    """Where logs begin that are led, and what a consumer from there to the end does not get."""
    found: dict[str, Any] = {}
    for broker in some:
        seat = broker.seat
        mine = {
            name: one["end"] for name, one in told.items() if one["leader"] == seat.node_id and "end" in one
        }
        try:
            begins = offsets(seat.port, list(mine), -2) if mine else {}
        except (OSError, ValueError, LookupError):
            continue
        for name, (error, first) in begins.items():
            amiss = {} if error else read(seat.port, name, first, mine[name])
            found |= {name: {"first": first, **amiss}} if first > 0 or amiss else {}
    return found


def fatal(broker: Broker) -> str:
    """The line that says why it ended: of one that waited long, not what it met meanwhile."""
    said = next((line for line in broker.lines() if NOT_REGISTERED in line), broker.last_error())
    return placeless(said, broker.root.parent)[:300]


def placeless(line: str, root: Path) -> str:
    """Without where on this machine the nodes lie."""
    return line.replace(f"{root}/", "")


def now(broker: Broker) -> str:
    """`starts`, `waits`, or `refuses`; `dies` if it was up."""
    ready = any(broker.ready.search(line) for line in broker.lines())
    return ("starts" if ready else "waits") if broker.running else ("dies" if ready else "refuses")


def waited(some: list[Broker], seconds: float, voters: list[Broker]) -> None:
    """Until each is up, or dead, or it has taken too long."""
    hopeful = time.monotonic()
    until = hopeful + seconds
    while time.monotonic() < min(until, hopeful + HOPELESS) and any(now(each) == "waits" for each in some):
        if not voters or sum(each.running for each in voters) >= majority(len(voters)):
            hopeful = time.monotonic()
        time.sleep(0.5)


def settled(some: list[Broker]) -> Answers:
    """Leaders and ends once they no longer change, and no leader waits for a node that is away."""
    begun = changed = time.monotonic()
    last: Answers = {}
    up = {broker.seat.node_id for broker in some if broker.running}
    while time.monotonic() < begun + AT_MOST and (
        time.monotonic() < changed + SETTLED
        or any(one["leader"] >= 0 and not up.issuperset(one["isr"]) for one in last.values())
    ):
        told = answers([broker.seat for broker in some if now(broker) == "starts"])
        if told != last:
            last, changed = told, time.monotonic()
        time.sleep(1)
    return last
