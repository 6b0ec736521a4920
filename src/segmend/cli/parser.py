"""What the frame of the command line needs, and nothing more: it is loaded for every `--help`."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from typing import Any, NoReturn

from segmend.errors import UsageError
from segmend.report import text


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaints are `UsageError`s (exit 16, one line)."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong with the command line and where help is."""
        raise UsageError(f"{message} (see `{self.prog} --help`)")


class LateParser(Parser):
    """A parser of a sub-command that gets its options from `fill` when the sub-command is the one."""

    fill: Callable[[argparse.ArgumentParser], None] | None = None

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As the base class, with all options."""
        fill, self.fill = self.fill, None
        if fill is not None:
            fill(self)
        return super().parse_known_args(args, namespace)


_HELP_LINE = re.compile(r'^HELP = "(.*)"$', re.MULTILINE)


def summary(module: str) -> str:
    """The `HELP` line of a module, out of its source: a list need not import them all."""
    spec = find_spec(module)
    get_source = getattr(spec and spec.loader, "get_source", None)
    found = _HELP_LINE.search((get_source(module) if get_source else None) or "")
    return found[1] if found else ""


def note(message: str) -> None:
    """One line for people beside the data, on stderr; where that is a full disk there is none."""
    with suppress(OSError):
        sys.stderr.write(f"segmend: {text.clean(message)}\n")
        sys.stderr.flush()
