"""The frame of the command line: help, version, errors in one line, exit codes."""

import argparse
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.checks.build_partition import PartitionWriter, write_log_dir
from tests.cli.run import SOURCE, Ran, python, run

from segmend import __version__
from segmend.cli import main, registry
from segmend.errors import EXIT_CODES, OUT_OF_MEMORY, BrokerRunning, Cancelled, ExitCode, SegmendError

NAMES = registry.names()


def test_help_lists_every_command_with_examples_and_exit_codes() -> None:
    ran = python("-m", "segmend", "--help")
    assert ran.returncode == 0
    for name in NAMES:
        assert re.search(rf"(?m)^    {name}\s+\S", ran.stdout)
    assert "examples:" in ran.stdout
    assert "exit codes: 0 nothing wrong, 1 a plan was applied, 4 findings left" in ran.stdout


def test_no_parser_is_asked_to_try_its_line_of_help(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `add_parser` of Python 3.14 does: what is made late has nothing to try it with."""
    add_parser = argparse._SubParsersAction.add_parser

    def as_of_3_14(self: Any, name: str, **options: Any) -> argparse.ArgumentParser:
        parser = add_parser(self, name, **options)
        parser._check_help(self._choices_actions[-1])  # type: ignore[attr-defined]
        return parser

    monkeypatch.setattr(argparse._SubParsersAction, "add_parser", as_of_3_14)
    assert "operations:" in run("plan", "--help").out


def test_help_imports_no_command_and_no_engine() -> None:
    script = "import sys; from segmend.cli.main import main\n"
    script += "try: main(['--help'])\nexcept SystemExit: print(*sys.modules)"
    ran = python("-c", script)
    loaded = set(ran.stdout.split())
    assert "segmend.cli.main" in loaded
    assert (
        not {"numpy", "pyarrow", "segmend.logdir", "segmend.kernel", "segmend.cli.commands.show.command"}
        & loaded
    )


@pytest.mark.parametrize("name", NAMES)
def test_each_command_says_what_it_does_in_a_line(name: str) -> None:
    line = registry.summary(name)
    assert line[0].islower()
    assert not line.endswith(".")


@pytest.mark.parametrize("name", NAMES)
def test_each_command_has_help_with_examples(name: str) -> None:
    ran = run(name, "--help", code=0)
    assert f"segmend {name}" in ran.out


CLOSED = "segmend: standard output: it is closed\n"


def test_version() -> None:
    assert run("--version") == Ran(0, f"segmend {__version__}\n", "")


@pytest.mark.parametrize("argv", [["--help"], ["--version"], ["check", "--help"], ["help", "plan", "repair"]])
def test_help_that_finds_no_room_is_an_error(
    argv: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert main.main(argv) == 8
    assert capsys.readouterr().err == "segmend: standard output: no space left on device\n"


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["bogus"], "invalid choice: 'bogus'"),
        (["--bogus"], "required: COMMAND"),
        (["show"], "required: PATH"),
        (["show", "--sort", "luck", "x"], "invalid choice: 'luck'"),
        (["show", "--kafka", "9.9", "x"], "Kafka 9.9 is not known; the rules of 0.8 to 4.4 are"),
        (["show", "--kafka", "new", "x"], "'new' is no Kafka release"),
        (["show", "--offset", "5..1", "x"], "'5..1' is no range"),
        (["show", "--offset", "x", "x"], "'x' is no range"),
        (["show", "--since", "soon", "x"], "'soon' is no time"),
        (["show", "--top", "0", "x"], "'0' is no count"),
        (
            ["plan", "move", "x", "--throttle", "-5MB/s"],
            "'-5MB/s' is no number of bytes a second; write 50MB/s",
        ),
        (["plan", "free", "x", "--bytes", "-.5GB"], "'-.5GB' is no number of bytes"),
    ],
)
def test_a_wrong_command_line_is_told_in_one_line(argv: list[str], said: str) -> None:
    ran = run(*argv, code=16)
    assert ran.out == ""
    assert said in ran.err
    assert ran.err.startswith("segmend: ")
    assert ran.err.count("\n") == 1


def test_no_arguments_show_the_help() -> None:
    ran = run()
    assert ran.code == 16
    assert ran.out.startswith("usage: segmend")


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (SegmendError("x: gone"), 8, "segmend: x: gone\n"),
        (BrokerRunning("x: a broker runs"), 64, "segmend: x: a broker runs\n"),
        (Cancelled("stopped"), 32, "segmend: stopped\n"),
        (KeyboardInterrupt(), 32, "segmend: cancelled; nothing was changed\n"),
        (MemoryError(), 8, f"segmend: {OUT_OF_MEMORY}\n"),
        (RuntimeError("can't start new thread"), 8, f"segmend: {OUT_OF_MEMORY}\n"),
    ],
)
def test_errors_end_with_their_exit_code(
    error: BaseException, code: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(argv: object) -> int:
        raise error

    monkeypatch.setattr(main, "_run", fail)
    assert run("show", "x").__dict__ == {"code": code, "out": "", "err": said}


def test_a_fault_of_ours_does_not_end_as_an_applied_plan() -> None:
    main = "lambda argv: print('told') or 1 / 0"
    fault = f"import segmend.cli.main as m, segmend.__main__ as s; m.main = {main}; s.entry()"
    ran = python("-c", fault, PYTHONUNBUFFERED="")
    assert (ran.returncode, ran.stdout, "ZeroDivisionError" in ran.stderr) == (8, "told\n", True)


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    lines = "".join(f"topic-{i} 0 {i}\n" for i in range(20_000))
    (tmp_path / "replication-offset-checkpoint").write_text(f"0\n20000\n{lines}")
    command = f"{sys.executable} -m segmend show {tmp_path}/replication-offset-checkpoint | head -1"
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    ran = subprocess.run(command, shell=True, capture_output=True, text=True, env=environment)
    assert "offset-checkpoint" in ran.stdout
    assert ran.stderr == ""


@pytest.mark.parametrize("null", ["missing/null", "."])
def test_where_no_dev_null_can_be_written_it_ends_in_the_same_way(null: str, tmp_path: Path) -> None:
    """As in a jail: once where the reader has gone, once where stdout was closed before we began."""
    (tmp_path / "replication-offset-checkpoint").write_text("0\n1\nt 0 5\n")
    script = f"import os; os.devnull = {str(tmp_path / null)!r}; import segmend.__main__ as s; s.entry()"
    asked = ["show", tmp_path / "replication-offset-checkpoint"]
    ran = python("-c", f"import os; r, w = os.pipe(); os.close(r); os.dup2(w, 1); {script}", *asked)
    assert (ran.returncode, ran.stderr) == (32, "")
    ran = python("-c", script, *asked, prefix=["sh", "-c", 'exec "$0" "$@" >&-'])
    assert (ran.returncode, ran.stdout, ran.stderr) == (8, "", CLOSED)


@pytest.mark.parametrize(
    "argv", [["check", "DIR"], ["check", "--json", "DIR"], ["show", "DIR", "--json"], ["forecast", "DIR"],
             ["--version"], ["help", "check"], ["journal", "list"]],
)  # fmt: skip
def test_a_closed_stdout_is_an_error_as_a_full_one(argv: list[str], tmp_path: Path) -> None:
    """Nobody was told what was found: no all-clear."""
    home = write_log_dir(tmp_path / "home", [PartitionWriter("t")])
    asked = ["-m", "segmend", *(str(home) if word == "DIR" else word for word in argv)]
    full = python(*asked, prefix=["sh", "-c", 'exec "$0" "$@" >/dev/full'])
    assert (full.returncode, full.stderr) == (8, "segmend: standard output: no space left on device\n")
    closed = python(*asked, prefix=["sh", "-c", 'exec "$0" "$@" >&-'])
    assert (closed.returncode, closed.stderr) == (8, CLOSED)
    silent = python(*asked, prefix=["sh", "-c", 'exec "$0" "$@" >&- 2>&-'])
    assert (silent.returncode, silent.stdout, silent.stderr) == (8, "", "")


def test_surgery_that_nobody_would_be_told_of_is_not_begun(tmp_path: Path) -> None:
    ids = {"x": "JTJWqc3YQ3mqoxqVcVOkXg", "y": "Ei9Q2mAqSJ2Jb9m3Fq3pJA"}
    first, second = (
        write_log_dir(tmp_path / name, [PartitionWriter(name)], directory_id=ids[name]) for name in "xy"
    )
    plan, state = tmp_path / "plan.json", tmp_path / "state"
    run("plan", "move", first, second, "--partition", "x-0", "--to", second, "-o", plan, code=0)
    asked = ["-m", "segmend", "apply", plan, "--yes", "--state-dir", state]
    closed = python(*asked, prefix=["sh", "-c", 'exec "$0" "$@" >&-'])
    assert (closed.returncode, closed.stderr, state.exists()) == (8, CLOSED, False)


def test_color_only_when_wanted(tmp_path: Path) -> None:
    path = tmp_path / "leader-epoch-checkpoint"
    path.write_text("0\n1\n3 100\n")
    assert "\x1b[" in run("show", path, "--color", "always").out
    assert "\x1b[" not in run("show", path).out
    assert "\x1b[" not in run("show", path, "--color", "never").out
    base = {**os.environ, "PYTHONPATH": str(SOURCE), "TERM": "xterm"}
    for no_color, colored in (("", True), ("1", False)):
        shown = on_a_terminal(
            [sys.executable, "-m", "segmend", "show", str(path)], base | {"NO_COLOR": no_color}
        )
        assert b"leader" in shown
        assert (b"\x1b[" in shown) is colored


def on_a_terminal(command: list[str], environment: dict[str, str]) -> bytes:
    """What the command prints when its stdout is a terminal."""
    ours, terminal = pty.openpty()
    with subprocess.Popen(command, stdout=terminal, env=environment) as process:
        os.close(terminal)
        shown = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # Linux answers EIO when the other side has closed.
                break
            if not part:
                break
            shown += part
    os.close(ours)
    assert process.returncode == 0
    return shown


@pytest.mark.parametrize(
    ("argv", "question"),
    [
        (["chekc"], "did you mean 'check'?"),
        (["check", "--dep", "x"], "did you mean '--deep'?"),
        (["check", "--jbos=3", "x"], "did you mean '--jobs'?"),
        (["plan", "repiar", "x"], "did you mean 'repair'?"),
        (["show", "--sort", "sise", "x"], "did you mean 'size'?"),
        (["diff", "--topic", "a", "x", "--topic=b"], "argument --topic: given twice"),
        (["plan", "move", "x", "--to", "a", "--to", "b"], "argument --to: given twice"),
        (["explain", "retentoin"], "did you mean 'retention'?"),
        (["explain", "L005"], "did you mean 'L05'?"),
        (["check", "--only", "I1", "x"], "did you mean 'I"),
        (["help", "forcast"], "did you mean 'forecast'?"),
        (["quarantine", "lst"], "did you mean 'list'?"),
        (["plan", "repare", "x"], "did you mean 'repair'?"),  # "rename" is as many slips away
        (["repair", "x"], "did you mean 'plan repair'?"),
        (["audit", "x"], "did you mean 'fleet audit'?"),
        (["merge"], "did you mean 'explain merge' or 'plan merge'?"),
        (["help", "move"], "did you mean 'plan move'?"),
        (["fleet", "vacum"], "did you mean 'vacuum'?"),
    ],
)
def test_a_slip_of_the_keyboard_is_understood(argv: list[str], question: str) -> None:
    ran = run(*argv)
    assert (ran.code, ran.err.count("\n")) == (16, 1)
    assert question in ran.err


def test_nobody_is_asked_what_he_cannot_have_meant() -> None:
    for argv in (["frobnicate"], ["check", "--frobnicate", "x"], ["explain", "frobnicate"]):
        assert "did you mean" not in run(*argv).err


@pytest.mark.parametrize("words", [[], ["check"], ["plan", "trim"], ["journal", "list"]])
def test_help_as_a_command(words: list[str]) -> None:
    told = run("help", *words)
    assert told == run(*words, "--help")
    assert told.code == 0
    assert told.out.startswith(" ".join(["usage: segmend", *words]))


def test_every_exit_code_is_told_of() -> None:
    """By the help, by the README; nowhere in the source does a number stand for one."""
    assert list(EXIT_CODES) == sorted(ExitCode.__members__.values())
    told = " ".join(run("--help").out.split())
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    for code, meaning in EXIT_CODES.items():
        assert f"{code} {meaning}" in told
        assert f"\n| {code} | " in readme


@pytest.fixture
def two_topics(tmp_path: Path) -> Path:
    """A log dir with the empty partitions orders-0 and payments-0."""
    (tmp_path / "meta.properties").write_text("version=1\nbroker.id=1\ncluster.id=c\n")
    for topic in ("orders", "payments"):
        (tmp_path / f"{topic}-0").mkdir()
        (tmp_path / f"{topic}-0" / ("0" * 20 + ".log")).touch()
    return tmp_path


@pytest.mark.parametrize("command", [["check"], ["explain", "retention"], ["explain", "compaction"]])
def test_a_topic_that_is_not_here_is_not_healthy(command: list[str], two_topics: Path) -> None:
    """`check --topic ordres` said "nothing wrong" once, and exit code 0."""
    ran = run(*command, two_topics, "--topic", "nosuch")
    assert (ran.code, ran.out) == (16, "")
    assert "no partition here is called 'nosuch' (`segmend show DIR` lists them)" in ran.err
    assert "did you mean 'orders'?" in run(*command, two_topics, "--topic", "ordres").err


def test_options_may_stand_before_between_and_after_the_paths(two_topics: Path, tmp_path: Path) -> None:
    config = tmp_path / "server.properties"
    config.write_text("log.retention.ms=1\n")
    ways = [
        ["explain", "retention", "--config", config, "--json", two_topics],
        ["explain", "--json", "retention", two_topics, "--config", config],
        ["explain", "retention", two_topics, "--json", "--config", config],
    ]
    told = [run(*way) for way in ways]
    assert [each.code for each in told] == [0, 0, 0]
    kinds = [{row["type"] for row in each.json} for each in told]
    assert kinds[0] == kinds[1] == kinds[2] != {"explanation"}
    halves = run("check", two_topics / "orders-0", "--json", two_topics / "payments-0")
    assert halves.of("summary")[0]["partitions"] == 2
    assert "unrecognized arguments: --frob" in run("check", two_topics, "--frob", two_topics).err


def test_a_terminal_without_unicode_gets_dots(two_topics: Path) -> None:
    ascii_only = {"PYTHONIOENCODING": "ascii"}
    ran = python("-m", "segmend", "show", two_topics, "--top", "1", **ascii_only)
    assert "... and 1 more partition" in ran.stdout
    assert "\\u2026" not in ran.stdout
