"""Reading never writes: an audit hook watches every reading command over a golden directory.

The commands run in a process of their own, whose hook (it cannot be taken out again) notes
each event that could change a file: an open for writing, a rename, an unlink, a chmod, a
lock, a truncation, a new process. None may happen below the golden directory, and afterwards
every byte, size, mode and time is what it was.
"""

import argparse
import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.cli.run import python, run
from tests.conftest import golden_names
from tests.golden.shared import golden
from tests.seeds import some_of

from segmend.cli.commands.explain.topics import all_topics, operands
from segmend.cli.frame import whole_parser
from segmend.cli.parser import LateParser, subparsers_of

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

def ended(argv):
    try:
        return main(argv)
    except SystemExit as stop:
        return stop.code or 0

out, sys.stdout = sys.stdout, open(os.devnull, "w")
sys.addaudithook(hook)
codes = [ended(argv) for argv in json.loads(sys.argv[1])]
sys.stdout = out
print(json.dumps({"codes": codes, "seen": seen, "opened": opened[0]}))
"""


SERVER_LOG = Path(__file__).parents[1] / "lab" / "gone" / "recorded" / "4.3.1.log"
Way = Callable[["Place"], list[list[object]]]


class Place:
    """A golden directory, an unhurt partition in it, and a folder elsewhere."""

    def __init__(self, root: Path, away: Path) -> None:
        self.root, self.away = root, away
        self.dirs = sorted((root / "b1").glob("d*"))
        self.partitions = sorted(path for path in root.glob("b1/d*/*-0") if path.is_dir())
        self.mine = next(path for path in self.partitions if path.name.startswith("codec-none"))
        self.plan, self.leader = away / "plan.json", away / "copied" / self.mine.name


def shows(place: Place) -> list[list[object]]:
    kinds = {path.name.lstrip("0123456789"): path for path in place.root.rglob("*") if path.is_file()}
    files = [path for path in [*place.partitions[:6], *kinds.values()] if path.name != ".lock"]
    return [
        [*place.dirs],
        [*place.dirs, "--json"],
        *([path] for path in files),
        [*place.partitions, "--records"],
    ]


def on_dirs(*options: object) -> Way:
    return lambda place: [[*place.dirs, *options]]


WAYS: dict[str, Way] = {
    "check": lambda p: [["--startup", *p.dirs], [*p.dirs], ["--deep", *p.dirs, "--json"]],
    "completion": lambda _: [["bash"], ["zsh"], ["fish"]],
    "explain": lambda p: [
        [],
        ["L05"],
        *([name, *(p.dirs if operands(it) == "DIR" else [SERVER_LOG])] for name, it in all_topics().items()),
    ],
    "diff": on_dirs("--json"),
    "forecast": lambda p: [[*p.dirs], ["--unclean", *p.dirs, "--json"]],
    "help": lambda _: [[], ["plan", "repair"]],
    "journal list": lambda p: [["--state-dir", p.away / "none"]],
    "man": lambda _: [[]],
    "plan adopt": lambda p: [[*p.dirs, "--directory", next(p.root.glob("b1/d*/*-delete"), p.mine).name]],
    "plan balance": on_dirs("--json"),
    "plan compose": lambda p: [[p.plan]],
    "plan delete": lambda p: [[*p.dirs, "--partition", p.mine.name, "--replica", p.leader]],
    "plan drain": lambda p: [[*p.dirs, "--from", p.dirs[0], "--json"]],
    "plan free": on_dirs("--bytes", "1KB", "--discard"),
    "plan graft": lambda p: [[*p.dirs, "--partition", p.mine.name, "--from", p.leader]],
    "plan identity": on_dirs(),
    "plan merge": lambda p: [[*p.dirs, "--partition", p.mine.name, "--from", p.leader]],
    "plan move": lambda p: [
        [*p.dirs, "--partition", p.mine.name, "--to", next(each for each in p.dirs if each != p.mine.parent)]
    ],
    "plan rename": lambda p: [[*p.dirs, "--topic", p.mine.name[:-2], "--to", "other"]],
    "plan quorum": on_dirs(),
    "plan repair": lambda p: [[*p.dirs, "--kafka", p.root.name.partition("-")[0]]],
    "plan restamp": lambda p: [[*p.dirs, "--topic", p.mine.name[:-2]]],
    "plan reverse": lambda p: [["--state-dir", p.away / "none"]],
    "plan show": lambda p: [[p.plan]],
    "plan trim": on_dirs(),
    "quarantine list": lambda p: [["--state-dir", p.away / "none"]],
    "show": shows,
}  # fmt: skip
"""How each reading command is called; a test tells of one that is missing here."""
CHANGING = {"apply", "undo", "quarantine restore", "quarantine discard", "fleet vacuum"}
ELSEWHERE: dict[str, Callable[[Place], list[object]]] = {
    "export": lambda p: [*p.dirs, "--out", p.away / "exported"],
    "fleet audit": lambda p: [p.root, "--out", p.away / "report", "--driver", "local", "--deep"],
    "fleet capacity": lambda p: [p.root, "--driver", "local"],
    "fleet diff": lambda p: [p.root, "--driver", "local"],
    "fleet export": lambda p: [p.root, "--out", p.away / "all-exported", "--driver", "local"],
    "fleet forecast": lambda p: [p.root, "--driver", "local"],
    "fleet rescue": lambda p: [p.root, "--out", p.away / "all-rescued", "--driver", "local"],
    "rescue": lambda p: [*p.dirs, "--out", p.away / "rescued"],
}
"""They write elsewhere, or in processes out of the hook's sight: of them the state afterwards tells."""
OF_AUDITS = {"fleet runs", "fleet diff-runs", "fleet growth", "fleet pack"}
"""They open no log dir."""


