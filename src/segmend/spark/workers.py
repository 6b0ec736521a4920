"""What the workers of a Spark session have and see, asked before anything is read or written.

A worker may lack a package, another Python may run there, a log dir of the driver may not be
mounted, and a directory of the same name may be another disk. The questions travel as a plain
function that needs nothing but Python's own library on the other side.
"""

from __future__ import annotations

import glob
import importlib.machinery
import importlib.util
import json
import os
import re
import socket
import sys
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as sql

from segmend.errors import SegmendError, UsageError
from segmend.fleet.folder import MARK, is_remote, make_folder
from segmend.fleet.listing import Place
from segmend.frozen import frozen
from segmend.spark.tasks import cores

WAIT: Final = "spark.segmend.executorWait"
_SECONDS: Final = "300"
_POLL_SECONDS: Final = 0.5
_MEMORY: Final = "spark.executor.memory"

MODULES = ("pyarrow", "numpy", "deltalake", "lz4", "cramjam", "isal", "zstandard", "crc32c", "segmend")
_IDENTITY = "meta.properties"
_VERSIONS = re.compile(r"different version: (\S+) than that in driver: ([\d.]+\d)")


@frozen
class Worker:
    """What one of the processes on the workers said: names of modules, paths and its own mark in OUT."""

    host: str
    python: str
    lacks: tuple[str, ...]
    unseen: tuple[str, ...]
    mark: str | None
    refusal: str | None


def make_ready(spark: SparkSession, places: Sequence[Place], out: str | None) -> None:
    """Raise `SegmendError` in one line where workers cannot run the tasks, see the dirs, or share `out`."""
    if is_local(spark):
        return
    local = [place.path for place in places if "://" not in place.path]
    dirs, token = {path: _identity(path) for path in local}, uuid.uuid4().hex
    if out is None or is_remote(out):
        _judge(ask_workers(spark, dirs, None, token), None)
        if out is not None:
            _ask_store(spark, out)
        return
    _write(out, token)
    try:
        _judge(ask_workers(spark, dirs, out, token), out)
    finally:
        for name in os.listdir(out):
            if name.startswith(f"{MARK}{token}"):
                try:
                    os.unlink(os.path.join(out, name))
                except OSError:
                    continue


def is_local(spark: SparkSession) -> bool:
    """Whether its workers are children of this process; Spark Connect does not tell."""
    context = getattr(spark, "_sc", None)
    return context is not None and str(context.master).startswith("local") and "cluster" not in context.master


def ask_workers(
    spark: SparkSession, dirs: dict[str, str | None], out: str | None, token: str
) -> list[Worker]:
    """Ask as many tasks as run at once, twice; SegmendError where they do not even start."""
    count = 2 * cores(spark)
    question = sql.udf(_question(MODULES, dirs, out, token), "string", useArrow=False)
    try:
        with some_executor(spark):
            rows = spark.range(0, count, 1, count).select(question("id").alias("said")).collect()
    except PySparkException as error:
        raise SegmendError(_not_started(str(error))) from None
    except Py4JJavaError as error:
        raise SegmendError(_not_started(str(error.java_exception.getMessage()))) from None
    return [_worker(json.loads(said)) for said in sorted({row.said for row in rows})]


def _ask_store(spark: SparkSession, out: str) -> None:
    """SegmendError where a worker may not write into the store; by now it is known to have segmend."""

    def ask(_number: object) -> str:
        try:
            make_folder(out)
        except SegmendError as error:
            return str(error)
        return ""

    count = 2 * cores(spark)
    question = sql.udf(ask, "string", useArrow=False)
    rows = spark.range(0, count, 1, count).select(question("id").alias("said")).collect()
    refused = sorted({row.said for row in rows} - {""})
    if refused:
        raise SegmendError(f"a worker cannot write there as the driver can: {refused[0]}")


def _worker(said: dict[str, Any]) -> Worker:
    as_tuples: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in said.items()}
    return Worker(**as_tuples)


