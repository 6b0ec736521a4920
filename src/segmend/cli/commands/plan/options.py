"""The options of an operation on the command line, out of its `Options` (see `surgery.options`)."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, TypeVar

from segmend.errors import UsageError
from segmend.surgery.options import Option, options_of

Chosen = TypeVar("Chosen")


def add_options(parser: argparse.ArgumentParser, kind: type[object]) -> None:
    """One for each field."""
    for each in options_of(kind):
        about = each.asked.help.replace("%", "%%")
        if each.is_flag:
            parser.add_argument(each.flag, dest=each.name, action="store_true", help=about)
        else:
            parser.add_argument(
                each.flag, dest=each.name, metavar=each.asked.metavar, type=_reader(each), help=about,
                action="append" if each.repeatable else "store", required=each.required,
                default=None if each.repeatable else each.default,
            )  # fmt: skip


def options_from(args: argparse.Namespace, kind: type[Chosen]) -> Chosen:
    """The `Options` of parsed arguments."""
    values = {each.name: getattr(args, each.name) for each in options_of(kind)}
    return kind(**{
        each.name: tuple(values[each.name] or ()) if each.repeatable else values[each.name]
        for each in options_of(kind)
    })  # fmt: skip


def _reader(option: Option) -> Callable[[str], object]:
    def read(words: str) -> Any:
        try:
            return option.read(words)
        except UsageError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return read
