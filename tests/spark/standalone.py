"""A standalone Spark cluster whose workers have Spark and a bare Python, and nothing of segmend."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import venv
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pyspark

from segmend.spark.java import find_java

SECONDS = 200
"""So long a test waits for what it looks for."""

# Runs at the start of every Python of the workers. Where HOLD names a directory, the first who opens a log
# says so there, and waits: the middle of a task, for as long as a test likes.
_HOLD = """\
import os, sys, time

def hold(event, args, folder=os.environ.get("HOLD")):
    if folder and event == "open" and str(args[0]).endswith(".log"):
        try:
            os.mkdir(folder + "/held")
        except FileExistsError:
            return
        time.sleep(600)

sys.addaudithook(hold)
"""

_LIGHT = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Six JVMs start in a test, and none lives long enough to be worth more."""


def wait_for(what: str, found: Callable[[], object]) -> None:
    end = time.monotonic() + SECONDS
    while not found():
        assert time.monotonic() < end, f"{what}: not within {SECONDS} s"
        time.sleep(0.05)


def bare_python(folder: Path) -> Path:
    """A Python of this very version that has no package at all, but for what holds it up."""
    venv.create(folder, with_pip=False)
    site = next((folder / "lib").glob("python*/site-packages"))
    (site / "sitecustomize.py").write_text(_HOLD)
    return folder / "bin" / "python"


@dataclass
class Cluster:
    """`second` is the worker on 127.0.0.2, which leads a session of its own."""

    url: str
    environ: Mapping[str, str]
    second: subprocess.Popen[bytes]

    def start(self, *args: str, **settings: str) -> subprocess.Popen[str]:
        """segmend, with this cluster as its master."""
        given = {
            "spark.scheduler.minRegisteredResourcesRatio": "1.0",
            "spark.cores.max": "2",
            "spark.driver.extraJavaOptions": _LIGHT,
            "spark.executor.extraJavaOptions": _LIGHT,
            "spark.ui.enabled": "false",
        }
        conf = [f'--conf "{name}={value}"' for name, value in (given | settings).items()]
        return subprocess.Popen(
            [sys.executable, "-m", "segmend", *args, "--master", self.url],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **self.environ, "PYSPARK_SUBMIT_ARGS": " ".join([*conf, "pyspark-shell"])},
        )

    def kill_second(self) -> None:
        """As a power cut would, executor and all."""
        os.killpg(self.second.pid, signal.SIGKILL)
        self.second.wait()


@contextmanager
def cluster(python: Path, folder: Path, hold: Path | None = None) -> Iterator[Cluster]:
    """Two workers of one core each, on two addresses of this machine; tasks of the second are held up."""
    environ = {
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "JAVA_HOME": str(find_java(os.environ).home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": _LIGHT,
        "PYSPARK_PYTHON": str(python),
    }
    with ExitStack() as stack:

        def daemon(name: str, kind: str, *args: str, **more: str) -> subprocess.Popen[bytes]:
            log = stack.enter_context(open(folder / f"{name}.log", "wb"))
            bare = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
            command = [f"{environ['SPARK_HOME']}/bin/spark-class", f"org.apache.spark.deploy.{kind}"]
            process = subprocess.Popen(
                [*command, *args, "--port", "0", "--webui-port", "0"],
                stdout=log,
                stderr=log,
                env={**bare, **environ, "SPARK_WORKER_DIR": str(folder / name), **more},
                start_new_session=True,
            )
            stack.callback(_end, process)
            return process

        def told(name: str, pattern: str) -> str:
            def look() -> list[str]:
                return re.findall(pattern, (folder / f"{name}.log").read_text())

            wait_for(f"{name}: {pattern}", look)
            return str(look()[0])

        daemon("master", "master.Master", "--host", "127.0.0.1")
        url = told("master", r"Starting Spark master at (spark://\S+)")
        size = ("--cores", "1", "--memory", "1g", url)
        daemon("first", "worker.Worker", "--host", "127.0.0.1", *size)
        holding = {"HOLD": str(hold)} if hold else {}
        second = daemon("second", "worker.Worker", "--host", "127.0.0.2", *size, **holding)
        for name in ("first", "second"):
            told(name, "Successfully registered with master")
        yield Cluster(url, environ, second)


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
