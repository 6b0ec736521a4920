"""The log dirs of a row of the damage tables after its damage, and commands on them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.checks.build_partition import topic_id
from tests.checks.damage_epochs import second_partition
from tests.checks.damages import Row
from tests.cli.run import Ran
from tests.surgery.desk import Desk

from segmend.checks import Level

LEVELS = {Level.STARTUP: ("--startup",), Level.DEEP: ("--deep",)}


class Patient(Desk):
    """`other` is the first log dir before its damage; with `siblings` a topic has two partitions."""

    def __init__(
        self, row: Row, root: Path, capsys: pytest.CaptureFixture[str], *, siblings: bool = False
    ) -> None:
        dirs = row.base(root / "disks")
        if siblings:
            second_partition(topic_id("u"))(dirs)
        shutil.copytree(root / "disks", root / "other", symlinks=True)
        row.hurt(dirs)
        super().__init__(root / "disks", root, capsys, copy=False)
        self.row, self.dirs, self.other = row, [*dirs], root / "other" / "a"

    def mend(self, *options: object) -> Ran:
        """`segmend plan repair`, as deep as the damage lies."""
        deep = ["--deep"] if self.row.level == Level.DEEP else []
        where = ("--kafka", self.row.release, "-o", self.plan_file)
        return self.run("plan", "repair", *self.dirs, *where, *deep, *options)

    def codes(self, *options: str) -> set[str]:
        """What checks find, at the level of the row too."""
        runs = [
            self.run("check", *self.dirs, "--kafka", self.row.release, "--json", "--max", 0, *level)
            for level in {options, LEVELS.get(self.row.level, ())}
        ]
        return {line["code"] for found in runs for line in found.of("finding")}


PatientOf = Callable[..., Patient]
