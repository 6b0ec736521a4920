"""Rescues and exports killed at any moment, and given again.

`python -m tests.rescue.killed [--seed N] [--count N] [--only WAY] [--driver spark] [--to RELEASE]`. Replicas
of `tests.lab.acknowledged` are hurt at random. Each command is killed (SIGKILL) up to three times, and given
again until it ends: with the same exit code and the same rows as one that nobody killed, each of them once;
given once more, it adds nothing. `--as kafka` sends to a real broker. `export growing` exports a log to which
somebody appends, batch by batch and half batches, between the runs and while they are killed. With `--driver`
it is `fleet rescue` and `fleet export`, of which all processes are killed, or the command alone.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

from tests.cli.run import SOURCE, Ran, python, run
from tests.conftest import GOLDEN
from tests.faults.on_disk import lengthen
from tests.golden.unpack import unpack
from tests.lab.acknowledged.base import TOPICS
from tests.lab.acknowledged.hurt import NAMES
from tests.lab.acknowledged.judge import World, hurt, opened, rescued
from tests.lab.admin import delete_topics
from tests.lab.base import QUIET
from tests.lab.cluster import Cluster
from tests.rescue.drawn import content
from tests.rescue.served import consumed
from tests.rescue.test_export import Growing, offsets, table
from tests.seeds import SEED

WAYS = {
    **{
        f"rescue {form}": ("rescue", "--as", form) for form in ("jsonl", "csv", "parquet", "delta", "log-dir")
    },
    "export": ("export",),
    "export growing": ("export",),
    "rescue kafka": ("rescue", "--as", "kafka"),
    "export kafka": ("export", "--as", "kafka"),
}
Rows = Callable[[Path], object]


def unpacked(scratch: Path) -> Path:
    """The golden directory whose log grows."""
    to = scratch / "golden"
    return to if to.exists() else unpack(GOLDEN / "4.3.1-killed.tar.xz", to)


class Loop:
    """One seed: the same damage, every way of writing it."""

    def __init__(self, world: World, seed: int, cluster: Cluster | None, driver: str = "") -> None:
        self.driver = driver
        self.cluster, self.scratch, self.seed = cluster, world.scratch, seed
        self.dirs = hurt(world, seed, overlap=bool(seed % 2)).dirs
        self.served = rescued(world.scratch / "served", self.dirs)
        self.golden = unpacked(self.scratch)
        self.kills = 0

    def play(self, ways: Sequence[str]) -> Iterator[str]:
        """What was wrong."""
        for way in ways:
            play = self._growing if way == "export growing" else self._way
            yield from (f"{way}: {each}" for each in play(way))

    def _way(self, way: str) -> Iterator[str]:
        draw = random.Random(f"killed {self.seed} {way}")
        whole, out = (self.scratch / f"{way}-{self.seed}-{each}" for each in ("whole", "killed"))
        took, wanted = self._whole(way, whole)
        for _ in range(draw.randrange(1, 4)):
            self._killed(self._argv(way, out), draw.uniform(0.05, 1) * took)
        ran = self._ran(way, out)
        # Of one that was killed behind its end the last run tells that nothing is new.
        if ran.code != wanted.code and not (way.startswith("export") and ran.code == 0):
            yield f"exit code {ran.code}, not {wanted.code}: {ran.err[-300:]}"
        if ran.code in (0, wanted.code):
            yield from self._compared(way, whole, out, "")
        again = self._ran(way, out)
        if again.code not in (0, wanted.code):
            yield f"exit code {again.code} when given once more: {again.err[-300:]}"
        yield from self._compared(way, whole, out, " when given once more")
        if "kafka" in way:
            self._forget()

    def _growing(self, way: str) -> Iterator[str]:
        draw = random.Random(f"killed {self.seed} {way}")
        log, out = (
            Appended(self.golden, self.scratch / f"{way}-{self.seed}", draw),
            self.scratch / f"g-{self.seed}",
        )
        command = [*self._words(way), str(log.log.dir), "--out", str(out), *self._more()]
        while log.shown < len(log.log.ends):
            with log.growing():
                self._killed(command, draw.uniform(0.2, 1.2))
            if not draw.randrange(3):
                # A half batch at the end is damage for now, unless a broker runs.
                ran, end = run(*command), log.settled()
                if ran.code not in (0, 4):
                    yield f"exit code {ran.code}: {ran.err[-300:]}"
                elif (found := offsets(out)) != [*range(end)]:
                    yield f"{len(found)} rows, not {end}"
        end = log.settled()
        for _ in range(2):
            if (ran := run(*command)).code:
                yield f"exit code {ran.code}: {ran.err[-300:]}"
            if (found := offsets(out)) != [*range(end)]:
                yield f"at the end {len(found)} rows, not {end}"

    def _whole(self, way: str, out: Path) -> tuple[float, Ran]:
        """How long it takes, and what it ends with, if nobody kills it."""
        began = time.monotonic()
        if self.driver:
            self._ran(way.replace("kafka", "csv"), out.with_name(f"{out.name}-timed"))
            took, began = time.monotonic() - began, time.monotonic()
        else:
            took = 0.0
        if "kafka" in way:
            ran = run("rescue", *self.dirs, "--topic", "[!_]*", "--out", out, "--as", "csv",
                      "--isolation", "read_committed", "--json")  # fmt: skip
        else:
            ran = run(*WAYS[way], *self._asked(out), "--json")
        return max(time.monotonic() - began, took, 1.0) + 0.5, ran

    def _ran(self, way: str, out: Path) -> Ran:
        argv = [*self._argv(way, out), "--json"]
        if not self.driver:
            return run(*argv)
        ran = python("-m", "segmend", *argv)
        return Ran(ran.returncode, ran.stdout, ran.stderr)

    def _words(self, way: str) -> list[str]:
        return [*(["fleet"] if self.driver else []), *WAYS[way]]

    def _more(self) -> list[str]:
        return ["--driver", self.driver] if self.driver else []

    def _asked(self, out: Path) -> list[str]:
        return [*map(str, self.dirs), "--topic", "[!_]*", "--out", str(out)]

    def _argv(self, way: str, out: Path) -> list[str]:
        to = () if self.cluster is None or "kafka" not in way else (
            "--bootstrap", self.cluster.bootstrap, "--create-topics"
        )  # fmt: skip
        return [*self._words(way), *self._asked(out), *to, *self._more()]

    def _killed(self, argv: Sequence[str], seconds: float) -> None:
        process = subprocess.Popen(
            [sys.executable, "-m", "segmend", *argv], env={**os.environ, "PYTHONPATH": str(SOURCE)},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            # Its workers go on for a moment where it is killed alone; what they send then is on its way.
            alone = random.Random(seconds).random() < 0.5 and "kafka" not in argv
            process.kill() if alone else os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            self.kills += 1

    def _compared(self, way: str, whole: Path, out: Path, when: str) -> Iterator[str]:
        if "kafka" in way:
            yield from self._sent(when)
        elif way == "export":
            if sorted(map(str, table(out))) != sorted(map(str, table(whole))):
                yield f"other rows{when}"
        elif content(out) != content(whole):
            yield f"other files{when}"

    def _sent(self, when: str) -> Iterator[str]:
        assert self.cluster is not None
        for name in NAMES:
            topic, _, partition = name.rpartition("-")
            found = list(consumed(self.cluster.bootstrap, topic, int(partition)))
            wanted = [
                (key, value, list(headers), at) for _, key, value, at, headers in self.served.rows[name]
            ]
            if found != wanted:
                yield f"{name} has {len(found)} records, not {len(wanted)}, or others{when}"

    def _forget(self) -> None:
        """The cluster is as new again."""
        assert self.cluster is not None
        delete_topics(self.cluster.bootstrap, TOPICS)


class Appended:
    """A log that grows by some batches, and sometimes half of one, in a thread."""

    def __init__(self, golden: Path, root: Path, draw: random.Random) -> None:
        self.log, self._draw = Growing(golden, root), draw
        self.shown = 1
        self.settled()

    def settled(self) -> int:
        """As far as it is shown; its end."""
        return self.log.show(self.shown)

    @contextmanager
    def growing(self) -> Iterator[None]:
        """In the block it grows."""
        stop = threading.Event()
        thread = threading.Thread(target=self._append, args=(stop,))
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def _append(self, stop: threading.Event) -> None:
        """As a broker does: to the last log, and a new one where that is full."""
        for _ in range(self._draw.randrange(1, 4)):
            if stop.wait(self._draw.uniform(0, 0.3)) or self.shown == len(self.log.ends):
                return
            name, end, _ = self.log.ends[self.shown]
            before = self.log.home / name
            at = before.stat().st_size if before.exists() else 0
            data = (self.log.whole / name).read_bytes()[at:end]
            for part in (data[: len(data) // 2], data[len(data) // 2 :]):
                lengthen(before, part)
                stop.wait(self._draw.uniform(0, 0.05))
            self.shown += 1


def main(words: list[str]) -> int:
    """Play the seeds; 1 if something was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.rescue.killed", description=__doc__)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--count", type=int, default=5)
    parser.add_argument("--only", choices=[*WAYS], action="append", help="this way only")
    parser.add_argument("--driver", choices=("spark", "local"), default="", help="of the fleet's commands")
    parser.add_argument("--to", metavar="RELEASE", default="4.3.1", help="of the broker that is sent to")
    args = parser.parse_args(words)
    ways, bad, kills = args.only or [*WAYS], 0, 0
    ways = [way for way in ways if not args.driver or way != "export kafka"]  # the fleet has none
    with tempfile.TemporaryDirectory(prefix="killed-") as scratch:
        world, live = opened("4.3.1", Path(scratch)), any("kafka" in way for way in ways)
        with Cluster(args.to, Path(scratch, "live"), settings=QUIET) if live else nullcontext() as cluster:
            if cluster is not None:
                cluster.start()
            for seed in range(args.seed, args.seed + args.count):
                loop = Loop(world, seed, cluster, args.driver)
                if wrong := [*loop.play(ways)]:
                    bad += 1
                    print(f"{seed}:", *wrong, sep="\n  ", flush=True)
                kills += loop.kills
    print(f"{args.count} seeds of {len(ways)} ways, {kills} kills: {bad} seeds wrong")
    return min(bad, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
