"""A rescue of replicas with flipped bits in headers of batches says nothing that is not so.

`python -m tests.merge.flipped [--seed N] [--count N] [--only N]`. Drawn are a golden directory, one of its
partitions, how many replicas of it are there, as whole dirs with the node's metadata or each alone, with its
indexes or without; then up to eight bits are flipped: of base offsets most of all, which no checksum covers.
What a rescue gives is held against what it gave before. A record that is another one, or gone, is never
taken for right: it ends with 4 or names what it assumes, and nothing is there twice.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

from tests.cli.run import Ran, run
from tests.faults.on_disk import batches_of, flip
from tests.golden.shared import GOLDEN, golden
from tests.surgery.trials import main, playing

Records = dict[int, tuple[str, ...]]
COLUMNS = ("timestamp", "key", "value", "headers", "producer_id", "sequence", "leader_epoch")
WRONG = ("all-clear", "twice", "error")
FIELDS = {"offset": (0, 8), "length": (8, 4), "epoch": (12, 4), "magic": (16, 1)}
"""Position and size of each in a batch (magic 2); those of magic 0 and 1 have other bytes there."""
GOLDENS = sorted(
    each.name.removesuffix(".tar.xz")
    for kind in ("clean", "killed")
    for each in GOLDEN.glob(f"*-{kind}.tar.xz")
)


def partitions(root: Path) -> dict[str, list[Path]]:
    """Directories of each partition that has a record, by its name."""
    logs = [log for log in sorted(root.glob("b*/d*/*/*.log")) if log.stat().st_size]
    names = sorted({log.parent.name for log in logs if "__cluster" not in log.parent.name})
    found = {name: sorted({log.parent for log in logs if log.parent.name == name}) for name in names}
    return {name: places for name, places in found.items() if name[-1].isdigit()}


def replica(place: Path, broker: Path, *, whole: bool) -> Path:
    """A copy of it; `whole` has what lies beside it and tells of it, the node's metadata too."""
    target = broker / place.parent.name / place.name
    shutil.copytree(place, target)
    if whole:
        for beside in (each for each in place.parent.iterdir() if each.is_file()):
            shutil.copy2(beside, target.parent)
        for metadata in place.parent.parent.glob("d*/__cluster_metadata-0"):
            home = broker / metadata.parent.name
            shutil.copytree(metadata, home / metadata.name)
            shutil.copy2(metadata.parent / "meta.properties", home)
    return target


def flip_drawn(folder: Path, draw: Random) -> str:
    """Flip a bit of one of its batches; in words, which."""
    log = draw.choice([each for each in sorted(folder.glob("*.log")) if each.stat().st_size])
    batches = batches_of(log)
    if not batches:
        return f"{log.name} has none any more"
    batch = draw.choice(batches)
    field = draw.choice(("offset",) * 4 + ("epoch", "magic", "length", "checked"))
    if field == "checked":
        at, bit = draw.randrange(batch.position + 17, batch.end), draw.randrange(8)
    else:
        first, size = FIELDS[field]
        low = field == "offset" and draw.random() < 0.8
        number = draw.randrange(7 if low else 8 * size)
        at, bit = batch.position + first + size - 1 - number // 8, number % 8
    flip(log, at, 1 << bit)
    return f"{folder.parent.parent.name}/{log.name}@{at} bit {bit} ({field} of {batch.base_offset})"


def rescued(given: Sequence[Path], topic: str, out: Path) -> tuple[Ran, list[tuple[int, tuple[str, ...]]]]:
    """(how it ended, offset and columns of each record)."""
    ran = run("rescue", *given, "--topic", topic, "--out", out, "--as", "jsonl", "--json")
    files = [each for each in out.glob("*.jsonl") if not each.name.startswith("_")]
    rows: list[dict[str, Any]] = [
        json.loads(line) for each in files for line in each.read_text().splitlines()
    ]
    return ran, [(row["offset"], tuple(json.dumps(row.get(name)) for name in COLUMNS)) for row in rows]


def verdict(truth: Records, ran: Ran, rows: Sequence[tuple[int, tuple[str, ...]]]) -> str:
    got: Records = dict(rows)
    lines = ran.of("partition")
    if ran.code not in (0, 4):
        return "error"
    if len(got) != len(rows):
        return "twice"
    wrong = [offset for offset, row in got.items() if truth.get(offset) != row]
    if not wrong and len(got) == len(truth):
        return "right"
    if ran.code == 0:
        return "assumed" if any(line.get("assumed") for line in lines) else "all-clear"
    told = any(line["doubts"] or line["conflicts"] for line in lines)
    if not wrong or told:
        return "told"
    # Epochs alone, or a batch with damage on both sides, are taken at their word: open, and with 4.
    epochs = all(truth.get(offset, ("",))[:-1] == got[offset][:-1] for offset in wrong)
    return "untold epochs" if epochs else "untold"


def played(seed: int, number: int, folder: Path) -> str:
    """How it ended."""
    draw = Random(f"flipped {seed} {number}")
    name = draw.choice(GOLDENS)
    found = partitions(golden(name))
    rich = [each for each in found if each.startswith(("compacted", "customers", "__"))]
    partition = draw.choice(rich if rich and draw.random() < 0.6 else [*found])
    count, whole, indexed = draw.choice((1, 1, 2, 3)), draw.random() < 0.5, draw.random() < 0.5
    places = found[partition]
    copies = [replica(places[n % len(places)], folder / f"b{n}", whole=whole) for n in range(count)]
    given = sorted(folder.glob("b*/d*")) if whole else copies
    topic = partition.rpartition("-")[0]
    _, before = rescued(given, topic, folder / "truth")
    flips = [flip_drawn(draw.choice(copies), draw) for _ in range(draw.choice((1, 1, 1, 2, 3, 8)))]
    for index in [] if indexed else [each for copy in copies for each in copy.glob("*index")]:
        index.unlink()
    what = (
        f"{name} {partition}, {count} {'whole' if whole else 'alone'}, {'with' if indexed else 'no'} indexes"
    )
    ended = verdict(dict(before), *rescued(given, topic, folder / "out"))
    assert ended not in WRONG, f"{ended}: {what}: {'; '.join(flips)}"
    return ended


play = playing(played)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], "tests.merge.flipped", [], play))
