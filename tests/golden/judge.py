"""Let the real broker judge a copy: what it warns about when it loads, and which offsets it then has."""

import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.copies import copy_tree
from tests.lab.broker import Broker
from tests.lab.cluster import Cluster
from tests.lab.errors import LabError

LOADING = re.compile(
    r"\((?:kafka\.log\.|kafka\.server\.(?:epoch|checkpoints)\."
    r"|org\.apache\.kafka\.(?:storage\.internals|raft\.internals)\.)[^)]*\)$"
)
CORRUPT = re.compile(r"(?:corrupted index file|Could not find (?:offset )?index file)")


def ask(bootstrap: str, scratch: Path, *flags: str) -> dict[str, Any]:
    """Run `observe` in a process of its own."""
    out = scratch / "observed.json"
    command = [sys.executable, "-m", "tests.golden.observe", bootstrap, str(out), *flags]
    subprocess.run(command, check=True, timeout=900)
    seen: dict[str, Any] = json.loads(out.read_text())
    return seen


def warnings(lines: list[str], root: Path) -> list[dict[str, str]]:
    """The index warnings of a start: the log directory, the segment's file, and Kafka's line."""
    found = []
    for line in lines:
        if CORRUPT.search(line):
            path = re.search(rf"{re.escape(str(root))}/(\S+?\.log)\b", line) or re.search(
                rf"{re.escape(str(root))}/(\S+?index)\b", line
            )
            where = Path(path.group(1)) if path else Path()
            found.append(
                {
                    "dir": where.parts[0] if where.parts else "",
                    "file": "/".join(where.parts[1:]),
                    "line": re.sub(r"^\[.*?\] ", "", line.replace(f"{root}/", "")),
                }
            )
    return found


def interesting(lines: list[str], root: Path) -> list[str]:
    """The load lines of a start worth comparing with: warnings, errors, recoveries, truncations, strays."""
    words = re.compile(
        r" (?:WARN|ERROR|FATAL) |ecover|runcat|stray|orphan|Delet|Loaded|Load|swap", re.IGNORECASE
    )
    noise = re.compile(
        r"GroupMetadataManager|GroupCoordinator|TransactionCoordinator|loaded|Registered|ConfigDef|AppInfo"
    )
    kept = []
    for line in lines:
        if LOADING.search(line) and words.search(line) and not noise.search(line):
            kept.append(re.sub(r"^\[.*?\] ", "", line.replace(f"{root}/", "")))
    return kept[:600]


def copies_of(cluster: Cluster, scratch: Path) -> list[Broker]:
    """A fresh copy of each broker's whole root, with the same id, ports and settings."""
    made = []
    for broker in cluster.brokers:
        root = scratch / f"b{broker.seat.node_id}"
        copy_tree(broker.root, root)
        (root / "server.log").unlink(missing_ok=True)
        made.append(
            Broker(
                broker.release,
                root,
                broker.seat,
                log_dirs=len(broker.dirs),
                settings=broker.settings,
                zookeeper=broker.zookeeper,
                peers=broker.peers,
                cluster_id=broker.cluster_id,
            )
        )
    return made


def restart(cluster: Cluster, scratch: Path) -> dict[str, Any]:
    """Start a copy of each stopped broker with the same release and say what happened.

    The copies keep ids and ports, so the originals must not run. A first start that fails has already
    mended indexes, so a second try gets fresh copies.
    """
    for patience in (8, 15, None):
        if cluster.zookeeper and patience:
            time.sleep(patience)  # until ZooKeeper forgets the broker that was killed
        copies = copies_of(cluster, scratch)
        try:
            return judged(copies, scratch)
        except LabError:
            if patience is None or not cluster.zookeeper:
                raise
        finally:
            for copy in copies:
                copy.kill()
    raise AssertionError("unreachable")


def judged(copies: list[Broker], scratch: Path) -> dict[str, Any]:
    """Start the copies and look at them."""
    for copy in copies:
        copy.configure()
        copy.launch()
    for copy in copies:
        copy.wait_ready()
    seen = ask(",".join(copy.bootstrap for copy in copies), scratch, "--no-records")
    answer: dict[str, Any] = {"partitions": seen["partitions"], "brokers": {}}
    for copy in copies:
        lines = copy.lines()
        answer["brokers"][copy.root.name] = {
            "startup_warnings": warnings(lines, copy.root),
            "lines": interesting(lines, copy.root),
        }
    return answer
