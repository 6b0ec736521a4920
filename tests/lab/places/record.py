"""Record what real brokers do with places that fail: `python -m tests.lab.places.record 4.3.1 [NAME...]`.

To be run as root: the broker runs as the user of the trial, whom everything belonged to before. Trials
that hurt one log dir share a start, each in a log dir of its own (never `d0`, which has the metadata log);
a start that fails is done again one by one. What is recorded already is not done again. What is kept has no
paths and no times.
"""

import functools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.lab.base import QUIET, Base
from tests.lab.broker import Broker, Seat
from tests.lab.errors import LabError
from tests.lab.jars import jars
from tests.lab.places.base import HERE, TOPICS, archive, fresh, log_dirs, partition_in, unpacked
from tests.lab.places.open_transactions import OPEN, OpenTrial
from tests.lab.places.table import PLACES, TRIALS, Trial
from tests.lab.process import _running, java_command
from tests.lab.releases import Release, release
from tests.lab.trial import SERIOUS, client, offline_dirs, save, shortened, without_names
from tests.lab.trial import Trial as Seen
from tests.lab.verdict import HEALTHY
from tests.lab.zookeeper import ZooKeeper

Verdict = dict[str, Any]
SHARED = 7
"""Trials of one start: `d1` to `d7`."""
LATER_SECONDS = 7
"""High watermarks are written every 5 s: whether the dir can be written shows then."""
SAYS = re.compile(r"^(?:ERROR|FATAL|WARN) |Exception")
NOBODY = "no topic"
ALL_TRIALS = [*TRIALS, *PLACES, *OPEN]


class UserBroker(Broker):
    """A broker that runs as a user; None: as whoever runs this."""

    uid: int | None = None
    home: Path

    def launch(self) -> None:
        """Start it as that user, from jars that he can read."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self.log_start = 0
        self.log.unlink(missing_ok=True)
        command = java_command(self.release, self.log.parent, self.main, self.config, jvm=self.jvm)
        if self.uid is not None:
            readable = str(readable_jars(self.release, self.home))
            command = [each.replace(str(jars(self.release)), readable) for each in command]
            user = f"{self.uid}"
            command = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *command]
        with open(self.log, "ab") as stream:
            self.child = subprocess.Popen(command, stdout=stream, stderr=stream, cwd=self.log.parent)
        _running.add(self.child)


@functools.cache
def readable_jars(kind: Release, home: Path) -> Path:
    """A copy of the jars that anybody may read."""
    found = home / f"jars-{kind.version}"
    if not found.exists():
        shutil.copytree(jars(kind), found)
        subprocess.run(["chmod", "-R", "a+rX", found], check=True)
    return found


def clear(root: Path) -> None:
    """Take a trial's tree away, whatever was done to it."""
    if not root.exists():
        return
    for path in [*root.glob("b1/d?/p?-0"), *log_dirs(root)]:
        subprocess.run(["umount", path], capture_output=True, check=False)
    subprocess.run(["chattr", "-R", "-f", "-i", "-a", root], capture_output=True, check=False)
    shutil.rmtree(root)


def prepared(base: Base, root: Path, uid: int | None) -> Path:
    """A fresh copy that belongs to the user; the directory of its log dirs."""
    clear(root)
    fresh(base, root)
    if uid is not None:
        subprocess.run(["chown", "-R", f"{uid}:{uid}", root / "b1"], check=True)
    return root / "b1"


def listed(b1: Path) -> dict[str, list[str]]:
    """The directories of each log dir, in the order in which they are listed."""
    found = {}
    for path in sorted(b1.glob("d[0-9]")):
        if path.is_dir():
            found[path.name] = [name for name in os.listdir(path) if (path / name).is_dir()]
    return found


def played(base: Base, root: Path, uid: int | None, settings: dict[str, str], home: Path) -> Seen:
    """One start, looked at twice: when it is up, and after the first reads and writes of checkpoints."""
    kind = release(base.version)
    mine = {**QUIET, **{key: value.format(b1=root / "b1") for key, value in settings.items()}}
    seat, zookeeper = Seat(1, *base.ports), ZooKeeper.wanted(kind, root)
    with UserBroker(kind, root / "b1", seat, log_dirs=8, settings=mine, zookeeper=zookeeper) as broker:
        broker.uid, broker.home = uid, home
        broker.write_config()
        broker.launch()
        up = time.monotonic()
        try:
            broker.wait_ready(60)
        except LabError:
            lines = shortened(broker.lines(), root)
            return Seen(False, lines, {}, offline_dirs(lines))
        up = time.monotonic()
        offsets = client("offsets", broker, TOPICS)
        first = offline_dirs(shortened(broker.lines(), root))
        served = [topic for topic in TOPICS if isinstance(offsets[topic], list)]
        reads = client("read", broker, served) if served and not settings else {}
        time.sleep(max(0.0, up + LATER_SECONDS - time.monotonic()) if uid is not None else 0)
        lines = shortened(broker.lines(), root)
        return Seen(broker.running, lines, {}, first, offline_dirs(lines), offsets, reads)


def says(lines: Sequence[str], names: Sequence[str]) -> list[str]:
    """What it said of these names, at most three lines."""
    mine = [line for line in lines if SAYS.search(line) and any(name in line for name in names)]
    return [line[:240] for line in dict.fromkeys(without_names(line, NOBODY) for line in mine)][:3]


