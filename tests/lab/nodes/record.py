"""Record what real nodes do: `python -m tests.lab.nodes.record 4.3.1 [--core] [NAME...]`.

Each disaster is a start of its own over a fresh copy of the base. Kept is what a client sees of each
partition (its offsets, `empty`, or why it gets none), the directories that became something else, the
log dirs that went offline, and the words with which a node ends. `waits`: the process lives, and is not up.
"""

import json
import re
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient  # type: ignore[attr-defined]

from tests.golden.unpack import unpack
from tests.lab.broker import Broker
from tests.lab.errors import LabError
from tests.lab.nodes.base import HERE, archive, fresh, make, node
from tests.lab.nodes.disasters import DISASTERS, METADATA, Disaster, Node
from tests.lab.ports import wait_until_free
from tests.lab.trial import Trial, offline_dirs, save, shortened, without_names
from tests.waiting import until

ID = re.compile(r"\b[\w-]{22}\b(?=[ ,.\])};:\"']|$)")


def extents(broker: Broker, wanted: list[str]) -> dict[str, Any]:
    """What a client sees of each partition: [log start, log end], or a word."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    client = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "looks", "log_level": 0})
    found: dict[str, Any] = {}

    def ask() -> bool:
        topics = admin.list_topics(timeout=8).topics
        for name in wanted:
            if not isinstance(found.get(name), list):
                found[name] = extent(client, topics, name)
        return all(isinstance(each, list) for each in found.values())

    try:
        until("all extents", ask, 7, every=1, strict=False)
    except KafkaException as error:
        return dict.fromkeys(wanted, f"no answer: {error.args[0].name()}")
    client.close()
    return found


def extent(client: Consumer, topics: Any, name: str) -> Any:
    """Of one partition."""
    topic, _, number = name.rpartition("-")
    if topic not in topics or int(number) not in topics[topic].partitions:
        return "unknown"
    if topics[topic].partitions[int(number)].leader < 0:
        return "no leader"
    try:
        return list(client.get_watermark_offsets(TopicPartition(topic, int(number)), timeout=3))
    except KafkaException as error:
        return str(error.args[0].name())


def folders(dirs: list[Path]) -> set[str]:
    """`d0/a-0` and so on; a log dir that is none has none."""
    found = (each for path in dirs if path.is_dir() for each in path.iterdir() if each.is_dir())
    return {f"{each.parent.name}/{each.name}" for each in found}


def plain(line: str) -> str:
    """A name or a line without what is drawn by lot."""
    line = re.sub(r"[0-9a-f]{32}", "HEX", line)
    line = re.sub(r"\b\d{13}\b", "TIME", line)
    return ID.sub("ID", without_names(line, "<topic>"))


def words(lines: list[str]) -> list[str]:
    """What the node says of it, at most five lines."""
    telling = re.compile(r"^(?:ERROR|FATAL) |stray|Exception: |InconsistentTopicId|Created log|offline")
    noise = re.compile(
        r"Completed load|DisconnectException|UnknownTopicOrPartitionException|\(org\.apache\.kafka\.clients"
    )
    found = [plain(line)[:180] for line in lines if telling.search(line) and not noise.search(line)]
    return list(dict.fromkeys(found))[:5]


def trial(name: str, disaster: Disaster, source: Path, root: Path) -> dict[str, Any]:
    """Start the node over a hurt copy, look, and kill it."""
    home, seat = fresh(source, root)
    hurt = Node(home)
    wanted = partitions(hurt)
    disaster.hurt(hurt)
    broker = node(name, root, seat, disaster.settings)
    broker.dirs = [hurt.dirs[number] for number in disaster.given]
    before = folders(list(hurt.dirs))
    wait_until_free([seat.port, seat.controller_port])
    with broker:
        broker.write_config()
        broker.launch()
        return look(broker, wanted, hurt, before, root)


def look(broker: Broker, wanted: list[str], hurt: Node, before: set[str], root: Path) -> dict[str, Any]:
    """What is seen of a start."""
    seen: dict[str, Any] = {"outcome": broker.came_to("waits")}
    if seen["outcome"] == "starts":
        seen["partitions"] = extents(broker, wanted)
        if not broker.running:
            seen["outcome"] = "refuses"
    lines = shortened(broker.lines(), root)
    if seen["outcome"] == "refuses":
        seen["fatal"] = plain(str(Trial(False, lines, {}, []).fatal()))[:300]
    after = folders(list(hurt.dirs))
    strays = {place.partition(".")[0] for place in after - before if place.endswith("-stray")}
    found = {
        "offline": offline_dirs(lines),
        "strays": sorted(strays),
        "gone": sorted(before - after - strays),
        "new": sorted(place for place in after - before if "." not in place),
        "says": words(lines),
    }
    return seen | {key: value for key, value in found.items() if value}


def partitions(healthy: Node) -> list[str]:
    """The names of all partitions."""
    found = (path for home in healthy.dirs for path in home.iterdir() if path.is_dir())
    return sorted(path.name for path in found if path.name != METADATA)


def main(name: str, *rest: str) -> None:
    """Record what is not recorded yet, or the disasters named."""
    names = [each for each in rest if not each.startswith("--")]
    if not (archive(name)).exists():
        make(name)
    path = HERE / f"{name}.json"
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    with tempfile.TemporaryDirectory(prefix="nodes-") as work:
        source = unpack(archive(name), Path(work) / "base")
        for disaster in DISASTERS:
            chosen = disaster.name in names if names else disaster.name not in found
            if not chosen or ("--core" in rest and not disaster.core):
                continue
            began = time.monotonic()
            try:
                found[disaster.name] = trial(name, disaster, source, Path(work) / "trial")
            except (LabError, OSError, StopIteration, AssertionError, ValueError) as error:
                print(f"{name} {disaster.name}: NOT DONE {error!r}", flush=True)
                continue
            shutil.copy(Path(work) / "trial/b1/server.log", Path(tempfile.gettempdir()) / f"node-{name}.log")
            print(f"{time.monotonic() - began:.0f} s {disaster.name}: {found[disaster.name]}", flush=True)
            save(path, found)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the node ends with it
    main(*sys.argv[1:])
