#!/usr/bin/env python3
"""Set up a private environment beside this file and run segmend's main job or its tests.

    python3 bootstrap.py audit          audit the bundled three-broker fleet with Spark
                                        (--fresh: as it was before you mended any of it)
    python3 bootstrap.py test           the fast tests (everything, when CI=true or --all)
    python3 bootstrap.py segmend ...    any segmend command
    python3 bootstrap.py tool ...       any program of the development environment

Needs Python 3.11+ and a network; nothing is installed outside `.venv`. Written for any
Python 3, so that an old interpreter answers with a sentence and not with a SyntaxError.
"""

import _signal

if __name__ == "__main__":
    # Ctrl-C waits until somebody here can answer it: Python's own answers are a traceback and exit code 1.
    _signal.pthread_sigmask(_signal.SIG_BLOCK, [_signal.SIGINT])

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
VENV = os.path.join(HERE, ".venv")
PYTHON = os.path.join(VENV, "bin", "python")
PIP_WHEEL = "pip-26.0-py3-none-any.whl"
NEWEST_FIRST = ["python3.%d" % minor for minor in range(19, 10, -1)]
# MB to be fetched where pip's cache has none of it, and MB that `.venv` then has.
SIZES = {"run.txt": (475, 1100), "dev.txt": (640, 1700)}
# Packages bring their own tests, moto all of AWS and what it computes with, Spark its pandas and its machine
# learning, mypy its source beside what C compiled of it; pip has done its work.
NOT_COMPILED = (
    r"site-packages[\\/](.*[\\/])?(tests|moto|sympy|mpmath|networkx|graphql|cfnlint|pip|mypy|mypyc|f2py|distutils|"
    r"pyspark[\\/](pandas|ml|mllib))[\\/]"
)
# What, when changed, makes an existing environment stale.
INPUTS = ["pyproject.toml", "hatch_build.py", "src/segmend/kernel", "requirements"]


def main(argv):
    """Run the command line; returns the exit code."""
    if sys.version_info < (3, 11):
        return rerun_with_newer_python(argv)
    if not argv or argv[0] not in COMMANDS:
        print(__doc__.strip(), file=sys.stderr)
        return 0 if argv[:1] in (["-h"], ["--help"]) else 16
    return COMMANDS[argv[0]](argv[1:])


def rerun_with_newer_python(argv):
    """Hand over to a Python 3.11+ on PATH, or say in one line what is missing."""
    for name in NEWEST_FIRST:
        found = shutil.which(name)
        if found:
            become_ours([found, os.path.join(HERE, "bootstrap.py"), *argv])
    return fail("segmend needs Python 3.11 or newer; %s is %s" % (sys.executable, sys.version.split()[0]))


def audit(arguments):
    """Unpack the bundled fleet and audit it with Spark."""
    prepare("run.txt")
    become_ours(
        [PYTHON, os.path.join(HERE, "examples", "fleet", "demo.py"), *arguments], SEGMEND_CALLED=called()
    )


def test(arguments):
    """Run the tests: the fast ones, or every one with --all or CI=true."""
    try:
        tempfile.gettempdir()
    except OSError as error:  # pytest would tell of it in eighty lines
        return fail("tests need a place for their files: %s" % error.strerror)
    prepare("dev.txt")
    everything = "--all" in arguments or os.environ.get("CI") == "true"
    options = [each for each in arguments if each != "--all"]
    workers = "2"
    if everything:
        options += ["-m", ""]
        workers = "4"  # three quarters of a test with brokers is waiting for them
    os.chdir(HERE)
    return become([PYTHON, "-m", "pytest", "-n", workers, *options])


def segmend(arguments):
    """Run the `segmend` command itself."""
    prepare("run.txt")
    become_ours([PYTHON, "-m", "segmend", *arguments], SEGMEND_CALLED=called())


def become(command, **environment):
    """Go on as this program: nobody stands between it and Ctrl-C, or its exit code."""
    os.execve(command[0], command, dict(os.environ, **environment))


def become_ours(command, **environment):
    """The same of one that lets Ctrl-C through when it is ready for it: until then Python starts."""
    _signal.pthread_sigmask(_signal.SIG_BLOCK, [_signal.SIGINT])
    become(command, **environment)


def called():
    """The words by which segmend, which is not on PATH, can be called again."""
    return "python3 %s segmend" % shlex.quote(sys.argv[0])


def tool(arguments):
    """Run a program of the development environment (`ruff`, `mypy`, `lint-imports`, ...)."""
    prepare("dev.txt")
    if not arguments:
        return fail("tool: name a program, as in: python3 bootstrap.py tool ruff check")
    program = os.path.join(VENV, "bin", arguments[0])
    if not os.path.exists(program):
        return fail("tool: no program '%s' in %s" % (arguments[0], os.path.dirname(program)))
    os.chdir(HERE)
    return become([program, *arguments[1:]])


COMMANDS = {"audit": audit, "test": test, "segmend": segmend, "tool": tool}


