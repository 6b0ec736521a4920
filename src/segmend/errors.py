"""What can go wrong in segmend itself, as opposed to what is wrong with a log directory.

Damage in the data is never an exception: it becomes a `Finding`. These are the few
things that stop a command; each is told in one line and ends with its exit code.
"""

from __future__ import annotations

import re
from enum import IntFlag


class ExitCode(IntFlag):
    """How a command ends, as fsck does; where several apply, it ends with their sum."""

    NOTHING_WRONG = 0
    CHANGED = 1
    FINDINGS = 4
    OPERATIONAL = 8
    USAGE = 16
    CANCELLED = 32
    BROKER_RUNS = 64

    @classmethod
    def of(cls, *, left: object, unread: object) -> ExitCode:
        """Of a command that went to its end: whether something is left to be told, and was not looked at."""
        return (cls.FINDINGS if left else cls.NOTHING_WRONG) | (
            cls.OPERATIONAL if unread else cls.NOTHING_WRONG
        )


EXIT_CODES = {
    ExitCode.NOTHING_WRONG: "nothing wrong",
    ExitCode.CHANGED: "a plan was applied",
    ExitCode.FINDINGS: "findings left",
    ExitCode.OPERATIONAL: "operational error",
    ExitCode.USAGE: "usage",
    ExitCode.CANCELLED: "cancelled",
    ExitCode.BROKER_RUNS: "a broker runs",
}
"""What each means, in ascending order."""


class SegmendError(Exception):
    """An operational error, such as a file that vanished; its text is one line that says what to do."""

    exit_code = ExitCode.OPERATIONAL

    def told(self) -> str:
        """The line that a user gets who can do nothing but read it."""
        return str(self)

    def __reduce__(self) -> tuple[object, ...]:
        """It comes out of other processes, too, whatever its `__init__` takes."""
        return _as_it_was, (type(self), self.args), self.__dict__


def _as_it_was(kind: type[SegmendError], args: tuple[object, ...]) -> SegmendError:
    return kind.__new__(kind, *args)


class PartitionError(SegmendError):
    """What ends the work on one partition, and is no reason not to go on with the others."""


class MissingExtra(SegmendError):
    """Packages of an extra are not installed. No index has segmend, so they come with a clone of it."""

    def __init__(self, needs: str, extra: str, instead: str = "") -> None:
        super().__init__(f"{needs}: run `pip install '.[{extra}]'` in a clone of segmend{instead}")


OUT_OF_MEMORY = "the system gives no more memory or threads (ulimit -a, limits of the container)"


def system_words(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def library_words(words: str) -> str:
    """What a library says in colours and over many lines, as one line of plain text."""
    return " ".join(re.sub(r"\x1b\[[0-9;]*m|↳|\n\s+0: .*", "", words, flags=re.DOTALL).split())


class UsageError(SegmendError):
    """The command line, or an argument of the API, does not make sense."""

    exit_code = ExitCode.USAGE


class Cancelled(SegmendError):
    """The user stopped the work; everything on disk is as it was at a safe point."""

    exit_code = ExitCode.CANCELLED


class BrokerRunning(SegmendError):
    """A broker runs on the directory, or holds its `.lock`."""

    exit_code = ExitCode.BROKER_RUNS
