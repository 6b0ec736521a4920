"""A Spark session set up for one machine's audit: quiet, quick to start, in UTC.

What differs from Spark's defaults: Python workers run this very interpreter (Spark would
take `python3` from PATH); data goes to them over unix sockets (25-40 % off the wall time);
the UI is off, the JIT stops at C1, and classes come from an archive (see `archive`). All but
the sockets is for `local` masters only: a cluster has its own ways. To a cluster the packages that
workers need are brought along (see `segmend.fleet.bundle`).
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from traceback import walk_tb

import pyarrow
from py4j.protocol import Py4JJavaError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import segmend
from segmend.errors import SegmendError, UsageError
from segmend.fleet.bundle import NAME as BUNDLE
from segmend.fleet.bundle import kept_bundle
from segmend.fleet.damaged import LOG
from segmend.spark.archive import archive_later, is_wanted, options_with
from segmend.spark.java import Java, find_java, java_home
from segmend.spark.left_out import LOGGING, watch
from segmend.spark.source import SOURCES
from segmend.spark.tasks import java_says

_UNSAID = "local[*]"
_LOGGING = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = spark: %p %c{1}: %m%n%ex{short}
# Without a level of its own here Spark announces on stderr that it sets one.
logger.shell.name = org.apache.spark.api.python.PythonGatewayServer
logger.shell.level = error
# Who asked is told by an exception why a task of ours failed; this would show the stack of each try as well.
property.ours = segmend([.][A-Za-z_.]+: |/spark/[a-z_]+[.]py)
appender.tasks.type = Console
appender.tasks.name = tasks
appender.tasks.target = SYSTEM_ERR
appender.tasks.layout.type = PatternLayout
appender.tasks.layout.alwaysWriteExceptions = false
appender.tasks.layout.pattern = %replace{spark: %p %c{1}: %m%n%ex}{(?s)^.*${ours}.*$}{}
logger.executor.name = org.apache.spark.executor.Executor
logger.executor.level = error
logger.executor.additivity = false
logger.executor.appenderRef.tasks.ref = tasks
# The exception with which it ends a job says all but of tries that were lost before, or were made good.
appender.lost.type = Console
appender.lost.name = lost
appender.lost.target = SYSTEM_ERR
appender.lost.layout.type = PatternLayout
appender.lost.layout.alwaysWriteExceptions = false
appender.lost.layout.pattern = %replace{%replace{spark: %p %c{1}: %m%n}{(?s)^.*${ours}.*$}{}}{(?s)\\n.+$}{\\n}
logger.tasks.name = org.apache.spark.scheduler.TaskSetManager
logger.tasks.level = warn
logger.tasks.additivity = false
logger.tasks.appenderRef.lost.ref = lost
logger.tasks.filter.lost.type = RegexFilter
logger.tasks.filter.lost.regex = (?s)Lost task (?![^:]*: TaskKilled).*
logger.tasks.filter.lost.onMatch = ACCEPT
logger.tasks.filter.lost.onMismatch = DENY
"""


def session(
    master: str = _UNSAID,
    *,
    cache: Path | None = None,
    conf: Mapping[str, str] | None = None,
    java_options: Sequence[str] = (),
) -> SparkSession:
    """Start Spark, or return the running session, with `kafka-log` registered; what that leaves unheeded of
    `master` and `conf` is a warning.

    `cache` keeps the class archive and the Java wrapper from one run to the next; None
    means a temporary directory and no archive. `conf` has the last word on every setting.
    What reads leave out for damage is a warning in this process (see `left_out`).
    SegmendError, in one line, when there is no Java, Spark does not start, or what runs has another Python;
    UsageError for a master of no kind that Spark knows.
    """
    spark = plain_session(master, cache=cache, conf=conf, java_options=java_options)
    if (conf or {}).get(LOGGING) != "false":
        watch(spark)
    return spark


def plain_session(
    master: str,
    *,
    cache: Path | None = None,
    conf: Mapping[str, str] | None = None,
    java_options: Sequence[str] = (),
    connected: Callable[[], None] = lambda: None,
) -> SparkSession:
    """The same for who reads no DataFrames of `kafka-log`: nothing looks through the workers' logs.

    `connected` is called once Spark has set its own handler of Ctrl-C, before what takes time.
    """
    running = SparkSession.getActiveSession()
    if running is not None:
        _refuse_other_python(running)
        _tell_unheeded(running, master, conf or {})
    spark = running or _start(master, cache, conf or {}, java_options, connected)
    for source in SOURCES:
        spark.dataSource.register(source)
    return spark


