"""Ctrl-C while Spark works for a command: no word from the JVM, nor from Py4J, and no JVM that stays.

Spark's own handler (`SparkContext._do_init`) asks the JVM to cancel its jobs, over the connection on which an
answer is waited for: Py4J tells of that in forty lines. A command ends anyway.
"""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException

from segmend.errors import SegmendError


@contextmanager
def quietly(*, here: bool) -> Iterator[Callable[[], None]]:
    """Ctrl-C is a `KeyboardInterrupt` and nothing more; what it gives is called once Spark has set its own.

    `here`: the JVM does the work itself, and ends at once. One that works with a cluster ends by itself.
    """
    before, cancelled = signal.getsignal(signal.SIGINT), threading.Event()

    def pressed(number: int, frame: FrameType | None) -> None:
        cancelled.set()
        logging.disable()
        threading.excepthook = lambda _: None
        gateway = SparkContext._gateway
        if here and gateway is not None and gateway.proc is not None:
            gateway.proc.kill()
        if callable(before):
            before(number, frame)

    def keep() -> None:
        signal.signal(signal.SIGINT, pressed if callable(before) else before)

    keep()
    try:
        yield keep
    except (SegmendError, PySparkException, Py4JError, EOFError, OSError):
        if cancelled.is_set():  # it breaks because of that
            raise KeyboardInterrupt from None
        raise
    finally:
        signal.signal(signal.SIGINT, before)
