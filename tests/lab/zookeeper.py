"""A one-node ZooKeeper, for the releases whose brokers still want one."""

import re
import socket
from pathlib import Path

from tests.lab.ports import free_port
from tests.lab.process import KafkaProcess
from tests.lab.releases import Release
from tests.waiting import until


class ZooKeeper(KafkaProcess):
    """ZooKeeper from the jars of a Kafka release, keeping its data under `root`."""

    def __init__(self, release: Release, root: Path) -> None:
        self.port = free_port()
        config = root / "zookeeper.properties"
        config.parent.mkdir(parents=True, exist_ok=True)
        settings = {
            "dataDir": root / "data",
            "clientPort": self.port,
            "clientPortAddress": "127.0.0.1",
            "maxClientCnxns": 0,
            "admin.enableServer": "false",
            "tickTime": 1000,
            "preAllocSize": 64,
            "4lw.commands.whitelist": "dump",
            "snapshot.trust.empty": "true",  # Kafka's notes on 2.4: 3.4 made no first snapshot
        }
        config.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        main = "org.apache.zookeeper.server.ZooKeeperServerMain"
        super().__init__(release, root / "zookeeper.log", main, config, r"binding to port")

    @classmethod
    def wanted(cls, release: Release, root: Path) -> "ZooKeeper | None":
        """One below `root` for a release that wants one."""
        return cls(release, root / "zookeeper") if release.mode == "zookeeper" else None

    @property
    def address(self) -> str:
        """What a broker's `zookeeper.connect` wants."""
        return f"127.0.0.1:{self.port}"

    def brokers(self) -> set[int]:
        """Those that are alive to it."""
        with socket.create_connection(("127.0.0.1", self.port), 10) as asked:
            asked.sendall(b"dump")
            told = b"".join(iter(lambda: asked.recv(1 << 16), b""))
        assert b"phemeral" in told, told
        return set(map(int, re.findall(rb"/brokers/ids/(\d+)", told)))

    def until_forgotten(self, *nodes: int) -> None:
        """Until these, or all, are no longer alive to it: their sessions last a while."""
        gone, not_yet = {*nodes}, (OSError, AssertionError)  # it serves a moment after it listens
        until(
            "ZooKeeper to forget a broker", self.brokers,
            good=lambda now: not (now & gone if gone else now), despite=not_yet,
        )  # fmt: skip
