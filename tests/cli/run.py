"""Run a command as a user does, in this process: what it prints, and its exit code."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest

import segmend
from segmend.cli.main import main

SOURCE = Path(segmend.__file__).parents[1]


def python(
    *arguments: object, prefix: Sequence[str] = (), **environment: str
) -> subprocess.CompletedProcess[str]:
    """A Python process of its own that finds segmend; names that are no UTF-8 come back escaped."""
    return subprocess.run(
        [*prefix, sys.executable, *map(str, arguments)],
        capture_output=True,
        text=True,
        errors="backslashreplace",
        env={**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONDONTWRITEBYTECODE": "1", **environment},
    )


def as_one_who_may_not() -> list[str]:
    """A prefix that takes from root the power to read everything; empty for other users."""
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("root reads everything, and setpriv is not here")
    drop = "-dac_override,-dac_read_search"
    return ["setpriv", f"--inh-caps={drop}", f"--bounding-set={drop}"]


@dataclass(frozen=True)
class Ran:
    """One run."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> list[dict[str, Any]]:
        """The JSON objects on stdout."""
        return [json.loads(line) for line in self.out.splitlines()]

    def of(self, type: str) -> list[dict[str, Any]]:
        """The JSON objects of one type."""
        return [row for row in self.json if row["type"] == type]


def run(*argv: object, code: int | None = None) -> Ran:
    """`segmend ARGV...`, with or without pytest; it must end with that exit code, if one is given."""
    streams = [TextIOWrapper(BytesIO(), "utf-8", newline="", write_through=True) for _ in range(2)]
    with redirect_stdout(streams[0]), redirect_stderr(streams[1]):
        try:
            ended = main([str(part) for part in argv])
        except SystemExit as stop:  # as argparse ends `--help`
            ended = int(stop.code or 0)
    ran = Ran(ended, *(stream.buffer.getvalue().decode() for stream in streams))
    assert code in (None, ran.code), ran
    return ran
