"""Every release started over the log dirs of every other: `python -m tests.lab.upgrade [WRITTEN...]`.

A base is what a healthy broker of a release left after a clean stop: three topics, a group, transactions,
settings of its own. A copy is started by another release, with server.properties changed as an
operator would: ZooKeeper's address while the release knows it, else roles and voters. What the broker
did goes to `upgrades.json`, beside the packed bases in `upgrades/`; what is recorded is not tried again.
"""

import json
import re
import sys
import tempfile
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
)

from tests.copies import copy_tree
from tests.golden.acts import commit_group, transactional
from tests.golden.pack import pack
from tests.golden.produce import producer, send
from tests.golden.records import events
from tests.golden.topics import Topic, create
from tests.lab.admin import admin
from tests.lab.base import QUIET, quiet_port
from tests.lab.broker import Broker, Seat
from tests.lab.errors import LabError
from tests.lab.jars import cache_dir
from tests.lab.process import PATIENCE, check_hangs, run_tool
from tests.lab.releases import Release, release
from tests.lab.trial import Trial, clients, listing, offline_dirs, shortened
from tests.lab.zookeeper import ZooKeeper

WRITTEN = ("1.1.0", "2.5.1", "2.8.2", "3.3.2", "3.6.2", "3.9.2-zk", "3.9.2", "4.0.1", "4.1.1", "4.3.1")
STARTED = (
    *("1.1.0", "2.5.1", "2.8.2", "3.3.2-zk", "3.3.2", "3.6.2-zk", "3.6.2", "3.7.2-zk", "3.7.2"),
    *("3.9.2-zk", "3.9.2", "4.0.1", "4.1.1", "4.2.0", "4.3.1"),
)
"""Releases in the mode of the lab; `-zk`: with ZooKeeper all the same."""
TOPICS = ("plain", "txn", "compact")


@dataclass(frozen=True)
class Variant:
    """A base that is not as its release makes it by default, and who is tried on it.

    `via` ran over it for a while, so that who is tried goes back. Of two log dirs 3.6 and before refuse what
    3.7 and later leave: each has an id of its own.
    """

    format: tuple[str, ...] = ()
    topic: dict[str, str] = field(default_factory=dict)
    broker: dict[str, str] = field(default_factory=dict)
    started: tuple[str, ...] = ("4.0.1", "4.1.1", "4.3.1")
    via: str = ""
    log_dirs: int = 2


LEVEL = "--release-version"
VARIANTS = {
    "3.9.2+segment-bytes": Variant(topic={"segment.bytes": "65536"}),
    "3.9.2+cleanup-policy": Variant(topic={"cleanup.policy": "delete,delete"}, started=("4.1.1", "4.2.0")),
    "3.9.2+removed-settings": Variant(
        topic={"message.format.version": "2.8", "message.timestamp.difference.max.ms": "900000000000"}
    ),
    "3.9.2+dynamic-segment-bytes": Variant(broker={"log.segment.bytes": "65536"}),
    "3.9.2+level-3.3-IV0": Variant(format=(LEVEL, "3.3-IV0"), started=("3.7.2", "4.0.1", "4.3.1")),
    "3.9.2+level-3.8": Variant(format=(LEVEL, "3.8"), started=("3.6.2", "3.7.2", "4.0.1")),
    "4.3.1+level-3.9": Variant(format=(LEVEL, "3.9"), started=("3.6.2", "3.7.2", "3.9.2", "4.0.1")),
    "4.3.1+level-4.0": Variant(format=(LEVEL, "4.0"), started=("3.9.2", "4.0.1", "4.1.1")),
    "4.3.1+level-4.2": Variant(format=(LEVEL, "4.2"), started=("4.0.1", "4.1.1", "4.2.0")),
    "4.3.1+streams": Variant(
        format=(LEVEL, "4.1", "--feature", "streams.version=1"), started=("4.0.1", "4.1.1", "4.2.0")
    ),
    "4.3.1+share": Variant(format=(LEVEL, "4.0", "--feature", "share.version=1"), started=("4.0.1", "4.1.1")),
    "1.1.0+via-2.8.2": Variant(via="2.8.2", started=("1.1.0",)),
    "2.8.2+via-3.9.2": Variant(via="3.9.2-zk", started=("1.1.0", "2.8.2")),
    "3.3.2+via-3.9.2": Variant(via="3.9.2", started=("3.3.2", "3.6.2")),
    "3.3.2+one-dir-via-4.1.1": Variant(via="4.1.1", log_dirs=1, started=("3.3.2", "3.6.2")),
    "3.6.2+via-4.1.1": Variant(via="4.1.1", started=("3.6.2", "3.9.2")),
    "3.9.2+via-4.3.1": Variant(via="4.3.1", started=("3.9.2", "4.0.1")),
}
HERE = Path(__file__).parent
RECORD = HERE / "upgrades.json"
ARCHIVES = HERE / "upgrades"


