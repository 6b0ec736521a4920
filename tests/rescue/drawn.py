"""Replicas hurt at random, and what the fleet's diff, rescue and export make of them: what they make alone.

`python -m tests.rescue.drawn [--seed N] [--count N] [--driver local|spark|standalone]`. Drawn are the
brokers, their wounds, the form and options of the rescue. The export goes run after run while the logs grow,
in the fleet killed at any moment and asked again. Lines, exit codes, files and rows are compared.
"""

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cli.run import SOURCE, Ran, python, run
from tests.conftest import GOLDEN
from tests.copies import copy_tree
from tests.faults.on_disk import batches_of
from tests.golden.unpack import unpack
from tests.lab.acknowledged.base import archive
from tests.merge.test_any_damage import HURTS
from tests.rescue.test_export import table
from tests.rescue.test_gaps import cut_out
from tests.seeds import SEED
from tests.spark.standalone import master

GOLDENS = ("0.10.2.2-killed", "1.1.0-killed", "2.8.2-clean", "3.9.2-killed", "4.3.1-clean")
BROKERS = {
    "4.3.1-fleet": "[cop]*", "4.3.1": "[!_]*", "1.1.0": "[!_]*", **dict.fromkeys(GOLDENS, "[!_]*"),
}  # fmt: skip
"""The bundled fleet, three brokers of `tests.lab.acknowledged` each, one of each release; their topics."""
FORMS = ("jsonl", "csv", "parquet", "delta", "log-dir")
GLOBS = ("[ct]*", "*-*", "txn*", "compacted*", "*")
TIMES = (0, 1_000_000_000_000, 1_700_000_000_000, 1_750_000_000_000, 1_800_000_000_000)


def options_of(draw: random.Random, form: str) -> tuple[str, ...]:
    """Such as go together with the form; of one trial in four none."""
    if draw.random() < 0.25:
        return ()
    found, tables = list[str](), form != "log-dir"
    if draw.random() < 0.3:
        found += ["--offsets", f"{draw.randrange(60)}..{draw.choice((60, 90, 300, 1 << 40))}"]
    if tables and draw.random() < 0.2:
        found += [draw.choice(("--since", "--until")), str(draw.choice(TIMES))]
    if tables and draw.random() < 0.4:
        found += ["--isolation", "read_committed"]
    whole = not {"--offsets", "--since", "--until"}.intersection(found)
    if whole and draw.random() < 0.4:
        found.append(draw.choice(("--compact", "--compact-all")))
    elif tables and draw.random() < 0.4:
        found.append("--salvage")
    return tuple(found)


def content(out: Path) -> dict[str, bytes | list[bytes]]:
    """Every file but the report, which names the dirs as they were given; of Delta's log the files in it."""
    files = [path for path in out.rglob("*") if path.is_file() and not path.name.startswith("_rescue")]
    found: dict[str, bytes | list[bytes]] = {str(path.relative_to(out)): path.read_bytes() for path in files}
    for name, data in found.items():
        if name.startswith("_delta_log") and isinstance(data, bytes):
            found[name] = sorted(re.findall(rb'"path":"([^"]+)"', data))
    return found


MORE = (
    "batch",
    "batch everywhere",
    "file",
    "replica",
    "partition",
    "aside",
    "checkpoints",
    "identity",
    "metadata",
)


def wound(root: Path, draw: random.Random) -> str:
    """Hurt a replica, all of a partition, or what lies beside them; what was done."""
    log = draw.choice(
        [log for log in sorted(root.glob("b*/d*/[!_]*-[0-9]/*.log")) if log.stat().st_size > 3000]
    )
    replica, log_dir, everywhere = log.parent, log.parents[1], root.glob(f"b*/d*/{log.parent.name}")
    what = draw.choice([*HURTS, *MORE])
    if what in HURTS:
        data = bytearray(log.read_bytes())
        log.write_bytes(HURTS[what](data, draw.randrange(len(data)), draw.randrange(1, 3000)))
    elif what.startswith("batch"):
        for each in everywhere if what.endswith("everywhere") else [replica]:
            if len(batches_of(each / log.name) if (each / log.name).exists() else ()) > 1:
                cut_out(each / log.name, 1)
    elif what == "file":
        log.unlink()
    elif what in ("replica", "partition"):
        for each in everywhere if what == "partition" else [replica]:
            shutil.rmtree(each)
    elif what == "aside":
        replica.rename(f"{replica}.{'a' * 32}-stray")
    else:
        names = {
            "checkpoints": "*-checkpoint",
            "identity": "meta.properties",
            "metadata": "__cluster_metadata-0/*.log",
        }
        for each in list(log_dir.glob(names[what])):
            each.unlink()
    return f"{what} {log.relative_to(root)}"


