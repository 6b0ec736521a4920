"""The real broker over a bed: it starts, tells where its partitions lie, and serves their records.

Releases with ZooKeeper kept the topics there, and the golden directories have none: a new one is told of
the topics that the directories hold, with their ids, and of the cluster.
"""

import json
import re
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.conftest import GOLDEN, expected
from tests.golden.judge import ask
from tests.golden.store import read_json
from tests.lab.base import QUIET
from tests.lab.broker import Broker
from tests.lab.errors import LabError
from tests.lab.process import java_command, run_tool
from tests.lab.releases import release
from tests.lab.zookeeper import ZooKeeper
from tests.surgery.shows.bed import Bed
from tests.surgery.shows.places import served
from tests.waiting import until

Rows = dict[str, list[dict[str, Any]]]
"""By partition, the records as a consumer gets them."""

SETTINGS = {**QUIET, "log.cleaner.enable": "false"}
OLD_SETTINGS = {**SETTINGS, "log.retention.ms": "2147483647", "log.roll.hours": "10000"}
OLD_MESSAGE = re.compile(rb"^next offset = (\d+)\n(null|[^\t\n]*)\t(.*)$", re.MULTILINE)


def znodes(*homes: Path) -> Iterator[tuple[str, str]]:
    """What ZooKeeper knew of the topics and the cluster of these replicas, parents first."""
    topics: dict[str, dict[str, list[int]]] = {}
    ids: dict[str, str] = {}
    for home in homes:
        for path in (path for log_dir in sorted(home.glob("d?")) for path in log_dir.iterdir()):
            if path.name in served(path.parent):
                topic, _, number = path.name.rpartition("-")
                topics.setdefault(topic, {})[number] = [1]
                metadata = path / "partition.metadata"
                if metadata.exists():
                    ids[topic] = metadata.read_text().partition("topic_id: ")[2].strip()
    yield from ((path, "null") for path in ("/brokers", "/brokers/topics"))
    for topic, partitions in topics.items():
        value: dict[str, Any] = {"version": 1, "partitions": partitions}
        if topic in ids:
            value |= {"version": 3, "topic_id": ids[topic], "adding_replicas": {}, "removing_replicas": {}}
        yield f"/brokers/topics/{topic}", compact(value)
    cluster = re.search("cluster.id=(.*)", text(homes[0] / "d0" / "meta.properties"))
    if cluster:
        yield "/cluster", "null"
        yield "/cluster/id", compact({"version": "1", "id": cluster[1]})


def compact(value: object) -> str:
    """JSON without the spaces at which ZooKeeper's shell would split it."""
    return json.dumps(value, separators=(",", ":"))


def text(path: Path) -> str:
    """A file's text; none if there is no such file."""
    return path.read_text() if path.exists() else ""


def tell(zookeeper: ZooKeeper, scratch: Path, *homes: Path) -> None:
    """Give a new ZooKeeper what it knew."""
    lines = "".join(f"create {path} {value}\n" for path, value in znodes(*homes))
    main = "org.apache.zookeeper.ZooKeeperMain"
    command = java_command(zookeeper.release, scratch, main, "-server", zookeeper.address)
    subprocess.run(command, input=lines, capture_output=True, text=True, timeout=60, check=True)


@contextmanager
def beside(bed: Bed) -> Iterator[ZooKeeper | None]:
    """A ZooKeeper that knows what these dirs hold, where brokers want one."""
    kind = release(bed.version)
    if kind.mode != "zookeeper":
        yield None
        return
    zookeeper = ZooKeeper(kind, bed.root / "zookeeper")
    try:
        zookeeper.start()
        tell(zookeeper, bed.root, bed.whole, bed.home)
        yield zookeeper
    finally:
        zookeeper.kill()


@contextmanager
def up(bed: Bed, zookeeper: ZooKeeper | None) -> Iterator[Broker]:
    """The broker, up; killed afterwards, if it runs still."""
    kind = release(bed.version)
    settings = OLD_SETTINGS if kind.number < (0, 9) else SETTINGS
    address = zookeeper and zookeeper.address
    with Broker(kind, bed.home, settings=settings, zookeeper=address) as broker:
        broker.start()
        yield broker


@contextmanager
def running(bed: Bed) -> Iterator[Broker]:
    """Both."""
    with beside(bed) as zookeeper, up(bed, zookeeper) as broker:
        yield broker


def written(golden: str) -> Rows:
    """Every record that a consumer got of the golden directory."""
    path = GOLDEN / f"{golden}.consumed.json.xz"
    if path.exists():
        rows: Rows = read_json(path)
        return rows
    found: Rows = {name: [] for name in expected(golden)["before_stop"]["partitions"]}
    for file, held in sorted(expected(golden)["files"].items()):
        if file.endswith(".log"):
            found[file.split("/")[2]] += [
                {"offset": row["offset"], "key": row.get("key"), "value": row["value"]}
                for row in held.get("records", [])
            ]
    return found


def read(broker: Broker, bed: Bed, wanted: set[str]) -> Rows:
    """Every record that a consumer gets, when all these partitions have a leader."""
    if broker.release.number < (0, 9):
        with ThreadPoolExecutor(2) as pool:
            return dict(pool.map(lambda name: (name, read_old(broker, bed, name)), sorted(wanted)))
    rows: Rows = until(
        "records of all",
        lambda: ask(broker.bootstrap, bed.root)["records"],
        good=lambda rows: wanted <= rows.keys(),
        strict=False,
    )
    return rows


def read_old(broker: Broker, bed: Bed, name: str) -> list[dict[str, Any]]:
    """A partition of a release whose protocol no client speaks any more, by its own consumer."""
    topic, _, number = name.rpartition("-")
    options = ["--topic", topic, "--partition", number, "--offset", "-2", "--no-wait-at-logend"]
    options += ["--print-offsets", "--property", "print.key=true", "--broker-list", broker.bootstrap]
    said = until(  # the broker says that it is up before it knows of all partitions
        f"{name} to be there",
        lambda: run_tool(broker.release, bed.root, "kafka.tools.SimpleConsumerShell", *options),
        good=lambda _: True,
        despite=LabError,
    ).encode()
    return [
        {"offset": int(next_offset) - 1, "key": None if key == b"null" else key.hex(), "value": value.hex()}
        for next_offset, key, value in OLD_MESSAGE.findall(said)
    ]


def places(broker: Broker, scratch: Path) -> dict[str, str]:
    """Where each partition lies, by kafka-log-dirs."""
    modern = broker.release.number >= (3, 5)
    main = "org.apache.kafka.tools.LogDirsCommand" if modern else "kafka.admin.LogDirsCommand"
    said = run_tool(broker.release, scratch, main, "--describe", "--bootstrap-server", broker.bootstrap)
    answer = json.loads(next(line for line in said.splitlines() if line.startswith("{")))
    return {
        row["partition"]: Path(log_dir["logDir"]).name
        for each in answer["brokers"]
        for log_dir in each["logDirs"]
        for row in log_dir["partitions"]
    }
