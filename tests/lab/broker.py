"""One Kafka broker with its own log directories, of any release of the lab.

ZooKeeper releases are given a ZooKeeper's address; KRaft releases run broker and controller in one
process. Everything of a broker lives under its `root`: `d0`, `d1`, ... are its log directories.
Leaving its `with` block kills it.
"""

import base64
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from tests.lab.formatted import Formatted, Whose
from tests.lab.ports import free_port
from tests.lab.process import KafkaProcess, run_tool
from tests.lab.releases import Release
from tests.lab.zookeeper import ZooKeeper

SMALL = {
    "num.network.threads": "2",
    "num.io.threads": "2",
    "num.recovery.threads.per.data.dir": "1",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "2",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "2",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "auto.create.topics.enable": "false",
    "delete.topic.enable": "true",
    "log.cleaner.dedupe.buffer.size": "4194304",
    "controlled.shutdown.enable": "true",
}
"""Settings that make a broker small and quick; a caller's own win over them."""


ASKED_BY_FORMAT = ("process.roles", "unstable.", "inter.broker.protocol.version")
"""Settings by which the directories of brokers differ that are formatted."""
_formatted: dict[tuple[object, ...], Formatted] = {}


def new_cluster_id() -> str:
    """An id of a cluster or a dir as Kafka writes them: 16 random bytes, url-safe base64 without padding."""
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not text.startswith("-"):
            return text


@dataclass
class Seat:
    """A broker's place in a cluster: its id and its two ports."""

    node_id: int
    port: int = field(default_factory=free_port)
    controller_port: int = field(default_factory=free_port)


class Broker(KafkaProcess):
    """A broker at `seat` under `root`; `peers` are all seats of a KRaft quorum (default: itself alone).

    `zookeeper` is the address of one, or one of its own, which runs as long as the broker's `with` block.
    """

    def __init__(
        self,
        release: Release,
        root: Path,
        seat: Seat | None = None,
        *,
        log_dirs: int = 2,
        settings: dict[str, str] | None = None,
        zookeeper: ZooKeeper | str | None = None,
        peers: list[Seat] | None = None,
        cluster_id: str | None = None,
    ) -> None:
        self.seat = seat or Seat(1)
        self.root = root
        self.dirs = [root / f"d{number}" for number in range(log_dirs)]
        self.settings = dict(settings or {})
        self.own_zookeeper = zookeeper if isinstance(zookeeper, ZooKeeper) else None
        self.zookeeper = self.own_zookeeper.address if self.own_zookeeper else zookeeper
        self.peers = peers
        self.cluster_id = cluster_id or new_cluster_id()
        root.mkdir(parents=True, exist_ok=True)
        ready = r"\[?Kafka ?Server.*\]?,? started|Kafka Server started"
        super().__init__(release, root / "server.log", "kafka.Kafka", root / "server.properties", ready)

    @property
    def bootstrap(self) -> str:
        """The address for clients."""
        return f"127.0.0.1:{self.seat.port}"

    def configuration(self) -> dict[str, str]:
        """All of server.properties."""
        shared = {**SMALL, "log.dirs": ",".join(map(str, self.dirs))}
        old = self.release.mode == "zookeeper"
        mode = self._zookeeper_settings() if old else self._kraft_settings()
        return {**shared, **mode, **self.settings}

    def _zookeeper_settings(self) -> dict[str, str]:
        settings = {"broker.id": str(self.seat.node_id), "zookeeper.connect": str(self.zookeeper)}
        if self.release.number < (0, 9):
            return {**settings, "host.name": "127.0.0.1", "port": str(self.seat.port)}
        return {**settings, "listeners": f"PLAINTEXT://127.0.0.1:{self.seat.port}"}

    def _kraft_settings(self) -> dict[str, str]:
        settings = {
            "process.roles": "broker,controller",
            "node.id": str(self.seat.node_id),
            "listeners": f"PLAINTEXT://127.0.0.1:{self.seat.port},CONTROLLER://127.0.0.1:{self.seat.controller_port}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        }
        seats = self.peers or [self.seat]
        if self.dynamic_quorum:
            settings["controller.quorum.bootstrap.servers"] = f"127.0.0.1:{self.seat.controller_port}"
        else:
            voters = ",".join(f"{seat.node_id}@127.0.0.1:{seat.controller_port}" for seat in seats)
            settings["controller.quorum.voters"] = voters
        return settings

    @property
    def dynamic_quorum(self) -> bool:
        """Whether its KRaft quorum keeps its voters in the log (KIP-853): lone brokers since 4.0."""
        return self.release.number >= (4, 0) and self.peers is None

    def __enter__(self) -> Self:
        if self.own_zookeeper:
            self.own_zookeeper.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        if self.own_zookeeper:
            self.own_zookeeper.kill()

    def write_config(self) -> None:
        """server.properties alone: hurt log dirs are not to be formatted."""
        rows = self.configuration().items()
        self.config.write_text("".join(f"{key}={value}\n" for key, value in rows))

    def configure(self) -> None:
        """Write server.properties, and format fresh KRaft directories."""
        self.write_config()
        if self.release.mode == "kraft" and not (self.dirs[0] / "meta.properties").exists():
            self._format_dirs()

    def _format_dirs(self) -> None:
        """By Kafka's own tool; another broker of the same kind as that one was."""
        seat, settings = self.seat, self.configuration()
        asked = {key: value for key, value in settings.items() if key.startswith(ASKED_BY_FORMAT)}
        kind = (self.release, self.dynamic_quorum and seat.node_id, len(self.dirs), *sorted(asked.items()))
        # Where the tool writes elsewhere, too, or beside what is there, it is asked each time.
        here = settings["log.dirs"] == ",".join(map(str, self.dirs)) and "metadata.log.dir" not in settings
        here = here and not any(path.is_file() for home in self.dirs for path in home.rglob("*"))
        if here and kind in _formatted:
            ids = tuple(new_cluster_id() if each else "" for each in _formatted[kind].whose.dirs)
            whose = Whose(seat.node_id, self.cluster_id, seat.controller_port, ids)
            _formatted[kind].write(self.dirs, whose)
            return
        extra = ["--standalone"] if self.dynamic_quorum else []
        arguments = ["format", "-t", self.cluster_id, "-c", str(self.config), *extra]
        run_tool(self.release, self.root, "kafka.tools.StorageTool", *arguments)
        if here:
            _formatted[kind] = Formatted.of(self.dirs, seat.node_id, self.cluster_id, seat.controller_port)

    def start(self, timeout: float = 120) -> None:
        """Configure, start, and wait until it is up."""
        self.configure()
        super().start(timeout)