def prepare(lock):
    """Make `.venv` hold what `requirements/<lock>` names, and segmend itself."""
    stamp = os.path.join(VENV, "segmend-" + lock + ".stamp")
    wanted = fingerprint()
    if os.path.exists(stamp) and read(stamp) == wanted and os.path.exists(PYTHON):
        return
    started = time.time()
    announce(lock)
    pip = [PYTHON, "-m", "pip", "--disable-pip-version-check", "--no-input", "install"]
    path = os.path.join(HERE, "requirements", lock)
    count = len([line for line in read(path).splitlines() if line[:1].isalpha()])
    say("1 of 3: a Python environment, and pip")
    # pip comes along here, for Debian's Python has neither it nor ensurepip.
    if not os.path.exists(PYTHON):
        run([sys.executable, "-m", "venv", "--without-pip", VENV])
    wheel = os.path.join(HERE, "requirements", PIP_WHEEL)
    run([*pip, "--no-index", wheel], PYTHONPATH=wheel)
    say("2 of 3: %d packages" % count)
    # pip itself compiles one file after the other, and all of them; most of that nobody ever imports.
    run([*pip, "--progress-bar", "raw", "--no-compile", "--require-hashes", "-r", path], Watcher(count))
    say("3 of 3: segmend itself; its kernel is compiled")
    run([*pip, "--progress-bar", "raw", "--no-deps", "--editable", HERE], Watcher(0))
    # Once, here: else each process that starts before the first one ends compiles all of it for itself.
    compiled = [PYTHON, "-m", "compileall", "-qq", "-j", "0"]
    run([*compiled, os.path.join(HERE, "src")])
    # What of others cannot be compiled by this Python is for another one, and harms nobody.
    subprocess.call([*compiled, "-x", NOT_COMPILED, os.path.join(VENV, "lib")], stdout=subprocess.DEVNULL)
    say("set up in %d s" % (time.time() - started))
    with open(stamp, "w") as file:
        file.write(wanted)


def announce(lock):
    """Say what is about to be fetched, and stop here if there is no room for it."""
    fetched, held = SIZES[lock]
    if os.path.exists(PYTHON):
        return say("bringing %s up to date" % VENV)
    say(
        "setting up %s, once: %.1f GB; up to %d MB are fetched, and stay in pip's cache"
        % (VENV, held / 1000.0, fetched)
    )
    free = shutil.disk_usage(HERE).free // 1000000
    if free < held:
        sys.exit(fail("no room for that: %d MB are free in %s" % (free, HERE)))
    return None


def run(command, watcher=None, **environment):
    """Run one set-up step; when it fails, say in one line why and what to do."""
    watcher = watcher or Watcher(0)
    lines = []
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=dict(os.environ, **environment)
    ) as process:
        for line in process.stdout:
            words = line.decode(errors="replace").strip()
            if words and not watcher.tells(words):
                lines.append(words)
    watcher.wipe()
    if process.returncode != 0:
        words = "\n".join(lines)
        if "Failed to establish a new connection" in words or "No matching distribution" in words:
            sys.exit(fail("packages cannot be fetched: connect a network, or name a mirror in PIP_INDEX_URL"))
        last = lines[-1] if lines else "it says nothing"
        sys.exit(fail("set-up failed at `%s`: %s" % (" ".join(command[1:5]), last)))


class Watcher:
    """Shows at a terminal what pip is at, in one line that is drawn again and again."""

    def __init__(self, count):
        self.count = count
        self.number = 0
        self.name = ""
        self.shown = sys.stderr.isatty()

    def tells(self, line):
        """Take a line of pip's; false if it is none of progress."""
        first, _, rest = line.partition(" ")
        if first == "Progress":  # of a download, in bytes, many times a second
            done, _, total = rest.partition(" of ")
            if done.isdigit() and total.isdigit():
                self.draw("%s: %d of %d MB" % (self.name, int(done) // 10**6, int(total) // 10**6))
            return True
        if first == "Collecting":
            self.number += 1
            self.name = rest.split("=")[0].split(" ")[0].split(">")[0]
            self.draw(self.name)
        elif line.startswith(("Building", "Installing", "Preparing")):
            self.draw(line)
        return False

    def draw(self, words):
        """Show it."""
        place = "%d of %d: " % (self.number, self.count) if 0 < self.number <= self.count else ""
        if self.shown:
            sys.stderr.write("\r\033[K    " + (place + words)[:70])
            sys.stderr.flush()

    def wipe(self):
        """The next line of text begins on a clean one."""
        if self.shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()


def fingerprint():
    """A hash over everything an installed environment depends on."""
    digest = hashlib.sha256(sys.version.encode())
    for name in sorted(each for item in INPUTS for each in files_under(os.path.join(HERE, item))):
        with open(name, "rb") as file:
            digest.update(name.encode() + file.read())
    return digest.hexdigest()


def files_under(path):
    """The file itself, or the build inputs below a folder."""
    if os.path.isfile(path):
        return [path]
    found = [os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names]
    return [name for name in found if name.endswith((".c", ".h", ".txt"))]


def read(path):
    """The text of a small file."""
    with open(path) as file:
        return file.read()


def say(message):
    """One line on stderr."""
    print("segmend: " + message, file=sys.stderr)
    sys.stderr.flush()


def fail(message):
    """One line on stderr and the exit code of an operational error."""
    say(message)
    return 8


if __name__ == "__main__":
    try:
        _signal.pthread_sigmask(_signal.SIG_UNBLOCK, [_signal.SIGINT])
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        say("cancelled; the same command again goes on")
        sys.exit(32)
