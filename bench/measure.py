"""Time whole processes in turn and keep the medians; no figure leaves without its ratio."""

from __future__ import annotations

import math
import os
import re
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from segmend.wording import plural


@dataclass(slots=True)
class Contender:
    """One way of doing the work: a command, or a function that returns its own seconds."""

    name: str
    command: Sequence[str] | None = None
    function: Callable[[], float] | None = None
    environment: dict[str, str] = field(default_factory=dict)
    clock: Callable[[], float] | None = None
    """Reads CPU seconds, before and after a run of the function; of a command, those it took."""
    before: Callable[[], None] = lambda: None
    """What is done before each run, not timed."""
    seconds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    peak_mib: float = 0.0

    def run(self) -> None:
        """One timed run; a command that fails stops the benchmark with its last words."""
        self.before()
        if self.function is not None:
            before = self.clock() if self.clock else 0.0
            self.seconds.append(self.function())
            if self.clock:
                self.cpu.append(self.clock() - before)
            return
        assert self.command is not None
        started = time.perf_counter()
        process = subprocess.Popen(
            self.command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=os.environ | self.environment,
        )
        assert process.stderr is not None
        words = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        self.seconds.append(time.perf_counter() - started)
        self.cpu.append(usage.ru_utime + usage.ru_stime)
        self.peak_mib = max(self.peak_mib, usage.ru_maxrss / 1024)
        # segmend ends with 4 when it has findings; for a benchmark that is a result as well.
        if os.waitstatus_to_exitcode(status) not in (0, 4):
            raise RuntimeError(f"{self.name} failed: {words.decode(errors='replace')[-400:]}")
        process.returncode = 0

    @property
    def median(self) -> float:
        """Median seconds over the counted runs."""
        return statistics.median(self.seconds)


@dataclass(slots=True)
class Bound:
    """When races begin no further turn, on the clock of `time.monotonic`."""

    end: float = math.inf

    @property
    def reached(self) -> bool:
        return time.monotonic() >= self.end


BOUND = Bound()
"""Of this process."""


def race(contenders: Sequence[Contender], *, runs: int) -> None:
    """Run all in turn, A B C A B C, so that a noisy minute hits all alike; warmed up if more than once.

    Each run is told on stderr. Past the bound no turn is begun: the one that was to warm up counts if there
    is no other one.
    """
    for turn in range(runs if runs == 1 else runs + 1):
        warm_up = turn == 0 and runs > 1
        if BOUND.reached and all(each.seconds for each in contenders):
            tell(f"out of time: {plural(max(len(each.seconds) for each in contenders), 'turn')} counted")
            return
        for contender in contenders:
            contender.run()
            name = "warm-up" if warm_up else f"{turn if runs > 1 else 1} of {runs}"
            tell(f"{contender.name}: {name}, {contender.seconds[-1]:.2f} s")
        if warm_up and not BOUND.reached:
            for contender in contenders:
                contender.seconds.clear()
                contender.cpu.clear()


def tell(words: str) -> None:
    """How far it is: the tables alone go to stdout."""
    print(f"bench: {words}", file=sys.stderr, flush=True)


class FamilyCpu:
    """CPU seconds of this process and of all below it, but of those that serve: brokers stand apart.

    Spark's workers end when they were idle for a minute, and nobody waits for them: no other process
    has their time then. It stays in the sum as it was last seen.
    """

    def __init__(self) -> None:
        self._unwaited: dict[tuple[int, str], int] = {}

    def __call__(self) -> float:
        """So far."""
        parents, ticks, begun, careless = dict[int, int](), dict[int, int](), dict[int, str](), set[int]()
        for folder in Path("/proc").iterdir():
            if not folder.name.isdigit():
                continue
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                serves = b"kafka.Kafka" in (folder / "cmdline").read_bytes()
                ignored = re.search(r"SigIgn:\s*(\w+)", (folder / "status").read_text())
            except OSError:
                continue
            process = int(folder.name)
            if not serves:
                parents[process], begun[process] = int(fields[1]), fields[19]
                ticks[process] = sum(map(int, fields[11:15]))
            if ignored and int(ignored[1], 16) >> (signal.SIGCHLD - 1) & 1:
                careless.add(process)
        ours = [process for process in ticks if _is_ours(process, parents)]
        self._unwaited |= {(p, begun[p]): ticks[p] for p in ours if parents[p] in careless}
        ended = (s for (p, begin), s in self._unwaited.items() if begun.get(p) != begin)
        return (sum(ticks[process] for process in ours) + sum(ended)) / os.sysconf("SC_CLK_TCK")


def _is_ours(process: int, parents: dict[int, int]) -> bool:
    while process in parents and process != os.getpid():
        process = parents[process]
    return process == os.getpid()
