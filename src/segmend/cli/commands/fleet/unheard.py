"""Ctrl-C while a library waits for a store or a disk that does not answer: Python hears of it only then.

obstore and delta-rs try for minutes what they were asked for, and no signal gets through to them.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from segmend.cli import interrupt

_SECONDS: Final = 3.0
"""So long Python has time to hear of it, and to put away what there is."""


@contextmanager
def heard_all_the_same() -> Iterator[None]:
    """Meanwhile Ctrl-C ends the process where Python does not hear of it; a thread looks after that.

    What is written to OUT is there whole or not at all, and workers end with their driver.
    """
    if not interrupt.is_guarded():
        yield
        return
    told, tell = os.pipe()
    os.set_blocking(tell, False)
    before = signal.set_wakeup_fd(tell, warn_on_full_buffer=False)
    threading.Thread(target=_look_after, args=(told,), daemon=True).start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        os.close(tell)


def _look_after(told: int) -> None:
    """Whether each Ctrl-C, of which the system tells at once, is one of Python's soon."""
    while pressed := os.read(told, 1):
        heard = interrupt.heard()
        if pressed[0] != signal.SIGINT:
            continue
        end = time.monotonic() + _SECONDS
        while interrupt.heard() == heard:
            if time.monotonic() > end:
                interrupt.end()
            time.sleep(0.05)
    os.close(told)
