"""A one-node ZooKeeper, for the releases whose brokers still want one."""

from pathlib import Path

from tests.lab.ports import free_port
from tests.lab.process import KafkaProcess
from tests.lab.releases import Release


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
