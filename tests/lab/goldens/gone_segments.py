"""Logs of magic 0 and 1 without their third segment, started by later releases.

`python -m tests.lab.goldens.gone_segments` records which offsets a consumer gets of each.
"""

import json
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, TopicPartition

from tests.conftest import GOLDEN
from tests.golden.observe import consume
from tests.golden.unpack import unpack
from tests.lab import upgrade
from tests.lab.base import quiet_port
from tests.lab.broker import Broker, Seat
from tests.lab.disasters import protocol
from tests.lab.goldens.record import settings
from tests.lab.trial import save
from tests.lab.verdict import ranges
from tests.lab.zookeeper import ZooKeeper
from tests.surgery.shows.server import tell
from tests.waiting import until

RECORD = Path(__file__).with_name("gone-segments.json")
GOLDENS, STARTED = ("0.8.2.2-killed", "0.10.2.2-killed"), ("1.1.0", "2.8.2")
COMPACTED = ("compacted", "__consumer_offsets")


def hurt(home: Path) -> dict[str, tuple[int, int]]:
    """The offsets of the segments that are gone: from, and up to the next segment."""
    gone = {}
    for folder in sorted(home.glob("d*/*-*")):
        bases = sorted(int(path.stem) for path in folder.glob("*.log"))
        if len(bases) > 3 and not folder.name.startswith(COMPACTED):
            for path in folder.glob(f"{bases[2]:020d}.*"):
                path.unlink()
            gone[folder.name] = bases[2], bases[3]
    return gone


def consumed(bootstrap: str, names: Iterable[str]) -> dict[str, list[dict[str, Any]]]:
    """What a consumer gets; librdkafka cannot parse what 1.1.0 answers about all topics at once."""
    settings = {"bootstrap.servers": bootstrap, "group.id": "reads", "enable.auto.commit": False,
                "auto.offset.reset": "earliest", "enable.partition.eof": True, "log_level": 0}  # fmt: skip
    client = Consumer(settings)
    parts = (name.rpartition("-") for name in names)
    rows = consume(client, [TopicPartition(topic, int(number)) for topic, _, number in parts])
    client.close()
    return rows


def led(port: int, names: Iterable[str]) -> bool:
    """Whether all of them have a leader."""
    told = protocol.metadata(port)
    return all(name in told and told[name].leader >= 0 for name in names)


def tried(golden: str, started: str) -> dict[str, Any]:
    """The runs of offsets that a consumer gets of each hurt partition."""
    kind = upgrade.named(started)
    with tempfile.TemporaryDirectory(prefix="golden-") as work:
        root = Path(work)
        unpack(GOLDEN / f"{golden}.tar.xz", root)
        ports = quiet_port(), quiet_port()
        (root / "base.json").write_text(json.dumps({"ports": ports}))
        wanted = hurt(root / "b1")
        zookeeper = ZooKeeper.wanted(kind, root)
        assert zookeeper is not None
        with Broker(kind, root / "b1", Seat(1, *ports), zookeeper=zookeeper) as broker:
            tell(zookeeper, root, root / "b1")
            rows = settings(root, golden, started, zookeeper.address)
            broker.config.write_text("".join(f"{key}={value}\n" for key, value in rows.items()))
            broker.launch()
            broker.wait_ready(240)
            until("leaders", lambda: led(broker.seat.port, wanted), 120, every=1, strict=False)
            seen = consumed(broker.bootstrap, wanted)
    return {name: ranges(sorted(row["offset"] for row in seen[name])) for name in wanted}


def main() -> None:
    """All of them."""
    found: dict[str, Any] = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    for golden in GOLDENS:
        for started in STARTED:
            if f"{golden} {started}" in found:
                continue
            found[f"{golden} {started}"] = tried(golden, started)
            print(golden, started, found[f"{golden} {started}"], flush=True)
            save(RECORD, found)


if __name__ == "__main__":
    main()
