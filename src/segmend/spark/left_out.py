"""What reads left out, told where they were asked for: the tasks that met damage are on any machine.

Spark keeps what Python logs in a worker for the session that it works for (`python_worker_logs`, Spark 4.1).
That is looked through once no action has ended for a second, and what the tasks of a read met is added up and
logged once, in the process that asked. It lies with the executors, and goes with them: that is told, too.
"""

from __future__ import annotations

import atexit
import logging
import math
import re
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import SimpleNamespace
from typing import Final
from weakref import WeakSet

from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import Row, SparkSession

from segmend.fleet.damaged import LOG, TALLY, added_up
from segmend.wording import plural

LOGGING: Final = "spark.sql.pyspark.worker.logging.enabled"
_OURS: Final = re.compile("kafka[-_]log")
"""In the plan of a query: the data source, or the function that reads for `scan` and its like."""
_END_MS: Final = 30_000
_QUIET_SECONDS: Final = 1.0
_WATCHED: WeakSet[SparkSession] = WeakSet()


def watch(spark: SparkSession) -> None:
    """From now on what a read leaves out is a warning of this process, once an action."""
    if spark in _WATCHED:
        return
    _WATCHED.add(spark)
    spark.conf.set(LOGGING, "true")
    teller, stop = _Teller(spark), spark.stop
    context = getattr(spark, "_sc", None)
    if context is None:  # Spark Connect has no listener of queries
        spark.registerProgressHandler(teller)
    else:
        ensure_callback_server_started(context._gateway)
        spark._jsparkSession.listenerManager().register(teller)

    def tell() -> None:
        if context is not None:
            with suppress(Py4JError, OSError):
                context._jsc.sc().listenerBus().waitUntilEmpty(_END_MS)
        teller.tell_now()

    def told_and_stopped() -> None:
        tell()
        atexit.unregister(tell)
        stop()

    # Listeners hear of an action after it gave its rows, and ask Spark, which must not be gone by then.
    atexit.register(tell)
    spark.stop = told_and_stopped


class _Teller:
    """Of Java's `QueryExecutionListener`; a progress handler of Spark Connect by its `__call__`."""

    Java: Final = SimpleNamespace(implements=["org.apache.spark.sql.util.QueryExecutionListener"])

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._seen: set[Row] = set()
        self._asking = threading.Lock()
        self._asker = 0
        self._soon: threading.Timer | None = None
        self._since = math.inf

    def onSuccess(self, _action: str, execution: JavaObject, nanos: int) -> None:
        if _OURS.search(execution.optimizedPlan().toString()):
            self._since = min(self._since, time.time() - nanos / 1e9)
            self._tell_soon()

    def onFailure(self, _action: str, _execution: JavaObject, _error: JavaObject) -> None:
        """The error says what is wrong."""

    def __call__(self, *, done: bool, **_progress: object) -> None:
        if done and threading.get_ident() != self._asker:  # the question is an action itself
            self._tell_soon()

    def _tell_soon(self) -> None:
        """Once no action has ended for a while: the question is a job, which would slow down the next one."""
        if self._soon is not None:
            self._soon.cancel()
        self._soon = threading.Timer(_QUIET_SECONDS, self.tell_now)
        self._soon.daemon = True
        self._soon.start()

    def tell_now(self) -> None:
        """What is waited for, if anything is."""
        with self._asking:
            soon, self._soon, self._asker = self._soon, None, threading.get_ident()
            if soon is not None:
                soon.cancel()
                self._tell()
            self._asker = 0

    def _tell(self) -> None:
        try:
            logs = self._spark.tvf.python_worker_logs()
            ours = logs.where(logs.logger == LOG.name).select("ts", "msg", logs.context[TALLY].alias(TALLY))
            fresh = [row for row in ours.collect() if row not in self._seen]
        except (PySparkException, Py4JError) as error:
            LOG.warning("kafka-log: whether damage cost records is only in the workers' logs: %s", error)
            return
        self._seen.update(fresh)
        for words in sorted({row.msg for row in fresh if row[TALLY] is None}):
            LOG.warning("%s", words)
        for tally in added_up(row[TALLY] for row in fresh if row[TALLY] is not None):
            tally.tell()
        since, self._since = self._since, math.inf
        if gone := _gone_since(self._spark, since):
            LOG.warning(
                "kafka-log: %s lost since the read began, and with it what was met there: whether damage "
                "cost more records than is told here only the table damage says",
                plural(gone, "executor was", "executors were"),
            )


def _gone_since(spark: SparkSession, since: float) -> int:
    """How many executors ended since then that had done something; Spark Connect does not tell."""
    context = getattr(spark, "_sc", None)
    if context is None or math.isinf(since):
        return 0
    with suppress(Py4JError):  # some who host Spark let nobody ask that
        executors = context._jsc.sc().statusStore().executorList(False)
        each = (executors.apply(number) for number in range(executors.size()))
        ended = [one.removeTime().get().getTime() / 1000 for one in each if _is_gone(one)]
        return sum(when >= since for when in ended)
    return 0


def _is_gone(executor: JavaObject) -> bool:
    return bool(executor.completedTasks()) and bool(executor.removeTime().isDefined())


@contextmanager
def aloud() -> Iterator[None]:
    """In a task of a stream, whose session is one of its own: on the worker's stderr, too."""
    handler = logging.StreamHandler(sys.__stderr__)
    LOG.addHandler(handler)
    try:
        yield
    finally:
        LOG.removeHandler(handler)
