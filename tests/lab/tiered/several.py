"""Three brokers with one remote storage: `python -m tests.lab.tiered.several 4.3.1 7` hurts, starts, notes.

The base is `three/<release>.tar.xz`; what clients were told after the outages of a seed is beside it, in
`<release>-<seed>.json`.
"""

import json
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka.admin import NewTopic

from tests.golden.pack import pack
from tests.golden.unpack import unpack
from tests.lab.admin import admin
from tests.lab.broker import Seat, new_cluster_id
from tests.lab.errors import LabError
from tests.lab.releases import Release, release
from tests.lab.tiered.broker import OFTEN, TieredBroker, remote
from tests.lab.tiered.record import HERE, TIERED, cluster_of, offsets, produce, wait_until_local
from tests.lab.tiered.wounds import WOUNDS

THREE = HERE / "three"
TOPICS = ("tier", "plain")
RECORDS, SECONDS = 5000, 8
OUTAGES = 10
EACH_ITS_OWN = 100
"""From this seed on each node that is hurt has wounds of its own."""
SETTINGS = {
    **OFTEN,
    "default.replication.factor": "3",
    "offsets.topic.replication.factor": "3",
    "broker.session.timeout.ms": "12000",
}
DIRS = tuple(f"b{node}/d0" for node in (1, 2, 3))


@dataclass(frozen=True)
class TieredOutage:
    """Which nodes come up, what was done to whose dir before, and how they are set."""

    up: tuple[int, ...]
    wounds: tuple[tuple[int, str], ...]
    used: bool
    unclean: bool

    @property
    def name(self) -> str:
        """As it is recorded."""
        flags = [word for word, is_set in (("unused", not self.used), ("unclean", self.unclean)) if is_set]
        return " ".join(
            [",".join(map(str, self.up)), *flags, *(f"{name}@{node}" for node, name in self.wounds)]
        )

    @property
    def settings(self) -> dict[str, str]:
        """Of each node, beside those of the lab."""
        return {
            "unclean.leader.election.enable": str(self.unclean).lower(),
            "remote.log.storage.system.enable": str(self.used).lower(),
        }

    def hurt(self, root: Path) -> None:
        """Do it."""
        for node, name in self.wounds:
            WOUNDS[name](root / f"b{node}/d0")


def drawn(seed: int) -> list[TieredOutage]:
    """At first none, of all; then a wound on one to all of those that come up."""
    chance = random.Random(seed)
    found = [TieredOutage((1, 2, 3), (), used=True, unclean=False)]
    while len(found) < OUTAGES:
        up = chance.choice(((1, 2, 3), (1, 2), (1, 3), (2, 3)))
        name = chance.choice(sorted(WOUNDS))
        whom = sorted(chance.sample(up, chance.randint(1, len(up))))
        wounds = tuple((node, name) for node in whom)
        if seed >= EACH_ITS_OWN:
            wounds = tuple(
                (node, each)
                for node in whom
                for each in sorted(chance.sample(sorted(WOUNDS), chance.choice((1, 1, 2))))
            )
        outage = TieredOutage(up, wounds, chance.random() < 0.85, chance.random() < 0.4)
        if outage not in found:
            found.append(outage)
    return found


def brokers(kind: Release, root: Path, cluster_id: str, outage: TieredOutage) -> list[TieredBroker]:
    """All three, not started."""
    seats = [Seat(node) for node in (1, 2, 3)]
    metadata = {"rlmm.config.remote.log.metadata.topic.replication.factor": "3"}
    storage = {**remote(root / "b1/remote"), **metadata} if outage.used else {}
    settings = {**SETTINGS, **storage, **outage.settings}
    return [
        TieredBroker(
            kind, root / f"b{seat.node_id}", seat, log_dirs=1, settings=settings, peers=seats,
            cluster_id=cluster_id,
        )
        for seat in seats
    ]  # fmt: skip


def start(some: Sequence[TieredBroker]) -> str:
    """Start them; gives their addresses."""
    for broker in some:
        broker.configure()
        broker.launch()
    for broker in some:
        broker.wait_ready()
    return ",".join(broker.bootstrap for broker in some)


def write(kind: Release, root: Path) -> None:
    """The base: all in sync, stopped cleanly."""
    every = brokers(kind, root, new_cluster_id(), drawn(0)[0])
    try:
        boot = start(every)
        client = admin(boot)
        topics = [NewTopic(name, 1, 3, config=TIERED if name == "tier" else {}) for name in TOPICS]
        for made in client.create_topics(topics).values():
            made.result(120)
        produce(boot, TOPICS, RECORDS)
        wait_until_local([root / each / "tier-0" for each in DIRS])
        time.sleep(4)
        for broker in every:
            broker.ask_to_stop()
        for broker in every:
            broker.stop(timeout=200)
    finally:
        for broker in every:
            broker.kill()
    for left in root.glob("b*/d0/*/*.deleted"):
        left.unlink()


def play(kind: Release, root: Path, outage: TieredOutage) -> object:
    """The offsets that clients are told some seconds after the start."""
    outage.hurt(root)
    every = brokers(kind, root, cluster_of(root), outage)
    some = [broker for broker in every if broker.seat.node_id in outage.up]
    try:
        boot = start(some)
        time.sleep(SECONDS)
        return {topic: offsets(boot, topic, lambda error: str(error.args[0].name())) for topic in TOPICS}
    except LabError as refused:
        return str(refused)
    finally:
        for broker in some:
            broker.kill()


def main(version: str, seed: int) -> None:
    """Write the base if there is none, and play all outages."""
    archive = THREE / f"{version}.tar.xz"
    if not archive.exists():
        with tempfile.TemporaryDirectory() as work:
            write(release(version), Path(work))
            pack(Path(work), [*DIRS, "b1/remote"], archive)
    seen: dict[str, object] = {"seed": seed}
    for outage in drawn(seed):
        with tempfile.TemporaryDirectory() as work:
            seen[outage.name] = play(release(version), unpack(archive, Path(work)), outage)
            print(outage.name, seen[outage.name], flush=True)
    (THREE / f"{version}-{seed}.json").write_text(json.dumps(seen, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
