"""`segmend completion`: what a shell needs to complete commands and options, rendered from the parser."""

from __future__ import annotations

import argparse

from segmend.cli.commands.completion import bash, fish, zsh
from segmend.cli.described import described
from segmend.cli.frame import whole_parser
from segmend.cli.output import emit
from segmend.errors import ExitCode

EXAMPLES = """\
examples:
  segmend completion bash > ~/.local/share/bash-completion/completions/segmend
  segmend completion zsh > "${fpath[1]}/_segmend"
  segmend completion fish > ~/.config/fish/completions/segmend.fish"""

_SHELLS = {"bash": bash.script, "zsh": zsh.script, "fish": fish.script}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=_SHELLS, metavar="SHELL", help="bash, zsh or fish")


def run(args: argparse.Namespace) -> int:
    emit(_SHELLS[args.shell](described(whole_parser())))
    return ExitCode.NOTHING_WRONG