def named(name: str) -> Release:
    """The release, in the mode that its name says."""
    version, _, mode = name.partition("+")[0].partition("-")
    found = release(version)
    return replace(found, mode="zookeeper") if mode else found


def home(name: str) -> Path:
    """Where the base is kept."""
    return cache_dir() / "lab" / name / "upgrade"


def make(name: str) -> Path:
    """The base that this release wrote; made now if it is not there yet."""
    into, kind = home(name), named(name)
    if (into / "base.json").exists():
        return into
    variant = VARIANTS.get(name, Variant())
    into.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="upgrade-", dir=into.parent) as work:
        root, seat = Path(work), Seat(1, quiet_port(), quiet_port())
        zookeeper = ZooKeeper.wanted(kind, root)
        dirs = variant.log_dirs
        with Broker(kind, root / "b1", seat, log_dirs=dirs, settings=QUIET, zookeeper=zookeeper) as broker:
            form(broker, variant.format)
            broker.start()
            write(broker.bootstrap, variant.topic)
            if variant.broker:
                change(broker.bootstrap, variant.broker)
            broker.stop()
        (root / "base.json").write_text(json.dumps({"ports": [seat.port, seat.controller_port]}))
        for log in root.rglob("*.log"):
            if log.name in ("server.log", "zookeeper.log"):
                log.unlink()
        if variant.via:
            run_over(root, name, variant.via)
        copy_tree(root, into)
    return into


def run_over(root: Path, written: str, started: str) -> None:
    """Let another release run over the base for a while."""
    with broker_over(root, written, started) as broker:
        broker.launch()
        broker.wait_ready(120)
        for topic in ("plain", "compact"):
            send(producer(broker.bootstrap), topic, events("later", 1, 5, first=100))
        commit_group(broker.bootstrap, "later", ["plain"])
        broker.stop()
    for log in (root / "b1" / "server.log", root / "zookeeper" / "zookeeper.log"):
        log.unlink(missing_ok=True)


def form(broker: Broker, arguments: tuple[str, ...]) -> None:
    """Format its dirs with arguments of our own; the broker does it without."""
    if arguments:
        rows = broker.configuration()
        broker.config.write_text("".join(f"{key}={value}\n" for key, value in rows.items()))
        standalone = ["--standalone"] if broker.dynamic_quorum else []
        run_tool(
            broker.release, broker.root, "kafka.tools.StorageTool",
            "format", "-t", broker.cluster_id, "-c", str(broker.config), *standalone, *arguments,
        )  # fmt: skip


def change(bootstrap: str, settings: dict[str, str]) -> None:
    """Change settings of the broker while it runs."""
    entries = [
        ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        for name, value in settings.items()
    ]
    resource = ConfigResource(ConfigResource.Type.BROKER, "1", incremental_configs=entries)
    client = admin(bootstrap)  # its futures die with it
    for future in client.incremental_alter_configs([resource]).values():
        future.result(60)
    time.sleep(1)


def write(bootstrap: str, settings: dict[str, str]) -> None:
    """What a base holds."""
    create(
        bootstrap,
        [
            Topic("plain", {"retention.ms": "-1", **settings}),
            Topic("txn"),
            Topic("compact", {"cleanup.policy": "compact", "segment.ms": "3600000"}),
        ],
    )
    for topic in ("plain", "compact"):
        send(producer(bootstrap, enable_idempotence=True), topic, events(topic, 5, 5))
    both = transactional(bootstrap, "upgrade-txn")
    for number, end in enumerate((both.commit_transaction, both.abort_transaction) * 2):
        both.begin_transaction()
        send(both, "txn", events("txn", 1, 3, first=number))
        end(60)
    commit_group(bootstrap, "upgraders", ["plain"])


def settings_over(root: Path, written: str, started: str, zookeeper: str) -> dict[str, str]:
    """server.properties as an operator would have changed it for the other release."""
    seat = Seat(1, 1, 2)
    if (root / "base.json").exists():
        seat = Seat(1, *json.loads((root / "base.json").read_text())["ports"])
    old, kind = named(written), named(started)
    # Who had voters in server.properties keeps them; releases before 3.9 know nothing else (KIP-853).
    dynamic = old.number >= (4, 0) and kind.number >= (3, 9) and kind.mode == "kraft"
    broker = Broker(
        kind, root / "b1", seat, log_dirs=VARIANTS.get(written, Variant()).log_dirs, settings=dict(QUIET),
        zookeeper=zookeeper, peers=[seat],
    )  # fmt: skip
    if dynamic:
        broker.settings["controller.quorum.bootstrap.servers"] = f"127.0.0.1:{seat.controller_port}"
    rows = broker.configuration()
    if dynamic:
        del rows["controller.quorum.voters"]
    return rows