def _question(
    modules: Sequence[str], dirs: dict[str, str | None], out: str | None, token: str
) -> Callable[[object], str]:
    """A function that travels whole: a worker without segmend can run it."""
    mark, identity = MARK, _IDENTITY

    def read(path: str) -> str | None:
        try:
            with open(path, errors="replace") as file:
                return file.read(4096)
        except OSError:
            return None

    def lacking(module: str) -> bool:
        spec, ours = importlib.util.find_spec(module), importlib.machinery.EXTENSION_SUFFIXES[0]
        home = glob.escape(os.path.dirname((spec and spec.origin) or ""))
        # What is there may be of another Python's archive.
        others = glob.glob(f"{home}/*.cpython-*.so") and not glob.glob(f"{home}/*{ours}")
        return spec is None or bool(others)

    def seen(path: str, known: str | None) -> bool:
        return os.path.isdir(path) and read(f"{path}/{identity}") == known

    def shared(host: str) -> tuple[str | None, str | None]:
        if out is None:
            return None, None
        if read(f"{out}/{mark}{token}") != token:
            return None, "does not see what the driver writes there"
        name = f"{mark}{token}-{host}-{os.getpid()}"
        try:
            with open(f"{out}/{name}", "w") as file:
                file.write(host)
        except OSError as error:
            return None, f"cannot write there: {error.strerror}"
        return name, None

    def ask(_number: object) -> str:
        host = socket.gethostname()
        name, refusal = shared(host)
        return json.dumps(
            {
                "host": host,
                "python": "{}.{}".format(*sys.version_info[:2]),
                "lacks": [each for each in modules if lacking(each)],
                "unseen": [path for path, known in dirs.items() if not seen(path, known)],
                "mark": name,
                "refusal": refusal,
            }
        )

    return ask


def _judge(workers: Iterable[Worker], out: str | None) -> None:
    for worker in workers:
        if worker.lacks:
            raise SegmendError(
                f"the Python {worker.python} of the worker on {worker.host} lacks {', '.join(worker.lacks)}: "
                "hand the archive of `segmend fleet pack`, made by such a Python, to the session "
                "(spark.archives)"
            )
        if worker.unseen:
            more = f" and {len(worker.unseen) - 1} more" if len(worker.unseen) > 1 else ""
            raise SegmendError(
                f"the worker on {worker.host} does not see {worker.unseen[0]}{more} as it is here: mount it "
                "there at the same path, or let Spark run on this machine alone (master local[*])"
            )
        if worker.refusal:
            raise SegmendError(f"--out {out}: the worker on {worker.host} {worker.refusal}; {_SHARED}")
        if worker.mark and not os.path.exists(os.path.join(out or "", worker.mark)):
            raise SegmendError(f"--out {out}: not what the worker on {worker.host} has there; {_SHARED}")


_SHARED = "give a directory that the driver and all workers share, or run with --driver local"


def _not_started(text: str) -> str:
    """Of a failed job the line that says why."""
    versions = _VERSIONS.search(text)
    if versions:
        return (
            f"a worker runs Python {versions[1]}, the driver {versions[2]}: set PYSPARK_PYTHON to a Python "
            f"{versions[2]} of the workers"
        )
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    # Java's exceptions only say that Python ended.
    told = [line for line in lines if re.match(r"(?!org\.|java\.)[\w.]*(Error|Exception)\b", line)]
    return f"the workers cannot run Python: {(told[-1:] or lines or ['no reason'])[0]}"


def _identity(path: str) -> str | None:
    try:
        with open(f"{path}/{_IDENTITY}", errors="replace") as file:
            return file.read(4096)
    except OSError:
        return None


def _write(out: str, token: str) -> None:
    try:
        with open(f"{out}/{MARK}{token}", "w") as file:
            file.write(token)
    except OSError as error:
        raise UsageError(f"--out {out}: cannot write there: {error.strerror}") from error


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
