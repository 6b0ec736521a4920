"""Reading never writes: an audit hook watches every reading command over a golden directory.

The commands run in a process of their own, whose hook (it cannot be taken out again) notes
each event that could change a file: an open for writing, a rename, an unlink, a chmod, a
lock, a truncation, a new process. None may happen below the golden directory, and afterwards
every byte, size, mode and time is what it was.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.run import python, run
from tests.conftest import golden_names

Golden = Callable[[str], Path]

WATCHER = """
import json, os, sys

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGES = (
    "os.rename", "os.remove", "os.unlink", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate",
    "os.chmod", "os.chown", "os.utime", "os.setxattr", "os.removexattr", "os.mkfifo", "os.mknod",
    "shutil.", "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork",
    "fcntl.lockf", "fcntl.flock", "socket.connect", "tempfile.", "mmap.__new__",
)
seen, opened = [], [0]

def hook(event, args):
    if event == "open":
        path, mode, flags = args
        opened[0] += 1
        if isinstance(flags, int) and flags & WRITING and str(path) != os.devnull:
            seen.append(f"open {path} {mode} {flags}")
    elif event.startswith(CHANGES):
        seen.append(f"{event} {args}")

from segmend.cli.main import main
out, sys.stdout = sys.stdout, open(os.devnull, "w")
sys.addaudithook(hook)
codes = [main(argv) for argv in json.loads(sys.argv[1])]
sys.stdout = out
print(json.dumps({"codes": codes, "seen": seen, "opened": opened[0]}))
"""


def commands(root: Path) -> list[list[str]]:
    """Every reading command there is, on dirs, partitions and each kind of file."""
    dirs = [str(path) for path in sorted((root / "b1").glob("d*"))]
    partitions = sorted(path for path in root.glob("b1/d*/*-0") if path.is_dir())
    kinds = {path.name.lstrip("0123456789"): path for path in root.rglob("*") if path.is_file()}
    shows = [["show", str(path)] for path in [*partitions[:6], *kinds.values()] if path.name != ".lock"]
    return [
        ["show", *dirs],
        ["show", *dirs, "--json"],
        *shows,
        ["show", *map(str, partitions), "--records"],
        ["check", "--startup", *dirs],
        ["check", *dirs],
        ["check", "--deep", *dirs, "--json"],
        ["forecast", *dirs],
        ["forecast", "--unclean", *dirs, "--json"],
        ["plan", "trim", *dirs],
        ["plan", "drain", *dirs, "--from", dirs[0], "--json"],
        ["plan", "repair", *dirs],
        ["journal", "list", "--state-dir", str(root / "none")],
        ["explain"],
        *(["explain", topic, *dirs] for topic in ("startup", "retention", "compaction")),
    ]


def state(root: Path) -> dict[str, tuple[object, ...]]:
    """Everything about every file, access times aside only where the system does not keep them."""
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted(root.rglob("*")):
        s = path.lstat()
        digest = (
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() and s.st_size < 1 << 20 else ""
        )
        found[str(path)] = (
            s.st_size,
            s.st_mode,
            s.st_uid,
            s.st_gid,
            s.st_mtime_ns,
            s.st_ctime_ns,
            s.st_nlink,
            digest,
        )
    return found


@pytest.mark.parametrize(
    "name",
    [
        name if name == "4.3.1-clean" else pytest.param(name, marks=pytest.mark.slow)
        for name in golden_names()
        if name.endswith("-killed")
    ],
)
def test_no_reading_command_changes_anything(
    name: str, golden: Golden, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = golden(name)
    before = state(root)
    ran = python("-c", WATCHER, json.dumps(commands(root)))
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    assert told["seen"] == []
    assert set(told["codes"]) <= {0, 4}
    assert told["opened"] > 100
    audit = ["fleet", "audit", str(root), "--out", str(tmp_path / "report"), "--driver", "local", "--deep"]
    assert run(capsys, *audit).code in {0, 4}  # its tasks are other processes, out of the hook's sight
    assert state(root) == before


def test_the_watcher_sees_a_write(tmp_path: Path) -> None:
    """The net itself is proven: a command that writes is caught."""
    watcher = WATCHER.replace(
        "from segmend.cli.main import main",
        "def main(argv):\n    os.rename(argv[0], argv[0] + '2'); open(argv[0], 'w').close(); return 0",
    )
    (tmp_path / "x").touch()
    argv = json.dumps([[str(tmp_path / "x")]])
    ran = python("-c", watcher, argv)
    told = json.loads(ran.stdout)
    assert [event.split()[0] for event in told["seen"]] == ["os.rename", "open"]
