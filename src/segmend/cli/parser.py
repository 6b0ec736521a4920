"""What the frame of the command line needs, and nothing more: it is loaded for every `--help`."""

from __future__ import annotations

import argparse
import sys
from typing import NoReturn

from segmend.errors import UsageError
from segmend.report import text


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaints are `UsageError`s (exit 16, one line)."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong with the command line and where help is."""
        raise UsageError(f"{message} (see `{self.prog} --help`)")


def note(message: str) -> None:
    """One line for people beside the data, on stderr."""
    sys.stderr.write(f"segmend: {text.clean(message)}\n")
