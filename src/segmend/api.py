"""The doors of the Python API; `import segmend` shows them as its own."""

from __future__ import annotations

from os import PathLike, fspath

from segmend.checks import CheckRun, Level, run_checks
from segmend.logdir.release import Release, guess_release
from segmend.logdir.tree import LogDir


def open(path: str | PathLike[str]) -> LogDir:
    """Open one log dir for reading; raises `SegmendError` if it cannot be listed."""
    return LogDir.open(fspath(path))


def check(
    *log_dirs: LogDir, level: Level = Level.DEFAULT, kafka: str | None = None, jobs: int = 1
) -> CheckRun:
    """Check the log dirs of one broker: iterate the answer for findings, then see its `summary`.

    `kafka` chooses whose rules (`"4.3"`); without it the release is read off the dirs.
    """
    release = Release.parse(kafka) if kafka else guess_release(log_dirs)[0]
    return run_checks(log_dirs, level=level, release=release, jobs=jobs)
