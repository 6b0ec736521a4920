"""Trials on a real broker: `python -m tests.lab.retention.record 4.3.1 1 2 3` records these seeds."""

import json
import lzma
import shutil
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

from tests.golden.topics import Topic, create
from tests.lab.base import QUIET
from tests.lab.broker import Broker, Seat
from tests.lab.cluster import Cluster
from tests.lab.releases import Release, release
from tests.lab.retention.compare import disagreements
from tests.lab.retention.draw import Trial, draw, settings_of
from tests.lab.retention.judged import judged
from tests.lab.retention.seen import Gone, deletions, remaining
from tests.lab.retention.write import write
from tests.memory import MEMORY, prefix

RECORDED = Path(__file__).parent / "recorded"
TOPICS = 84
LAST_LOOK = 96_000
SETTINGS = {
    **QUIET,
    "log.initial.task.delay.ms": "10000",
    "log.retention.check.interval.ms": "5000",
    "log.segment.delete.delay.ms": "500",
    "log.cleaner.backoff.ms": "5000",
    "controlled.shutdown.retry.backoff.ms": "500",
}
Row = dict[str, Any]


class Bed:
    """A broker with all topics, stopped; of those with two replicas the other one is gone."""

    def __init__(self, version: str, root: Path, topics: int = TOPICS) -> None:
        self.release: Release = release(version)
        self.topics = topics
        self.kept = root / "kept"
        for key in ("log.retention.ms", "log.retention.bytes"):
            SETTINGS.pop(key, None)
        self.cluster = Cluster(version, root, log_dirs=1, settings=SETTINGS)
        self.broker = self.cluster.brokers[0]
        if self.release.mode == "kraft":
            self.broker.peers = [self.broker.seat]
        self._create(root)

    def _create(self, root: Path) -> None:
        self.cluster.start()
        wanted = [(f"r{n:03d}", *settings_of(self.release, n)) for n in range(self.topics)]
        single = [Topic(name, settings) for name, settings, replicas in wanted if replicas == 1]
        double = [Topic(name, settings) for name, settings, replicas in wanted if replicas == 2]
        create(self.cluster.bootstrap, single)
        if double:
            other = self._second(root)
            other.start()
            create(self.cluster.bootstrap, double, replicas=2)
            time.sleep(2)
            other.stop(120)
        self.broker.stop(120)

    def _second(self, root: Path) -> Broker:
        """A broker that is no controller."""
        seat = Seat(2)
        settings = {**SETTINGS, "process.roles": "broker", "listeners": f"PLAINTEXT://127.0.0.1:{seat.port}"}
        return Broker(
            self.release, root / "b2", seat, log_dirs=1, settings=settings, peers=[self.broker.seat],
            cluster_id=self.broker.cluster_id,
        )  # fmt: skip

    def run(self, trial: Trial) -> tuple[int, int, int, Gone]:
        """(now, first look, last look, what went)."""
        log_dir, now = self.broker.dirs[0], int(time.time() * 1000)
        write(trial, log_dir, now)
        before = {(t.name, base) for t in trial.topics for base in t.bases[: len(t.segments)]}
        self.broker.settings = {**SETTINGS, **trial.config}
        shutil.rmtree(self.kept, ignore_errors=True)
        shutil.copytree(log_dir, self.kept)
        self.broker.start()
        time.sleep(max(now + LAST_LOOK - time.time() * 1000, 0) / 1000)
        gone = deletions(self.broker.lines())
        left = remaining(log_dir)
        self.broker.kill()
        unseen = before - left - gone.keys()
        if unseen:
            print("gone without a line:", sorted(unseen)[:5])
        if gone.keys() & left:
            print("a line, and still there:", sorted(gone.keys() & left)[:5])
        policy = trial.config.get("log.cleanup.policy", "delete")
        swept = {t.name for t in trial.topics if "compact" in t.settings.get("cleanup.policy", policy)}
        first = min(at for (topic, _), (at, _) in gone.items() if topic not in swept)
        return now, first, now + LAST_LOOK - 5_000, gone


def row_of(trial: Trial, now: int, first: int, last: int, gone: Gone) -> Row:
    """One line of a recording: rules by their first letter and milliseconds after the first look."""
    short = {"retention.ms": "t", "retention.bytes": "s", "log start offset": "o"}
    told: dict[str, dict[str, list[Any]]] = {}
    for (topic, base), (at, rule) in sorted(gone.items()):
        told.setdefault(topic, {}).setdefault(f"{short[rule]}{(at - first) // 100}", []).append(base)
    return {
        "seed": trial.seed,
        "topics": len(trial.topics),
        "now": now,
        "first": first,
        "last": last,
        "gone": told,
    }


def gone_of(row: Row) -> Gone:
    """The way back."""
    rules = {"t": "retention.ms", "s": "retention.bytes", "o": "log start offset"}
    return {
        (topic, base): (row["first"] + int(key[1:]) * 100, rules[key[0]])
        for topic, groups in row["gone"].items()
        for key, bases in groups.items()
        for base in bases
    }


def recorded(version: str) -> list[Row]:
    """The recording of a release."""
    path = RECORDED / f"{version}.jsonl.xz"
    if not path.exists():
        return []
    return [json.loads(line) for line in lzma.decompress(path.read_bytes()).splitlines()]


def keep(version: str, rows: list[Row]) -> None:
    """Write it, one line a trial."""
    RECORDED.mkdir(exist_ok=True)
    text = "".join(f"{json.dumps(row, separators=(',', ':'))}\n" for row in rows)
    (RECORDED / f"{version}.jsonl.xz").write_bytes(lzma.compress(text.encode()))


def main(version: str, seeds: list[int]) -> None:
    """Draw, run, compare, keep."""
    with tempfile.TemporaryDirectory(prefix=prefix("retention"), dir=MEMORY) as root:
        bed = Bed(version, Path(root))
        with bed.cluster:
            for seed in seeds:
                trial = draw(bed.release, seed, TOPICS)
                if bed.cluster.zookeeper and not bed.cluster.zookeeper.running:
                    bed.cluster.zookeeper.start()
                now, first, last, gone = bed.run(trial)
                rows = {row["seed"]: row for row in recorded(version)}
                rows[seed] = row_of(trial, now, first, last, gone)
                keep(version, [rows[each] for each in sorted(rows)])
                for way in (False, True):
                    said = partial(judged, bed.kept, bed.release, trial, replayed=way)
                    wrong = list(disagreements(said, gone_of(rows[seed]), first, last))
                    way_told = "told" if way else "disk"
                    print(version, seed, way_told, f"{len(gone)} went, first look +{first - now} ms,")
                    print(f"{len(wrong)} disagree", *wrong[:40], sep="\n", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], [int(each) for each in sys.argv[2:]])