def in_kraft(place: Place) -> bool:
    return any((log_dir / "__cluster_metadata-0").is_dir() for log_dir in place.dirs)


REFUSES: dict[str, Callable[[Place], bool]] = {
    # Of a topic that was deleted, the metadata says so.
    "plan adopt": lambda place: in_kraft(place) or not [*place.root.glob("b1/d*/*-delete")],
    "plan balance": lambda _: True,
    "plan quorum": lambda place: not in_kraft(place),
    "plan rename": in_kraft,
    "plan restamp": lambda place: not in_kraft(place),
    "plan reverse": lambda _: True,
}
"""Plans that need a cause, and where a sound directory does not give it; they have read by then."""


def leaves(parser: argparse.ArgumentParser, *words: str) -> Iterator[str]:
    """Every command there is, with its sub-commands."""
    if isinstance(parser, LateParser):
        parser.complete()
    below = subparsers_of(parser)
    if below is None:
        yield " ".join(words)
    for name, each in below.choices.items() if below else ():
        yield from leaves(each, *words, name)


def test_every_reading_command_is_watched() -> None:
    assert set(leaves(whole_parser())) - CHANGING - ELSEWHERE.keys() - OF_AUDITS == WAYS.keys()
    assert set(leaves(whole_parser())) >= CHANGING | ELSEWHERE.keys() | OF_AUDITS


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


@pytest.mark.slow
@pytest.mark.parametrize("name", some_of([name for name in golden_names() if name.endswith("-killed")], 2, 1))
def test_no_reading_command_changes_anything(name: str, tmp_path: Path) -> None:
    root = golden(name)
    place = Place(root, tmp_path)
    run("plan", "trim", *place.dirs, "-o", place.plan)
    shutil.copytree(place.mine, place.leader)
    before = state(root)
    commands = [(command, way) for command in WAYS for way in WAYS[command](place)]
    argvs = [[*command.split(), *map(str, way)] for command, way in commands]
    ran = python("-c", WATCHER, json.dumps(argvs))
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    assert told["seen"] == []
    ended: dict[str, set[int]] = {command: set() for command, _ in commands}
    for (command, _), code in zip(commands, told["codes"], strict=True):
        ended[command].add(code)
    odd = {command: codes for command, codes in ended.items() if not codes <= {0, 4}}
    assert all(codes <= {8, 16} for codes in odd.values()), odd
    assert odd.keys() == {command for command, is_so in REFUSES.items() if is_so(place)}, odd
    assert told["opened"] > 100
    for command, words in ELSEWHERE.items():
        assert run(*command.split(), *words(place)).code in {0, 4}, command
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