def _start(
    master: str,
    cache: Path | None,
    conf: Mapping[str, str],
    java_options: Sequence[str],
    connected: Callable[[], None] = lambda: None,
) -> SparkSession:
    if master.startswith("sc://"):
        # Nothing is brought along to a Spark Connect server: its workers need segmend.
        try:
            return SparkSession.builder.remote(master).getOrCreate()
        except PySparkException as error:
            raise SegmendError(f"{master}: {' '.join(str(error).split())}") from error
    if not _MASTER.fullmatch(master):
        # Java would tell it with its stack, on a stream that is not ours.
        known = "local, local[N], local-cluster[…], spark://HOST:PORT, k8s://URL, yarn or sc://HOST"
        raise UsageError(f"{master!r} is no Spark master: it is one of {known}")
    settings = {"spark.sql.session.timeZone": "UTC", "spark.python.unix.domain.socket.enabled": "true"}
    # The JVM that runs the workers has no other way to learn which Python this is.
    folder, java = cache or _temporary(), find_java(os.environ)
    environ = {"PYSPARK_DRIVER_PYTHON": sys.executable, "JAVA_HOME": str(java_home(java, folder))}
    if master.startswith("local"):
        environ["PYSPARK_PYTHON"] = sys.executable
        options = [*_java_options(java, folder, archive=cache is not None), *_own_files(), *java_options]
        settings |= _LOCAL | {"spark.driver.extraJavaOptions": " ".join(options)}
        settings["spark.sql.shuffle.partitions"] = str(os.cpu_count() or 1)
    if not master.startswith("local"):
        settings |= _brought_along(folder)
        if master == "yarn":
            settings["spark.executorEnv.HADOOP_CONF_DIR"] = _HADOOP_CONF
        environ["PYTHONPATH"] = os.pathsep.join(_homes())
    wanted = SparkConf().setAll([*(settings | dict(conf)).items()]).setMaster(master).setAppName("segmend")
    try:
        with _environment(environ):
            SparkContext.getOrCreate(wanted)
            connected()
            return SparkSession.builder.config(conf=wanted).getOrCreate()
    except (PySparkException, Py4JJavaError) as error:
        says = java_says(error) if isinstance(error, Py4JJavaError) else " ".join(str(error).split())
        raise SegmendError(f"Spark did not start on {master}: {says}") from error
    except KeyboardInterrupt as error:
        _end_java(error)
        raise


def _end_java(cancelled: KeyboardInterrupt) -> None:
    """End the JVM that was not up yet: else it says in twenty lines that who started it is gone."""
    for frame, _ in walk_tb(cancelled.__traceback__):
        # Only there anybody knows it so early (`pyspark.java_gateway`).
        java = frame.f_locals.get("proc") if frame.f_code.co_name == "launch_gateway" else None
        if isinstance(java, subprocess.Popen):
            java.kill()


def _refuse_other_python(spark: SparkSession) -> None:
    """SegmendError where a session of this machine has a Python without segmend: Spark shows its stack."""
    context = getattr(spark, "_sc", None)
    if context is None or not context.master.startswith("local"):
        return
    python = shutil.which(context.pythonExec)
    if python is None or python == sys.executable:
        return
    if subprocess.run([python, "-c", "import segmend.spark"], capture_output=True, check=False).returncode:
        remedy = f"set PYSPARK_PYTHON={sys.executable} before the session starts"
        raise SegmendError(f"the session's Python, {python}, has no segmend: {remedy}")


def _tell_unheeded(spark: SparkSession, master: str, conf: Mapping[str, str]) -> None:
    """A session that runs stays as it is, whatever is asked for."""
    context = getattr(spark, "_sc", None)
    other = [] if context is None or master in (_UNSAID, context.master) else [master]
    other += [name for name, value in conf.items() if spark.conf.get(name, None) != value]
    if other:
        where = "" if context is None else f" on {context.master}"
        LOG.warning("Spark runs%s already, so %s is not heeded; stop() it first", where, ", ".join(other))


def _brought_along(folder: Path) -> dict[str, str]:
    """Settings by which executors get segmend and its packages: they need Spark and Python only."""
    return {
        "spark.archives": f"{kept_bundle(folder)}#{BUNDLE}",
        "spark.executorEnv.PYTHONPATH": BUNDLE,
        # Java's own is the container's on YARN, whose path is longer than that of a socket may be.
        "spark.python.unix.domain.socket.dir": "/tmp",
    }


_SOCKETS_FIT = 60
"""Characters of a directory: the path of a socket in it has 107 at most."""

_HADOOP_CONF = "__spark_conf__/__hadoop_conf__"
"""Where an executor on YARN finds the driver's HADOOP_CONF_DIR, which Spark sends there."""


def _homes() -> list[str]:
    """Where segmend and its packages are here: the workers' Python also plans reads, beside the driver."""
    homes = [str(Path(file).parent.parent) for file in (segmend.__file__, pyarrow.__file__)]
    return list(dict.fromkeys([*homes, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]))


_MASTER = re.compile(
    r"local|local\[([0-9]+|\*)( *, *[0-9]+)?\]|local-cluster\[[0-9, ]+\]|yarn|(spark|k8s)://.+"
)
"""Those that Spark takes (`SparkSubmit`, `SparkMasterRegex`)."""

_LOCAL = {
    "spark.python.daemon.module": "segmend.spark.daemon",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # A machine whose own name does not resolve can still talk to itself.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Environment variables for the JVM that is started meanwhile, and for nobody after it."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _java_options(java: Java, folder: Path, *, archive: bool) -> list[str]:
    logging = folder / f"log4j2-{zlib.crc32(_LOGGING.encode()):08x}.properties"  # the folder may be of before
    if not logging.exists():
        folder.mkdir(parents=True, exist_ok=True)
        logging.write_text(_LOGGING)
    # Else a sixty-fourth of the machine's memory is touched before the first collection; it still grows.
    options = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xms64m"]
    options.append(f"-Dlog4j2.configurationFile={logging.as_uri()}")
    if archive:
        options += options_with(java, folder)
        if is_wanted(java, folder):
            atexit.register(archive_later, java, folder)
    return options


def _own_files() -> list[str]:
    """A place for what Java leaves in /tmp where it is killed, by Ctrl-C, or PySpark if nobody stops it."""
    own = str(_temporary())
    fits = len(own) <= _SOCKETS_FIT and not any(map(str.isspace, own))
    return [f"-Djava.io.tmpdir={own}"] if fits else []


def _temporary() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="segmend-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
