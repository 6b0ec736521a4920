"""The table of faults, which everything that needs damage reads.

    fault("index-missing-rolled", removed("index"), "I01", "index-rebuilt 0..220", mend="repair")

is a name; a function that hurts a `Patient`; the codes that fire on log dirs written for it; what the
next start makes of them; and the mend that helps. `killed` and `under` say the same after a kill and
of another release. What real brokers did to the same damage stands under its name in
`tests/lab/verdicts/`, a file for each release and kind of stop.

A code fires at every level of a check; `I12+` from the default level on, `L05++` only in a deep check,
`I25-` only in a startup check, `I16=` only at the default level. A start is told by `refuses`, `offline`,
and the effects on the partition, by its log start and log end offset afterwards, and by the records that
it loses: `tail-truncated 0..200 -22`.
"""

import functools
import importlib
import os
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from segmend.logdir.release import Release
from tests.faults.patient import Patient
from tests.faults.written import Base, two_dirs, unflushed_dirs, with_zookeeper

Hurt = Callable[[Patient], object]
Number = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A written log dir on which a fault is seen: its `codes`, and what a `start` of the release does.

    The patient is the partition `on` in the first of the log dirs that `base` writes; `says` is in what
    the broker logs or gives as its reason. `mend` takes all the codes away, but for those behind a colon.
    A `vast` one is looked at by startup checks alone: others read all of it.
    """

    codes: str
    start: str
    base: Base = two_dirs
    clean: bool = True
    on: str = "t-0"
    release: str = "4.3"
    zookeeper: bool | None = None
    says: str = ""
    mend: str = ""
    vast: bool = False

    def write(self, root: Path) -> Patient:
        """The patient on its log dirs below `root`, unhurt."""
        dirs = self.base(root, self.clean)
        if Release.parse(self.release) < (2, 8) if self.zookeeper is None else self.zookeeper:
            with_zookeeper(dirs)
        topics = (path for path in dirs[-1].glob("*-0") if path.name not in (self.on, "__cluster_metadata-0"))
        return Patient(tuple(dirs), dirs[0] / self.on, min(topics, default=dirs[0]))


@dataclass(frozen=True, kw_only=True)
class Fault:
    """`scenes` are its written log dirs; `marks` the kinds of stop after which real brokers were tried.

    After a stop in `alone` it got a start of its own, because it takes the log dir or the broker down,
    changes more than one partition, or lets retention delete after 30 seconds; otherwise it shares a
    start with others. `since` bounds the releases. `family` is the file of the row.
    """

    name: str
    hurt: Hurt
    scenes: tuple[Scene, ...] = ()
    marks: frozenset[str] = frozenset()
    alone: frozenset[str] = frozenset()
    since: Number = (0, 8)
    family: str = ""
    root: bool = False
    """Whether only root can do it."""

    def applies(self, release: Number, mark: str) -> bool:
        """Whether the lab tries it on that release after that kind of stop."""
        return mark in self.marks and self.since <= release

    def scope(self, mark: str) -> str:
        """`partition`: it can share a start; `broker`: it cannot."""
        return "broker" if mark in self.alone else "partition"


@dataclass(frozen=True)
class Case:
    """One scene of a fault."""

    fault: Fault
    scene: Scene
    number: int

    def __str__(self) -> str:
        """The name of the fault, with the stop and the release if they are not the usual ones."""
        mark = "" if self.scene.clean else "killed"
        release = "" if self.scene.release == "4.3" else self.scene.release
        return " ".join(filter(None, [self.fault.name, mark, release]))

    def hurt(self, root: Path) -> Patient:
        """The hurt patient on log dirs below `root`; what only root can do to one is skipped for others."""
        if self.fault.root and os.geteuid() != 0:
            pytest.skip("only root can give files away")
        patient = self.scene.write(root)
        self.fault.hurt(patient)
        return patient


Other = Callable[[Scene], Scene]


def written(
    name: str, hurt: Hurt, codes: str = "", start: str = "", *others: Other, root: bool = False, **more: Any
) -> Fault:
    """A fault that no real broker was tried on; `more` is of its first scene, from which `others` differ."""
    first = Scene(codes=codes, start=start, **more)
    return Fault(name=name, hurt=hurt, scenes=(first, *(other(first) for other in others)), root=root)


def fault(
    name: str, hurt: Hurt, codes: str = "", start: str = "", *others: Other,
    marks: str = "clean killed", alone: str = "", since: Number = (0, 8), **more: Any,
) -> Fault:  # fmt: skip
    """A fault with recorded verdicts; `marks` and `alone` are words."""
    made = written(name, hurt, codes, start, *others, **more)
    return replace(made, marks=frozenset(marks.split()), alone=frozenset(alone.split()), since=since)


def alone(name: str, hurt: Hurt, codes: str = "", start: str = "", *others: Other, **more: Any) -> Fault:
    """One with a start of its own; by default only after a clean stop, where the mark changes nothing."""
    return fault(name, hurt, codes, start, *others, **{"marks": "clean", "alone": "clean killed", **more})


def elsewhere(codes: str, start: str, **more: Any) -> Other:
    """The same on another base."""
    return lambda scene: replace(scene, codes=codes, start=start, **{"says": "", "mend": "", **more})


def killed(codes: str, start: str, **more: Any) -> Other:
    """The same after a kill."""
    return elsewhere(codes, start, clean=False, **more)


def unflushed(codes: str, start: str, **more: Any) -> Other:
    """The same after a kill before anything was flushed, so that all of the log is recovered."""
    return killed(codes, start, base=unflushed_dirs, **more)


def under(release: str, codes: str, start: str, **more: Any) -> Other:
    """The same as another release sees it."""
    return elsewhere(codes, start, release=release, **more)


@functools.cache
def all_faults() -> tuple[Fault, ...]:
    """The rows of every family, in the order of their names."""
    folder, found = Path(__file__).parent, []
    for module in sorted(module.name for module in pkgutil.iter_modules([str(folder)])):
        rows: Sequence[Fault] = getattr(importlib.import_module(f"tests.faults.{module}"), "FAULTS", ())
        found += [replace(row, family=module) for row in rows]
    return tuple(sorted(found, key=lambda each: each.name))


def recorded_faults() -> list[Fault]:
    """Those that real brokers were tried on."""
    return [fault for fault in all_faults() if fault.marks]


def all_cases() -> Iterator[Case]:
    """Every scene of every fault."""
    return (Case(each, scene, number) for each in all_faults() for number, scene in enumerate(each.scenes))


def fault_called(name: str) -> Fault:
    """The fault of that name."""
    return next(fault for fault in all_faults() if fault.name == name)
