"""Spark's own daemons: a standalone cluster and a server of Spark Connect.

The workers of the cluster have Spark and a bare Python, and nothing of segmend; the server's have all of it.
"""

import functools
import os
import random
import re
import signal
import subprocess
import sys
import threading
import venv
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession
from tests.waiting import until

from segmend.cli.commands.fleet.caching import cache_folder
from segmend.spark.archive import options_with
from segmend.spark.java import find_java
from segmend.spark.session import session

SECONDS = 300
"""So long a test waits for what it looks for."""

# Runs at the start of every Python of the workers. Where HOLD names a directory with an `armed` in it, the
# first who opens a log makes it `held`, and waits: the middle of a task, for as long as a test likes.
_HOLD = """\
import os, sys, time

def hold(event, args, folder=os.environ.get("HOLD")):
    if folder and event == "open" and str(args[0]).endswith(".log"):
        try:
            os.rename(folder + "/armed", folder + "/held")
        except FileNotFoundError:
            return
        time.sleep(600)

sys.addaudithook(hold)
"""

LIGHT = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Many JVMs start in a test, and none lives long enough to be worth more."""


@functools.cache
def light() -> str:
    """The same with Spark's classes from their archive, if it is there: `.ci/run` makes it first."""
    folder = cache_folder()
    return " ".join([LIGHT, *(options_with(find_java(os.environ), folder) if folder else [])])


def bare_python(folder: Path) -> Path:
    """A Python of this very version that has no package at all, but for what holds it up."""
    venv.create(folder, with_pip=False)
    site = next((folder / "lib").glob("python*/site-packages"))
    (site / "sitecustomize.py").write_text(_HOLD)
    return folder / "bin" / "python"


def tmp(folder: Path) -> str:
    """A flag: where executors that are killed leave what they were sent, 130 MB each."""
    return f"-Djava.io.tmpdir={folder}"


