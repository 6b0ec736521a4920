"""Any command in odd surroundings: `python -m tests.cli.surroundings [--seed N] [--count N] [--only N]`.

Drawn are the command line and the user; where its output goes and which streams are closed; HOME, TMPDIR,
the locale, the terminal, umask, /dev/shm; the directory in which it is called, and names of directories; and
perhaps a moment at which Ctrl-C is pressed. It runs twice over trees that are alike, plainly and so. What
cannot be said is told in one line, and nothing else changes how it ends, or what it answers.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.cli.run import SOURCE, run
from tests.cli.test_read_only import ELSEWHERE, WAYS, Place
from tests.copies import make_tree, remembered
from tests.golden.shared import golden
from tests.removal import remove
from tests.surgery.child import NOBODY
from tests.surgery.trials import main, playing

from segmend.errors import EXIT_CODES, ExitCode

GOLDENS = ("4.3.1-killed", "2.8.2-clean", "3.9.2-clean", "0.8.2.2-killed")
ROOT = os.geteuid() == 0
PYTHON = "/usr/bin/python3"
"""That of a normal user: the one that runs the tests may lie where only root reads."""
DROP = f"--reuid={NOBODY} --regid={NOBODY} --clear-groups --inh-caps=-all --bounding-set=-all".split()
STATE = ("--yes", "--state-dir", "away/state")
CHANGING = {
    "apply": [["apply", "away/plan.json", *STATE]],
    "undo": [["apply", "away/plan.json", *STATE], ["undo", "RUN", *STATE]],
    "quarantine list": [["apply", "away/plan.json", *STATE], ["quarantine", "list", *STATE[1:]]],
}
FOLDERS = (
    "plain",
    "two words",
    "new\nline",
    "no\udcffutf",
    "'quoted' $(x)",
    "-rf",
    "n" * 250 + "/" + "m" * 250,
)
Environment = dict[str, str | None]
ENVIRONMENTS: tuple[Mapping[str, str | None], ...] = (
    {"HOME": None}, {"HOME": ""}, {"HOME": "/proc"}, {"HOME": "/nowhere"}, {"HOME": "file"},
    {"TMPDIR": "/proc"}, {"TMPDIR": "/nowhere"}, {"TMPDIR": "file"}, {"LC_ALL": "C"}, {"LC_ALL": "nonsense"},
    {"PYTHONIOENCODING": "ascii"}, {"NO_COLOR": "1"}, {"COLUMNS": "40"}, {"COLUMNS": "0"}, {"TERM": "dumb"},
    {"TERM": None}, {"PATH": None}, {"TZ": "Asia/Kathmandu"}, {"LINES": "x", "COLUMNS": "x"}, {"USER": None},
)  # fmt: skip
OUT = ("heard",) * 6 + ("head", "gone", "closed", "full")
ERR = ("heard",) * 8 + ("closed", "full")
CLOCK = re.compile(
    rb'"(?:seconds|elapsed|run_id|run|at|written|time)": ?[^,}]+|\d[\d.,]* (?:ms|s|min|[MGK]i?B/s)\b'
    rb"|\d{4}-repair-[0-9a-f]{8}"
)
"""Times, and names that are made of them."""
LINE = re.compile(rb"segmend: [^\n]+\n")


@dataclass
class Around:
    """What is drawn of it."""

    env: Environment
    out: str = "heard"
    err: str = "heard"
    no_input: bool = False
    umask: int = 0o022
    folder: str = ""
    moment: float | None = None
    prefix: tuple[str, ...] = ()

    @classmethod
    def of(cls, draw: Random) -> Around:
        odd = cls({}, draw.choice(OUT), draw.choice(ERR), draw.random() < 0.2)
        for each in draw.sample(ENVIRONMENTS, draw.choice((0, 1, 1, 2, 3))):
            odd.env |= each
        odd.umask, odd.folder = (
            draw.choice((0o022, 0o077)),
            draw.choice(("", "", "removed", "/proc", "/")),
        )
        odd.moment = draw.random() if draw.random() < 0.25 else None
        if ROOT and draw.random() < 0.15:
            shut = 'mount -t tmpfs -o size=4k,mode=0555 none /dev/shm && exec "$@"'
            odd.prefix = ("unshare", "-m", "sh", "-c", shut, "sh")
        return odd

    def __str__(self) -> str:
        plain = Around({})
        return ", ".join(f"{k} {v!r}" for k, v in vars(self).items() if v != vars(plain)[k])


@dataclass
class Ended:
    code: int
    out: bytes
    err: bytes
    seconds: float


def begun(words: list[str], here: Path, odd: Around, uid: int, wait: float = 0.0) -> Ended:
    """Run it to its end; `wait` is how long until Ctrl-C."""
    drop = ["setpriv", *DROP] if uid else []
    found = os.pathsep.join([str(SOURCE), sysconfig.get_path("purelib")])
    env = {k: v for k, v in {**os.environ, "PYTHONPATH": found, **odd.env}.items() if v is not None}
    env.pop("SEGMEND_CALLED", None)

    def prepare() -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.pthread_sigmask(
            signal.SIG_BLOCK, [signal.SIGINT]
        )  # as `bootstrap.py` does while Python starts
        os.umask(odd.umask)
        if odd.folder == "removed":
            os.mkdir("gone")
            os.chdir("gone")
            os.rmdir("../gone")
        elif odd.folder:
            os.chdir(odd.folder)
        for number, how in ((0, "closed" if odd.no_input else ""), (1, odd.out), (2, odd.err)):
            if how == "closed":
                os.close(number)

    start = time.monotonic()
    with open("/dev/full", "w") as full:
        process = subprocess.Popen(
            [*odd.prefix, *drop, PYTHON if uid else sys.executable, "-m", "segmend", *words],
            cwd=here, env=env, preexec_fn=prepare, stdin=subprocess.DEVNULL,
            stdout=full if odd.out == "full" else subprocess.PIPE,
            stderr=full if odd.err == "full" else subprocess.PIPE,
        )  # fmt: skip
    if odd.out in ("head", "gone") and process.stdout:
        if odd.out == "head":
            process.stdout.readline()
        process.stdout.close()
        process.stdout = None
    if wait:
        time.sleep(wait)
        process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    return Ended(process.returncode, out or b"", err or b"", time.monotonic() - start)


def wrong(plain: Ended, odd: Ended, around: Around) -> Iterator[str]:
    """What of it must not be."""
    if re.search(rb"Traceback|Exception ignored|Fatal Python", odd.err + odd.out):
        yield "a traceback"
    if odd.code < 0 or odd.code & ~sum(EXIT_CODES):
        yield f"exit code {odd.code}"
    heard = around.err == "heard"
    if heard and odd.code & (ExitCode.OPERATIONAL | ExitCode.USAGE) and not LINE.search(odd.err):
        yield f"exit code {odd.code}, and not why"
    if around.moment is not None and odd.code == ExitCode.CANCELLED:
        nobody_reads = around.out in ("head", "gone")  # which ends with the same code, and is no news
        if heard and not nobody_reads and odd.err.count(b"segmend: cancelled") != 1:
            yield "cancelled, and not in one line"
    else:
        yield from otherwise(plain, odd, around)


def otherwise(plain: Ended, odd: Ended, around: Around) -> Iterator[str]:
    """What of a command that went to its end is not as it is elsewhere."""
    if around.out in ("head", "gone"):
        codes = {plain.code, ExitCode.CANCELLED}
    elif around.out != "heard" and plain.out:
        codes = {plain.code | ExitCode.OPERATIONAL, ExitCode.OPERATIONAL}
    else:
        codes = {plain.code}
    if odd.code not in codes:
        yield f"exit code {odd.code} is none of {codes}"
    if around.out == "heard" and not around.env and masked(plain.out) != masked(odd.out):
        yield "another answer"


def masked(data: bytes) -> list[bytes]:
    return sorted(CLOCK.sub(b"", data).splitlines())


def lines(place: Place, draw: Random, of: tuple[str, ...]) -> tuple[str, list[list[str]]]:
    """Command lines, of which the last one is looked at; its name."""
    ways: dict[str, Callable[[], list[list[str]]]] = {
        **{name: lambda name=name: [draw.choice(asked(name, WAYS[name](place)))] for name in WAYS},
        **{name: lambda name=name: asked(name, [ELSEWHERE[name](place)]) for name in ELSEWHERE},
        **{name: lambda name=name: CHANGING[name] for name in CHANGING},
        "--help": lambda: [[*draw.choice(["", "check", "fleet", "plan move"]).split(), "--help"]],
    }  # fmt: skip
    name = draw.choice([name for name in ways if not of or name in of])
    return name, ways[name]()


def asked(name: str, found: list[list[object]]) -> list[list[str]]:
    return [[*name.split(), *map(str, words)] for words in found]


def made(home: Path, source: str, uid: int) -> Place:
    """The tree anew, as it was, at the same place, and the user's own."""
    if home.exists():
        remove(home)
    home.mkdir(parents=True)
    make_tree(home / "it", remembered(golden(source)))
    (home / "away").mkdir()
    place = Place(home / "it", home / "away")
    next(path for each in place.partitions for path in each.glob("*.index")).unlink()
    owned(home, uid)  # before the plan, which holds for the owners that it saw
    run("plan", "repair", *place.dirs, "-o", place.plan)
    assert place.plan.exists()
    owned(home, uid)
    return place


