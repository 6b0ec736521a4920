"""The process: `segmend`, and `python -m segmend`."""

from __future__ import annotations

import gc
import sys
from importlib import import_module

from segmend.cli import interrupt
from segmend.errors import ExitCode


def entry() -> None:
    """The console script; ends the process."""
    interrupt.guard()
    # What is imported stays: there is nothing to collect in it, neither on the way nor at the end.
    gc.set_threshold(50_000, 20, 50)
    # Not at the top: a tenth of a second, in which Ctrl-C is to be in our hands already.
    try:
        code = import_module("segmend.cli.main").main(sys.argv[1:])
        interrupt.over()
    except KeyboardInterrupt:  # while it was said how the command ends
        interrupt.end()
        raise
    except Exception as error:  # a fault of ours: Python would end with 1, which is "a plan was applied"
        sys.excepthook(type(error), error, error.__traceback__)
        code = ExitCode.OPERATIONAL
    gc.freeze()
    sys.exit(code)


if __name__ == "__main__":
    entry()
