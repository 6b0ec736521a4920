"""`--topic-config`: settings of topics that are not on the disks, from files."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from segmend.errors import UsageError
from segmend.loading.limits import TopicSettings
from segmend.loading.topic_settings import SUFFIX, topic_settings
from segmend.logdir import disk
from segmend.logdir.file_system import FILES

_LIMIT = 64 << 20


def add_topic_config(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    parser.add_argument(
        "--topic-config",
        metavar="PATH",
        action="append",
        help="topics' own settings where ZooKeeper has them: what `kafka-configs --describe` printed, or "
        "TOPIC.properties, or a directory of such files; again for more",
    )


def told_settings(paths: Sequence[str] | None) -> TopicSettings | None:
    """What the files say, the later ones first; raises `UsageError` and `Unreadable`."""
    if not paths:
        return None
    by_topic = {topic: own for path in _files(paths) for topic, own in _read(path).items()}
    return TopicSettings(of=by_topic, source=f"in {', '.join(paths)}")


def _files(paths: Sequence[str]) -> Iterator[str]:
    for path in paths:
        if disk.path_type(path) != "dir":
            yield path
            continue
        names = [name for name, kind in sorted(disk.listing(path).items()) if kind in FILES]
        if not names:
            raise UsageError(f"{path}: the directory has no file with settings of topics")
        yield from (f"{path.rstrip('/')}/{name}" for name in names)


def _read(path: str) -> dict[str, dict[str, str]]:
    text = disk.read(path, _LIMIT).decode("utf-8", "replace")
    stem = path.rpartition("/")[2].removesuffix(SUFFIX)
    return {topic: dict(own) for topic, own in topic_settings(text, path, stem).items()}
