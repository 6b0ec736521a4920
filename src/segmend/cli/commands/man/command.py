"""`segmend man`: the manual of all commands in the language of man, rendered from the parser."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from segmend import __version__
from segmend.cli.described import Argument, Described, described
from segmend.cli.frame import whole_parser
from segmend.cli.output import emit
from segmend.errors import EXIT_CODES, ExitCode

EXAMPLES = """\
examples:
  segmend man | man -l -
  segmend man > ~/.local/share/man/man1/segmend.1"""

_ENVIRONMENT = {
    "NO_COLOR": "No colours, if it is set.",
    "XDG_STATE_HOME": "In its directory segmend go journals, old bytes and what is set aside; without it, to "
    "/var/lib/segmend for root, to ~/.local/state/segmend for others.",
}


def configure(parser: argparse.ArgumentParser) -> None:
    del parser


def run(args: argparse.Namespace) -> int:
    del args
    emit(_page(described(whole_parser())))
    return ExitCode.NOTHING_WRONG


def _page(root: Described) -> Iterator[str]:
    yield f'.TH SEGMEND 1 "" "segmend {__version__}" "User Commands"'
    yield ".SH NAME"
    yield f"segmend {_text('- ' + root.description.splitlines()[0].rstrip('.'))}"
    yield ".SH SYNOPSIS"
    yield f".B {_text(root.usage)}"
    yield ".SH DESCRIPTION"
    yield _text(root.description)
    for option in root.options:
        yield from _argument(option)
    yield ".SH COMMANDS"
    for command in root.everything():
        if command.path:
            yield from _command(command)
    yield ".SH EXIT STATUS"
    yield "As of fsck; the sum where several apply."
    for code, meaning in EXIT_CODES.items():
        yield from _item(str(code), meaning)
    yield ".SH ENVIRONMENT"
    for name, meaning in _ENVIRONMENT.items():
        yield from _item(name, meaning)


def _command(command: Described) -> Iterator[str]:
    yield f".SS {_text(' '.join(['segmend', *command.path]))}"
    yield _text(command.description)
    yield ".PP"
    yield f".B {_text(command.usage)}"
    for each in (*command.operands, *command.options):
        yield from _argument(each)
    if command.examples:
        yield ".PP"
        yield ".nf"
        yield _text(command.examples)
        yield ".fi"


def _argument(argument: Argument) -> Iterator[str]:
    return _item(argument.words, argument.help)


def _item(name: str, meaning: str) -> Iterator[str]:
    yield ".TP"
    yield f".B {_text(name)}"
    yield _text(meaning)


def _text(text: str) -> str:
    """Nothing of it is a request: a leading dot, a backslash, a hyphen that would become a dash."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join(f"\\&{line}" if line.startswith((".", "'")) else line for line in escaped.splitlines())
