"""Whenever somebody presses Ctrl-C: one line, exit code 32, and never an answer that means something else."""

import itertools
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.run import SOURCE, python
from tests.fleet.build import three_brokers

from segmend.cli import main as frame
from segmend.errors import ExitCode
from segmend.kernel.native import NativeWalker

# Presses Ctrl-C when a module is about to be imported, or when a finder of modules is forgotten.
PRESSING = """
import os, signal, sys, weakref

def press(*_): os.kill(os.getpid(), signal.SIGINT)

class Presser:
    seen = 0
    def find_spec(self, name, path=None, target=None):
        Presser.seen += 1
        if name == WANTED or Presser.seen == WANTED:
            press()

# Before the door: nothing that takes time.
before = set(sys.modules)
from segmend.__main__ import entry
early = set(sys.modules) - before
sys.meta_path.insert(0, Presser())
sys.argv[1:] = ARGV
entry()
"""
AT_A_TERMINAL = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
"""The tests may run in the background of a shell, which ignores Ctrl-C there."""
CANCELLED = (32, "segmend: cancelled\n")


def script_of(wanted: object, *argv: object, more: str = "") -> str:
    script = PRESSING.replace("WANTED", repr(wanted)).replace("ARGV", repr([str(word) for word in argv]))
    script = script.replace("entry()\n", more + "\nentry()\n") if more else script
    return f"{AT_A_TERMINAL}\n{script}"


def pressed(wanted: object, *argv: object, more: str = "") -> tuple[int, str]:
    ran = python("-c", script_of(wanted, *argv, more=more))
    return ran.returncode, ran.stderr


@pytest.mark.parametrize(
    "module",
    ["segmend.cli.main", "segmend.cli.frame", "argparse", "segmend.checks.runner", "segmend.logdir.log_dir"],
)
def test_ctrl_c_while_python_imports(module: str, tmp_path: Path) -> None:
    assert pressed(module, "check", tmp_path) == CANCELLED


@pytest.mark.parametrize("module", ["segmend.cli.main", "argparse", "segmend.errors"])
def test_ctrl_c_while_the_bundled_fleet_is_made_ready(module: str) -> None:
    """`bootstrap.py audit` becomes this program."""
    demo = SOURCE.parent / "examples" / "fleet" / "demo.py"
    script = PRESSING.partition("# Before the door")[0].replace("WANTED", repr(module))
    script += "import runpy; sys.meta_path.insert(0, Presser())\n"
    script += f"runpy.run_path({str(demo)!r}, run_name='__main__')"
    ran = python("-c", f"{AT_A_TERMINAL}\n{script}")
    assert (ran.returncode, ran.stderr) == CANCELLED


@pytest.mark.slow
def test_ctrl_c_at_any_import(tmp_path: Path) -> None:
    for number in itertools.count(1, 7):
        code, said = pressed(number, "check", tmp_path)
        if "the directory is empty" in said:  # it came to its end, nobody pressed
            break
        assert (code, said) == CANCELLED
    assert number > 50


def test_ctrl_c_where_python_can_only_print_an_exception(tmp_path: Path) -> None:
    more = """
from segmend.cli import interrupt
interrupt.guard()
interrupt.running()
class Last:
    def __del__(self):
        press()
Last()"""
    assert pressed("none", "check", tmp_path, more=more) == CANCELLED


def test_what_is_imported_before_ctrl_c_is_ours_takes_no_time() -> None:
    script = "import sys\nimport segmend.cli.interrupt\nprint(*sys.modules)"
    loaded = set(python("-c", script).stdout.split())
    assert {name for name in loaded if name.startswith("segmend")} == {
        "segmend", "segmend.cli", "segmend.cli.interrupt"
    }  # fmt: skip
    bare = set(python("-c", "import sys\nprint(*sys.modules)").stdout.split())
    brought = {"argparse", "collections", "dataclasses", "enum", "importlib", "re", "signal", "warnings"}
    assert not brought & (loaded - bare)
    assert frame.interrupt.CANCELLED == ExitCode.CANCELLED


def test_ctrl_c_within_text_that_python_compiles(tmp_path: Path) -> None:
    """`python -m` would end by the signal, whatever we say: initializers of classes are such text."""
    more = """
import segmend.cli.main as frame
def compiling(argv):
    frame.interrupt.running()
    exec("press()")
frame._run = compiling"""
    (tmp_path / "pressing.py").write_text(script_of("none", "check", more=more))
    ran = python("-m", "pressing", PYTHONPATH=f"{SOURCE}:{tmp_path}")
    assert (ran.returncode, ran.stderr) == (32, "segmend: cancelled; nothing was changed\n")


