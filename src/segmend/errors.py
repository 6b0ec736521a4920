"""What can go wrong in segmend itself, as opposed to what is wrong with a log directory.

Damage in the data is never an exception: it becomes a `Finding`. These are the few
things that stop a command; each is told in one line and ends with fsck's exit code.

    SegmendError            8   operational: a file vanished, no permission, a missing part
    +-- UsageError         16   the command line does not make sense
    +-- Cancelled          32   Ctrl-C at a safe point
    +-- BrokerRunning      64   a broker holds the directory's lock
"""

from __future__ import annotations

from typing import ClassVar


class SegmendError(Exception):
    """An operational error; its text is one line that names the file and what to do."""

    exit_code: ClassVar[int] = 8


class UsageError(SegmendError):
    """The command line, or an argument of the API, does not make sense."""

    exit_code: ClassVar[int] = 16


class Cancelled(SegmendError):
    """The user stopped the work; everything on disk is as it was at a safe point."""

    exit_code: ClassVar[int] = 32


class BrokerRunning(SegmendError):
    """A broker runs on the directory, or holds its `.lock`."""

    exit_code: ClassVar[int] = 64
