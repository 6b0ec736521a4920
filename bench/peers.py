"""The others that do part of the work: cat, Kafka's own dumper, aiokafka's decoder."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from tests.lab.jars import jars
from tests.lab.java import find_java
from tests.lab.releases import release

from bench.measure import Contender

KAFKA = "4.3.1"
DEFAULT = "kafka-dump-log"
DEEP = "kafka-dump-log --deep-iteration"


def segmend(name: str, *arguments: str | Path) -> Contender:
    """The `segmend` command of this checkout, process start included."""
    return Contender(name, [sys.executable, "-m", "segmend", *map(str, arguments)])


def cat(files: Sequence[Path]) -> Contender:
    """The plain read: what the page cache gives to one process."""
    return Contender("cat", ["cat", *map(str, files)])


def dump_log(name: str, files: Sequence[Path]) -> Contender:
    """kafka-dump-log of the newest release on the same files; its text goes to /dev/null."""
    deep = name.split()[1:]
    command = [str(find_java()), "-cp", f"{jars(release(KAFKA))}/*", "org.apache.kafka.tools.DumpLogSegments"]
    return Contender(name, [*command, "--files", ",".join(map(str, files)), *deep])
