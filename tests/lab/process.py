"""One Java process of the lab: started with a log file, waited for by a log line, stopped or killed.

A process ends with its owner: whatever is still running when Python exits is killed, by its own id.
"""

import atexit
import os
import re
import signal
import subprocess
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from tests.lab.errors import LabError
from tests.lab.jars import archive, jars
from tests.lab.java import find_java
from tests.lab.releases import Release
from tests.waiting import until

SMALL_JVM = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.net.preferIPv4Stack=true"]

LOG4J1 = """\
log4j.rootLogger=INFO, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=[%d] %p %m (%c)%n
"""

LOG4J2 = """\
status=error
appender.out.type=Console
appender.out.name=out
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=[%d] %p %m (%c)%n
rootLogger.level=info
rootLogger.appenderRef.out.ref=out
"""

STOPS_IN = 300.0
"""Seconds that a process may take to end: how long says nothing, and a loaded machine takes its time."""

PATIENCE = 60
"""Seconds after which a process that neither is up nor died hangs, if half of them brought nothing new."""

_running: set[subprocess.Popen[bytes]] = set()


@atexit.register
def _kill_leftovers() -> None:
    for child in list(_running):
        if child.poll() is None:
            child.kill()


def java_command(
    release: Release,
    logging_dir: Path,
    main: str,
    *args: str | Path,
    classes: Path | None = None,
    more: Path | None = None,
    jvm: Sequence[str] | None = None,
) -> list[str]:
    """The command line of a main class of that release, logging to stdout; `classes` are own classes.

    `more` is a folder of further jars. `jvm` are the flags of who measures it; else it is small, and its
    classes are there at once.
    """
    logging = logging_dir / f"log4j{release.log4j}.properties"
    logging.parent.mkdir(parents=True, exist_ok=True)
    logging.write_text(LOG4J1 if release.log4j == 1 else LOG4J2)
    option = "log4j.configuration" if release.log4j == 1 else "log4j2.configurationFile"
    path = [*([str(classes)] if classes else []), f"{jars(release)}/*", *([f"{more}/*"] if more else [])]
    if jvm is None:
        shared = archive(release)
        jvm = [*SMALL_JVM, *([f"-XX:SharedArchiveFile={shared}"] if shared.exists() and not classes else [])]
    # Who is killed leaves there what it unpacked (lz4's library).
    settings = f"-D{option}=file:{logging}", f"-Djava.io.tmpdir={logging.parent}"
    flags = [*jvm, *settings, "-cp", ":".join(path)]
    return [str(find_java()), *flags, main, *map(str, args)]


def stamp(line: str) -> float:
    """When a line was logged."""
    return datetime.strptime(line[1:24], "%Y-%m-%d %H:%M:%S,%f").timestamp()


def goes_on(lines: list[str], now: float) -> bool:
    """Whether it lately logged, but for numbers, what it had not: who hangs may try the same again."""
    first: dict[str, float] = {}
    for line in lines:
        if re.match(r"\[\d{4}-", line):
            first.setdefault(re.sub(r"\d+", "", line), stamp(line))
    return now - max(first.values(), default=now) < PATIENCE / 2


def check_hangs(lines: list[str]) -> None:
    """Raise LabError if a process that is not up after `PATIENCE` still goes on: it is no verdict."""
    if goes_on(lines, time.time()):
        raise LabError(f"too slow to judge: it is not up after {PATIENCE} s, and still goes on")


