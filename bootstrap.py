#!/usr/bin/env python3
"""Set up a private environment beside this file and run segmend's main job or its tests.

    python3 bootstrap.py audit          audit the bundled three-broker fleet with Spark
    python3 bootstrap.py test           the fast tests (everything, when CI=true or --all)
    python3 bootstrap.py segmend ...    any segmend command
    python3 bootstrap.py tool ...       any program of the development environment

Needs Python 3.11+ and a network; nothing is installed outside `.venv`. Written for any
Python 3, so that an old interpreter answers with a sentence and not with a SyntaxError.
"""

import hashlib
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
VENV = os.path.join(HERE, ".venv")
PYTHON = os.path.join(VENV, "bin", "python")
PIP_WHEEL = "pip-26.0-py3-none-any.whl"
NEWEST_FIRST = ["python3.%d" % minor for minor in range(19, 10, -1)]
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
            return subprocess.call([found, os.path.join(HERE, "bootstrap.py"), *argv])
    return fail("segmend needs Python 3.11 or newer; %s is %s" % (sys.executable, sys.version.split()[0]))


def audit(arguments):
    """Unpack the bundled fleet and audit it with Spark."""
    prepare("run.txt")
    return subprocess.call([PYTHON, os.path.join(HERE, "examples", "fleet", "demo.py"), *arguments])


def test(arguments):
    """Run the tests: the fast ones, or every one with --all or CI=true."""
    prepare("dev.txt")
    everything = "--all" in arguments or os.environ.get("CI") == "true"
    options = [each for each in arguments if each != "--all"]
    if everything:
        options += ["-m", ""]
    return subprocess.call([PYTHON, "-m", "pytest", "-n", "2", "--dist", "loadgroup", *options], cwd=HERE)


def segmend(arguments):
    """Run the `segmend` command itself."""
    prepare("run.txt")
    return subprocess.call([PYTHON, "-m", "segmend", *arguments])


def tool(arguments):
    """Run a program of the development environment (`ruff`, `mypy`, `lint-imports`, ...)."""
    prepare("dev.txt")
    if not arguments:
        return fail("tool: name a program, as in: python3 bootstrap.py tool ruff check")
    return subprocess.call([os.path.join(VENV, "bin", arguments[0]), *arguments[1:]], cwd=HERE)


COMMANDS = {"audit": audit, "test": test, "segmend": segmend, "tool": tool}


def prepare(lock):
    """Make `.venv` hold what `requirements/<lock>` names, and segmend itself."""
    stamp = os.path.join(VENV, "segmend-" + lock + ".stamp")
    wanted = fingerprint()
    if os.path.exists(stamp) and read(stamp) == wanted and os.path.exists(PYTHON):
        return
    print("segmend: setting up %s (once; a few minutes on a slow network)" % VENV, file=sys.stderr)
    pip = pip_command()
    run([*pip, "install", "--require-hashes", "-r", os.path.join(HERE, "requirements", lock)])
    run([*pip, "install", "--no-deps", "--editable", HERE])
    with open(stamp, "w") as file:
        file.write(wanted)


def pip_command():
    """Create the environment; pip comes along here, for Debian's Python has neither it nor ensurepip."""
    pip = [PYTHON, "-m", "pip", "--quiet", "--disable-pip-version-check", "--no-input"]
    if not os.path.exists(PYTHON):
        run([sys.executable, "-m", "venv", "--without-pip", VENV])
    wheel = os.path.join(HERE, "requirements", PIP_WHEEL)
    run([*pip, "install", "--no-index", wheel], PYTHONPATH=wheel)
    return pip


def run(command, **environment):
    """Run one set-up step; when it fails, say in one line why and what to do."""
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=dict(os.environ, **environment)
    )
    if done.returncode != 0:
        words = done.stdout.decode(errors="replace")
        lines = [line for line in words.splitlines() if line.strip()] or ["it says nothing"]
        if "Failed to establish a new connection" in words or "No matching distribution" in words:
            sys.exit(fail("packages cannot be fetched: connect a network, or name a mirror in PIP_INDEX_URL"))
        sys.exit(fail("set-up failed at `%s`: %s" % (" ".join(command[1:5]), lines[-1])))


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


def fail(message):
    """One line on stderr and the exit code of an operational error."""
    print("segmend: " + message, file=sys.stderr)
    return 8


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
