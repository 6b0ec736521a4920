"""A Spark session set up for one machine's audit: quiet, quick to start, in UTC.

What differs from Spark's defaults: Python workers run this very interpreter (Spark would
take `python3` from PATH); data goes to them over unix sockets (25-40 % off the wall time);
the UI is off, the JIT stops at C1, and classes come from an archive that the first session
leaves in the cache directory. Those last three are for `local` masters only: a cluster has
its own ways.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pyspark
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from segmend.errors import SegmendError
from segmend.spark.java import Java, find_java, java_home
from segmend.spark.source import KafkaLogDataSource

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
"""


def session(
    master: str = "local[*]",
    *,
    cache: Path | None = None,
    conf: Mapping[str, str] | None = None,
) -> SparkSession:
    """Start Spark, or return the running session, with `kafka-log` registered.

    `cache` keeps the class archive and the Java wrapper from one run to the next; None
    means a temporary directory and no archive. `conf` has the last word on every setting.
    SegmendError, in one line, when there is no Java or Spark does not start.
    """
    spark = SparkSession.getActiveSession() or _start(master, cache, conf or {})
    spark.dataSource.register(KafkaLogDataSource)
    return spark


def _start(master: str, cache: Path | None, conf: Mapping[str, str]) -> SparkSession:
    settings = {
        "spark.sql.session.timeZone": "UTC",
        "spark.python.unix.domain.socket.enabled": "true",
    }
    if master.startswith("local"):
        folder = cache or _temporary()
        java = find_java(os.environ)
        os.environ["JAVA_HOME"] = str(java_home(java, folder))
        # Workers are forked by the JVM, which knows no better name for Python than this.
        os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
        settings |= _local_settings(java, folder, archive=cache is not None)
    builder = SparkSession.builder.master(master).appName("segmend")
    for key, value in (settings | dict(conf)).items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except PySparkException as error:
        raise SegmendError(f"Spark did not start: {error}") from error


def _local_settings(java: Java, folder: Path, *, archive: bool) -> dict[str, str]:
    logging = folder / "log4j2.properties"
    if not logging.exists():
        folder.mkdir(parents=True, exist_ok=True)
        logging.write_text(_LOGGING)
    options = [
        "-XX:TieredStopAtLevel=1",
        "-XX:+UseSerialGC",
        f"-Dlog4j2.configurationFile={logging.as_uri()}",
    ]
    if archive:
        options += _class_archive(java, folder)
    return {
        "spark.driver.extraJavaOptions": " ".join(options),
        "spark.sql.shuffle.partitions": str(os.cpu_count() or 1),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # A machine whose own name does not resolve can still talk to itself.
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }


def _class_archive(java: Java, folder: Path) -> list[str]:
    """AppCDS (JEP 350): the first JVM writes its loaded classes when it exits, later ones map them.

    The JVM writes after this process has ended, so nobody waits for it. It writes under
    another name, taken over by the next run: a JVM killed meanwhile leaves no half archive.
    A runtime without a base archive (the wheel's) cannot do this.
    """
    if not (java.home / "lib" / "server" / "classes.jsa").exists():
        return []
    final = folder / f"java{java.version}-spark{pyspark.__version__}.jsa"
    fresh = final.with_suffix(".new")
    if not final.exists() and fresh.exists():
        fresh.replace(final)
    quiet = ["-Xshare:auto", "-Xlog:disable", "-Xlog:all=error:stderr"]
    if final.exists():
        return [f"-XX:SharedArchiveFile={final}", *quiet]
    return [f"-XX:ArchiveClassesAtExit={fresh}", *quiet]


def _temporary() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="segmend-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
