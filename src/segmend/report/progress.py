"""One line on stderr that says how far a long command is; silent unless a person watches."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from segmend.report import text

# An estimate out of less than this says more of how tasks begin than of when they end.
_SECONDS, _SHARE, _STEPS = 2.0, 0.1, 5


class Progress:
    """A status line on a terminal, redrawn at most ten times a second and wiped at the end.

    `sizes`: whether what is counted are bytes, and shown as such.
    """

    def __init__(self, stream: TextIO, *, shown: bool | None = None, sizes: bool = True) -> None:
        self._stream = stream
        self._sizes = sizes
        self.shown = stream.isatty() if shown is None else shown
        self._total = self._done = self._steps = 0
        self._counting_since = 0.0
        self._drawn_at = 0.0

    def update(self, done: int, total: int, what: str) -> None:
        """`done` of `total` are behind us, now looking at `what`; `total` is 0 if that says it all."""
        now = time.monotonic()
        if total != self._total or done < self._done == total:  # another pass, perhaps over as much
            self._total, self._counting_since, self._drawn_at = total, now, 0.0
            self._done, self._steps = done, 0
        if done != self._done:
            self._done, self._steps = done, self._steps + 1
        if not self.shown or now - self._drawn_at < 0.1:
            return
        self._drawn_at = now
        share = f"{100 * done / total:3.0f} %" if total else ""
        sizes = f"{text.size(done)} of {text.size(total)}" if total and self._sizes else ""
        parts = share, sizes, self._left(done, now - self._counting_since), what
        self._draw("  ".join(filter(None, parts)))

    def say(self, message: str) -> None:
        """A status without numbers."""
        if self.shown:
            self._draw(message)

    def done(self) -> None:
        if self.shown:
            self._put("\r\x1b[K")

    def _left(self, done: int, spent: float) -> str:
        if spent < _SECONDS or self._steps < _STEPS or not self._total * _SHARE <= done < self._total:
            return ""
        return f"{text.duration(spent * (self._total - done) / done)} left"

    def _draw(self, message: str) -> None:
        self._put("\r\x1b[K" + text.shorten(text.clean(message), 100))

    def _put(self, line: str) -> None:
        """A terminal that was closed meanwhile ends no work; there is nobody left to be told."""
        try:
            self._stream.write(line)
            self._stream.flush()
        except OSError:
            self.shown = False


@contextmanager
def telling() -> Iterator[Callable[[int, int], None]]:
    """Give whom (done, total) are told, bytes first, partitions later: shows it, and wipes it in the end."""
    progress = Progress(sys.stderr, sizes=False)
    try:
        yield lambda done, total: progress.update(done, total, "")
    finally:
        progress.done()
