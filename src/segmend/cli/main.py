"""`segmend`: runs one command; turns errors into one line and an exit code."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TextIO

from segmend.cli import interrupt
from segmend.cli.frame import parser_for
from segmend.cli.output import SPELLED_OUT, flush, note
from segmend.errors import OUT_OF_MEMORY, ExitCode, SegmendError, UsageError, system_words


def main(argv: Sequence[str]) -> int:
    """Run one command; returns the exit code and never lets a traceback out for what a disk holds."""
    # Names on a disk are bytes; those that cannot be written are shown escaped and never stop us.
    sys.stdout, sys.stderr = sys.stdout or _Closed(), sys.stderr or _nowhere()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=SPELLED_OUT)
    try:
        code = _run(argv)
        flush()
        return code
    except SegmendError as error:
        interrupt.ending()
        _flush()
        note(error.told())
        return error.exit_code
    except KeyboardInterrupt:
        _flush()
        note("cancelled; nothing was changed")
        return ExitCode.CANCELLED
    except (MemoryError, RuntimeError) as error:
        # A lock of Python's own threads answers a Ctrl-C within it with an error about itself.
        if isinstance(error.__context__, KeyboardInterrupt):
            _flush()
            note("cancelled")
            return ExitCode.CANCELLED
        if isinstance(error, RuntimeError) and str(error) != "can't start new thread":
            raise
        _flush()
        note(OUT_OF_MEMORY)
        return ExitCode.OPERATIONAL
    except BrokenPipeError:
        # The reader has seen enough (`| head`).
        _let_go()
        return ExitCode.CANCELLED
    except OSError as error:
        # What others do to our files while we run (OUT that is removed) can happen at any call.
        interrupt.ending()
        _flush()
        note(_refusal(error))
        return ExitCode.OPERATIONAL


def _refusal(error: OSError) -> str:
    names = [os.fsdecode(each) for each in (error.filename, error.filename2) if isinstance(each, str | bytes)]
    return ": ".join([" and ".join(names), system_words(error)] if names else [system_words(error)])


def _flush() -> None:
    try:
        sys.stdout.flush()
    except OSError:
        _let_go()


def _let_go() -> None:
    """Give up what is still to be written, so that Python does not complain at its exit."""
    with suppress(OSError):  # in a jail without /dev/null it is left where it is; `entry` does not ask Python
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _nowhere() -> TextIO:
    """In the place of a stream that was closed before we were started (`>&-`)."""
    try:
        return open(os.devnull, "w")
    except OSError:
        return io.StringIO()


class _Closed(io.StringIO):
    """Standard output that was closed before we were started: who has something to say there is told."""

    def __init__(self) -> None:
        super().__init__()
        self._held = _nowhere()  # nothing that is opened later is to get its number

    def write(self, _text: str) -> int:
        raise OSError(errno.EBADF, "it is closed")


def _run(argv: Sequence[str]) -> int:
    empty = next((word for word in argv if word.startswith("--") and word.endswith("=--")), None)
    if empty is not None:  # argparse of some Pythons makes a list of it
        raise UsageError(f"{empty}: '--' is no value")
    parser = parser_for(argv)
    if not argv:
        parser.print_help()
        return ExitCode.USAGE
    args = parser.parse_args(argv)
    if not hasattr(args, "run"):  # `segmend -- check`
        raise UsageError(f"'{argv[0]}' is no command (see `segmend --help`)")
    if hasattr(args, "paths"):  # behind `--`: a command that is to be copied names them without it
        args.paths = [f"./{path}" if path.startswith("-") else path for path in args.paths]
    interrupt.running()
    return int(args.run(args))
