"""The process: `segmend`, and `python -m segmend`."""

from __future__ import annotations

import atexit
import gc
import os
import sys

from segmend.cli import interrupt

TYPE_CHECKING = False  # as in `typing`

if TYPE_CHECKING:
    from types import TracebackType


def entry() -> None:
    """The console script; ends the process."""
    interrupt.guard()
    sys.excepthook = _fault
    # What is imported stays: there is nothing to collect in it.
    gc.set_threshold(50_000, 20, 50)
    # Not at the top: a tenth of a second, in which Ctrl-C is to be in our hands already.
    __import__("segmend.cli.main")
    try:
        code = sys.modules["segmend.cli.main"].main(sys.argv[1:])
        interrupt.over()
    except KeyboardInterrupt:  # while it was said how the command ends
        interrupt.end()
        raise
    # Else Python takes apart all that was imported, which takes as long as a sixth of `--help`.
    atexit._run_exitfuncs()
    os._exit(code)


def _fault(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Nobody caught it, so it is ours; Python would end with 1, which is "a plan was applied"."""
    sys.__excepthook__(kind, error, trace)
    if issubclass(kind, Exception):
        try:
            sys.stdout.flush()
        finally:  # who read it may be gone
            __import__("segmend.errors")
            os._exit(sys.modules["segmend.errors"].ExitCode.OPERATIONAL)


if __name__ == "__main__":
    entry()
