"""The options that several commands have."""

from __future__ import annotations

import argparse

from segmend.errors import UsageError
from segmend.formats.java_number import LONG_MAX
from segmend.logdir.config import ServerConfig
from segmend.logdir.release import NEWEST, OLDEST, Release


def add_output_options(parser: argparse.ArgumentParser) -> None:
    """`--json` and `--color`, which every command has."""
    group = parser.add_argument_group("output")
    group.add_argument("--json", action="store_true", help="JSON Lines on stdout, one object a line")
    group.add_argument(
        "--color", choices=("auto", "always", "never"), default="auto", help="colours (NO_COLOR is respected)"
    )


def given(value: str) -> str:
    """The value of an option that is not to be empty, as one of a script's variable is that nobody set."""
    if not value:
        raise argparse.ArgumentTypeError("it is empty")
    return value


def add_release_option(parser: argparse.ArgumentParser) -> None:
    """`--kafka`: whose rules to go by."""
    parser.add_argument(
        "--kafka",
        metavar="VERSION",
        type=release_argument,
        help=f"whose rules: a release from {OLDEST} to {NEWEST}; read off the directory if not given",
    )


def add_user_option(parser: argparse.ArgumentParser, default: str) -> None:
    """`--as-user`: whom the broker runs as; `default` says who is taken for him without it."""
    parser.add_argument(
        "--as-user", metavar="NAME|UID[:GID]",
        help=f"whom the broker runs as, and what he may read and write; {default} if not given",
    )  # fmt: skip


def add_policies_option(parser: argparse.ArgumentParser) -> None:
    """`--config` of what merges replicas: only one setting of it matters there."""
    parser.add_argument(
        "--config", metavar="FILE", action="append", default=[],
        help="server.properties of a broker: its log.cleanup.policy counts where a topic has none of its own",
    )  # fmt: skip


def add_diff_options(parser: argparse.ArgumentParser) -> None:
    """Which partitions are compared, and which of them told."""
    parser.add_argument("--topic", type=given, metavar="GLOB", help="partitions of these topics only")
    add_policies_option(parser)
    parser.add_argument("--all", action="store_true", help="show also partitions whose replicas are equal")


def add_only_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", metavar="ID,...", help="of the cluster's nodes only these come up")


def add_zookeeper_option(parser: argparse.ArgumentParser, goes_with: str = "") -> None:
    parser.add_argument(
        "--zookeeper", metavar="DIR", action="append", default=[],
        help=f"{goes_with}the dataDir of its ZooKeeper, and its dataLogDir if that is another one",
    )  # fmt: skip


def policies_of(args: argparse.Namespace) -> tuple[ServerConfig, ...]:
    """The files of `--config`, read; raises `Unreadable`."""
    return tuple(map(ServerConfig.load, args.config))


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
        speed = float(value) * 1e6
    except ValueError:
        speed = 0.0
    if not 0 < speed < 1e15:
        raise argparse.ArgumentTypeError(f"'{value}' is no speed in MB/s, such as 250")
    return speed


def release_argument(value: str) -> Release:
    """A release for argparse, which wants its own kind of error."""
    try:
        return Release.parse(value)
    except UsageError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def count(value: str) -> int:
    """A number of something, for argparse."""
    if not value.isdecimal() or len(value) > 9:
        raise argparse.ArgumentTypeError(f"'{value}' is not a number")
    return int(value)


def number_range(value: str) -> tuple[int, int]:
    """`5`, `5..9`, `5..`, `..9`: from and to, both inclusive."""
    first, dots, last = value.partition("..")
    try:
        low = int(first) if first else 0
        high = (int(last) if last else LONG_MAX) if dots else low
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"'{value}' is no range such as 100, 100..200, 100.. or ..200"
        ) from None
    if not (first or last) or not 0 <= low <= high:
        raise argparse.ArgumentTypeError(f"'{value}' is no range such as 100, 100..200, 100.. or ..200")
    return low, high
