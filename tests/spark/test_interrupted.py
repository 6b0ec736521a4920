"""Ctrl-C while Spark starts or works: nothing but our own word, and no JVM is left."""

import subprocess
import sys
from pathlib import Path

import pytest

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
