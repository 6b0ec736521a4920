"""Two brokers of the golden fleet with a few partitions, and commands on them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.run import Ran, run
from tests.golden.judge import copy_tree

from segmend.formats.offset_checkpoint import OffsetCheckpoint, parse, render

KEPT = ("orders-0", "orders-1", "orders-3", "payments-0", "payments-1", "customers-2")


class Fleet:
    """Brokers `b1` (the leader) and `b2` (whose replicas are hurt), and commands on them."""

    def __init__(self, disks: Path, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.disks = disks
        self.root = root
        self.dirs = [disks / "b2" / "d0", disks / "b2" / "d1"]
        self._capsys = capsys

    @classmethod
    def copied(cls, small: Path, root: Path, capsys: pytest.CaptureFixture[str]) -> Fleet:
        """One that may be hurt; plans and state are beside it."""
        for broker in ("b1", "b2"):
            copy_tree(small / broker, root / broker)
        return cls(root, root, capsys)

    def replica(self, name: str, broker: str = "b2") -> Path:
        return next(path for path in sorted((self.disks / broker).glob(f"d*/{name}")))

    def run(self, *argv: object) -> Ran:
        return run(self._capsys, *argv)

    def plan(self, name: str, *options: object, source: Path | None = None) -> Ran:
        leader = source or self.replica(name, "b1")
        where = ("--partition", name, "--from", leader, "-o", self.root / "plan.json")
        return self.run("plan", "graft", *self.dirs, *where, *options)

    def planned(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.root / "plan.json").read_text())
        return found

    def apply(self) -> Ran:
        return self.run("apply", self.root / "plan.json", "--yes", "--state-dir", self.root / "state")

    def undo(self) -> Ran:
        return self.run("undo", "--yes", "--state-dir", self.root / "state")

    def findings(self) -> list[tuple[str, str]]:
        found = self.run("check", "--deep", *self.dirs, "--json").of("finding")
        return [(row["code"], row["file"]) for row in found if row["severity"] in ("error", "warning")]

    def line(self, checkpoint: str, name: str) -> int | None:
        """The offset of a partition in a checkpoint of the log dir that holds it, or held it."""
        topic, _, number = name.rpartition("-")
        offsets: dict[tuple[str, int], int] = {}
        for log_dir in self.dirs:
            offsets |= parse((log_dir / f"{checkpoint}-offset-checkpoint").read_bytes())[0].offsets()
        return offsets.get((topic, int(number)))


def keep(checkpoint: Path, data: bytes) -> None:
    """The lines of the partitions that are kept."""
    rows = [row for row in parse(data)[0].entries if f"{row.topic}-{row.partition}" in KEPT]
    checkpoint.write_bytes(render(OffsetCheckpoint(entries=tuple(rows))))
