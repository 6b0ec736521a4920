"""Three replicas of a few golden partitions, hurt by a seed, and what a rescue gave of them."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.copies import copy_tree
from tests.faults.on_disk import batches_of, flip, lines_of, put_lines

from segmend.formats.batch import RecordBatch
from segmend.formats.record import decode

SOME = ("codec-none-0", "codec-zstd-0", "txn-0", "idem-0", "single-0", "compacted-0")
"""Partitions that have much in little: all that a batch can be is in one of them."""
PROVENANCE = ("broker", "dir", "file", "position", "unacknowledged")


def replicas(golden: Path, root: Path, names: tuple[str, ...] = SOME, count: int = 3) -> list[Path]:
    """Log dirs of brokers 1, 2, ... with the same partitions in each."""
    found = []
    for number in range(1, count + 1):
        home = root / f"b{number}"
        home.mkdir(parents=True)
        for name in names:
            copy_tree(next(golden.glob(f"b1/d*/{name}")), home / name)
        log_dir = next(golden.glob("b1/d0"))
        text = (log_dir / "meta.properties").read_text()
        (home / "meta.properties").write_text(text.replace("node.id=1", f"node.id={number}"))
        for each in log_dir.glob("*-offset-checkpoint"):
            of_names = (line for line in lines_of(each) if line.rpartition(" ")[0].replace(" ", "-") in names)
            put_lines(home / each.name, of_names)
        found.append(home)
    return found


def hurt(dirs: list[Path], draw: random.Random, choose: Callable[[], set[int]]) -> dict[str, set[int]]:
    """Flip a byte of each batch on the replicas that `choose` names; the offsets that are hurt on all."""
    gone: dict[str, set[int]] = {}
    for log in sorted(dirs[0].glob("*/*.log")):
        batches = batches_of(log)
        spans = [range(first_of(batch, log), batch.last_offset + 1) for batch in batches]
        for batch, span in zip(batches, spans, strict=True):
            whom = choose()
            for number in whom:
                path = dirs[number] / log.parent.name / log.name
                flip(path, draw.randrange(batch.position + (21 if batch.magic == 2 else 16), batch.end))
            if len(whom) == len(dirs):
                gone.setdefault(log.parent.name, set()).update(span)
    return gone


def first_of(batch: RecordBatch, log: Path) -> int:
    """Its first offset, which a wrapper of magic 0 or 1 has inside."""
    data = log.read_bytes()[batch.position : batch.end]
    return decode(data, batch)[0][0].offset if batch.magic < 2 and batch.codec else batch.base_offset


def told(out: Path) -> dict[str, list[dict[str, Any]]]:
    """The rows of each partition of a rescue as JSON lines, without where they come from."""
    rows = {path.stem: map(json.loads, path.read_text().splitlines()) for path in out.glob("*-*.jsonl")}
    return {
        name: [{key: value for key, value in row.items() if key not in PROVENANCE} for row in each]
        for name, each in rows.items()
    }
