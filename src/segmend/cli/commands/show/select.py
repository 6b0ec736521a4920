"""Selection options of `show`: what is selected."""

from __future__ import annotations

import argparse

from segmend.errors import UsageError
from segmend.formats.java_number import LONG_MAX, LONG_MIN
from segmend.logdir.walk import Selection


def positive(value: str) -> int:
    """A count of at least one."""
    if not value.isdecimal() or int(value) < 1:
        raise argparse.ArgumentTypeError(f"'{value}' is no count of 1 or more")
    return int(value)


def selection(args: argparse.Namespace) -> Selection:
    """What the options select; raises `UsageError` where nothing could be."""
    if args.since is not None and args.until is not None and args.since > args.until:
        raise UsageError("--since is later than --until")
    # Damaged files hold negative numbers too, which only a selection hides.
    offsets, positions = args.offset or (LONG_MIN, LONG_MAX), args.position or (0, LONG_MAX)
    return Selection(
        first_offset=offsets[0],
        last_offset=offsets[1],
        first_position=positions[0],
        last_position=positions[1],
        since=args.since,
        until=args.until,
    )
