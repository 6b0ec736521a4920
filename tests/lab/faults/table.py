"""The table of faults: a row is a name, its catalogue row, and a function that hurts a patient."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from tests.lab.faults.patient import Patient

Hurt = Callable[[Patient], object]
BOTH = frozenset({"clean", "killed"})
OTHER = frozenset({"table", "patient"})


@dataclass(frozen=True, kw_only=True)
class Fault:
    """`row` is its catalogue row; `marks` are the kinds of stop to which it applies.

    After a stop in `alone` the fault gets a start of its own, because it takes the log dir or
    the broker down, changes more than one partition, or lets retention delete after 30 seconds;
    otherwise it shares a start with others.
    `since` (inclusive) and `until` (exclusive) bound the releases. `family` is the file of the row.
    """

    name: str
    row: str
    hurt: Hurt
    marks: frozenset[str] = BOTH
    alone: frozenset[str] = frozenset()
    since: tuple[int, ...] = (0, 8)
    until: tuple[int, ...] = (99,)
    family: str = ""

    def applies(self, release: tuple[int, ...], mark: str) -> bool:
        """Whether the lab tries it on that release after that kind of stop."""
        return mark in self.marks and self.since <= release < self.until

    def scope(self, mark: str) -> str:
        """`partition`: it can share a start; `broker`: it cannot."""
        return "broker" if mark in self.alone else "partition"


def fault(
    name: str,
    row: str,
    hurt: Hurt,
    *,
    marks: str = "clean killed",
    alone: str = "",
    since: tuple[int, ...] = (0, 8),
    until: tuple[int, ...] = (99,),
) -> Fault:
    """A row; `marks` and `alone` are words."""
    return Fault(
        name=name,
        row=row,
        hurt=hurt,
        marks=frozenset(marks.split()),
        alone=frozenset(alone.split()),
        since=since,
        until=until,
    )


def alone(name: str, row: str, hurt: Hurt, *, since: tuple[int, ...] = (0, 8), marks: str = "clean") -> Fault:
    """A row with a start of its own; by default only after a clean stop, where the mark changes nothing."""
    return fault(name, row, hurt, marks=marks, alone="clean killed", since=since)


def all_faults() -> list[Fault]:
    """The rows of every family, in the order of their names."""
    folder = Path(__file__).parent
    modules = sorted({module.name for module in pkgutil.iter_modules([str(folder)])} - OTHER)
    found: list[Fault] = []
    for module in modules:
        rows: list[Fault] = importlib.import_module(f"tests.lab.faults.{module}").FAULTS
        found += (replace(row, family=module) for row in rows)
    return sorted(found, key=lambda each: each.name)
