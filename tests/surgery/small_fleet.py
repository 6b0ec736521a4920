"""Two brokers of the golden fleet with a few partitions, and commands on them."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.cli.run import Ran
from tests.copies import copy_tree
from tests.surgery.checkpoints import lines, write
from tests.surgery.desk import Desk

KEPT = ("orders-0", "orders-1", "orders-3", "payments-0", "payments-1", "customers-2")


def small(whole: Path, root: Path) -> None:
    """Two brokers of the golden fleet with a few partitions, each in the log dir where it was."""
    for broker in ("b3", "b2"):
        for log_dir in sorted((whole / broker).iterdir()):
            home = root / broker / log_dir.name
            home.mkdir(parents=True)
            for path in sorted(log_dir.iterdir()):
                if path.name in KEPT or path.name == "__cluster_metadata-0":
                    copy_tree(path, home / path.name)
                elif path.name.endswith("-offset-checkpoint"):
                    kept = {key: at for key, at in lines(path).items() if "{}-{}".format(*key) in KEPT}
                    write(home / path.name, kept)
                elif path.is_file():
                    shutil.copy2(path, home)


class Fleet(Desk):
    """Brokers `b3` (the leader) and `b2` (whose replicas are hurt), and commands on the latter."""

    def __init__(self, disks: Path, root: Path) -> None:
        super().__init__(disks / "b2", root, copy=False)
        self.disks = disks

    @classmethod
    def copied(cls, small: Path, root: Path) -> Fleet:
        """One that may be hurt; plans and state are beside it."""
        for broker in ("b3", "b2"):
            copy_tree(small / broker, root / broker)
        return cls(root, root)

    def replica(self, name: str, broker: str = "b2") -> Path:
        return next(path for path in sorted((self.disks / broker).glob(f"d*/{name}")))

    def graft(self, name: str, *options: object, source: Path | None = None) -> Ran:
        """`segmend plan graft`, from the other broker's replica if nothing else is said."""
        leader = source or self.replica(name, "b3")
        where = ("--partition", name, "--from", leader, "-o", self.plan_file)
        return self.run("plan", "graft", *self.dirs, *where, *options)

    def findings(self) -> list[tuple[str, str]]:
        found = self.run("check", "--deep", *self.dirs, "--json").of("finding")
        return [(row["code"], row["file"]) for row in found if row["severity"] in ("error", "warning")]

    def line(self, checkpoint: str, name: str) -> int | None:
        """The offset of a partition in a checkpoint of the log dir that holds it, or held it."""
        topic, _, number = name.rpartition("-")
        offsets: dict[tuple[str, int], int] = {}
        for log_dir in self.dirs:
            offsets |= lines(log_dir / f"{checkpoint}-offset-checkpoint")
        return offsets.get((topic, int(number)))
