"""What a wound is given: the log dirs of one node, the moments it was written at, and a seeded draw."""

import json
import os
import random
from dataclasses import dataclass
from pathlib import Path

from tests.lab.disasters.bases import Node

PAGE = 4096
META = "__cluster_metadata-0"


@dataclass(frozen=True)
class Scene:
    """`root` holds the copy that is hurt, `b1/d0` and `b1/d1`; `stage` is what it was copied from."""

    root: Path
    node: Node
    stage: str

    @property
    def dirs(self) -> list[Path]:
        """All log dirs, whether they are there or not."""
        return [self.root / "b1" / name for name in ("d0", "d1")]

    @property
    def dropped_list(self) -> Path:
        """Where the names of the dirs stand that the configuration no longer has."""
        return self.root / "dropped"

    @property
    def dropped(self) -> list[str]:
        """The names of the dirs that the configuration no longer has."""
        return self.dropped_list.read_text().split() if self.dropped_list.exists() else []

    @property
    def reordered_mark(self) -> Path:
        """Is there if the configuration has the dirs the other way round."""
        return self.root / "reordered"

    @property
    def settings_file(self) -> Path:
        """Where the settings stand that somebody changed."""
        return self.root / "settings"

    @property
    def settings(self) -> dict[str, str]:
        """Those settings."""
        found: dict[str, str] = (
            json.loads(self.settings_file.read_text()) if self.settings_file.exists() else {}
        )
        return found

    def log_dir(self, name: str) -> Path:
        """`d0` or `d1`."""
        return self.root / "b1" / name

    def partition(self, topic: str) -> Path:
        """The directory of partition 0 of a topic; raises LookupError where it is gone."""
        for path in self.dirs:
            if (path / f"{topic}-0").is_dir():
                return path / f"{topic}-0"
        raise LookupError(topic)

    def places(self, target: str) -> list[Path]:
        """The directories of a target: a log dir, a topic, `meta`, `internal`, or `all`."""
        if target in ("d0", "d1"):
            return [self.log_dir(target)]
        folders = [path for each in self.dirs if each.is_dir() for path in sorted(each.iterdir())]
        folders = [path for path in folders if path.is_dir()]
        if target == "meta":
            return [path for path in folders if path.name == META]
        if target == "internal":
            return [path for path in folders if path.name.startswith(("__consumer", "__transaction"))]
        if target == "all":
            return [*(path for path in self.dirs if path.is_dir()), *folders]
        return [self.partition(target)]

    def then(self, stage: str, path: Path) -> Path:
        """The same path as it was at another moment."""
        return self.node.root / stage / path.relative_to(self.root)


def listed(scene: Scene) -> dict[str, list[int]]:
    """How the directories of each log dir are listed: by their numbers in the order of names."""
    found = {}
    for path in scene.dirs:
        names = [each.name for each in os.scandir(path) if each.is_dir()] if path.is_dir() else []
        found[path.name] = [sorted(names).index(name) for name in names]
    return found


def files(folder: Path) -> list[Path]:
    """The files of a directory, sorted, without the lock."""
    return sorted(path for path in folder.iterdir() if path.is_file() and path.name != ".lock")


def recent(folder: Path) -> list[Path]:
    """Those of a directory that were written last: of the last two segments, and all that has no offset."""
    found = files(folder)
    bases = sorted({path.name[:20] for path in found if path.suffix == ".log" and path.stem.isdigit()})
    last = set(bases[-2:])
    return [path for path in found if not path.name[:20].isdigit() or path.name[:20] >= min(last, default="")]


def chosen(draw: random.Random, found: list[Path], most: int) -> list[Path]:
    """Some of them, at least one; raises LookupError when there is none."""
    if not found:
        raise LookupError("no file")
    return sorted(draw.sample(found, min(len(found), draw.randint(1, most))))


def used(path: Path) -> int:
    """How much of a file was written: without the zeros of a preallocated index."""
    return len(path.read_bytes().rstrip(b"\0")) if path.stat().st_size <= 1 << 24 else path.stat().st_size
