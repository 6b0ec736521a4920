"""A broker's log dirs copied from a golden directory, and surgery on them as a user does it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.cli.run import Ran, run
from tests.copies import copy_tree
from tests.golden.shared import is_golden
from tests.outside.held import of_forecast
from tests.surgery.picture import Tree, picture


def left_code(plan: Mapping[str, Any]) -> int:
    """4 for a plan that leaves something as it is, or after which a start is bad by what is known; else 0."""
    after = plan["forecast"].get("after") or {"supposed": True}
    return 4 if plan["left"] or (not after["supposed"] and of_forecast([{**after, "unknown": []}])) else 0


def left_code_of(file: Path) -> int:
    """The same of a plan's file."""
    return left_code(json.loads(file.read_bytes()))


def start_code_of(file: Path) -> int:
    """The same of one that leaves nothing as it is, as it must: 4 is then for the start alone."""
    plan = json.loads(file.read_bytes())
    assert plan["left"] == []
    return left_code(plan)


class Desk:
    """`dirs` are the log dirs of one broker; plans, journals and old bytes lie beside them."""

    def __init__(self, source: Path, root: Path, *, copy: bool = True) -> None:
        """Without `copy` only plans may be made, since all tests share the golden directories."""
        self.root = root
        self.home = root / "disks" if copy else source
        if copy:
            copy_tree(source, self.home)
        self.dirs = sorted(self.home.iterdir())
        self.plan_file = root / "plan.json"
        self.state = root / "state"
        self._before: list[Tree] = []

    def run(self, *argv: object) -> Ran:
        """`segmend ARGV...`; what all tests share is not changed."""
        if argv[0] in ("apply", "undo"):
            assert not is_golden(self.home)
        return run(*argv)

    def plan(self, operation: str, *options: object) -> Ran:
        """`segmend plan OPERATION DIR... OPTIONS -o plan.json --json`."""
        return self.run("plan", operation, *self.dirs, *options, "-o", self.plan_file, "--json")

    def planned(self) -> dict[str, Any]:
        """The plan's file."""
        found: dict[str, Any] = json.loads(self.plan_file.read_bytes())
        return found

    def apply(self, *options: object) -> None:
        """Apply the plan; it must work."""
        self._before.append(self.tree())
        ran = self.run("apply", self.plan_file, "--yes", "--state-dir", self.state, *options)
        assert ran.code == 1 + left_code(self.planned()), (ran.code, ran.out, ran.err)

    def undo(self, journal: str | None = None) -> None:
        """Undo it, or the latest journal; it must work, and all must be as before the latest `apply`."""
        if journal is None:
            journal = self.run("journal", "list", "--state-dir", self.state, "--json").json[-1]["journal"]
        ran = self.run("undo", journal, "--yes", "--state-dir", self.state)
        assert ran.code == 0, ran.err
        if self._before:
            before, now = self._before.pop(), self.tree()
            paths = before.keys() | now.keys()
            assert {path for path in paths if before.get(path) != now.get(path)} == set()

    def forecast(self, *options: object) -> Ran:
        """`segmend forecast DIR... --json`."""
        return self.run("forecast", *self.dirs, "--json", *options)

    def tree(self) -> Tree:
        """Everything about every file and directory."""
        return picture(self.home)

    def steps(self, ran: Ran) -> list[tuple[str, str]]:
        """Kind and path of each step, relative to the disks."""
        return [(row["kind"], str(Path(row["path"]).relative_to(self.home))) for row in ran.of("step")]
