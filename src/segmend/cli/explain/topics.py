"""Finds the topics: every other module of this package."""

from __future__ import annotations

import argparse
import pkgutil
from collections.abc import Sequence
from importlib import import_module
from typing import Protocol, cast

from segmend.cli import explain


class Topic(Protocol):
    """What a topic's module has."""

    NAME: str
    SUMMARY: str
    OPTIONS: Sequence[str]
    __doc__: str | None

    def configure(self, parser: argparse._ArgumentGroup) -> None:
        """Add the topic's own options; a topic without any has no such function."""
        ...

    def run(self, args: argparse.Namespace, paths: Sequence[str]) -> int:
        """Explain these directories; returns the exit code."""
        ...


def all_topics() -> dict[str, Topic]:
    """The topics by name."""
    names = [module.name for module in pkgutil.iter_modules(explain.__path__) if module.name != "topics"]
    found = [cast(Topic, import_module(f"{explain.__name__}.{name}")) for name in names]
    return {topic.NAME: topic for topic in found}


def page(topic: Topic) -> str:
    """The topic in a page."""
    return (topic.__doc__ or "").strip()
