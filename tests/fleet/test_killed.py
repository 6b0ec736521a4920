"""An audit that is killed, has no room, or has another beside it ends in a line, and the next is whole."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tests.cli.run import SOURCE, python
from tests.fleet.build import three_brokers

from segmend.fleet import carried, delta

pytestmark = pytest.mark.slow

SEGMENTS = 48
Process = subprocess.Popen[str]


def start(fleet: Path, out: Path, *options: str, limit: int | None = None) -> Process:
    """`fleet audit`, whose files can have no more than `limit` bytes."""
    prefix = [] if limit is None else ["prlimit", f"--fsize={limit}"]
    command = [sys.executable, "-m", "segmend", "fleet", "audit", str(fleet), "--out", str(out)]
    words, piped = [*prefix, *command, "--driver", "local", *options], subprocess.PIPE
    # Python itself takes a compiled file that lost its end for a whole one.
    environ = os.environ | {"PYTHONPATH": str(SOURCE), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.Popen(words, stdout=piped, stderr=piped, text=True, env=environ)


def ended(process: Process) -> tuple[int, str]:
    """Its exit code and what it said on stderr."""
    _, said = process.communicate(timeout=120)
    return process.returncode, said


def segments(out: Path) -> list[int]:
    """How many each finished run has told of, as its row says and as its rows are."""
    rows = Counter(delta.read(str(out), "segments", columns=["run_id"])["run_id"].to_pylist())
    runs = delta.read(str(out), "runs").to_pylist()
    assert [rows[run["run_id"]] for run in runs] == [run["segments"] for run in runs]
    return [run["segments"] for run in runs]


def killed_at(table: str, fleet: Path, out: Path) -> bool:
    """Whether an audit was killed soon after it began this table, and not too late."""
    first = start(fleet, out, "--no-report")
    while not (out / table).exists() and first.poll() is None:
        time.sleep(0.002)
    first.kill()
    code, said = ended(first)
    assert (code in (0, -signal.SIGKILL), said) == (True, "")
    return code != 0


@pytest.mark.parametrize("table", ["segments", "scans", "runs"])
def test_the_next_audit_is_whole_whenever_one_is_killed(table: str, tmp_path: Path) -> None:
    fleet, out = three_brokers(tmp_path / "fleet"), tmp_path / "out"
    while not killed_at(table, fleet, out):
        shutil.rmtree(out)  # it was done before we came to kill it
    half = carried.stopped(str(out))
    code, said = ended(start(fleet, out, "--no-report"))
    told = "".join(
        f"segmend: the audit {each} has not ended; --since-run {each} goes on from what it has read\n"
        for each in half[-1:]
    )
    assert (code, said) == (0, told)
    assert segments(out)[-1] == SEGMENTS


def _die(task: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return task


@pytest.mark.parametrize("tasks", [50, 30_000])
@pytest.mark.parametrize("forked", [False, True])
def test_a_worker_that_is_killed_is_a_line(forked: bool, tasks: int) -> None:
    """Of many tasks it dies while the others are still handed in."""
    ran = python("-c", DYING.format(forked=forked, tasks=tasks))
    assert (ran.stdout, ran.stderr) == ("a worker process was killed; is there enough memory?\n", "")


DYING = """
from contextlib import nullcontext
from segmend.errors import SegmendError
from segmend.fleet.driver import LocalDriver
from segmend.fleet.workers import forks_of_this
from tests.fleet.test_killed import _die
try:
    with forks_of_this(2) if {forked} else nullcontext() as pool:
        list(LocalDriver(2, pool).run(_die, [1] * {tasks}))
except SegmendError as error:
    print(error)
"""


@pytest.mark.parametrize("limit", [500, 2_500, 5_000, 9_000, 40_000])
def test_a_file_that_cannot_be_written_is_a_line(limit: int, tmp_path: Path) -> None:
    """In a task, in Delta's log, in the comparison, in the report: as where a disk gets full."""
    fleet, out = three_brokers(tmp_path / "fleet"), tmp_path / "out"
    code, said = ended(start(fleet, out, limit=limit))
    assert (code, said.count("\n"), "file too large" in said.lower()) == (8, 1, True), said
    assert [*out.rglob("*.new")] == []
    code, _ = ended(start(fleet, out))
    assert (code, segments(out)[-1]) == (0, SEGMENTS)


def test_audits_side_by_side_are_each_whole(tmp_path: Path) -> None:
    fleet, out = three_brokers(tmp_path / "fleet"), tmp_path / "out"
    assert [ended(each)[0] for each in [start(fleet, out) for _ in range(3)]] == [0] * 3
    assert segments(out) == [SEGMENTS] * 3


@pytest.mark.parametrize(
    ("command", "shared"),
    [
        *((command, "ro") for command in ("audit", "forecast", "rescue", "capacity")),
        *((command, f"size={room}k") for command in ("diff", "audit") for room in (4, 8, 16)),
    ],
)
def test_where_processes_can_share_nothing_one_does_all(command: str, shared: str) -> None:
    """A hardened container: /dev/shm is read-only, or has room for some of the locks."""
    with TemporaryDirectory(dir="/var/tmp") as home:
        fleet, out = three_brokers(Path(home) / "fleet"), f"{home}/out"
        told = {"audit": ("--out", out, "--no-report"), "rescue": ("--out", out)}.get(command, ())
        asked = ["-m", "segmend", "fleet", command, str(fleet), *told, "--driver", "local", "--json"]
        shut = ["unshare", "-rm", "sh", "-c", f'mount -t tmpfs -o {shared} none /dev/shm && exec "$0" "$@"']
        ran = python(*asked, prefix=shut)
        shutil.rmtree(out, ignore_errors=True)
        open_ = python(*asked)
        assert (ran.returncode, ran.stderr) == (open_.returncode, open_.stderr)
        assert len(ran.stdout.splitlines()) == len(open_.stdout.splitlines()) > 0
