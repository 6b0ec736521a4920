"""One line on stderr that says how far a long command is; silent unless a person watches."""

from __future__ import annotations

import time
from typing import TextIO

from segmend.report import text


class Progress:
    """A status line on a terminal, redrawn at most ten times a second and wiped at the end."""

    def __init__(self, stream: TextIO, *, shown: bool | None = None) -> None:
        self._stream = stream
        self.shown = stream.isatty() if shown is None else shown
        self._started = time.monotonic()
        self._drawn_at = 0.0

    def update(self, done: int, total: int, what: str) -> None:
        """`done` of `total` bytes are behind us, now looking at `what`."""
        now = time.monotonic()
        if not self.shown or now - self._drawn_at < 0.1:
            return
        self._drawn_at = now
        self._draw(
            f"{_share(done, total)}{text.size(done)} of {text.size(total)}  {self._left(done, total)}  {what}"
        )

    def say(self, message: str) -> None:
        """A status without numbers."""
        if self.shown:
            self._draw(message)

    def done(self) -> None:
        """Wipe the line."""
        if self.shown:
            self._put("\r\x1b[K")

    def _left(self, done: int, total: int) -> str:
        spent = time.monotonic() - self._started
        if done <= 0 or spent < 1:
            return ""
        return f"{text.duration(spent * (total - done) / done)} left"

    def _draw(self, message: str) -> None:
        self._put("\r\x1b[K" + text.shorten(text.clean(message), 100))

    def _put(self, line: str) -> None:
        """A terminal that was closed meanwhile ends no work; there is nobody left to be told."""
        try:
            self._stream.write(line)
            self._stream.flush()
        except OSError:
            self.shown = False


def _share(done: int, total: int) -> str:
    return f"{100 * done / total:3.0f} %  " if total else ""
