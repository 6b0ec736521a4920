"""The process: `segmend`, and `python -m segmend`."""

from __future__ import annotations

import sys
from importlib import import_module

from segmend.cli import interrupt


def entry() -> None:
    """The console script; ends the process."""
    interrupt.guard()
    # Not at the top: a tenth of a second, in which Ctrl-C is to be in our hands already.
    main = import_module("segmend.cli.main").main
    code = main(sys.argv[1:])
    interrupt.over()
    sys.exit(code)


if __name__ == "__main__":
    entry()