def test_ctrl_c_while_it_is_said_how_it_ends(tmp_path: Path) -> None:
    more = """
import segmend.cli.main as frame
def refused(argv):
    frame.interrupt.running()
    raise frame.SegmendError("refused")
frame._run = refused
frame.note = lambda _: press()"""
    assert pressed("none", "check", tmp_path, more=more) == CANCELLED


def test_ctrl_c_in_the_middle_of_the_work_and_once_more(tmp_path: Path) -> None:
    """A pipe that nobody writes to is read forever; the first Ctrl-C is enough, the second does no harm."""
    for times in (1, 2):
        more = f"""
import segmend.cli.main as frame, time
def forever(argv):
    frame.interrupt.running()
    try:
        press()
        time.sleep(60)
    finally:
        if {times} > 1:
            press()
frame._run = forever"""
        code, said = pressed("none", "check", tmp_path, more=more)
        assert code == 32
        assert said.startswith("segmend: cancelled")
        assert said.count("\n") == 1


def test_ctrl_c_that_is_ignored_stays_ignored(tmp_path: Path) -> None:
    """A script's background job is not for the terminal's Ctrl-C."""
    script = PRESSING.replace("WANTED", "'argparse'").replace("ARGV", "['--version']")
    ran = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    assert (ran.returncode, ran.stderr) == (0, "")


def test_ctrl_c_within_a_lock_of_python(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`threading.Condition` is left with "release unlocked lock", whatever was raised within."""

    def run(_argv: object) -> int:
        try:
            raise KeyboardInterrupt
        finally:
            raise RuntimeError("release unlocked lock")

    monkeypatch.setattr(frame, "_run", run)
    assert (frame.main(["check"]), capsys.readouterr().err) == (32, "segmend: cancelled\n")


def test_ctrl_c_that_nobody_can_be_told_of(tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:
        script = script_of("argparse", "check", tmp_path)
        ran = subprocess.run(
            [sys.executable, "-c", script], stderr=full, env={**os.environ, "PYTHONPATH": str(SOURCE)}
        )
    assert ran.returncode == 32


def test_ctrl_c_while_python_starts_for_us(tmp_path: Path) -> None:
    """`bootstrap.py` holds it back until then."""
    (tmp_path / "sitecustomize.py").write_text(
        "import os, signal, sys\nif '-m' in sys.orig_argv: os.kill(os.getpid(), signal.SIGINT)"
    )
    script = "import bootstrap, sys; bootstrap.become_ours([sys.executable, '-m', 'segmend', '--version'])"
    path = os.pathsep.join(map(str, (tmp_path, SOURCE, SOURCE.parent)))
    ran = python("-c", f"{AT_A_TERMINAL}; {script}", PYTHONPATH=path)
    assert (ran.returncode, ran.stderr) == CANCELLED


def test_ctrl_c_before_a_scan_has_begun() -> None:
    NativeWalker.__new__(NativeWalker).__del__()


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize("driver", ["local", "spark"])
@pytest.mark.parametrize("who", ["input", "OUT"])
def test_ctrl_c_while_a_store_does_not_answer(who: str, driver: str, tmp_path: Path) -> None:
    """obstore and delta-rs try again and again, for minutes, and hear of no signal."""
    three_brokers(tmp_path / "fleet")
    silent = socket.create_server(("127.0.0.1", 0))
    silent.settimeout(60)
    source, out = ("s3://b/f", tmp_path / "out") if who == "input" else (tmp_path / "fleet", "s3://b/out")
    argv = ["fleet", "audit", source, "--out", out, "--driver", driver, "--no-report"]
    environ = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{silent.getsockname()[1]}", "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "AWS_REGION": "us-east-1",
    }  # fmt: skip
    program = f"{AT_A_TERMINAL}; from segmend.__main__ import entry; entry()"
    process = subprocess.Popen(
        [sys.executable, "-c", program, *map(str, argv)],
        env=os.environ | environ | {"PYTHONPATH": str(SOURCE)}, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    with silent, process:
        try:
            connection, _ = silent.accept()
            with connection:
                os.killpg(process.pid, signal.SIGINT)
                told = process.communicate(timeout=20)[1]
        finally:
            process.kill()
    assert (process.returncode, told) == CANCELLED
