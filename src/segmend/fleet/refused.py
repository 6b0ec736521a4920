"""What the user of an audit may not read: nothing is known of it, and no table may pass it for sound."""

from __future__ import annotations

import shlex
from typing import Final

from segmend.checks import remedies
from segmend.checks.manual import UNKNOWN, WARNING, Code, Page
from segmend.findings import Finding
from segmend.fleet.listing import Place
from segmend.formats.names import parse_dir_name
from segmend.logdir.partition_dir import PARTITION_KINDS

REFUSED: Final = "R07"
CODES: Final = (
    Code(
        REFUSED,
        WARNING,
        "a file or directory that this user may not read: nothing of it was looked at",
        UNKNOWN,
    ),
)
PAGE: Final = Page(
    meaning="""
        The system refused it to the user that the audit, or a task of it on another machine, ran as. Whether
        it is sound nobody knows: no other finding speaks of it, its replica is `unread` in the table
        `replicas`, and what an earlier audit found there is not called gone.""",
    broker="nothing, if its own user may read it; `segmend doctor` tells what that user may not.",
    advice="""
        Run the audit as the brokers' user, or one that may read their files, on every machine that it has
        tasks on.""",
    kafka="none: a broker reads as its own user.",
)


def refused(path: str, place: Place) -> Finding:
    """The finding for a path in a log dir."""
    file = path.removeprefix(place.path).lstrip("/")
    name = parse_dir_name(file.partition("/")[0])
    of = (name.topic, name.partition) if name.kind in PARTITION_KINDS else (None, None)
    return Finding(
        code=REFUSED,
        severity=WARNING,
        message="could not be read with this user's permissions: nothing of it was looked at",
        dir=place.path,
        topic=of[0],
        partition=of[1],
        file=file,
        remedy=remedies.advice(f"ls -ld {shlex.quote(path)}"),
    )
