"""Keep a golden: the packed directories, the expected values beside them, its row in the manifest."""

import json
import lzma
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tests.copies import copy_tree
from tests.golden.dump import decode_internal, dump
from tests.golden.features import features
from tests.golden.pack import pack
from tests.lab.cluster import Cluster

HERE = Path(__file__).parent
MANIFEST = HERE / "manifest.json"


@dataclass(frozen=True)
class Golden:
    """What is known of a golden before its directories are read."""

    variant: str
    kind: Literal["clean", "killed"]
    seen: dict[str, Any]
    restart: dict[str, Any]
    note: str = ""


def write_json(path: Path, content: object) -> None:
    """Compact JSON, packed."""
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=False)
    path.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))


def read_json(path: Path) -> Any:
    """The opposite of write_json, for tests."""
    return json.loads(lzma.decompress(path.read_bytes()))


def members(cluster: Cluster) -> list[str]:
    """The log directories of all brokers, relative to the cluster's root."""
    return [f"{broker.root.name}/{place.name}" for broker in cluster.brokers for place in broker.dirs]


def shorten_time_indexes(root: Path) -> None:
    """Cut preallocated time indexes to ten zero entries: old dumps need seconds for each 10 MiB."""
    for path in root.rglob("*.timeindex"):
        data = path.read_bytes()
        used = -(-len(data.rstrip(b"\0")) // 12) + 10
        if used * 12 < len(data):
            os.truncate(path, used * 12)


def keep(cluster: Cluster, golden: Golden, scratch: Path) -> str:
    """Pack the stopped cluster as it lies there, dump a copy, and enter it in the manifest."""
    release = cluster.release
    name = f"{release.version}-{golden.variant}"
    pack(cluster.root, members(cluster), HERE / f"{name}.tar.xz")
    copied = scratch / "dump"
    shutil.rmtree(copied, ignore_errors=True)
    for member in members(cluster):
        copy_tree(cluster.root / member, copied / member)
        shorten_time_indexes(copied / member)
    held = dump(release, copied, scratch)
    decoded = decode_internal(release, copied, scratch)
    seen = {key: value for key, value in golden.seen.items() if key != "records"}
    expected = {"name": name, "release": release.version, "kind": golden.kind, "before_stop": seen}
    write_json(
        HERE / f"{name}.expected.json.xz",
        {**expected, "restart": golden.restart, "files": held, "decoded": decoded},
    )
    if "records" in golden.seen:
        write_json(HERE / f"{name}.consumed.json.xz", golden.seen["records"])
    row = {
        "name": name,
        "release": release.version,
        "variant": golden.variant,
        "kind": golden.kind,
        "brokers": len(cluster.brokers),
        "dirs": members(cluster),
        "healthy": True,
        "note": golden.note,
        "features": features(copied, held, golden.seen),
    }
    enter(row)
    return name


def enter(row: dict[str, Any]) -> None:
    """Add or replace a row of the manifest."""
    rows = json.loads(MANIFEST.read_text()) if MANIFEST.exists() else []
    kept = [one for one in rows if one["name"] != row["name"]]
    MANIFEST.write_text(json.dumps(sorted([*kept, row], key=lambda one: str(one["name"])), indent=1) + "\n")
