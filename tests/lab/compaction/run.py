"""Starts of a real broker over drawn logs: `python -m tests.lab.compaction.run 4.3.1 clean 7 80`.

What its log cleaner did is added to `records/<release>.json`: a start has its kind, its seed and the moments
at which the logs were written and the broker was up; a log has its number, the ranges of offsets that maps
were built for (`Building offset map for log ... in offset range [a, b)`), what cleaner-offset-checkpoint says
in the end, flags (`u` uncleanable, `r` its first dirty offset was reset), the bytes and first offset left.
"""

import json
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.golden.topics import Topic, create
from tests.lab.base import QUIET
from tests.lab.broker import Broker
from tests.lab.cluster import Cluster
from tests.lab.compaction.draw import KINDS, DrawnLog, drawn
from tests.lab.compaction.write import FILES, checkpoints, write
from tests.lab.releases import release
from tests.waiting import steady

HERE = Path(__file__).parent / "records"
EAGER = {**QUIET, "log.cleaner.backoff.ms": "1500"}
SETTLED = 7
"""Seconds without a new round after which the cleaner has done what it does."""
AT_MOST = 40
"""Seconds after which it is not waited for: up to 2.4.0 some are cleaned again and again (KAFKA-8764)."""
ROUNDS = 4
MARKER = ".kafka_cleanshutdown"
_ROUND = re.compile(
    r"Building offset map for log c(\d+)-0 for \d+ segments in offset range \[(-?\d+), (-?\d+)\)"
)
_RESET = re.compile(
    r"(?:Resetting first dirty offset of|last checkpoint dirty offset for partition) c(\d+)-0"
)
_UNCLEANABLE = re.compile(r"Marking its partition \(c(\d+)-0\) as uncleanable")
_DEAD = re.compile(r"kafka-log-cleaner-thread-\d+\S*:? Error due to")


def trial(version: str, kind: str, seed: int, count: int) -> dict[str, Any]:
    """One start over `count` logs."""
    shared = KINDS[kind]
    logs = [drawn(seed, number, release(version).number, shared) for number in range(count)]
    with tempfile.TemporaryDirectory(prefix="cleaner-") as work:
        settings = {**EAGER, **shared.settings}
        with Cluster(version, Path(work), log_dirs=1, settings=settings) as cluster:
            cluster.start()
            create(cluster.bootstrap, [Topic(each.name, dict(each.settings)) for each in logs])
            broker = cluster.brokers[0]
            broker.stop()
            written = fill(broker.dirs[0], logs, killed=shared.killed)
            broker.start()
            started = int(time.time() * 1000)
            settle(broker)
            seen = observed(broker, logs)
            if len(sys.argv) > 5:
                Path(sys.argv[5]).write_text("\n".join(broker.lines()))
    return {"kind": kind, "seed": seed, "written": written, "started": started, **seen}


def fill(log_dir: Path, logs: list[DrawnLog], *, killed: bool) -> int:
    """Write the logs into the directories of their topics; returns the time from which ages count back."""
    now = int(time.time() * 1000)
    checkpoints(
        log_dir, {each.name: write(log_dir / f"{each.name}-0", each, now, killed=killed) for each in logs}
    )
    if killed:
        (log_dir / MARKER).unlink(missing_ok=True)
    return now


def settle(broker: Broker) -> None:
    """Wait until no new round has begun for a while."""
    steady(lambda: sum("Beginning cleaning of log" in line for line in broker.lines()), SETTLED, AT_MOST)


def observed(broker: Broker, logs: list[DrawnLog]) -> dict[str, Any]:
    """What the broker did, log by log."""
    lines = broker.lines()
    rounds: dict[int, list[list[int]]] = {}
    order = []
    for line in lines:
        if found := _ROUND.search(line):
            number, first, last = map(int, found.groups())
            rounds.setdefault(number, []).append([first, last])
            order.append(number)
    text = "\n".join(lines)
    flags = {"u": set(map(int, _UNCLEANABLE.findall(text))), "r": set(map(int, _RESET.findall(text)))}
    cleaned = _checkpoint(broker.dirs[0] / FILES["cleaner"])
    rows = []
    for number, log in enumerate(logs):
        left = sorted((broker.dirs[0] / f"{log.name}-0").glob("*.log"))
        said = "".join(flag for flag, numbers in flags.items() if number in numbers)
        size, base = sum(path.stat().st_size for path in left), int(left[0].stem) if left else -1
        rows.append([number, rounds.get(number, [])[:ROUNDS], cleaned.get(log.name), said, size, base])
    return {"order": list(dict.fromkeys(order)), "dead": len(_DEAD.findall(text)), "logs": rows}


def _checkpoint(path: Path) -> dict[str, int]:
    rows = path.read_text().splitlines()[2:] if path.exists() else []
    return {topic: int(offset) for topic, _, offset in (row.split() for row in rows)}


def main(version: str, kind: str, seed: str, count: str, *_: str) -> None:
    """Record one start."""
    found = trial(version, kind, int(seed), int(count))
    path = HERE / f"{version}.json"
    known = json.loads(path.read_text()) if path.exists() else []
    known = [each for each in known if (each["kind"], each["seed"]) != (kind, int(seed))]
    rows = ",\n".join(json.dumps(each, separators=(",", ":")) for each in [*known, found])
    path.write_text(f"[{rows}]\n")
    print(f"{version} {kind} {seed}: {sum(bool(row[1]) for row in found['logs'])} of {count} cleaned")


if __name__ == "__main__":
    main(*sys.argv[1:])