class Daemons:
    """Processes of Spark, each with a log in `folder`, which end with the block."""

    def __init__(self, folder: Path, environ: Mapping[str, str], stack: ExitStack) -> None:
        self._folder = folder
        self._stack = stack
        self._started: dict[str, subprocess.Popen[bytes]] = {}
        bare = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        self.environ = {
            **bare,
            "SPARK_HOME": str(Path(pyspark.__file__).parent),
            "JAVA_HOME": str(find_java(os.environ).home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": f"{light()} {tmp(folder)}",
            "SPARK_LOCAL_DIRS": str(folder),
            **environ,
        }

    def start(self, name: str, program: str, *args: str, **more: str) -> subprocess.Popen[bytes]:
        with open(self._folder / f"{name}.log", "wb") as log:
            process = subprocess.Popen(
                [f"{self.environ['SPARK_HOME']}/bin/{program}", *args],
                stdout=log,
                stderr=log,
                env={**self.environ, **more},
                start_new_session=True,
            )
        self._stack.callback(_end, process)
        self._started[name] = process
        return process

    def told(self, name: str, pattern: str) -> str:
        """What its log says, once it does."""

        log = self._folder / f"{name}.log"

        def look() -> list[str]:
            assert self._started[name].poll() is None, log.read_text()
            return re.findall(pattern, log.read_text())

        return str(until(f"{name}: {pattern}", look, SECONDS)[0])


def submitted(settings: Mapping[str, str]) -> dict[str, str]:
    """Settings for a session to come, by the environment."""
    conf = [f'--conf "{name}={value}"' for name, value in settings.items()]
    return {"PYSPARK_SUBMIT_ARGS": " ".join([*conf, "pyspark-shell"])}


@dataclass
class Cluster:
    """`second` is the worker on 127.0.0.2, which leads a session of its own; `hold` see above."""

    url: str
    environ: Mapping[str, str]
    second: subprocess.Popen[bytes]
    hold: Path

    def start(self, *command: str, **settings: str) -> subprocess.Popen[str]:
        """A module of Python with this cluster's settings for the session that it starts."""
        return subprocess.Popen(
            [sys.executable, "-m", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **self.led(**settings)},
        )

    def led(self, **settings: str) -> dict[str, str]:
        """The environment of who leads a session here."""
        given = {
            "spark.cores.max": "2",
            "spark.driver.extraJavaOptions": light(),
            "spark.executor.extraJavaOptions": f"{light()} {tmp(self.hold.parent)}",
            "spark.ui.enabled": "false",
        }
        return {**self.environ, **submitted(given | settings)}

    def kill_second(self) -> None:
        """As a power cut would, executor and all."""
        os.killpg(self.second.pid, signal.SIGKILL)
        self.second.wait()


@contextmanager
def cluster(python: Path, folder: Path) -> Iterator[Cluster]:
    """Two workers of one core each, on two addresses of this machine; tasks of the second may be held up."""
    ours = {"PYSPARK_PYTHON": str(python)}
    hold = folder / "hold"
    hold.mkdir()
    with ExitStack() as stack:
        daemons = Daemons(folder, ours, stack)

        def daemon(name: str, kind: str, *args: str, **more: str) -> subprocess.Popen[bytes]:
            ports, work = ("--port", "0", "--webui-port", "0"), str(folder / name)
            kind = f"org.apache.spark.deploy.{kind}"
            return daemons.start(name, "spark-class", kind, *args, *ports, SPARK_WORKER_DIR=work, **more)

        daemon("master", "master.Master", "--host", "127.0.0.1")
        url = daemons.told("master", r"Starting Spark master at (spark://\S+)")
        size = ("--cores", "1", "--memory", "1g", url)
        daemon("first", "worker.Worker", "--host", "127.0.0.1", *size)
        second = daemon("second", "worker.Worker", "--host", "127.0.0.2", *size, HOLD=str(hold))
        for name in ("first", "second"):
            daemons.told(name, "Successfully registered with master")
        environ = {name: daemons.environ[name] for name in ("JAVA_HOME", "SPARK_LOCAL_IP")}
        yield Cluster(url, environ | ours, second, hold)


@contextmanager
def connect_server(folder: Path, **settings: str) -> Iterator[str]:
    """The address of a server of Spark Connect."""
    with ExitStack() as stack:
        ours = {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        daemons = Daemons(folder, ours, stack)
        given = {
            "spark.connect.grpc.binding.port": "0",
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.ui.enabled": "false",
        } | settings
        daemons.start(
            "connect", "spark-submit", "--master", "local[2]", "--driver-java-options", light(),
            *(each for name, value in given.items() for each in ("--conf", f"{name}={value}")),
            "--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal",
            SPARK_DAEMON_MEMORY="1g",
        )  # fmt: skip
        port = daemons.told("connect", r"Spark Connect server started at: \S+:(\d+)")
        yield f"sc://127.0.0.1:{port}"


MASTERS = ("local", "standalone", "connect")


@contextmanager
def master(kind: str, home: Path, **settings: str) -> Iterator[str]:
    """What `session` is given for one of `MASTERS`; `settings` are of this process' sessions from then on."""
    with ExitStack() as stack:
        if kind == "connect":
            yield stack.enter_context(connect_server(home, **settings))
            return
        if kind == "local":
            os.environ.update(submitted(settings))
            yield "local[2]"
            return
        running = stack.enter_context(cluster(bare_python(home / "bare"), home))
        os.environ.update(running.led(**settings))
        yield running.url


@contextmanager
def hunted(home: Path, draw: random.Random, seconds: float = 6) -> Iterator[list[str]]:
    """Executors of the cluster in `home` die now and then, or a Python of theirs; those that did.

    A second try may meet the next one: what is a failure too many is for Spark's settings to say.
    """
    over, died = threading.Event(), list[str]()

    def hunt() -> None:
        while not over.wait(draw.uniform(0.3, 2 * seconds)):
            executors = executors_of(home)
            pythons = [pid for pid, line in _processes() if "pyspark" in line and _parent(pid) in executors]
            hunted = draw.choice((executors, pythons or executors))
            if hunted:
                with suppress(ProcessLookupError):
                    os.kill(draw.choice(sorted(hunted)), signal.SIGKILL)
                    died.append("executor" if hunted is executors else "python")

    hunter = threading.Thread(target=hunt, daemon=True)
    hunter.start()
    try:
        yield died
    finally:
        over.set()
        hunter.join()


def executors_of(home: Path) -> list[int]:
    """The processes of the cluster that lies in `home`."""
    name = "CoarseGrainedExecutorBackend"
    return [pid for pid, line in _processes() if name in line and f"{tmp(home)}\0" in line]


def _processes() -> Iterator[tuple[int, str]]:
    for each in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            yield int(each.name), (each / "cmdline").read_text(errors="replace")


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def quiet_session(url: str) -> SparkSession:
    """One that says nothing of the errors it throws."""
    spark = session(url, cache=cache_folder())
    if (context := getattr(spark, "_sc", None)) is not None:
        context.setLogLevel("OFF")
    return spark


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