def said(ran: Ran) -> list[str]:
    """Every line, without the time it took and the token that a task has in its files' names."""
    told = [{key: value for key, value in row.items() if key != "seconds"} for row in ran.json]
    return sorted(re.sub(r"(-\d{20})-[0-9a-f]{16}(-\d+\.parquet)", r"\1\2", json.dumps(row)) for row in told)


def brokers(name: str, into: Path) -> Path:
    """The log dirs `b*/d*` of a few brokers."""
    return unpack(GOLDEN / f"{name}.tar.xz" if "-" in name else archive(name), into)


class Trial:
    """One number's brokers, and what differs between alone and the fleet."""

    def __init__(self, seed: int, number: int, whole: Callable[[str], Path], home: Path, driver: str) -> None:
        self.draw = random.Random(f"fleet {seed} {number}")
        name = self.draw.choice(sorted(BROKERS))
        self.topics, self.home, self.root = BROKERS[name], home, home / "root"
        copy_tree(whole(name), self.root)
        if self.draw.random() < 0.3:
            self.topics = self.draw.choice(GLOBS)
        if self.draw.random() < 0.2:  # an older backup, say: of the same broker
            copy_tree(min(self.root.glob("b1/d*")), self.root / "b1/d9")
        self.did = [
            f"{name} {self.topics}",
            *(wound(self.root, self.draw) for _ in range(self.draw.randrange(1, 7))),
        ]
        self.fleet = ("--master", driver) if driver.startswith("spark:") else ("--driver", driver)
        self.wrong: list[str] = []

    def play(self) -> list[str]:
        """All three commands; what differs."""
        self._both("diff")
        form = self.draw.choice(FORMS)
        options = options_of(self.draw, form)
        alone, there = self._both("rescue", "--as", form, *options)
        if content(alone) != content(there):
            self.wrong.append(f"rescue --as {form} {' '.join(options)}: other files")
        self.isolation = ("--isolation", "read_committed") if self.draw.random() < 0.4 else ()
        self._exports()
        return [*self.did, *self.wrong] if self.wrong else []

    def _both(self, command: str, *options: str, number: int = 0) -> tuple[Path, Path]:
        outs = [self.home / f"{command}-{each}" for each in ("alone", "there")]
        told = []
        for out, words in zip(outs, ((), ("fleet",)), strict=True):
            argv = self._argv((*words, command), options, out)
            told.append(self._spread(*argv) if words else run(*argv))
        alone, there = told
        if (alone.code, said(alone)) != (there.code, said(there)):
            ours, theirs = Counter(said(alone)), Counter(said(there))
            more = [f"{each:.300}" for each in (*(ours - theirs), *(theirs - ours))]
            what = f"{command} {' '.join(options)} {number}: {alone.code}, in the fleet {there.code}"
            self.wrong.append(f"{what}: {more} {there.err[-300:]}")
        return outs[0], outs[1]

    def _spread(self, *argv: str) -> Ran:
        """A command of the fleet; a cluster's cores are free again behind it."""
        if self.fleet[0] == "--driver":
            return run(*argv, *self.fleet)
        ran = python("-m", "segmend", *argv, *self.fleet)
        return Ran(ran.returncode, ran.stdout, ran.stderr)

    def _argv(self, words: tuple[str, ...], options: tuple[str, ...], out: Path) -> list[str]:
        given = [] if words[-1] == "diff" else ["--out", str(out)]
        # In the order in which the fleet lists them: who does not tell its broker comes last.
        found = sorted(
            self.root.glob("b*/d*"), key=lambda each: (not (each / "meta.properties").exists(), each)
        )
        dirs = map(str, found)
        return [*words, *dirs, "--topic", self.topics, "--json", *options, *given]

    def _exports(self) -> None:
        """Run after run, with more of the logs each time."""
        whole = self.home / "whole"
        self.root.rename(whole)
        shares = sorted(self.draw.random() for _ in range(2))
        for number, share in enumerate((*shares, 1.0)):
            shutil.rmtree(self.root, ignore_errors=True)
            copy_tree(whole, self.root)
            if share < 1:
                self._cut(share)
            self._killed(self.draw.uniform(0.2, 12 if self.fleet[1] != "local" else 2.5))
            before = _version(self.home / "export-there"), _version(self.home / "export-alone")
            if before[0] == before[1]:
                alone, there = self._both("export", *self.isolation, number=number)
            else:  # it was quicker than its end
                alone, there = self.home / "export-alone", self.home / "export-there"
                run(*self._argv(("export",), self.isolation, alone))
                self._spread(*self._argv(("fleet", "export"), self.isolation, there))
            if (ours := _rows(alone)) != (theirs := _rows(there)):
                more = sum((theirs - ours).values()), sum((ours - theirs).values())
                self.wrong.append(
                    f"export {number} at {share:.2f}: {more[0]} rows too many, {more[1]} lacking"
                )

    def _cut(self, share: float) -> None:
        """As it was when each log had that share of its offsets, whatever of the rest is damaged."""
        ends: dict[str, int] = {}
        logs = sorted(self.root.glob("b*/d*/*-[0-9]*/*.log"))
        for log in logs:
            for batch in batches_of(log):
                ends[log.parent.name] = max(ends.get(log.parent.name, 0), min(batch.last_offset, 1 << 20))
        for log in logs:
            bound = round(ends.get(log.parent.name, 0) * share)
            if int(log.stem) > bound:
                log.unlink()
            elif at := next((each.position for each in batches_of(log) if each.base_offset >= bound), None):
                os.truncate(log, at)

    def _killed(self, seconds: float) -> None:
        argv = self._argv(("fleet", "export"), self.isolation, self.home / "export-there")
        process = subprocess.Popen(
            [sys.executable, "-m", "segmend", *argv, *self.fleet],
            env={**os.environ, "PYTHONPATH": str(SOURCE)},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _version(out: Path) -> int:
    return max((int(each.stem) for each in out.glob("_delta_log/*.json") if each.stem.isdigit()), default=-1)


def _rows(out: Path) -> Counter[str]:
    return Counter(map(str, table(out))) if _version(out) >= 0 else Counter()


@contextmanager
def masters(driver: str, home: Path) -> Iterator[str]:
    """What `--driver` or `--master` is given; a cluster of two workers for `standalone`."""
    if driver != "standalone":
        yield driver
        return
    with master(driver, home, **{"spark.executor.memory": "900m"}) as url:
        yield url


def main(words: list[str]) -> int:
    """Play the numbers; 1 if something differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.rescue.drawn", description=__doc__)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--driver", default="local", choices=("local", "spark", "standalone"))
    args = parser.parse_args(words)
    bad = 0
    with (
        tempfile.TemporaryDirectory(prefix="drawn-") as scratch,
        masters(args.driver, Path(scratch)) as driver,
    ):
        whole = {name: brokers(name, Path(scratch, name)) for name in BROKERS}
        for number in range(args.first, args.first + args.count):
            home = Path(scratch, str(number))
            if wrong := Trial(args.seed, number, whole.__getitem__, home, driver).play():
                bad += 1
                print(f"{args.seed} {number}:", *wrong, sep="\n  ", flush=True)
            shutil.rmtree(home)
    print(f"{args.count} of seed {args.seed} on {args.driver}: {bad} differ")
    return min(bad, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
