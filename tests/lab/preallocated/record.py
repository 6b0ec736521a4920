"""Record what brokers make of preallocated logs: `python -m tests.lab.preallocated.record 4.3.1`.

A broker with `log.preallocate` is killed; its disks are kept. Each case hurts a copy of them and starts it.
"""

import json
import signal
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.copies import copy_tree
from tests.faults.hands import positions
from tests.faults.on_disk import rewrite
from tests.golden.pack import pack
from tests.golden.produce import write
from tests.golden.records import events
from tests.golden.topics import Topic, create
from tests.golden.unpack import unpack
from tests.lab.base import QUIET, quiet_port
from tests.lab.broker import Broker, Seat
from tests.lab.disasters import protocol
from tests.lab.errors import LabError
from tests.lab.nodes.record import plain
from tests.lab.releases import release
from tests.lab.trial import Trial, listing, offline_dirs, save, shortened
from tests.lab.zookeeper import ZooKeeper
from tests.waiting import until

HERE = Path(__file__).with_name("recorded")
SEGMENT = 1 << 20
ON = {"log.preallocate": "true", "log.segment.bytes": str(SEGMENT)}
PARTITIONS = ("a-0", "a-1")
DIRS = ("b1/d0", "b1/d1")
Change = Callable[[bytes], bytes]


def end_of(data: bytes) -> int:
    """Where the zeros begin."""
    return len(data.rstrip(b"\0"))


def torn(data: bytes) -> bytes:
    """The end of the last batch did not reach the disk."""
    end = end_of(data)
    return data[: end - 30] + bytes(len(data) - end + 30)


def holed(data: bytes) -> bytes:
    """A batch before the last did not."""
    first, second = positions(data[: end_of(data)])[-2:]
    return data[:first] + bytes(second - first) + data[second:]


@dataclass(frozen=True)
class Case:
    """What is done to the log of `a-0`, and how the broker is started."""

    change: Change | None = None
    settings: dict[str, str] = field(default_factory=lambda: dict(ON))
    marked: bool = False


CASES = {
    "killed": Case(),
    "without-the-setting": Case(settings={"log.segment.bytes": str(SEGMENT)}),
    "torn": Case(torn),
    "holed": Case(holed),
    "marked-as-clean": Case(marked=True),
}


def node(version: str, root: Path, seat: Seat, settings: dict[str, str]) -> Broker:
    """Not started; with the ZooKeeper below `root` where the release wants one."""
    kind = release(version)
    zookeeper = ZooKeeper.wanted(kind, root)
    return Broker(kind, root / "b1", seat, settings={**QUIET, **settings}, zookeeper=zookeeper, peers=[seat])


def made(version: str, root: Path, seat: Seat) -> None:
    """A few batches, and kill -9."""
    with node(version, root, seat, ON) as broker:
        broker.start(240)
        create(broker.bootstrap, [Topic("a", {}, len(PARTITIONS))])
        for number in range(len(PARTITIONS)):
            write(broker.bootstrap, "a", events("a", 5, 4), partition=number)
        broker.kill()
        if broker.own_zookeeper:
            broker.own_zookeeper.until_forgotten()
    for path in root.glob("*/*.*"):
        if path.is_file():
            path.unlink()


def hurt(case: Case, home: Path) -> None:
    """The case done to the log dirs below `home`."""
    for path in home.glob("d*"):
        if case.marked:
            (path / ".kafka_cleanshutdown").write_text("")
    (log,) = home.glob(f"d*/{PARTITIONS[0]}/*.log")
    if case.change is not None:
        rewrite(log, case.change)


def extents(port: int) -> dict[str, list[int] | str]:
    """The log start and end offset of each, once all have a leader."""

    def ask() -> dict[str, list[int] | str]:
        told = protocol.metadata(port)
        if all(name in told and told[name].leader >= 0 for name in PARTITIONS):
            ends, starts = (protocol.offsets(port, list(PARTITIONS), at) for at in (-1, -2))
            if not any(error for error, _ in (*ends.values(), *starts.values())):
                return {name: [starts[name][1], ends[name][1]] for name in PARTITIONS}
        return {}

    return until("leaders", ask, 90, strict=False) or dict.fromkeys(PARTITIONS, "no leader")


def tried(case: Case, version: str, root: Path, seat: Seat) -> dict[str, Any]:
    """What becomes of it."""
    hurt(case, root / "b1")
    with node(version, root, seat, case.settings) as broker:
        broker.write_config()
        broker.launch()
        try:
            broker.wait_ready(150)
        except LabError:
            lines = shortened(broker.lines(), root)
            return {"outcome": "refuses", "fatal": plain(str(Trial(False, lines, {}, []).fatal()))[:300]}
        offsets = extents(broker.seat.port)
        after = listing(broker.dirs)
        sizes = {
            f"{place.partition('/')[2]}/{name}": size
            for place, files in after.items()
            for name, size in files.items()
            if place.partition("/")[2] in PARTITIONS and name.endswith(".log")
        }
        lines = shortened(broker.lines(), root)
        return {"outcome": "starts", "offline": offline_dirs(lines), "offsets": offsets, "sizes": sizes}


def main(version: str) -> None:
    """The disks, and all cases."""
    found: dict[str, Any] = {}
    HERE.mkdir(exist_ok=True)
    archive = HERE / f"{version}.tar.xz"
    with tempfile.TemporaryDirectory(prefix="preallocated-") as work:
        root, seat = Path(work), Seat(1, quiet_port(), quiet_port())
        made(version, root / "made", seat)
        kept = [*DIRS, *(["zookeeper/data"] if (root / "made/zookeeper/data").exists() else [])]
        pack(root / "made", kept, archive)
        source = unpack(archive, root / "kept")
        for name, case in CASES.items():
            home = root / "trial" / name
            copy_tree(source, home)
            found[name] = tried(case, version, home, seat)
            print(version, name, json.dumps(found[name]), flush=True)
            save(HERE / f"{version}.json", found)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the broker ends with it
    main(*sys.argv[1:])
