"""Selection options of `show`: moments in time, and what is selected."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime

from segmend.errors import UsageError
from segmend.formats.java_number import LONG_MAX, LONG_MIN
from segmend.logdir.walk import Selection


def moment(value: str) -> int:
    """Milliseconds since the epoch: given as such, or as a date and time (UTC unless it says otherwise)."""
    if value.isdecimal():
        return int(value)
    try:
        parsed = datetime.fromisoformat(value)
    except ValueError:
        reason = f"'{value}' is no time such as 2026-01-31, 2026-01-31T14:05:00 or 1761955200000 (ms)"
        raise argparse.ArgumentTypeError(reason) from None
    if parsed.tzinfo is None:
        parsed = parsed.replace(tzinfo=UTC)
    return round(parsed.timestamp() * 1000)


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
