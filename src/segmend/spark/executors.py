"""A cluster whose workers start no executor: Spark waits for ever, and says why in its own log at most."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from segmend.errors import SegmendError

WAIT: Final = "spark.segmend.executorWait"
"""A setting of the session: seconds to wait for the first executor."""

_SECONDS: Final = "300"
_POLL_SECONDS: Final = 0.5
_MEMORY: Final = "spark.executor.memory"


@contextmanager
def some_executor(spark: SparkSession) -> Iterator[None]:
    """Around a job: SegmendError in one line where no executor is there to run it after a while."""
    context = getattr(spark, "_sc", None)
    if context is None:  # Spark Connect does not tell
        yield
        return
    tag, over, nobody = f"segmend-{uuid.uuid4().hex}", threading.Event(), threading.Event()
    seconds = float(context.getConf().get(WAIT, _SECONDS))
    watcher = threading.Thread(target=_watch, args=(context, seconds, tag, over, nobody), daemon=True)
    context.addJobTag(tag)
    watcher.start()
    try:
        yield
    except (PySparkException, Py4JError):
        if not nobody.is_set():
            raise
        memory = context.getConf().get(_MEMORY, "1g")
        raise SegmendError(
            f"no worker of {context.master} has started an executor within {seconds:g} s: each needs "
            f"{memory} ({_MEMORY}) of a worker that has them free; where executors take longer, raise {WAIT}"
        ) from None
    finally:
        over.set()
        watcher.join()
        context.removeJobTag(tag)


def _watch(
    context: SparkContext, seconds: float, tag: str, over: threading.Event, nobody: threading.Event
) -> None:
    """Until an executor is there; end the job if there is none."""
    status = context._jsc.sc().statusTracker()
    waited = 0.0
    while not over.wait(_POLL_SECONDS):
        # The driver is told among them.
        if len(status.getExecutorInfos()) > 1 and not nobody.is_set():
            return
        waited += _POLL_SECONDS
        if waited >= seconds:
            nobody.set()
            # Again and again: the job may not have been submitted yet.
            context.cancelJobsWithTag(tag)
