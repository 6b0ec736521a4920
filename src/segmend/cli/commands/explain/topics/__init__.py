"""The topics of `segmend explain`, one file each: `NAME`, `SUMMARY`, `OPTIONS`, `configure`, `run`.

The docstring of a module is the topic's page; `run(args, paths)` explains directories. `OPTIONS`
are the names of the arguments that only this topic takes. One with `told(args)` has more to tell than its
page without directories: where its options are given, `told` tells it and returns True. `OPERANDS` is what
it is given if that is no log dir.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module
from typing import Protocol, cast

from segmend.discovery import modules_in


class TopicModule(Protocol):
    NAME: str
    SUMMARY: str
    OPTIONS: Sequence[str]
    __doc__: str | None

    def configure(self, parser: argparse._ArgumentGroup) -> None:
        """Add the topic's own options; a topic without any has no such function."""

    def run(self, args: argparse.Namespace, paths: Sequence[str]) -> int:
        """Explain these directories; returns the exit code."""


def all_topics() -> dict[str, TopicModule]:
    topics = [cast(TopicModule, import_module(f"{__name__}.{name}")) for name in modules_in(__path__)]
    return {topic.NAME: topic for topic in topics}


def operands(topic: TopicModule) -> str:
    """What it explains one or several of."""
    return str(getattr(topic, "OPERANDS", "DIR"))


def page(topic: TopicModule) -> str:
    return (topic.__doc__ or "").strip()
