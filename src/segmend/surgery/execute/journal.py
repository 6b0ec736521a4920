"""The journal of a run, open for writing: JSON lines, each synced before the next thing happens."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Unpack

from segmend.errors import BrokerRunning, Cancelled, SegmendError
from segmend.state_dir import state_option
from segmend.surgery.execute.journal_events import Direction, Event, Facts, line_of
from segmend.surgery.execute.own_files import write_private
from segmend.surgery.execute.plan_run import PLAN, PlanRun
from segmend.surgery.writing.effects import Effects, sync_dir


class JournalWriter:
    """The journal of a run, open for writing; each event is on the disk when `write` returns."""

    def __init__(self, fx: Effects, run: PlanRun, fd: int, now: Callable[[], float]) -> None:
        self._fx = fx
        self._run = run
        self._fd = fd
        self._now = now

    def write(self, event: str, direction: Direction, *, synced: bool = True, **more: Unpack[Facts]) -> None:
        """Add an event; raises `OSError`."""
        at, after = round(self._now(), 3), self._run.last_line
        written: Event = {"event": event, "direction": direction, **more, "at": at, "after": after}
        broken = self._run.broken_rule(written)
        assert broken is None, f"{event} in {self._run.journal}: {broken}"
        assert self._run.size == self._run.valid_bytes, "a torn line is cut off before another one is written"
        line = line_of(written)
        if event == "begun":
            write_private(self._fx, self._run.last_beginning, line)
        self._fx.write(self._fd, line, self._run.valid_bytes)
        if synced:
            self._fx.sync(self._fd)
        self._run.take(written, line)
        self._run.size = self._run.valid_bytes


@contextmanager
def writing(
    fx: Effects, run: PlanRun, now: Callable[[], float], *, again: bool = False
) -> Iterator[JournalWriter]:
    """The journal open, and its name synced; a second segmend that wants it is refused.

    Where this process had it open before, and does so `again`, its name is synced already.
    """
    new = not os.path.lexists(run.journal)
    fd = fx.create(run.journal) if new else fx.open(run.journal)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BrokerRunning(f"{run.path}: another segmend is at work on this plan") from None
        if os.fstat(fd).st_size != run.size:
            raise SegmendError(
                f"{run.journal}: another segmend went on with this plan meanwhile (see `segmend journal "
                f"list{state_option(run.state_dir)}`); this one changed nothing"
            )
        if not again:
            sync_dir(fx, run.path)
        if run.plan_lost:
            write_private(fx, f"{run.path}/{PLAN}", run.plan.render())
            run.plan_lost = False
        if run.size > run.valid_bytes:
            fx.truncate(fd, run.valid_bytes)
            run.size = run.valid_bytes
        if run.restored:
            fx.write(fd, run.restored, run.valid_bytes)
            run.valid_bytes += len(run.restored)
            run.size, run.restored = run.valid_bytes, b""
        yield JournalWriter(fx, run, fd, now)
    finally:
        fx.close(fd)


def acknowledge(fx: Effects, run: PlanRun, now: Callable[[], float]) -> None:
    """Write down that the user was told; the very last thing that a command does. Raises `OSError`.

    Nothing follows it, not even a sync, so that no command is cut short after it. Where another segmend went
    on with the plan already, that one has something to tell.
    """
    with suppress(SegmendError), writing(fx, run, now, again=True) as journal:
        journal.write("told", run.direction, synced=False)


def outdated(error: SegmendError, known: PlanRun | None, now: PlanRun | None) -> bool:
    """Whether an error may say no more than that another segmend went on with the same plan meanwhile.

    `known` is the run as this process knows it, None if there was none, `now` the one that there is.
    """
    if isinstance(error, BrokerRunning | Cancelled) or now is None or now.last_begun is None:
        return False
    grown = known is None or now.last_line != known.last_line
    return grown and now.last_begun.get("pid") != os.getpid()
