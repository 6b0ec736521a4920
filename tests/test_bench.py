"""The benchmark's own clock."""

import subprocess
import sys

from bench.measure import FamilyCpu

_DAEMON = """
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
if not os.fork():
    while time.process_time() < 0.4:
        pass
    print("worked", flush=True)
    os.read(0, 1)
    os._exit(0)
try:
    os.wait()
except ChildProcessError:
    print("ended", flush=True)
os.read(0, 1)
"""


def test_what_a_worker_used_that_nobody_waited_for_stays_in_the_sum() -> None:
    """Else the next contender's CPU is less than nothing: Spark ends workers that are idle."""
    cpu = FamilyCpu()
    begin = cpu()
    command = [sys.executable, "-c", _DAEMON]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as daemon:
        assert daemon.stdin is not None
        assert daemon.stdout is not None
        assert daemon.stdout.readline() == b"worked\n"
        worked = cpu()
        daemon.stdin.write(b"x")
        assert daemon.stdout.readline() == b"ended\n"
        ended = cpu()
        daemon.stdin.write(b"x")
    assert worked - begin >= 0.3
    assert ended >= worked
    assert cpu() >= ended
