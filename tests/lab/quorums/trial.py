"""One trial: metadata hurt, `plan quorum`, applied, real nodes started, what came of what the plan promised.

    python -m tests.lab.quorums.trial BASES 4.3.1-dynamic --seed 7 --count 20
    python -m tests.lab.quorums.trial BASES 4.3.1-dynamic --do 3 from log-flip@0.4 state-gone

A trial is a node, a way (`own`, `from`, `one`, `alone`, `both`: alone, from the others), and damages to its
copy, each `name@place`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.cli.run import run as command
from tests.copies import copy_tree
from tests.faults.on_disk import flip_at_share
from tests.lab.errors import LabError
from tests.lab.quorums.base import METADATA, TOPICS, Voter, nodes, start
from tests.surgery.desk import left_code_of

WAYS = ("own", "from", "one", "alone", "both")
ALONE = ("alone", "both")
RECORDS = 12
Damage = Callable[[Path, float], None]


def _newest(home: Path) -> Path:
    return max(home.glob("*.checkpoint"))


def _flip(path: Path, place: float) -> None:
    path.chmod(0o600)
    flip_at_share(path, place, 0x40)


def _cut(path: Path, place: float) -> None:
    path.chmod(0o600)
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * place)])


def _log(home: Path) -> Path:
    return max(home.glob("*.log"))


def _old_snapshots(home: Path, _place: float) -> None:
    for path in sorted(home.glob("*.checkpoint"))[:-1]:
        path.unlink()


DAMAGES: dict[str, Damage] = {
    "snapshot-flip": lambda home, place: _flip(_newest(home), place),
    "snapshot-cut": lambda home, place: _cut(_newest(home), place),
    "snapshot-empty": lambda home, _: _cut(_newest(home), 0),
    "snapshot-gone": lambda home, _: _newest(home).unlink(),
    "snapshots-old-gone": _old_snapshots,
    "log-flip": lambda home, place: _flip(_log(home), place),
    "log-cut": lambda home, place: _cut(_log(home), place),
    "log-gone": lambda home, _: _log(home).unlink(),
    "state-gone": lambda home, _: (home / "quorum-state").unlink(),
    "state-garbage": lambda home, _: (home / "quorum-state").write_text("{") and None,
    "all-gone": lambda home, _: shutil.rmtree(home),
}


@dataclass(frozen=True)
class Case:
    """What is hurt, and how it is mended."""

    base: str
    node: int
    way: str
    damages: tuple[str, ...]

    @classmethod
    def draw(cls, base: str, chance: random.Random) -> Case:
        names = chance.sample(sorted(DAMAGES), chance.choice([0, 1, 1, 2, 2, 3]))
        damages = tuple(f"{name}@{chance.random():.3f}" for name in names)
        return cls(base, chance.choice([1, 2, 3]), chance.choice(WAYS), damages)

    def hurt(self, home: Path) -> None:
        """Some damages leave nothing for the next one."""
        for damage in self.damages:
            name, _, place = damage.partition("@")
            with contextlib.suppress(FileNotFoundError, ValueError, IndexError):
                DAMAGES[name](home, float(place or 0.5))


@dataclass
class Outcome:
    """`wrong` is empty if all was as promised."""

    case: dict[str, Any]
    exit: int = 0
    said: str = ""
    steps: list[str] = field(default_factory=list)
    promised: dict[str, Any] = field(default_factory=dict)
    found: dict[str, Any] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)


def segmend(*arguments: object) -> tuple[int, list[dict[str, Any]], str]:
    """(exit code, lines of `--json`, what went to stderr)."""
    ran = command(*arguments, "--json")
    return ran.code, ran.json, ran.err


@dataclass
class Scene:
    """Three nodes on a copy of a base, one of them hurt."""

    case: Case
    root: Path
    cluster: Sequence[Voter]

    @classmethod
    def of(cls, case: Case, base: Path, root: Path) -> Scene:
        """`base` is an unpacked one."""
        for number in (1, 2, 3):
            copy_tree(base / f"b{number}" / "d0", root / f"b{number}" / "d0")
        cluster = nodes(case.base, root, json.loads((base / "base.json").read_text()))
        for node in cluster:
            # After kill -9 a broker is in no ISR that another one was in (`handleUncleanBrokerShutdown`).
            node.settings |= {"unclean.leader.election.enable": "true"}
            node.configure()
        case.hurt(cluster[case.node - 1].dirs[0] / METADATA)
        return cls(case, root, cluster)

    @property
    def target(self) -> Voter:
        """The node that is hurt."""
        return self.cluster[self.case.node - 1]

    @property
    def home(self) -> Path:
        """Its log dir."""
        return self.target.dirs[0]

    @property
    def plan_file(self) -> Path:
        return self.root / "plan.json"

    def plan(self) -> Outcome:
        """What `plan quorum` says, with the loss accepted if it asks for that."""
        told = Outcome(case=asdict(self.case))
        given = [self.home, *options(self.case, self.cluster), "-o", self.plan_file]
        told.exit, lines, told.said = segmend("plan", "quorum", *given)
        figure = re.search(r"--accept-loss (\d+-records)", " ".join(str(line) for line in lines))
        if told.exit == 4 and figure:
            told.exit, lines, told.said = segmend("plan", "quorum", *given, "--accept-loss", figure[1])
        if told.exit not in (0, 4) or not any(line.get("extra") for line in lines):
            told.said = told.said or " ".join(line for one in lines for line in one.get("left", ()))
            return told
        made = json.loads(self.plan_file.read_text())
        told.promised, told.steps = made["extra"]["quorum"], [step["kind"] for step in made["steps"]]
        return told


def play(base: Path, case: Case, root: Path) -> Outcome:
    """Everything in `root`."""
    scene = Scene.of(case, base, root)
    before = picture(scene.home)
    told = scene.plan()
    if told.promised:
        both_ways(told, scene.plan_file, root, scene.home, before)
        with stopped(scene.cluster):
            judge(told, case, scene.cluster, scene.target)
    return told


def options(case: Case, cluster: Sequence[Voter]) -> list[object]:
    """Of `plan quorum`."""
    target = cluster[case.node - 1]
    others = [node for node in cluster if node is not target]
    given: list[object] = ["--config", target.config]
    if case.way in ("from", "one", "both"):
        for node in others[:1] if case.way == "one" else others:
            given += ["--from", node.dirs[0]]
    if case.way == "one":
        given += ["--gone", others[1].seat.node_id]
    return [*given, "--standalone"] if case.way in ALONE else given


def both_ways(told: Outcome, plan: Path, root: Path, home: Path, before: dict[str, Any]) -> None:
    """Applied, undone and applied again."""
    state = root / "state"
    if not told.steps:
        return
    for turn in ("apply", "undo", "apply"):
        what = [plan] if turn == "apply" else []
        code, _, said = segmend(turn, *what, "--yes", "--state-dir", state)
        if code != (1 + left_code_of(plan) if turn == "apply" else 0) and not (turn == "undo" and code == 1):
            told.wrong.append(f"{turn}: exit {code}: {said}")
        if turn == "undo" and picture(home) != before:
            told.wrong.append("undo left other files")


def picture(home: Path) -> dict[str, Any]:
    """Bytes, modes and times of all files."""
    files = (path for path in sorted(home.rglob("*")) if path.is_file() and path.name != ".lock")
    return {
        str(path.relative_to(home)): (path.read_bytes(), path.stat().st_mode, path.stat().st_mtime_ns)
        for path in files
    }


@contextlib.contextmanager
def stopped(cluster: Sequence[Voter]) -> Iterator[None]:
    try:
        yield
    finally:
        for node in cluster:
            node.kill()


def judge(told: Outcome, case: Case, cluster: Sequence[Voter], target: Voter) -> None:
    """Start the node: alone, or with one that was not hurt, the two a majority."""
    alone = case.way in ALONE
    if alone:
        target.peers = target.peers if target.directory_ids else [target.seat]
    others = [node for node in cluster if node is not target]
    running = [target] if alone else [target, others[0]]
    try:
        start(running)
    except LabError as error:
        told.wrong.append(f"no start: {error}")
        return
    boot = ",".join(node.bootstrap for node in running)
    try:
        told.found["records"] = client("read", boot)
        client("make", boot)
    except LabError as error:
        told.wrong.append(str(error))
        return
    told.found["topics"] = sorted(told.found["records"])
    loaded = r"partition=__cluster_metadata-0.*Loading producer state till offset (\d+)"
    told.found["end"] = int(re.findall(loaded, "\n".join(target.lines()))[-1])
    epochs = re.findall(r"Completed transition to Leader.*?epoch=(\d+)", "\n".join(target.lines()))
    told.found["epoch"] = int(epochs[-1]) if epochs else None
    compare(told, alone=alone)


def client(command: str, bootstrap: str) -> Any:
    """What a client of its own process says: librdkafka may abort (`rd_kafka_admin_response_parse`)."""
    words = [sys.executable, "-m", "tests.lab.quorums.client", command, bootstrap]
    for _ in range(3):
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return json.loads(done.stdout)
    raise LabError(f"no client came through: {done.stderr[-300:]}")


def compare(told: Outcome, *, alone: bool) -> None:
    promised, found = told.promised, told.found
    if found["end"] != promised["end"]:
        told.wrong.append(f"the log ends at {found['end']}, not {promised['end']}")
    if alone and found["epoch"] != promised["epoch"] + 1:
        told.wrong.append(f"leads in epoch {found['epoch']}, not {promised['epoch'] + 1}")
    if told.case["way"] != "alone" and found["topics"] != sorted(TOPICS):
        told.wrong.append(f"topics {found['topics']}")
    for topic, counts in found["records"].items():
        if told.case["node"] == 3 and told.case["way"] == "both":
            continue  # By the metadata of the others it has no replica of one, and is in no ISR of the other.
        if not all(count == RECORDS for count in counts):
            told.wrong.append(f"{topic}: {counts} records")


def run(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser()
    parser.add_argument("bases", type=Path)
    parser.add_argument("base")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--do", nargs="+")
    parser.add_argument("--keep", type=Path)
    args = parser.parse_args(arguments)
    if not args.do:
        for number in range(args.count):
            case = Case.draw(args.base, random.Random(f"{args.seed} {number}"))
            words = [str(args.bases), case.base, "--do", str(case.node), case.way, *case.damages]
            # librdkafka may abort (`rd_kafka_admin_response_parse`).
            subprocess.run([sys.executable, "-m", "tests.lab.quorums.trial", *words], check=False)
        return
    case = Case(args.base, int(args.do[0]), args.do[1], tuple(args.do[2:]))
    with tempfile.TemporaryDirectory(prefix="quorum-") as work:
        told = play(args.bases / case.base, case, args.keep or Path(work))
    print(json.dumps(asdict(told)), flush=True)


if __name__ == "__main__":
    run()
