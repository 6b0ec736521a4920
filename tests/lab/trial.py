"""One start of a real broker over hurt log dirs, and what is seen of it."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.golden.judge import LOADING
from tests.lab.base import QUIET, Base
from tests.lab.broker import Broker
from tests.lab.errors import LabError

FULL = {"index": int(QUIET["log.index.size.max.bytes"]), "timeindex": 32760}
TELLING = re.compile(r"^(?:WARN|ERROR|FATAL) |Recovering|stray|orphan|swap|Split|Deleted log|Deleting|Loaded")
OFFLINE = re.compile(
    r"(?:Stopping serving (?:replicas|logs) in dir|Error while reading meta\.properties file|"
    r"Failed to create or validate data directory|Error while loading log dir) "
    r"(\S+?)(?:/meta\.properties)?(?: |$|,)"
)
SERIOUS = re.compile(
    r"There was an error in one of the threads|Encountered fatal fault|Fatal error during|"
    r"Exiting Kafka due to fatal|Prepare to shutdown"
)
"""Lines of a start that failed, with the exception in them or right behind."""


@dataclass
class Trial:
    """What one start did: `offsets` and `reads` by topic, in `after` the files right after loading."""

    starts: bool
    lines: list[str]
    after: dict[str, dict[str, int]]
    offline: list[str]
    offline_later: list[str] = field(default_factory=list)
    offsets: dict[str, Any] = field(default_factory=dict)
    reads: dict[str, Any] = field(default_factory=dict)

    def fatal(self) -> str | None:
        """The line that says why it does not start."""
        return None if self.starts else fatal_of(self.lines)


def save(path: Path, found: Mapping[str, object]) -> None:
    """Write what was recorded, one line a name."""
    rows = (f"{json.dumps(name)}: {compact(found[name])}" for name in sorted(found))
    path.write_text("{\n" + ",\n".join(rows) + "\n}\n")


def compact(value: object) -> str:
    """JSON on one line, the same each time."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def fatal_of(lines: list[str]) -> str:
    """The line that says why a broker ended."""
    for number, line in enumerate(lines):
        if SERIOUS.search(line):
            behind = [each for each in lines[number : number + 2] if "Exception" in each or "Error:" in each]
            return (behind or [line])[0]
    return next((line for line in lines if "Exception" in line), "it says nothing")


def copy_base(base: Base, root: Path) -> None:
    """A fresh copy at `root`, with holes and times."""
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    subprocess.run(["cp", "-a", "--sparse=always", "--reflink=auto", f"{base.root}/.", str(root)], check=True)


def listing(dirs: list[Path]) -> dict[str, dict[str, int]]:
    """Files and sizes by `d0/f000-0`; a folder has size -1. Log dirs that are gone are left out."""
    found: dict[str, dict[str, int]] = {}
    for log_dir in dirs:
        if not log_dir.is_dir():
            continue
        for folder in sorted(path for path in log_dir.iterdir() if path.is_dir()):
            found[f"{log_dir.name}/{folder.name}"] = {
                path.name: path.stat().st_size if path.is_file() else -1 for path in sorted(folder.iterdir())
            }
    return found


def clients(what: str, broker: Broker, topics: list[str]) -> dict[str, Any]:
    """Ask readers of so many topics each as librdkafka can parse the metadata of, from a 1.1.0."""
    parts = (topics[first : first + 10] for first in range(0, len(topics), 10))
    return {topic: found for part in parts for topic, found in client(what, broker, part).items()}


def client(what: str, broker: Broker, topics: list[str]) -> dict[str, Any]:
    """Ask one reader; topics that abort its process are found by halving."""
    command = [sys.executable, "-m", "tests.lab.reader", what, broker.bootstrap, *topics]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    if done.returncode == 0:
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer
    if len(topics) == 1:
        if done.returncode > 0:
            raise LabError(f"the reader failed: {done.stderr[-500:]}")
        return {topics[0]: {"seen": [], "errors": ["ABORT"], "stuck": None}}
    half = len(topics) // 2
    return {**client(what, broker, topics[:half]), **client(what, broker, topics[half:])}


def shortened(lines: list[str], root: Path) -> list[str]:
    """Log lines without times and without the way to the log dirs."""
    kept = (re.sub(r"^\[\d{4}.*?\] ", "", line) for line in lines)
    return [line.replace(f"{root}/b1/", "").replace(str(root), "") for line in kept]


def offline_dirs(lines: list[str]) -> list[str]:
    """The log dirs that went offline, by the broker's word."""
    return sorted({Path(found.group(1)).name for line in lines if (found := OFFLINE.search(line))})


@contextmanager
def started(base: Base, root: Path) -> Iterator[Broker]:
    """A broker launched over the copy at `root`, perhaps not up yet; killed in the end."""
    with base.start_copy(root) as broker:
        broker.write_config()
        broker.launch()
        yield broker


def run_trial(base: Base, root: Path, topics: list[str]) -> Trial:
    """Start the broker over the copy at `root`, look, and kill it. The topics are those asked for."""
    dirs = [root / "b1" / "d0", root / "b1" / "d1"]
    with started(base, root) as broker:
        try:
            broker.wait_ready(120)
        except LabError:
            lines = shortened(broker.lines(), root)
            return Trial(False, lines, listing(dirs), offline_dirs(lines))
        offsets = client("offsets", broker, topics)
        after, lines = listing(dirs), shortened(broker.lines(), root)
        served = [topic for topic in topics if isinstance(offsets[topic], list)]
        reads = clients("read", broker, served) if served else {}
        all_lines = shortened(broker.lines(), root)
        later = offline_dirs(all_lines)
        if not broker.running:
            return Trial(False, all_lines, after, later)
        return Trial(True, lines, after, offline_dirs(lines), later, offsets, reads)


def telling(lines: list[str], topic: str) -> list[str]:
    """What the broker said of the topic's partition while it loaded, at most three lines."""
    mine = re.compile(rf"\b{re.escape(topic)}-0\b")
    found = [line for line in lines if mine.search(line) and TELLING.search(line) and LOADING.search(line)]
    unique = list(dict.fromkeys(without_names(line, topic) for line in found))
    return [line[:200] for line in unique][:3]


def without_names(line: str, topic: str) -> str:
    """A line as it would be for any topic, in any log dir's path, and without Kafka's class."""
    line = re.sub(rf"\b{re.escape(topic)}\b", "T", line)
    line = re.sub(r"\b[0-9a-f]{32}(?=-(?:stray|delete|future)\b)", "HEX", line)
    line = re.sub(r" \([a-z]+(?:\.[\w$]+)+\)$", "", line)
    return re.sub(r"\b[\w-]{22}\b(?=[ ,.\])}]|$)", "ID", line)
