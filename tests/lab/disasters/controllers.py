"""What a controller may leave in the metadata log, and a node that is no broker any more.

Records are appended to the log as its leader would have written them, in its last epoch, at the time of its
last batch.
"""

import json
import random
import struct
from collections.abc import Sequence
from pathlib import Path

from tests.checks import build_metadata as metadata
from tests.checks import build_partition as build
from tests.copies import copy_into
from tests.lab.disasters.bases import TOPICS
from tests.lab.disasters.scene import META, Scene
from tests.lab.disasters.setups import batches, new_id
from tests.lab.disasters.wound import Hurt, Wound

TRANSACTIONS, KRAFT = (3, 6), (3, 0)
GHOST = "ghost"
"""A topic that only such a record makes."""
ENDS = ([metadata.END], [metadata.ABORT], [metadata.ABORT], [])
ODD = (
    [metadata.END],
    [metadata.ABORT],
    [metadata.BEGIN, metadata.BEGIN],
    [metadata.BEGIN, metadata.END, metadata.END],
    [b"\x01\x63\x00\x00"],
)
"""Transactions that begin or end where none does, and a record of a kind that no release has."""


def append(scene: Scene, records: Sequence[bytes], *, batched: bool = False) -> None:
    """Records behind all others: each in a batch, or all in one."""
    log = max(scene.partition(META[:-2]).glob("*.log"))
    data = log.read_bytes()
    *_, (at, base) = batches(data)
    size, epoch = struct.unpack_from(">ii", data, at + 8)
    (last,) = struct.unpack_from(">i", data, at + 23)
    (time,) = struct.unpack_from(">q", data, at + 35)
    data, offset = data[: at + 12 + size], base + last + 1
    for group in [list(records)] if batched else [[each] for each in records]:
        written = [build.record(number, None, value) for number, value in enumerate(group)]
        data += build.batch(offset, written, epoch=epoch, base_timestamp=time)
        offset += len(group)
    log.write_bytes(data)


def told(path: Path, name: str) -> str:
    """What a small text says of a name."""
    rows = (row.replace("=", ": ", 1).partition(": ") for row in path.read_text().splitlines())
    return next(value for key, _, value in rows if key == name)


def transaction(scene: Scene, target: str, draw: random.Random) -> None:
    """One that removes a topic, or makes one whose replica is here; perhaps it has no end, or was aborted."""
    mine, end = scene.partition(target), draw.choice(ENDS)
    if draw.random() < 0.5:
        records = [metadata.remove_topic(told(mine / "partition.metadata", "topic_id"))]
    else:
        topic_id, there = new_id(draw), mine.with_name(f"{GHOST}-0")
        copy_into(mine, there)
        (there / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id}")
        identity = (mine.parent / "meta.properties").read_text()
        ids = [told(mine.parent / "meta.properties", "directory.id")] if "directory.id" in identity else []
        records = [metadata.topic(GHOST, topic_id), metadata.partition(topic_id, 0, (1,), ids, epoch=1)]
    append(scene, [metadata.BEGIN, *records, *end], batched=draw.random() < 0.3)


def nobody_in_sync(scene: Scene, target: str, _draw: random.Random) -> None:
    """As where eligible leader replicas were switched off while the ISR was empty."""
    nobody, nodes = metadata.compact([]), metadata.compact([struct.pack(">i", 1)])
    topic_id = metadata.uuid(told(scene.partition(target) / "partition.metadata", "topic_id"))
    fields = struct.pack(">i", 0) + topic_id + nodes + nobody * 3 + struct.pack(">iii", -1, 1000, 1000)
    append(scene, [b"\x01\x03\x00" + fields + b"\0"])


def odd_records(scene: Scene, _target: str, draw: random.Random) -> None:
    """What no controller writes."""
    append(scene, draw.choice(ODD))


def alone(scene: Scene, _target: str, _draw: random.Random) -> None:
    """process.roles has no broker any more."""
    listener = f"CONTROLLER://127.0.0.1:{scene.node.ports[1]}"
    more = {"process.roles": "controller", "listeners": listener}
    scene.settings_file.write_text(json.dumps({**scene.settings, **more}))


def on_topics(hurt: Hurt, since: tuple[int, ...]) -> Wound:
    """One done to a topic."""
    return Wound("controller", hurt, tuple(TOPICS), since)


CONTROLLERS = {
    "meta-transaction": on_topics(transaction, TRANSACTIONS),
    "meta-nobody-in-sync": on_topics(nobody_in_sync, KRAFT),
    "meta-odd-records": Wound("controller", odd_records, ("d0",), TRANSACTIONS),
    "controller-alone": Wound("controller", alone, ("d0",), KRAFT),
}
