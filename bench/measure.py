"""Time whole processes in turn and keep the medians; no figure leaves without its ratio."""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field


@dataclass(slots=True)
class Contender:
    """One way of doing the work: a command, or a function that returns its own seconds."""

    name: str
    command: Sequence[str] | None = None
    function: Callable[[], float] | None = None
    environment: dict[str, str] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    peak_mib: float = 0.0

    def run(self) -> None:
        """One timed run; a command that fails stops the benchmark with its last words."""
        if self.function is not None:
            self.seconds.append(self.function())
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
        self.peak_mib = max(self.peak_mib, usage.ru_maxrss / 1024)
        # segmend ends with 4 when it has findings; for a benchmark that is a result as well.
        if os.waitstatus_to_exitcode(status) not in (0, 4):
            raise RuntimeError(f"{self.name} failed: {words.decode(errors='replace')[-400:]}")
        process.returncode = 0

    @property
    def median(self) -> float:
        """Median seconds over the counted runs."""
        return statistics.median(self.seconds)


def race(contenders: Sequence[Contender], *, runs: int) -> None:
    """Run all in turn, A B C A B C, after one warm-up each, so that a noisy minute hits all alike."""
    for contender in contenders:
        contender.run()
        contender.seconds.clear()
    for _ in range(runs):
        for contender in contenders:
            contender.run()