def owned(home: Path, uid: int) -> None:
    for path in (home, *home.rglob("*")) if uid else ():
        os.chown(path, uid, uid, follow_symlinks=False)


def played(seed: int, number: int, folder: Path, of: tuple[str, ...] = ()) -> str:
    """How it ended."""
    draw = Random(f"surroundings {seed} {number}")
    del folder  # /dev/shm may be hidden
    with tempfile.TemporaryDirectory(dir="/var/tmp", ignore_cleanup_errors=True) as name:
        return drawn(draw, Path(name), of)


def drawn(draw: Random, folder: Path, of: tuple[str, ...] = ()) -> str:
    source, uid = draw.choice(GOLDENS), draw.choice((0, NOBODY)) if ROOT else 0
    home, odd, again = folder / draw.choice(FOLDERS), Around.of(draw), draw.random()
    folder.chmod(0o755)
    (folder / "file").touch()
    ends: list[Ended] = []
    for around in (Around({}), odd):
        place = made(home, source, uid)
        name, argvs = lines(place, Random(again), of)
        argvs = [[str(home / word) if word.startswith("away/") else word for word in argv] for argv in argvs]
        *first, words = argvs
        for argv in first:
            assert (done := begun(argv, home, Around({}), uid)).code == ExitCode.CHANGED, done
        if "RUN" in words:
            words[words.index("RUN")] = str(next((home / "away" / "state").glob("journals/*")))
        wait = (around.moment or 0.0) * (ends[0].seconds * 1.1 if ends else 0)
        ends.append(begun(words, home, around, uid, wait))
    plain, other = ends
    assert name not in ("apply", "undo") or plain.code in (ExitCode.CHANGED, 0), plain
    found = [*wrong(plain, other, odd)]
    told = f"{source}, {'nobody' if uid else 'root'}: {' '.join(words)!r}: {odd}\n{plain}\n{other}"
    assert not found, f"{'; '.join(found)}: {told}".replace(str(home), "HOME")[:5000]
    return name if other.code != ExitCode.CANCELLED else "cancelled"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], "tests.cli.surroundings", [], playing(played)))
