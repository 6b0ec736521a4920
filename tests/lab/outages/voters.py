"""Quorums whose voters are in the log (KIP-853), and change while it runs: one is added, and removed again.

Nodes 1 and 2 vote from the start, and 3 once it was added; it is removed while it is away, and does not hear
of it. The log has the ports of the voters, so each start takes those of the base again.
"""

import json
from pathlib import Path

from tests.lab.base import quiet_port
from tests.lab.broker import Broker, Seat, new_cluster_id
from tests.lab.cluster import Cluster
from tests.lab.process import run_tool
from tests.lab.quorums.base import Voter

VOTERS = "voters"
ABOUT = "voters.json"
FIRST = (1, 2)
_TOOL = "org.apache.kafka.tools.MetadataQuorumCommand"


class Joining(Voter):
    """One of several; those of `first` are voters as they are formatted."""

    first: tuple[int, ...] = FIRST

    def _format(self) -> list[str]:
        if self.seat.node_id in self.first:
            return super()._format()
        return ["format", "-t", self.cluster_id, "-c", str(self.config), "--no-initial-controllers"]


def with_voters(cluster: Cluster, first: tuple[int, ...] = FIRST) -> Cluster:
    """The same nodes on the ports that the base had, or on new ones that will be free again later."""
    path = cluster.root / ABOUT
    if not path.exists():
        ports = [(quiet_port(), quiet_port()) for _ in cluster.brokers]
        ids = {number: new_cluster_id() for number in first}
        cluster.root.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"ports": ports, "directory_ids": ids}))
    about = json.loads(path.read_text())
    seats = [Seat(number, *pair) for number, pair in enumerate(about["ports"], start=1)]
    cluster.brokers = [_joining(old, seats, about["directory_ids"], first) for old in cluster.brokers]
    return cluster


def _joining(old: Broker, seats: list[Seat], ids: dict[str, str], first: tuple[int, ...]) -> Broker:
    seat = seats[old.seat.node_id - 1]
    node = Joining(
        old.release, old.root, seat, settings=old.settings, cluster_id=old.cluster_id,
        peers=[each for each in seats if each.node_id in first or each is seat],
    )  # fmt: skip
    node.directory_ids = {int(key): value for key, value in ids.items()}
    node.first = first
    return node


def add_voter(cluster: Cluster) -> None:
    """Node 3 becomes one, as `kafka-metadata-quorum add-controller` does it."""
    config = str(cluster.brokers[2].config)
    _ask(cluster, "--command-config", config, "add-controller")


def remove_voter(cluster: Cluster) -> None:
    """Node 3 is none any more."""
    rows = Path(cluster.brokers[2].dirs[0], "meta.properties").read_text().split()
    directory_id = next(row.partition("=")[2] for row in rows if row.startswith("directory.id"))
    _ask(cluster, "remove-controller", "--controller-id", "3", "--controller-directory-id", directory_id)


def _ask(cluster: Cluster, *arguments: str) -> None:
    boot = ["--bootstrap-server", cluster.brokers[0].bootstrap]
    run_tool(cluster.release, cluster.root, _TOOL, *boot, *arguments)
