"""How far something is, in bytes; it brings nothing else with it."""

from __future__ import annotations

from collections.abc import Callable

Tell = Callable[[int, int], None]
"""Is told (done, total) bytes."""


class Counted:
    """Adds up bytes for who is told (done, total); `total` may be a guess, which is never passed."""

    def __init__(self, total: int, tell: Tell) -> None:
        self._total, self._tell, self._done = total, tell, 0

    def add(self, count: int) -> None:
        """So many more."""
        self._done += count
        self._tell(min(self._done, self._total), self._total)