def of_topic(seen: Seen, topic: str) -> Verdict:
    """What clients saw of it."""
    found: Verdict = {"offsets": seen.offsets.get(topic)}
    if topic in seen.reads:
        read = seen.reads[topic]
        found["read"] = len(read["seen"])
        if read["errors"]:
            found["errors"] = read["errors"]
    return found


def of_dir(seen: Seen, name: str, topic: str) -> Verdict:
    """What became of one log dir of a shared start."""
    found: Verdict = {"outcome": "starts" if seen.starts else "refuses", "dir": name}
    if not seen.starts:
        found["fatal"] = without_names(seen.fatal() or "", NOBODY)[:300]
    if name in seen.offline:
        found["offline"] = True
    elif name in seen.offline_later:
        found["later"] = True
    if seen.starts:
        found |= of_topic(seen, topic)
    words = says(seen.lines, [f"{name}/", f"{name} ", f"{name},"])
    return found | ({"says": words} if words else {})


class Recorder:
    """All trials of a release after one kind of stop."""

    def __init__(self, version: str, mark: str, home: Path) -> None:
        self.version, self.mark, self.home = version, mark, home
        self.base = unpacked(version, mark, home / "bases")
        self.path = HERE / f"{version}-{mark}.json"
        self.whole: Verdict = {}
        self.verdicts: dict[str, Verdict] = json.loads(self.path.read_text()) if self.path.exists() else {}

    def healthy(self) -> None:
        """What is seen of a partition where nothing is done."""
        root = self.home / "trial"
        prepared(self.base, root, None)
        seen = played(self.base, root, None, {}, self.home)
        self.whole = of_topic(seen, TOPICS[0])
        self.verdicts[HEALTHY] = {"outcome": "starts", **self.whole}

    def together(self, trials: Sequence[Trial]) -> None:
        """Each in its own log dir; one by one if that start fails."""
        if not trials:
            return
        root = self.home / "trial"
        b1 = prepared(self.base, root, trials[0].uid)
        topics = {}
        for number, trial in enumerate(trials, 1):
            topics[trial.name] = partition_in(b1 / f"d{number}").name[:-2]
            trial.hurt(b1 / f"d{number}")
        seen = played(self.base, root, trials[0].uid, {}, self.home)
        if not seen.starts and len(trials) > 1:
            fatal = seen.fatal() or ""
            named = [t for n, t in enumerate(trials, 1) if re.search(rf"\bd{n}\b", fatal)]
            print(f"  taken apart: {[t.name for t in named]} {fatal[:200]}", flush=True)
            for trial in named or trials:
                self.together([trial])
            self.together([trial for trial in trials if named and trial not in named])
            return
        for number, trial in enumerate(trials, 1):
            self.verdicts[trial.name] = of_dir(seen, f"d{number}", topics[trial.name])
            print(trial.name, self.verdicts[trial.name], flush=True)
        save(self.path, self.verdicts)

    def alone(self, trial: Trial) -> None:
        """A start for one trial."""
        root = self.home / "trial"
        b1 = prepared(self.base, root, trial.uid)
        trial.hurt(b1)
        order = listed(b1)
        seen = played(self.base, root, trial.uid, trial.settings, self.home)
        found: Verdict = {"outcome": "starts" if seen.starts else "refuses"}
        if seen.starts:
            told = {topic: of_topic(seen, topic) for topic in TOPICS}
            found["topics"] = {topic: told[topic] for topic in TOPICS if told[topic] != self.whole}
            now = listed(b1)
            for key, one, two in (("gone", order, now), ("new", now, order)):
                names = {
                    without_names(f"{log_dir}/{name}", NOBODY)
                    for log_dir in one for name in one[log_dir] if name not in two.get(log_dir, ())
                }  # fmt: skip
                if names:
                    found[key] = sorted(names)
        else:
            found["fatal"] = without_names(seen.fatal() or "", NOBODY)[:300]
        if seen.offline:
            found["offline"] = seen.offline
        if set(seen.offline_later) - set(seen.offline):
            found["later"] = seen.offline_later
        if isinstance(trial, OpenTrial):
            found["order"] = order["d3"]
        words = [line[:240] for line in seen.lines if SERIOUS.search(line) or " offline" in line]
        found["says"] = list(dict.fromkeys(without_names(line, NOBODY) for line in words))[:4]
        self.verdicts[trial.name] = found
        print(trial.name, found, flush=True)
        save(self.path, self.verdicts)

    def record(self, names: Sequence[str]) -> None:
        """Those named, or those that are not recorded."""
        number = release(self.version).number
        wanted = [t for t in ALL_TRIALS if t.applies(number, self.mark)]
        wanted = [t for t in wanted if t.name in (names or [t.name]) and t.name not in self.verdicts]
        if not wanted:
            return
        self.healthy()
        for uid in dict.fromkeys(t.uid for t in wanted):
            shared = [t for t in wanted if not t.alone and t.uid == uid]
            for at in range(0, len(shared), SHARED):
                self.together(shared[at : at + SHARED])
        for trial in [t for t in wanted if t.alone]:
            self.alone(trial)
        clear(self.home / "trial")


def main(version: str, *names: str) -> None:
    """Record both kinds of stop."""
    home = Path(os.environ.get("SEGMEND_PLACES", tempfile.gettempdir())) / "segmend-places"
    home.mkdir(parents=True, exist_ok=True)
    for mark in os.environ.get("MARKS", "clean killed").split():
        if archive(version, mark).exists():
            Recorder(version, mark, home).record(names)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the broker ends with it
    main(*sys.argv[1:])