def broker_over(root: Path, written: str, started: str) -> Broker:
    """The broker of the other release over a copy of the base at `root`, configured but not started."""
    old, kind = named(written), named(started)
    zookeeper = ZooKeeper.wanted(kind, root)
    if zookeeper and old.mode == "zookeeper":
        zookeeper = ZooKeeper(old, root / "zookeeper")
    rows = settings_over(root, written, started, zookeeper.address if zookeeper else "")
    seat = Seat(1, *json.loads((root / "base.json").read_text())["ports"])
    broker = Broker(kind, root / "b1", seat, zookeeper=zookeeper)
    broker.config.write_text("".join(f"{key}={value}\n" for key, value in rows.items()))
    return broker


def observe(broker: Broker, root: Path, seconds: float = PATIENCE) -> dict[str, Any]:
    """What the launched broker does: one row of the record."""
    dirs = [root / "b1" / "d0", root / "b1" / "d1"]
    try:
        broker.wait_ready(seconds)
    except LabError as error:
        lines = shortened(broker.lines(), root)
        trial = Trial(False, lines, listing(dirs), offline_dirs(lines))
        if "was not up after" in str(error):
            check_hangs(broker.lines())
            return {"outcome": "hangs", "says": without_class(error_line(lines))}
        return {"outcome": "refuses", "says": without_class(trial.fatal() or ""), "offline": trial.offline}
    offsets = clients("offsets", broker, list(TOPICS))
    lines = shortened(broker.lines(), root)
    if not broker.running:
        dead = Trial(False, lines, listing(dirs), offline_dirs(lines))
        return {"outcome": "refuses", "says": without_class(dead.fatal() or ""), "offline": dead.offline}
    names = [name for name in listing(dirs) if not name.endswith(("__cluster_metadata-0",))]
    strays = sorted(name.partition("/")[2].partition("-0.")[0] for name in names if name.endswith("-stray"))
    found: dict[str, Any] = {"outcome": "starts", "offline": offline_dirs(lines), "offsets": offsets}
    if strays:
        found["strays"] = [name for name in strays if name in TOPICS]
    there = {name.partition("/")[2].removesuffix("-0") for name in names}
    gone = [topic for topic in TOPICS if topic not in there and topic not in found.get("strays", [])]
    if gone:
        found["gone"] = gone
    errors = list(dict.fromkeys(without_class(line) for line in lines if re.match(r"ERROR|FATAL", line)))
    if errors:
        found["errors"] = [error[:160] for error in errors][:4]
    return found


def error_line(lines: list[str]) -> str:
    """The last line that looks like a complaint."""
    return next((line for line in reversed(lines) if re.match(r"ERROR|WARN|FATAL", line)), "it says nothing")


def without_class(line: str) -> str:
    """A line without its logger, port and ids."""
    line = re.sub(r" \([a-z]+(?:\.[\w$]+)+\)$", "", line)
    line = re.sub(r"\b[\w-]{22}\b(?=[ ,.\])}]|$)", "ID", line)
    return re.sub(r"127\.0\.0\.1:\d+", "HOST", line)[:300]


def trial(written: str, started: str, logs: Path | None = None) -> dict[str, Any]:
    """Start one over the other's dirs."""
    base = make(written)
    with tempfile.TemporaryDirectory(prefix="upgrade-") as work:
        root = Path(work)
        copy_tree(base, root)
        with broker_over(root, written, started) as broker:
            broker.launch()
            try:
                return observe(broker, root)
            finally:
                if logs is not None:
                    logs.mkdir(parents=True, exist_ok=True)
                    (logs / f"{written}_{started}.log").write_text("\n".join(broker.lines()))


def main(wanted: list[str]) -> None:
    """Record what is not recorded yet."""
    logs = None
    if wanted[:1] == ["--logs"]:
        logs, wanted = Path(wanted[1]), wanted[2:]
    done = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    for written in wanted or (*WRITTEN, *VARIANTS):
        base = make(written)
        if not (archive := ARCHIVES / f"{written}.tar.xz").exists():
            pack(base, sorted(f"b1/{path.name}" for path in base.glob("b1/d?")), archive)
        for started in VARIANTS[written].started if written in VARIANTS else STARTED:
            if started not in done.setdefault(written, {}):
                done[written][started] = trial(written, started, logs)
                print(written, started, json.dumps(done[written][started])[:200], flush=True)
                rows = ",\n".join(
                    f" {json.dumps(old)}: {{\n"
                    + ",\n".join(f"  {json.dumps(new)}: {json.dumps(row)}" for new, row in rows.items())
                    + "\n }"
                    for old, rows in done.items()
                )
                RECORD.write_text(f"{{\n{rows}\n}}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
