"""What commands say of the same hurt dirs, held against one another and against what they promise."""

from __future__ import annotations

import os
import pkgutil
import re
import resource
import shlex
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import segmend
from segmend.cli.main import main
from segmend.errors import EXIT_CODES
from tests.cli.run import Ran
from tests.outside.contract import amiss
from tests.surgery.child import begun

SECONDS, MIB = 60, 600
"""What a command may take over dirs of a few MB, whatever they claim to be: of the CPU, and of memory."""
ALL_CLEAR = re.compile(r"\bnothing (wrong|lost)\b(?! of the others)", re.IGNORECASE)
Rows = list[dict[str, Any]]


def preload() -> None:
    """All that is loaded late: Python may lie where only root reads."""
    for module in pkgutil.walk_packages(segmend.__path__, "segmend."):
        if not module.name.startswith(("segmend.spark", "segmend.__main__", "segmend._kernel")):
            import_module(module.name)


@dataclass
class Heard:
    """The commands of one trial, each a process of that user; `complaints` is what did not hold."""

    folder: Path
    uid: int = 0
    said: dict[str, Ran] = field(default_factory=dict)
    complaints: list[str] = field(default_factory=list)

    def run(self, *argv: object) -> Ran:
        words = [str(each) for each in argv]
        return self.do(shlex.join(words).replace(str(self.folder), ""), lambda: main(words))

    def do(self, line: str, call: Callable[[], int]) -> Ran:
        """Something in a process of its own, watched."""
        out, err, used = (self.folder / name for name in ("out", "err", "used"))
        for path in (out, err, used):
            path.unlink(missing_ok=True)
            path.touch()
            path.chmod(0o666)

        def act() -> int:
            sys.stdout, sys.stderr = (os.fdopen(os.open(path, os.O_WRONLY), "w") for path in (out, err))
            for number, stream in ((1, sys.stdout), (2, sys.stderr)):
                os.dup2(stream.fileno(), number)
            signal.alarm(10 * SECONDS)
            resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
            begin = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            try:
                return call()
            except SystemExit as stop:
                return int(stop.code or 0)
            finally:
                most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
                used.write_text(str((most - begin) >> 10))

        code = begun(act, self.uid)()
        ran = Ran(code, out.read_bytes().decode(), err.read_bytes().decode())
        self.said[line] = ran
        if code not in range(sum(EXIT_CODES) + 1) or code == 99:
            self.say(line, f"ends with {code}: {ran.err[-1500:]}")
        if "Traceback" in ran.err:
            self.say(line, ran.err[-3000:])
        if (mib := int(used.read_text() or 0)) > MIB:
            self.say(line, f"takes {mib} MiB")
        return ran

    def say(self, *words: object) -> None:
        self.complaints.append(": ".join(map(str, words)))


def judged(command: str, ran: Ran) -> Iterator[str]:
    """What is not right in the lines of one command by themselves."""
    if ran.code & (8 | 16) and not ran.out:
        if not ran.err.strip():
            yield f"{command}: exit {ran.code} without a word"
        return
    try:
        rows = ran.json
    except ValueError as error:
        yield f"{command}: no JSON lines: {error}"
        return
    yield from (f"{command}: {words}" for words in amiss(command, rows))
    ends = {"check": "summary", "forecast": "broker", "diff": "summary", "rescue": "summary"}
    if not rows or rows[-1]["type"] != ends[command]:
        yield f"{command}: exit {ran.code}, and the last line is {rows[-1:]}; {ran.err[-300:]}"
        return
    worst = {"check": of_check, "forecast": of_forecast, "diff": of_diff, "rescue": of_rescue}[command](rows)
    more = command in ("diff", "rescue") and ran.code & 4  # these have further causes
    if ran.code & ~40 != worst and not ran.code & 16 and not more:
        yield f"{command}: exit {ran.code} where the lines say {worst}; {rows[-1]}"


def of_check(rows: Rows) -> int:
    found, last = [row["severity"] for row in rows if row["type"] == "finding"], rows[-1]
    assert (found.count("error"), found.count("warning")) == (last["errors"], last["warnings"]), last
    return 4 if {"error", "warning"} & {*found} or last["surgery"] or last["unknown"] else 0


def of_forecast(rows: Rows) -> int:
    last = rows[-1]
    partitions = [row for row in rows if row["type"] == "partition"]
    effects = [effect for row in rows for effect in row.get("effects") or ()]
    bad = last["outcome"] != "starts" or any(last["lost"].values()) or last["unserved"] or last["unknown"]
    bad = bad or any(row["outcome"] not in ("served", "empty") for row in partitions)
    bad = bad or any(row["outcome"] == "offline" for row in rows if row["type"] == "dir")
    bad = bad or any(each["records_lost"] for each in effects)
    bad = bad or any(row.get("failure") for row in rows)
    bad = bad or any(each["effect"] in ("reads-fail", "metadata-lost", "stray-renamed") for each in effects)
    return 4 if bad else 0


def of_diff(rows: Rows) -> int:
    partitions = [row for row in rows if row["type"] == "partition"]
    replicas = [row for row in rows if row["type"] == "replica"]
    bad = any(row["verdict"] != "equal" or row["missing"] for row in partitions)
    return (
        4 if bad or any(row["damaged"] or row["relation"] not in ("best", "equal") for row in replicas) else 0
    )


def of_rescue(rows: Rows) -> int:
    keys = ("missing", "diverged", "unread", "vanished", "strays")
    return 4 if any(row.get(key) for row in rows for key in keys) else 0


def places(rows: Rows, severity: Sequence[str] = ("error", "warning")) -> set[tuple[str, str]]:
    """(dir, directory in it) with findings; "" for the log dir itself."""
    found = [row for row in rows if row["type"] == "finding" and row["severity"] in severity]
    return {(row["dir"], (row["file"] or "").partition("/")[0]) for row in found}
