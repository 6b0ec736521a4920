"""A broker's log dirs out of a golden directory, and one operation on them from its cause to its undo."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from tests.cli.run import Ran
from tests.surgery.desk import Desk, left_code

from segmend.logdir.release import Release

KAFKA = 4711
"""The user that the broker runs as; surgery is done by root, if the tests are."""

Finding = tuple[str, str]
"""Code, and file without its log dir: a partition that moves keeps its findings."""


class Refused(Exception):
    """The operation makes no plan here, in its own words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is asked of segmend, and what must be so before, after, and for ever."""

    argv: tuple[object, ...]
    """`repair DIR... OPTIONS`: what follows `segmend plan`."""
    codes: frozenset[str] = frozenset()
    """What `check` says before the plan, and no longer after it."""
    done: Callable[[], bool] | None = None
    """For what no check speaks of: whether that which was asked for is so."""
    lost: int = 0
    """How many records the plan says are lost."""
    gone: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """By partition, the offsets that no consumer gets any more."""
    deleted: frozenset[str] = frozenset()
    """Partitions that the broker makes again, empty."""
    returning: frozenset[str] = frozenset()
    """Codes that come with what is brought back."""
    moved: bool = False
    """Whether partitions lie in another log dir, so that the broker is asked for the place."""
    apply: tuple[object, ...] = ()
    """Options of `segmend apply`."""
    during: Callable[[], AbstractContextManager[None]] = nullcontext
    """What the plan is to be made in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """An operation with its cause: `ask` does the damage to a copy of a golden directory."""

    name: str
    ask: Callable[[Bed], Asked]
    since: tuple[int, ...] = (0,)
    """The first release that has what it is about."""
    because: str = ""
    """Why not before."""
    refusals: Mapping[str, str] = field(default_factory=dict)
    """By golden: the words with which it is refused, rightly."""
    killed: bool = False
    """Whether it is another thing after a kill."""

    def why_not(self, release: tuple[int, ...]) -> str | None:
        """Why a release has no such case."""
        return None if release >= self.since else self.because


class Bed(Desk):
    """`home` is a broker's directory with `d0` and `d1`; `whole` is the same, unhurt: another replica.

    `spare` is a directory on another disk, if there is one.
    """

    def __init__(self, golden: str, whole: Path, root: Path, spare: Path | None = None) -> None:
        self.golden = golden
        self.version = golden.partition("-")[0]
        self.release = Release.parse(self.version)
        self.whole = whole / "b1"
        self.spare = spare
        super().__init__(self.whole, root)
        if os.geteuid() == 0:
            for path in [self.home, *self.home.rglob("*")]:
                os.chown(path, KAFKA, KAFKA)
                path.chmod(0o750 if path.is_dir() else 0o640)
        self.owners = self.owned()
        self.usual: set[Finding] | None = None
        """What `check` says of it as it stands, if it was asked already; `after`, behind the last plan."""
        self.after: set[Finding] = set()

    def where(self, name: str) -> Path:
        """The directory of a partition."""
        return next(path for log_dir in self.dirs for path in log_dir.glob(name) if path.is_dir())

    def other(self, name: str) -> Path:
        """The directory of the unhurt replica."""
        return next(self.whole.glob(f"d*/{name}"))

    def owned(self) -> set[tuple[int, ...]]:
        """Owner, group and mode of all that is there: a broker must be able to open what surgery made."""
        every = (path.lstat() for path in [self.home, *self.home.rglob("*")])
        return {(found.st_uid, found.st_gid, found.st_mode) for found in every}

    def findings(self) -> set[Finding]:
        """All that `check` says of the files, and what brokers up to 2.2 say of indexes when they start."""
        levels = ("--deep", "--startup") if self.release < (2, 3) else ("--deep",)
        return {found for level in levels for found in self._findings(level)}

    def _findings(self, level: str) -> Iterator[Finding]:
        ran = self.run("check", level, *self.dirs, "--kafka", self.version, "--json")
        assert ran.code in (0, 4), f"check exits with {ran.code}: {ran.err}"
        for row in ran.of("finding"):
            yield row["code"], row["file"] or ""


def plan(bed: Bed, asked: Asked) -> Ran:
    """The plan that is asked for; raises `Refused`."""
    operation, *rest = asked.argv
    if operation == "quarantine":
        ran = bed.run(*asked.argv, "--state-dir", bed.state, "-o", bed.plan_file, "--json")
    elif operation == "compose":
        ran = bed.run("plan", *asked.argv, "-o", bed.plan_file, "--json")
    else:
        ran = bed.run("plan", operation, *rest, "--kafka", bed.version, "-o", bed.plan_file, "--json")
    if ran.code in (8, 16):
        raise Refused(ran.err.strip())
    left = [words for row in ran.of("plan") for words in row["left"]]
    if left or not ran.of("step"):
        raise Refused("; ".join(left) or "nothing to do")
    assert ran.code == left_code(ran.of("plan")[0]), f"plan exits with {ran.code}"
    assert sum(row["records"] for row in ran.of("loss")) == asked.lost, ran.of("loss")
    return ran


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Say in which step something failed."""
    try:
        yield
    except AssertionError as error:
        raise AssertionError(f"{name}: {error}") from error


def operate(bed: Bed, case: Case) -> Asked:
    """Damage, check, plan, apply, check, undo: afterwards it is as it was after the damage."""
    usual = bed.findings() if bed.usual is None else bed.usual
    bed.usual = None
    asked = case.ask(bed)
    with stage("before"):
        fires = {code for code, _ in bed.findings() - usual} if asked.codes else set()
        assert asked.codes <= fires, f"{sorted(fires)} does not have {sorted(asked.codes)}"
        assert asked.codes or asked.done, "nothing is wrong"
        assert asked.done is None or not asked.done(), "it is so already"
    with stage("plan"), asked.during():
        plan(bed, asked)
    with stage("apply"):
        bed.apply(*asked.apply)
    with stage("after"):
        bed.after = bed.findings()
        new = {found for found in bed.after - usual if found[0] not in asked.returning}
        assert not new, f"check says {sorted(new)}"
        assert asked.done is None or asked.done(), "it is not done"
        assert bed.owned() <= bed.owners, "there are files that are not the broker's"
    with stage("undo"):
        bed.undo()
    return asked


def operate_for_good(bed: Bed, case: Case) -> Asked:
    """The same, and then the plan is applied once more."""
    asked = operate(bed, case)
    with stage("apply again"):
        bed.apply(*asked.apply)
    bed.usual = bed.after
    return asked
