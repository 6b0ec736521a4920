"""The command line as a value, taken off its parser: what completions and the manual are rendered from."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from segmend.cli.parser import LateParser, Offering, subparsers_of
from segmend.frozen import frozen

_PATHS = frozenset({"FILE", "DIR", "PATH", "PLAN", "S"})
"""Metavars that stand for a path."""


@frozen
class Argument:
    """An option, or a word without a name; `value` stands for what it takes, if it takes anything.

    It takes one of the `choices`, if there are any; else anything: a word that is `offered`, a path.
    """

    flags: tuple[str, ...]
    value: str | None
    choices: tuple[str, ...]
    offered: tuple[str, ...]
    help: str

    @property
    def takes_path(self) -> bool:
        return self.value in _PATHS

    @property
    def words(self) -> str:
        """As in the help: `-o, --output FILE`."""
        return " ".join(filter(None, [", ".join(self.flags), self.value]))


@frozen
class Described:
    """A command, or sub-command; `path` are the words that lead to it."""

    path: tuple[str, ...]
    summary: str
    description: str
    examples: str
    usage: str
    options: tuple[Argument, ...]
    operands: tuple[Argument, ...]
    commands: tuple[Described, ...]

    def everything(self) -> Iterator[Described]:
        """It and all below it."""
        yield self
        for each in self.commands:
            yield from each.everything()


def described(parser: argparse.ArgumentParser, path: Sequence[str] = (), summary: str = "") -> Described:
    """What a parser knows, sub-commands included."""
    if isinstance(parser, LateParser):
        parser.complete()
    arguments = [_argument(each, parser) for each in parser._actions if not _holds_commands(each)]
    return Described(
        path=tuple(path),
        summary=summary,
        description=parser.description or "",
        examples=parser.epilog or "",
        usage=" ".join(parser.format_usage().removeprefix("usage: ").split()),
        options=tuple(each for each in arguments if each.flags),
        operands=tuple(each for each in arguments if not each.flags),
        commands=tuple(_commands(parser, path)),
    )


def _commands(parser: argparse.ArgumentParser, path: Sequence[str]) -> Iterator[Described]:
    subparsers = subparsers_of(parser)
    if subparsers is None:
        return
    summaries = {each.dest: each.help or "" for each in subparsers._choices_actions}
    for name, each in subparsers.choices.items():
        yield described(each, [*path, name], summaries.get(name, ""))


def _holds_commands(action: argparse.Action) -> bool:
    return isinstance(action, argparse._SubParsersAction)


def _argument(action: argparse.Action, parser: argparse.ArgumentParser) -> Argument:
    choices = tuple(map(str, action.choices or ()))
    metavar = action.metavar if isinstance(action.metavar, str) else None
    named = metavar or (f"{{{','.join(choices)}}}" if choices else action.dest.upper())
    return Argument(
        flags=tuple(action.option_strings),
        value=None if action.nargs == 0 else named,
        choices=choices,
        offered=tuple(action.offered()) if isinstance(action, Offering) else (),
        help=(action.help or "") % {**vars(action), "prog": parser.prog},
    )
