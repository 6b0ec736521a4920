"""A log of a dir fails while another one with an open transaction waits to be loaded, or was before."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.faults.on_disk import put_folder
from tests.lab.places.base import partition_in
from tests.lab.places.table import Trial

Fail = Callable[[Path], object]


def epochs(folder: Path) -> None:
    """Epochs that are no text of a checkpoint."""
    (folder / "leader-epoch-checkpoint").write_text("not\na\ncheckpoint\n")


def topic_id(folder: Path) -> None:
    """A topic id that cannot be read."""
    (folder / "partition.metadata").write_text("nothing\n")


def log_is_a_folder(folder: Path) -> None:
    """A log that cannot be opened: an IOException that nobody reports at once."""
    path = max(folder.glob("*.log"))
    put_folder(path)


def index_is_a_folder(folder: Path) -> None:
    """The active index cannot be opened."""
    path = max(folder.glob("*.index"))
    put_folder(path)


FAILS: dict[str, Fail] = {
    "epochs": epochs, "topic-id": topic_id, "log-folder": log_is_a_folder, "index-folder": index_is_a_folder,
}  # fmt: skip


def gathered(b1: Path) -> list[str]:
    """Three partitions in one dir, in the order in which they are listed there."""
    for number in (4, 5):
        moved = partition_in(b1 / f"d{number}")
        moved.rename(b1 / "d3" / moved.name)
    return [name for name in os.listdir(b1 / "d3") if name.startswith("p") and name.endswith("-0")]


@dataclass(frozen=True, kw_only=True)
class OpenTrial(Trial):
    """The one that fails is the `which`th that the broker lists; `fail` is how."""

    fail: Fail
    which: int

    def in_order(self, b1: Path, names: Sequence[str]) -> None:
        """The same where they were listed so, which each file system does in its own way."""
        gathered(b1)
        self.fail(b1 / "d3" / names[self.which])


def trial(name: str, kind: str, which: int, threads: int, **more: Any) -> OpenTrial:
    """One of them."""
    fail = FAILS[kind]
    return OpenTrial(
        name=f"{name}-{kind}-{which}", alone=True, uid=None, fail=fail, which=which,
        hurt=lambda b1: fail(b1 / "d3" / gathered(b1)[which]),
        settings={"num.recovery.threads.per.data.dir": str(threads)}, **more,
    )  # fmt: skip


OPEN = [
    *(trial("open", kind, which, 1, marks=("clean", "killed")) for kind in FAILS for which in (0, 1, 2)),
    *(trial("threads", kind, which, 4, since=(3, 3)) for kind in FAILS for which in (0, 2)),
]
"""Open transactions are in all three."""
