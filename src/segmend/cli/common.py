"""What the commands share: output options, the terminal, the directories of one broker."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from segmend.errors import SegmendError, UsageError
from segmend.logdir import disk
from segmend.logdir.disk import Unreadable
from segmend.logdir.release import NEWEST, OLDEST, Release, guess_release
from segmend.logdir.tree import LogDir
from segmend.report.style import Style


def add_output_options(parser: argparse.ArgumentParser) -> None:
    """`--json` and `--color`, which every command has."""
    group = parser.add_argument_group("output")
    group.add_argument("--json", action="store_true", help="JSON Lines on stdout, one object a line")
    group.add_argument(
        "--color", choices=("auto", "always", "never"), default="auto", help="colours (NO_COLOR is respected)"
    )


def add_release_option(parser: argparse.ArgumentParser) -> None:
    """`--kafka`: whose rules to go by."""
    parser.add_argument(
        "--kafka",
        metavar="VERSION",
        type=release_argument,
        help=f"whose rules: a release from {OLDEST} to {NEWEST}; read off the directory if not given",
    )


def add_read_speed_option(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """`--read-speed`: what the disks give, in bytes a second once parsed."""
    parser.add_argument(
        "--read-speed",
        metavar="MB/s",
        type=_speed,
        help="of the disks; measured on some of the segments if not given",
    )


def _speed(value: str) -> float:
    try:
        found = float(value) * 1e6
    except ValueError:
        found = 0.0
    if not 0 < found < 1e15:
        raise argparse.ArgumentTypeError(f"'{value}' is no speed in MB/s, such as 250")
    return found


def release_argument(value: str) -> Release:
    """A release for argparse, which wants its own kind of error."""
    try:
        return Release.parse(value)
    except UsageError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def style(args: argparse.Namespace) -> Style:
    """Colours as `--color`, NO_COLOR and the terminal say."""
    if args.color == "auto":
        wanted = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        return Style(wanted)
    return Style(args.color == "always")


# One encoder for all lines: `json.dumps` with separators makes a new one each time.
_JSON = json.JSONEncoder(separators=(",", ":"))


def emit_json(objects: Iterable[Mapping[str, Any]]) -> None:
    """Each object as one line; ASCII only, so that no byte of a disk can break a reader."""
    encode = _JSON.encode
    for item in objects:
        _put(encode(item) + "\n")


def emit(lines: Iterable[str]) -> None:
    """Lines for people on stdout."""
    for line in lines:
        _put(line + "\n")


def flush() -> None:
    """Bring what was emitted to whoever reads it; raises `SegmendError` if it finds no room there."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _no_output(error) from None


def _put(line: str) -> None:
    try:
        sys.stdout.write(line)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _no_output(error) from None


def _no_output(error: OSError) -> SegmendError:
    """Such as a full disk, to which the output was sent."""
    return SegmendError(f"standard output: {(error.strerror or str(error)).lower()}")


def open_log_dirs(paths: Sequence[str]) -> list[LogDir]:
    """The log dirs of one broker; raises `UsageError` for what is no directory, or given twice."""
    seen: dict[str, str] = {}
    found = []
    for path in paths:
        kind = disk.path_type(path)
        if kind is None:
            raise Unreadable(path, "no such directory")
        if kind != "dir":
            raise UsageError(f"{path}: not a directory; give the log dir that holds it")
        real = disk.real_path(path)
        if real in seen:
            raise UsageError(f"{path}: the same directory as {seen[real]}")
        seen[real] = path
        found.append(LogDir.open(path))
    return found


def release_of(args: argparse.Namespace, dirs: Sequence[LogDir]) -> tuple[Release, str]:
    """The release of `--kafka`, or the one guessed, and why."""
    if args.kafka is not None:
        return args.kafka, "as given"
    return guess_release(dirs)
