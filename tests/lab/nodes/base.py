"""Bases of whole nodes: two log dirs of a KRaft node that is the only voter, small enough for the repository.

Topics `a` (three partitions) and `b` (two) are in two snapshots of the metadata, `late` (two) only in the
log behind them; a group has committed. `3.7.2-on-3.3.2` is 3.7.2 over the base of 3.3.2, whose
`metadata.version` knows no log dirs; `4.3.1-static` has its voters in `controller.quorum.voters`, where 4.x
by itself keeps them in the log (KIP-853).
"""

import json
import tempfile
from pathlib import Path

from tests.copies import copy_tree
from tests.golden.acts import commit_group
from tests.golden.pack import pack
from tests.golden.produce import write
from tests.golden.records import events
from tests.golden.topics import Topic, create, small_segments
from tests.lab.base import QUIET, quiet_port
from tests.lab.broker import Broker, Seat
from tests.lab.process import run_tool
from tests.lab.releases import release
from tests.waiting import until

HERE = Path(__file__).parent / "recorded"
METADATA = "__cluster_metadata-0"
TOPICS = {"a": 3, "b": 2, "late": 2}
EAGER = {**QUIET, "metadata.log.max.record.bytes.between.snapshots": "600"}
"""Snapshots after so few bytes that there are some before the second stop."""


def version_of(name: str) -> str:
    """The release that is started."""
    return name.partition("-")[0]


def archive(name: str) -> Path:
    """What it is started on."""
    return HERE / f"{name.partition('-on-')[2] or name}.tar.xz"


def node(name: str, root: Path, seat: Seat, settings: dict[str, str] | None = None) -> Broker:
    """A node over log dirs below `root`, not started."""
    kind, static = release(version_of(name)), [seat] if name.endswith("-static") else None
    return Broker(kind, root / "b1", seat, settings={**QUIET, **(settings or {})}, peers=static)


def format_dirs(broker: Broker) -> None:
    """`kafka-storage format`; a lone voter of 4.x is named in the log."""
    broker.write_config()
    extra = ["--standalone"] if broker.dynamic_quorum else []
    arguments = ["format", "-t", broker.cluster_id, "-c", str(broker.config), *extra]
    run_tool(broker.release, broker.root, "kafka.tools.StorageTool", *arguments)


def fill(broker: Broker, topics: dict[str, int]) -> None:
    """Make topics with two batches in each partition."""
    wanted = [Topic(name, small_segments(broker.release, 16384), count) for name, count in topics.items()]
    create(broker.bootstrap, wanted)
    for name, count in topics.items():
        for partition in range(count):
            write(broker.bootstrap, name, events(f"{name}-{partition}", 3, 4), partition=partition)


def snapshots(broker: Broker) -> list[Path]:
    """Those of the metadata, oldest first."""
    return sorted((broker.dirs[0] / METADATA).glob("*.checkpoint"))


def make(name: str) -> None:
    """Write the base of that name with a real broker, and pack it."""
    with tempfile.TemporaryDirectory(prefix="node-") as work:
        root = Path(work)
        seat = Seat(1, quiet_port(), quiet_port())
        with node(name, root, seat, EAGER) as broker:
            format_dirs(broker)
            broker.start()
            fill(broker, {each: TOPICS[each] for each in ("a", "b")})
            commit_group(broker.bootstrap, "readers", ["a"])
            metadata = broker.dirs[0] / METADATA
            until("three snapshots", lambda: len([*metadata.glob("*.checkpoint")]) >= 3, strict=False)
            broker.stop()
            broker.settings = dict(QUIET)
            broker.start()
            fill(broker, {"late": TOPICS["late"]})
            broker.stop()
        packed = root / "packed"
        copy_tree(root / "b1", packed / "b1")
        thin_out(packed / "b1" / "d0" / METADATA)
        about = {"ports": [seat.port, seat.controller_port], "cluster_id": broker.cluster_id}
        (packed / "base.json").write_text(json.dumps(about))
        pack(packed, ["b1/d0", "b1/d1", "base.json"], HERE / f"{name}.tar.xz")


def thin_out(metadata: Path) -> None:
    """Keep the two newest snapshots."""
    for path in sorted(metadata.glob("*.checkpoint"))[:-2]:
        path.unlink()


def fresh(source: Path, root: Path) -> tuple[Path, Seat]:
    """A copy of an unpacked base at `root`, and its ports."""
    copy_tree(source, root)
    first, second = json.loads((root / "base.json").read_text())["ports"]
    return root / "b1", Seat(1, first, second)