class KafkaProcess:
    """A server of the release: `ready` is the regular expression of the log line that says it is up."""

    def __init__(self, release: Release, log: Path, main: str, config: Path, ready: str) -> None:
        self.release = release
        self.log = log
        self.main = main
        self.config = config
        self.ready = re.compile(ready)
        self.jvm: Sequence[str] | None = None
        self.child: subprocess.Popen[bytes] | None = None
        self.log_start = 0

    @property
    def running(self) -> bool:
        """Whether the process is alive."""
        return self.child is not None and self.child.poll() is None

    def lines(self) -> list[str]:
        """What it has logged since the last start."""
        if not self.log.exists():
            return []
        with open(self.log, "rb") as stream:
            stream.seek(self.log_start)
            return stream.read().decode("utf-8", "replace").splitlines()

    def command(self) -> list[str]:
        """The command line that starts it."""
        return java_command(self.release, self.log.parent, self.main, self.config, jvm=self.jvm)

    def launch(self) -> None:
        """Start it and return at once."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self.log_start = self.log.stat().st_size if self.log.exists() else 0
        with open(self.log, "ab") as stream:
            self.child = subprocess.Popen(self.command(), stdout=stream, stderr=stream, cwd=self.log.parent)
        _running.add(self.child)

    def wait_ready(self, timeout: float = 120) -> None:
        """Wait for the ready line; raises LabError with the last log lines when it dies or takes too long."""
        if self._up_or_dead(timeout) != "starts":
            what = f"was not up after {timeout:.0f} s" if self.running else "died"
            self.kill()
            raise LabError(f"Kafka {self.release.version} {what}, see {self.log}: {self.last_error()}")

    def came_to(self, otherwise: str) -> str:
        """`starts`, `refuses`, or after all patience `otherwise`; raises LabError if it is only slow."""
        if became := self._up_or_dead(PATIENCE):
            return became
        check_hangs(self.lines())
        return otherwise

    def _up_or_dead(self, seconds: float) -> str:
        def look() -> str:
            running = self.running  # first: it may say that it is up, and die
            up = any(self.ready.search(line) for line in self.lines())
            return "starts" if up else "" if running else "refuses"

        return until("it to be up", look, seconds, strict=False)

    def last_error(self) -> str:
        """The log line that most likely says why it died."""
        lines = self.lines()
        errors = [line for line in lines if " ERROR " in line or " FATAL " in line or "Exception" in line]
        return (errors or lines or ["it logged nothing"])[0 if errors else -1]

    def wait_for(self, pattern: str, timeout: float = 60) -> str:
        """Wait for a log line and return it."""
        wanted = re.compile(pattern)
        what = f"a line like {pattern!r} in {self.log}"
        return until(what, lambda: next(filter(wanted.search, self.lines()), ""), timeout)

    def start(self, timeout: float = 120) -> None:
        """Start it and wait until it is up."""
        self.launch()
        self.wait_ready(timeout)

    def ask_to_stop(self) -> None:
        """SIGTERM, without waiting for the end."""
        if self.child is not None and self.child.poll() is None:
            os.kill(self.child.pid, signal.SIGTERM)

    def stop(self, timeout: float = STOPS_IN) -> None:
        """SIGTERM and wait: the clean stop."""
        self._end(signal.SIGTERM, timeout)

    def kill(self) -> None:
        """SIGKILL and wait: the power cut, as far as a process can have one."""
        self._end(signal.SIGKILL, 30)

    def _end(self, how: int, timeout: float) -> None:
        if self.child is None:
            return
        if self.child.poll() is None:
            os.kill(self.child.pid, how)  # a second SIGTERM does nothing
            try:
                self.child.wait(timeout)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait()
                raise LabError(f"process {self.child.pid} ignored signal {how}, see {self.log}") from None
        _running.discard(self.child)
        self.child = None


def run_tool(
    release: Release,
    scratch: Path,
    main: str,
    *args: str | Path,
    classes: Path | None = None,
    timeout: float = 300,
) -> str:
    """Run one of Kafka's own command line classes and return its stdout."""
    command = java_command(release, scratch, main, *args, classes=classes)
    done = subprocess.run(
        command, capture_output=True, text=True, errors="replace", timeout=timeout, check=False, cwd=scratch
    )
    if done.returncode != 0:
        raise LabError(f"{main} failed: {(done.stderr or done.stdout).strip()[:2000]}")
    return done.stdout
