"""The life of a golden broker of 0.8.2.2, whose protocol today's clients no longer speak.

Its own tools do everything: TopicCommand, ConsoleProducer, GetOffsetShell. It knows no transactions, no
timestamps, no time indexes; every message is of magic 0.
"""

import re
import subprocess
from pathlib import Path
from typing import Any

from tests.golden.judge import interesting
from tests.golden.store import Golden, keep
from tests.lab.cluster import Cluster
from tests.lab.errors import LabError
from tests.lab.process import java_command

SETTINGS = {"log.index.size.max.bytes": "65536", "log.cleaner.enable": "false"}
TOPIC = {"segment.bytes": "1000", "index.interval.bytes": "100"}
CODECS = ("none", "gzip", "snappy", "lz4")
TOPICS = {**{f"codec-{codec}": 1 for codec in CODECS}, "mixed": 2, "empty": 1}


def tool(cluster: Cluster, scratch: Path, main: str, *arguments: str, text: str = "") -> str:
    """Run one of the release's tools; returns what it printed."""
    command = java_command(cluster.release, scratch, main, *arguments)
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        raise LabError(f"{main}: {done.stderr[-500:]}")
    return done.stdout


def create(cluster: Cluster, scratch: Path) -> None:
    """All topics."""
    assert cluster.zookeeper is not None
    for topic, partitions in TOPICS.items():
        config = [part for pair in TOPIC.items() for part in ("--config", "=".join(pair))]
        where = ["--zookeeper", cluster.zookeeper.address, "--create", "--topic", topic]
        counts = ["--partitions", str(partitions), "--replication-factor", "1"]
        tool(cluster, scratch, "kafka.admin.TopicCommand", *where, *counts, *config)


def produce(cluster: Cluster, scratch: Path, topic: str, codec: str, first: int, keys: bool = True) -> None:
    """Forty messages, eight a request, so that a compressed wrapper holds eight."""
    numbers = range(first, first + 40)
    lines = [f"{f'key-{n % 7}' + chr(9) if keys else ''}{codec} {n} {'äöü ' * (n % 9)}\n" for n in numbers]
    arguments = ["--broker-list", cluster.bootstrap, "--topic", topic, "--batch-size", "8"]
    arguments += ["--property", f"parse.key={str(keys).lower()}"]
    arguments += ["--compression-codec", codec] if codec != "none" else []
    tool(cluster, scratch, "kafka.tools.ConsoleProducer", *arguments, text="".join(lines))


def fill(cluster: Cluster, scratch: Path, first: int) -> None:
    """Each codec by itself, and all of them in one topic; messages without a key, too."""
    for codec in CODECS:
        produce(cluster, scratch, f"codec-{codec}", codec, first)
        produce(cluster, scratch, f"codec-{codec}", codec, first + 100, keys=False)
        produce(cluster, scratch, "mixed", codec, first)


def offsets(cluster: Cluster, scratch: Path) -> dict[str, Any]:
    """Log start and end offsets of every partition, as the broker says."""
    found: dict[str, dict[str, int]] = {}
    for name, moment in (("log_end_offset", "-1"), ("log_start_offset", "-2")):
        for topic in TOPICS:
            arguments = ["--broker-list", cluster.bootstrap, "--topic", topic, "--time", moment]
            said = tool(cluster, scratch, "kafka.tools.GetOffsetShell", *arguments)
            for partition, offset in re.findall(rf"^{re.escape(topic)}:(\d+):(\d+)$", said, re.MULTILINE):
                found.setdefault(f"{topic}-{partition}", {})[name] = int(offset)
    return {"partitions": found}


def keep_and_restart(cluster: Cluster, scratch: Path, kind: Any, seen: dict[str, Any]) -> None:
    """Pack the stopped broker, having asked a start of it what it finds."""
    broker = cluster.brokers[0]
    saved = scratch / kind
    saved.mkdir()
    for place in broker.dirs:
        subprocess.run(["cp", "-a", "--sparse=always", place, saved / place.name], check=True)
    broker.start()
    answer = offsets(cluster, scratch)
    answer["brokers"] = {
        broker.root.name: {"startup_warnings": [], "lines": interesting(broker.lines(), broker.root)}
    }
    broker.kill()
    for place in broker.dirs:
        subprocess.run(["rm", "-r", place], check=True)
        subprocess.run(["cp", "-a", "--sparse=always", saved / place.name, place], check=True)
    keep(cluster, Golden(kind, kind, seen, answer), scratch)


def tell(version: str, work: Path) -> None:
    """Make both goldens below `work`."""
    scratch = work / "scratch"
    scratch.mkdir(parents=True, exist_ok=True)
    with Cluster(version, work / "live", settings=SETTINGS) as cluster:
        cluster.start()
        create(cluster, scratch)
        fill(cluster, scratch, 0)
        seen = offsets(cluster, scratch)
        cluster.brokers[0].stop()
        keep_and_restart(cluster, scratch, "clean", seen)
        cluster.brokers[0].start()
        fill(cluster, scratch, 1000)
        seen = offsets(cluster, scratch)
        cluster.brokers[0].kill()
        keep_and_restart(cluster, scratch, "killed", seen)
