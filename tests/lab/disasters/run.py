"""Do a disaster to a copy, ask the forecast, start the broker; keep what came of it, one line a disaster."""

import json
import lzma
import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

from tests.copies import make_tree, remembered
from tests.lab.disasters.bases import node
from tests.lab.disasters.compare import NAMED, disagreements, wrong
from tests.lab.disasters.draw import Disaster
from tests.lab.disasters.files import fingerprint, look
from tests.lab.disasters.judge import judged
from tests.lab.disasters.said import said
from tests.lab.disasters.scene import Scene
from tests.lab.disasters.wounds import apply, named
from tests.memory import MEMORY, may_be_used

RECORDS = Path(__file__).parent / "records"
OF_THE_PAST = "whether the log went on: "
"""What a log once had is not known; that leaves nothing open of what the start does with it."""
Row = dict[str, Any]
STALE = "other files are hurt than those that were recorded: record it again"


class Drawn(Protocol):
    """What is drawn of parts, and is something without one of them, too."""

    def without(self, number: int) -> Self: ...


D = TypeVar("D", bound=Drawn)


def scratch(name: str) -> Path:
    """A place for copies, in memory where there is one."""
    home = MEMORY if may_be_used() else Path("/tmp")
    return home / f"segmend-{name}-{os.getpid()}"


def hurt_copy(disaster: Disaster, root: Path) -> Scene:
    """The disaster done to a fresh copy at `root`; a wound that can no longer be done stays half done."""
    shutil.rmtree(root, ignore_errors=True)
    base = node(disaster.writer)
    make_tree(root, remembered(base.root / disaster.stage))
    forgotten = base.root / "killed" / "zookeeper"
    if disaster.stage == "live" and forgotten.exists():  # one that no longer waits for the running broker
        shutil.rmtree(root / "zookeeper")
        make_tree(root / "zookeeper", remembered(forgotten))
    scene = Scene(root, base, disaster.stage)
    closing = [wound for wound in disaster.wounds if of_owners(wound)]
    for wound in disaster.wounds:
        if wound not in closing:
            apply(scene, wound)
    as_of_the_end(root, base.root / disaster.stage)
    if disaster.uid:
        root.chmod(0o755)
        for path in (root, *(root / "b1").rglob("*"), root / "b1"):
            os.chown(path, disaster.uid, disaster.uid, follow_symlinks=False)
    for wound in closing:
        apply(scene, wound)
    return scene


def as_of_the_end(root: Path, stage: Path) -> None:
    """Give what was hurt the time of the newest file: it was hurt as the broker ended, not days later."""
    newest = max(path.stat().st_mtime_ns for path in stage.rglob("*") if path.is_file())
    for path in root.rglob("*"):
        if path.lstat().st_mtime_ns > newest:
            os.utime(path, ns=(newest, newest), follow_symlinks=False)


def of_owners(wound: str) -> bool:
    """Whether it is done once everything is the user's."""
    row = named(wound)
    return row is not None and row.kind == "owners"


def tried(disaster: Disaster, root: Path) -> Row:
    """What the real broker does."""
    scene = hurt_copy(disaster, root)
    hurt = fingerprint(look(root))
    return {**disaster.to_json(), "hurt": hurt, "verdict": judged(disaster.version, scene, disaster.uid)}


def rows_of(path: Path) -> list[Row]:
    """Recorded disasters, packed or not."""
    if not path.exists():
        return []
    data = path.read_bytes()
    text = lzma.decompress(data) if path.suffix == ".xz" else data
    return [json.loads(line) for line in text.splitlines()]


def packed(rows: Iterable[Row], path: Path) -> None:
    """Keep them in the order of their numbers, small."""
    text = "".join(f"{json.dumps(row, sort_keys=True, separators=(',', ':'))}\n" for row in rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))


def record(version: str) -> Path:
    """Where the disasters of a release are kept."""
    return RECORDS / f"{version}.jsonl.xz"


def compared(disaster: Disaster, verdict: dict[str, Any], root: Path) -> list[str]:
    """In what the forecast differs from a verdict, and what it names as unknown."""
    scene = hurt_copy(disaster, root)
    mine = said(disaster.version, scene, disaster.uid, verdict.get("order"))
    named = (f"{NAMED}{each}" for each in mine.broker["unknown"] if OF_THE_PAST not in each)
    tree = look(root)
    stale = [STALE] if disaster.hurt not in ("", fingerprint(tree)) else []
    return [*stale, *disagreements(verdict, tree, mine), *named]


def judged_and_compared(disaster: Disaster, root: Path) -> tuple[Row, list[str]]:
    """A start of the real broker, and in what the forecast differs from it."""
    row = tried(disaster, root)
    return row, compared(disaster, row["verdict"], root)


def shrunk(disaster: Disaster, root: Path) -> Disaster:
    """One with which the forecast still disagrees, of as few wounds as dropping one by one leaves."""
    return fewest(disaster, lambda each: each.wounds, lambda each: wrong(judged_and_compared(each, root)[1]))


def fewest(drawn: D, parts: Callable[[D], Sequence[object]], disagrees: Callable[[D], list[str]]) -> D:
    """The same with as few parts as leaving them out one by one comes to, while something still disagrees."""
    number = 0
    while number < len(parts(drawn)):
        fewer = drawn.without(number)
        points = disagrees(fewer)
        print(f"  {len(parts(fewer))} left without {parts(drawn)[number]}: {points[:1]}", flush=True)
        if points:
            drawn = fewer
        else:
            number += 1
    return drawn
