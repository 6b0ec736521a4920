"""A rescued log dir under the real broker of its release."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.lab.broker import Broker
from tests.lab.releases import release
from tests.lab.zookeeper import ZooKeeper
from tests.surgery.shows.server import SETTINGS, tell


@contextmanager
def serving(version: str, home: Path, scratch: Path) -> Iterator[Broker]:
    """The broker over `home/d0` and `home/d1`, up; killed afterwards."""
    kind = release(version)
    zookeeper = ZooKeeper(kind, scratch / "zookeeper") if kind.mode == "zookeeper" else None
    address = zookeeper.address if zookeeper else None
    broker = Broker(kind, home, settings=SETTINGS, zookeeper=address)
    try:
        if zookeeper:
            zookeeper.start()
            tell(zookeeper, scratch, home)
        broker.start()
        yield broker
    finally:
        broker.kill()
        if zookeeper:
            zookeeper.kill()
