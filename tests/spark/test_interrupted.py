"""Ctrl-C while Spark starts or works: nothing but our own word, and no JVM is left."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from tests.cli.run import SOURCE
from tests.fleet.build import plain, write_broker

pytestmark = pytest.mark.spark

PRESSED_AT_JAVA = """
import os, pathlib, signal, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)

def children():
    return pathlib.Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()

def is_java(child):
    return pathlib.Path(f"/proc/{child}/cmdline").read_bytes().partition(b"\\0")[0].endswith(b"/java")

def press():
    while not any(map(is_java, children())):
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)

from segmend.spark.session import session
threading.Thread(target=press, daemon=True).start()
try:
    session("local[1]")
except KeyboardInterrupt:
    print("cancelled")
"""


PRESSED_AT_WORK = """
import argparse, os, pathlib, signal, sys, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)
begun = pathlib.Path(sys.argv[1])

def press():
    while not begun.exists():
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)

from segmend.cli import interrupt
from segmend.cli.commands.fleet.driving import driver_of
interrupt.guard()
interrupt.running()
threading.Thread(target=press, daemon=True).start()
try:
    with driver_of(argparse.Namespace(driver="spark", master=None)) as driver:
        list(driver.run(os.system, [f"touch {begun}; sleep 5"], print))
except KeyboardInterrupt:
    print("cancelled")
"""


@pytest.mark.parametrize("script", [PRESSED_AT_JAVA, PRESSED_AT_WORK], ids=["starting", "working"])
def test_nothing_but_our_own_word_and_no_jvm(script: str, tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", script, tmp_path / "begun"],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "cancelled\n", "")


@pytest.mark.parametrize("how", ["to its end", "cancelled"])
def test_nothing_is_left_in_the_directory_for_temporary_files(how: str, tmp_path: Path) -> None:
    """A socket of each session was, and with Ctrl-C what the JVM had there."""
    write_broker(tmp_path / "fleet", 1, [plain("t", 0)])
    audit = ["-m", "segmend", "fleet", "audit", tmp_path / "fleet", "--out", tmp_path / "out", "--no-report"]
    command = audit if how == "to its end" else ["-c", PRESSED_AT_WORK, tmp_path / "begun"]
    with tempfile.TemporaryDirectory(dir="/tmp") as temporary:  # a short one: sockets lie there
        there = {"TMPDIR": temporary, "JAVA_TOOL_OPTIONS": f"-Djava.io.tmpdir={temporary}"}
        ran = subprocess.run(
            [sys.executable, *command],
            env=os.environ | there | {"PYTHONPATH": str(SOURCE)},
            capture_output=True, timeout=120, check=False,
        )  # fmt: skip
        assert ran.returncode == 0, ran.stderr
        assert os.listdir(temporary) == []
