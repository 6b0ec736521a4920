"""Finds the commands, by the names of their rooms."""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import Protocol, cast

from segmend.discovery import modules_in

_HOME = "segmend.cli.commands"


class Command(Protocol):
    """What the module `command` of a room looks like."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the options, or sub-commands."""

    def run(self, args: argparse.Namespace) -> int:
        """Do it; returns the exit code."""


def names() -> list[str]:
    """The names of all commands, which are those of their rooms; none of them is imported."""
    return modules_in(import_module(_HOME).__path__)


def summary(name: str) -> str:
    """The help line of one of `names`."""
    return cast(str, import_module(f"{_HOME}.{name}").HELP)


def command(name: str) -> Command:
    """The command that is one of `names`; only that is imported."""
    return cast(Command, import_module(f"{_HOME}.{name}.command"))
