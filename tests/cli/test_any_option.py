"""Any option of any command, with any value: a line at most, an exit code that is documented, and an end.

CI takes each how many-eth of them; `SEGMEND_SWEEP=whole` all.
"""

import argparse
import itertools
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.run import run
from tests.copies import make_tree, remembered
from tests.golden.unpack import unpack
from tests.seeds import SEED, some_of

from segmend.cli.frame import whole_parser
from segmend.cli.parser import LateParser, subparsers_of
from segmend.errors import EXIT_CODES, ExitCode

GOLDEN = Path(__file__).parents[1] / "golden" / "4.3.1-killed.tar.xz"
ODD = [
    "", " ", "-1", "0", "-0", "1.5", "1e400", "NaN", "0x10", "\u0661", "9" * 20, "None", "--", "\udcff",
    "a\nb", "x" * 5000, "null", "full", "/proc/self/mem", "folder", "fifo", "empty", "noise",
    "loop", "missing/x", "*", "[", "(", "{}", "..", "1..", "..5", "5..1", "2026-13-45", "+7d", "-7d",
    "+999999999d", "9999-12-31", "b1/d0", "b1/d0/meta.properties", "3.9", "99.0", "0.7", "s3://x/y", "file:///",
    "hdfs://x/y", "x:99999", ":",
]  # fmt: skip
"""Values, and beside the log dirs of `world` paths of whatever may lie there."""
SOUND = {"--to": "b1/d1", "--from": "b1/d0", "--driver": "local", "--state-dir": "state"}
"""What is given where a command, or the test, needs an option; `--out` is a new one each time."""
WITHOUT = {("completion",), ("help",), ("man",)}


Words = tuple[str, ...]


def _leaves(
    parser: argparse.ArgumentParser, words: Words = ()
) -> Iterator[tuple[Words, list[argparse.Action]]]:
    if isinstance(parser, LateParser):
        parser.complete()
    subparsers = subparsers_of(parser)
    if subparsers is None:
        yield words, parser._actions
    for name, each in subparsers.choices.items() if subparsers else ():
        yield from _leaves(each, (*words, name))


def _cells() -> Iterator[tuple[Words, str, str]]:
    """Command, option, value; an option of no name is what comes without one."""
    for words, actions in _leaves(whole_parser()):
        valued = [each.option_strings[-1] for each in actions if each.option_strings and each.nargs != 0]
        if words not in WITHOUT:
            yield from ((words, option, value) for option in [*valued, ""] for value in ODD)


def _argv(words: Words, option: str, value: str, out: str) -> list[str]:
    """The command line, with what else it needs."""
    actions = dict(_leaves(whole_parser()))[words]
    argv, names = [*words], {name: each for each in actions for name in each.option_strings}
    for name, each in names.items():
        given = out if name == "--out" else SOUND.get(name)
        if name != option and (each.required or name in ("--out", "--driver", "--state-dir")):
            argv += [name, given or "codec-lz4-0"]
    if not option:
        return [*argv, value]
    dirs = ["plan.json"] if words == ("apply",) else ["b1/d0", "b1/d1"]
    places = [each for each in actions if not each.option_strings]
    many = any(each.nargs in ("+", "*") for each in places)
    return [*argv, f"{option}={value}", *(dirs if many else dirs[: len(places)])]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("options")
    unpack(GOLDEN, root)
    return root


@pytest.fixture
def world(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    make_tree(tmp_path, remembered(source))
    monkeypatch.chdir(tmp_path)
    for name, minor in (("null", 3), ("full", 7)):
        # Root gets devices of his own: one that is renamed over is gone for all.
        if os.getuid() == 0:
            os.mknod(name, stat.S_IFCHR | 0o666, os.makedev(1, minor))
        else:
            os.symlink(f"/dev/{name}", name)
    os.mkfifo("fifo")
    os.mkdir("folder")
    os.symlink("loop", "loop")
    Path("empty").touch()
    Path("noise").write_bytes(bytes(range(256)))
    return tmp_path


CELLS = some_of(list(_cells()), each=151, first=SEED)


@pytest.mark.slow
@pytest.mark.parametrize("words", sorted({words for words, _, _ in CELLS}), ids=" ".join)
def test_any_value_of_any_option(world: Path, words: Words) -> None:
    """What would be a traceback is raised here; a command that waits for a FIFO comes to the test's limit."""
    if words == ("apply",):
        run("plan", "repair", "b1/d0", "b1/d1", "-o", "plan.json")
    numbers, wrong = itertools.count(), []
    for _, option, value in (cell for cell in CELLS if cell[0] == words):
        argv = _argv(words, option, value, f"out{next(numbers)}")
        try:
            ran = run(*argv)
        except Exception as error:
            wrong.append((argv, repr(error)))
            continue
        silent = "segmend: " not in ran.err and (ran.code & ExitCode.USAGE or not ran.out)
        if ran.code & ~sum(EXIT_CODES) or (ran.code & (ExitCode.OPERATIONAL | ExitCode.USAGE) and silent):
            wrong.append((argv, ran))
    assert not wrong


@pytest.mark.parametrize("argv", ["diff x --jobs -1", "check x --jobs -1", "fleet capacity x --sample -4"])
def test_no_count_is_below_none(argv: str) -> None:
    assert "is not a number" in run(*argv.split(), code=16).err
