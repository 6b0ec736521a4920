"""Ctrl-C, from the first moment of the process to the last: one line and exit code 32.

Python itself would tell of a Ctrl-C in the middle of an import in forty lines and end with 1, which is
"a plan was applied" here. So this module is the first that is imported, and imports hardly anything.
"""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # `signal` imports `enum`, and much with it
import os
import sys

CANCELLED = 32
"""`ExitCode.CANCELLED`, which is an enum."""
_running = False
_heard = 0


def guard() -> None:
    """Until `running`, and where Python could only print an exception, Ctrl-C ends the process at once."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # it is ignored in a background job
        signal.signal(signal.SIGINT, _interrupted)
        sys.unraisablehook = _unraisable
    # `bootstrap.py` holds it back while Python starts; if it came meanwhile it is here now.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])


def running() -> None:
    """From here on it is a `KeyboardInterrupt`, for those who have something to put away; once."""
    global _running
    _running = True


def ending() -> None:
    """What is left is to say how it ends: from here on Ctrl-C ends the process at once."""
    global _running
    _running = False


def over() -> None:
    """All is done: whoever presses it now comes too late to change how the command ends."""
    if is_guarded():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Python notes that a Ctrl-C went through an `exec` of text (initializers of classes) and ends by that
    # signal, whatever the exit code; the next such `exec` lets it forget that.
    exec("")


def is_guarded() -> bool:
    """Whether Ctrl-C comes to this module, as it does in a process of its own."""
    return bool(signal.getsignal(signal.SIGINT) is _interrupted)


def heard() -> int:
    """How often it came."""
    return _heard


def _interrupted(_signal: int, _frame: object) -> None:
    global _heard, _running
    _heard += 1
    if not _running:
        end()
    _running = False
    raise KeyboardInterrupt


def _unraisable(told: sys.UnraisableHookArgs) -> None:
    """What is raised inside of a callback of Python's own goes nowhere."""
    if isinstance(told.exc_value, KeyboardInterrupt):
        end()
    sys.__unraisablehook__(told)


def end() -> None:
    """At once, with the line and the exit code of it."""
    try:
        os.write(2, b"segmend: cancelled\n")
    finally:  # closed, or a full disk
        os._exit(CANCELLED)
