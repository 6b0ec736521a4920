"""Bytes written no faster than a plan allows, so that what shares the disk gets its part."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Final

from segmend.surgery.plan import THROTTLE, Plan

_NAP: Final = 0.2
"""Who asks to stop waits no longer than that."""
_PAUSE: Final = 1.0
"""What pieces and syncs take by themselves is part of their time; a longer pause is not made up for."""


class Throttle:
    """Waits after each piece as long as it should have taken; a pause is not made up for."""

    def __init__(
        self, plan: Plan, stopped: Callable[[], bool], *, now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:  # fmt: skip
        self._rate = min(_rates(plan), default=None)
        self._stopped, self._now, self._sleep = stopped, now, sleep
        self._free_at = now()

    def wrote(self, count: int) -> None:
        """So many bytes more."""
        if self._rate is None:
            return
        now = self._now()
        begun = now if now - self._free_at > _PAUSE else self._free_at
        self._free_at = begun + count / self._rate
        while (left := self._free_at - self._now()) > 0 and not self._stopped():
            self._sleep(min(left, _NAP))


def _rates(plan: Plan) -> Iterator[int]:
    for each in plan.said(THROTTLE):
        if isinstance(each, int) and not isinstance(each, bool) and each > 0:
            yield each
