"""Bases of three combined nodes, killed: `python -m tests.lab.quorums.base NAME DIR` writes one.

All three know topic `a`; node 3 was killed before topic `late` was made, so that its metadata ends earlier.
`3.9.2-dynamic` and `4.3.1-dynamic` have their voters in the log (kraft.version 1), the others in
`controller.quorum.voters`.
"""

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.copies import copy_tree
from tests.golden.produce import write
from tests.golden.records import events
from tests.golden.topics import Topic, create
from tests.lab.base import QUIET, quiet_port
from tests.lab.broker import Broker, Seat, new_cluster_id
from tests.lab.process import run_tool
from tests.lab.releases import release
from tests.waiting import until

METADATA = "__cluster_metadata-0"
NAMES = ("3.3.2", "3.9.2", "3.9.2-dynamic", "4.3.1", "4.3.1-dynamic")
TOPICS = {"a": 3, "late": 2}
"""Replicas of each; both have two partitions."""
SETTINGS = {
    **QUIET,
    "broker.session.timeout.ms": "9000",
    "default.replication.factor": "3",
    "offsets.topic.replication.factor": "3",
    "min.insync.replicas": "1",
    "metadata.log.max.record.bytes.between.snapshots": "600",
}


class Voter(Broker):
    """One of three; `directory_ids` by node id for voters that are named in the log."""

    directory_ids: dict[int, str] | None = None

    def _kraft_settings(self) -> dict[str, str]:
        settings = super()._kraft_settings()
        if self.directory_ids is not None:
            settings.pop("controller.quorum.voters", None)
            ports = [seat.controller_port for seat in self.peers or ()]
            servers = ",".join(f"127.0.0.1:{port}" for port in ports)
            settings["controller.quorum.bootstrap.servers"] = servers
        return settings

    def configure(self) -> None:
        """Write server.properties, and format fresh directories."""
        self.write_config()
        if not (self.dirs[0] / "meta.properties").exists():
            run_tool(self.release, self.root, "kafka.tools.StorageTool", *self._format())

    def _format(self) -> list[str]:
        arguments = ["format", "-t", self.cluster_id, "-c", str(self.config)]
        if self.directory_ids is None:
            return arguments
        voters = [
            f"{seat.node_id}@127.0.0.1:{seat.controller_port}:{self.directory_ids[seat.node_id]}"
            for seat in self.peers or ()
            if seat.node_id in self.directory_ids
        ]
        return [*arguments, "--initial-controllers", ",".join(voters)]


def nodes(name: str, root: Path, about: dict[str, object]) -> list[Voter]:
    """The three nodes over `root/b1` to `root/b3`."""
    kind = release(name.partition("-")[0])
    ports: Sequence[Sequence[int]] = about["ports"]  # type: ignore[assignment]
    seats = [Seat(number, *pair) for number, pair in enumerate(ports, start=1)]
    found = [
        Voter(
            kind, root / f"b{seat.node_id}", seat, log_dirs=1, settings=SETTINGS, peers=seats,
            cluster_id=str(about["cluster_id"]),
        )
        for seat in seats
    ]  # fmt: skip
    if name.endswith("-dynamic"):
        for node in found:
            node.directory_ids = {int(key): value for key, value in about["directory_ids"].items()}  # type: ignore[attr-defined]
    return found


def start(some: Sequence[Broker]) -> None:
    """Start them together and wait until they are up."""
    for node in some:
        node.configure()
        node.launch()
    for node in some:
        node.wait_ready()


def make(name: str, into: Path) -> None:
    """Write the base with real brokers: `b1` to `b3`, `base.json`."""
    ports = [(quiet_port(), quiet_port()) for _ in range(3)]
    about: dict[str, object] = {"ports": ports, "cluster_id": new_cluster_id()}
    about["directory_ids"] = {number: new_cluster_id() for number in (1, 2, 3)}
    work = into.with_name(f"{into.name}.work")
    cluster = nodes(name, work, about)
    try:
        start(cluster)
        boot = ",".join(node.bootstrap for node in cluster)
        make_topic(boot, "a", TOPICS["a"])
        fill(boot, "a")
        wait_for_snapshots(cluster)
        cluster[2].kill()
        time.sleep(11)
        boot = ",".join(node.bootstrap for node in cluster[:2])
        make_topic(boot, "late", TOPICS["late"])
        fill(boot, "late")
        time.sleep(2)
    finally:
        for node in cluster:
            node.kill()
    for number in (1, 2, 3):
        copy_tree(work / f"b{number}" / "d0", into / f"b{number}" / "d0")
    (into / "base.json").write_text(json.dumps(about))


def make_topic(bootstrap: str, name: str, replicas: int) -> None:
    """With two partitions; asked again where the answer was lost with a connection."""
    for last in (False, False, True):
        try:
            create(bootstrap, [Topic(name, {}, partitions=2)], replicas=replicas)
        except RuntimeError as error:
            if "already exists" in str(error).lower() or "TOPIC_ALREADY_EXISTS" in str(error):
                return
            if last:
                raise
            time.sleep(2)
        else:
            return


def fill(bootstrap: str, topic: str) -> None:
    """Two batches into each partition."""
    for partition in (0, 1):
        write(bootstrap, topic, events(f"{topic}-{partition}", 3, 4), partition=partition)


def wait_for_snapshots(cluster: Sequence[Broker]) -> None:
    """Until each has two that are not those of the formatting."""
    places = [node.dirs[0] / METADATA for node in cluster]
    until(
        "two snapshots", lambda: all(len([*p.glob("*[1-9]-*.checkpoint")]) >= 2 for p in places), strict=False
    )


if __name__ == "__main__":
    make(sys.argv[1], Path(sys.argv[2]))
