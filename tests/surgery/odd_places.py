"""Where journals and old bytes go, in odd places: `python -m tests.surgery.odd_places [--seed N]`; root's.

As a normal user, mostly, a plan with every kind of step is applied with a state dir, and now and then a
`--backup-dir`, that is drawn: a disk with so many bytes or names left and no more, one that is read-only,
closed, behind links (to a directory, to nothing, to itself, into a log dir), below a file, in a log dir, with
an odd or a long name. Nobody else takes room meanwhile. So a command does all of its work, or is refused by
one line before the first step: nothing stops it on the way, since all that it needs was asked for before.
What was done goes back, to the last time of a file; where there is no room for that, once there is.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from tests.cli.run import Ran
from tests.cli.run import run as in_here
from tests.removal import remove
from tests.surgery.child import NOBODY, begun_and_heard, owned_by_nobody
from tests.surgery.story import difference
from tests.surgery.trials import main, playing
from tests.surgery.world import World, make, plan_of

ROOM = (0, 4096, 8192, 1 << 14, 1 << 15, 1 << 16, 1 << 17, 1 << 18)
NAMES = (1, 2, 4, 8, 16, 20, 24, 32)
LONG = "n" * 200


@dataclass
class Trial:
    """One world, and the drawn places."""

    world: World
    draw: random.Random
    folder: Path
    uid: int
    maker: int
    """Who makes the plan: what is made by it is his."""
    open: ExitStack
    said: list[str] = field(default_factory=list)
    mounts: list[Path] = field(default_factory=list)

    def place(self, name: str) -> Path:
        """A drawn one; it is this user's, if he may have it."""
        kinds: dict[str, Callable[[Path], Path]] = {
            "plain": self.plain, "few bytes": self.few_bytes, "few names": self.few_names,
            "read-only": self.read_only, "closed": self.closed, "a link": self.link,
            "a link to nothing": self.link_to_nothing, "a loop": self.loop, "a file": self.file,
            "below a file": self.below_a_file, "in a log dir": self.in_a_log_dir,
            "a link into a log dir": self.link_into, "odd": self.odd, "long": self.long, "deep": self.deep,
        }  # fmt: skip
        kind = self.draw.choice([*kinds, "few bytes", "few bytes", "few names", "closed"])
        path = kinds[kind](self.folder / name)
        self.said.append(f"{name}: {kind} {path}")
        return path

    def mounted(self, path: Path, options: str) -> Path:
        path.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", path], check=True)
        self.mounts.append(path)
        self.open.callback(lambda: subprocess.run(["umount", "--lazy", path], check=True))
        os.chown(path, self.uid, self.uid)
        return path

    def plain(self, path: Path) -> Path:
        path.mkdir()
        os.chown(path, self.uid, self.uid)
        return path

    def few_bytes(self, path: Path) -> Path:
        """A file takes the rest, so that more can be had."""
        self.mounted(path, "size=1m")
        with open(path / "filler", "wb") as file:
            file.write(bytes((1 << 20) - self.draw.choice(ROOM)))
        return path

    def few_names(self, path: Path) -> Path:
        """Files, directories and links that can be made."""
        return self.mounted(path, f"size=8m,nr_inodes={self.draw.choice(NAMES) + 1}")

    def read_only(self, path: Path) -> Path:
        self.plain(path)
        subprocess.run(["mount", "--bind", path, path], check=True)
        subprocess.run(["mount", "-o", "remount,bind,ro", path], check=True)
        self.open.callback(lambda: subprocess.run(["umount", "--lazy", path], check=True))
        return path

    def closed(self, path: Path) -> Path:
        self.plain(path)
        path.chmod(self.draw.choice([0o000, 0o111, 0o333, 0o444, 0o500, 0o555, 0o600]))
        if self.draw.random() < 0.3:
            os.chown(path, 0, 0)
        return path

    def link(self, path: Path) -> Path:
        path.symlink_to(self.plain(path.with_name(f"{path.name} real")))
        return path

    def link_to_nothing(self, path: Path) -> Path:
        path.symlink_to(self.folder / self.draw.choice(["nowhere", "nowhere/at all"]))
        return path

    def loop(self, path: Path) -> Path:
        path.symlink_to(path)
        return path

    def file(self, path: Path) -> Path:
        path.write_text("a file")
        return path

    def below_a_file(self, path: Path) -> Path:
        return self.file(path) / "state"

    def in_a_log_dir(self, _path: Path) -> Path:
        return self.draw.choice([self.world.a, self.world.b, self.world.a / "cut-0", self.world.a / "new"])

    def link_into(self, path: Path) -> Path:
        path.symlink_to(self.in_a_log_dir(path))
        return path

    def odd(self, path: Path) -> Path:
        return self.plain(path.with_name(f"{path.name} ' \" $HOME\n\udcff;"))

    def long(self, path: Path) -> Path:
        return path / self.draw.choice(["n" * 255, "n" * 256])

    def deep(self, path: Path) -> Path:
        return self.plain(path).joinpath(*[LONG] * self.draw.choice([3, 18, 19, 20, 25]))

    def run(self, *words: object) -> Ran:
        """As the user."""
        given = [os.fsdecode(os.fsencode(str(each))) for each in words]
        heard = self.folder / "heard"
        ran = begun_and_heard(lambda: in_here_code(given), heard, self.uid)()
        self.said.append(f"{given[0]}: {ran.code} {ran.err.strip()[-500:]}")
        assert "Traceback" not in ran.err + ran.out, self.told()
        return ran

    def told(self) -> str:
        return "\n".join(["", *self.said])

    def make_room(self) -> None:
        for path in self.mounts:
            subprocess.run(["mount", "-o", "remount,size=64m,nr_inodes=0", path], check=True)

    def whole_or_nothing(self, *words: object) -> bool:
        """Whether it was done; refused is what has changed nothing, by one line that names what is wrong."""
        before = self.world.tree()
        ran = self.run(*words)
        if ran.code in (0, 1):
            return True
        assert ran.code in (8, 16), self.told()
        left = difference(before, self.world.tree())
        assert left == {}, f"refused, or stopped, and changed: {[*left.items()][:3]} {self.told()}"
        assert ran.err.startswith("segmend: "), self.told()
        assert "nothing is lost: the same command goes on" not in ran.err, f"stopped: {self.told()}"
        return False

    def play(self) -> str:
        self.folder.joinpath("heard").mkdir()
        self.folder.joinpath("heard").chmod(0o777)
        plan = self.folder / "heard" / "plan.json"
        made = begun_and_heard(lambda: made_at(plan, self.world), self.folder / "heard", self.maker)()
        assert made.code == 0, made
        before = self.world.tree()
        where: list[object] = ["--state-dir", self.place("state")]
        backups = ["--backup-dir", self.place("backups")] if self.draw.random() < 0.4 else []
        apply = ("apply", plan, "--yes", *where, *backups)
        rehearsed = self.whole_or_nothing(*apply, "--dry-run")
        done = self.whole_or_nothing(*apply)
        assert rehearsed or not done, f"refused by --dry-run, and done: {self.told()}"
        if not done:
            assert not rehearsed, f"not as rehearsed: {self.told()}"
            self.make_room()
            done = self.whole_or_nothing(*apply)
            said = "refused"
            if not done:
                return "refused"
        else:
            said = "done"
        assert difference(before, self.world.tree()) != {}, self.told()
        undo = ("undo", "1", "--yes", *where)
        if not self.whole_or_nothing(*undo):
            said += ", no room to go back"
            self.make_room()
            assert self.whole_or_nothing(*undo), self.told()
        left = difference(before, self.world.tree())
        assert left == {}, f"taken back, and other than before: {[*left.items()][:3]} {self.told()}"
        return said


def made_at(path: Path, world: World) -> int:
    path.write_bytes(plan_of(world).render())
    return 0


def in_here_code(words: list[str]) -> int:
    ran = in_here(*words)
    sys.stdout.write(ran.out)
    sys.stderr.write(ran.err)
    return ran.code


def played(seed: int, number: int, folder: Path) -> str:
    draw = random.Random(f"{seed} {number} odd places")
    root = folder / "world"
    root.mkdir()
    uid = draw.choice([NOBODY, NOBODY, 0])
    world = make(root)
    maker = uid if draw.random() < 0.9 else 0
    times = {path: path.stat() for path in sorted(root.rglob("*"), reverse=True)}
    if uid:
        owned_by_nobody(root)
    for path, was in times.items():
        os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))
    with ExitStack() as opened:
        trial = Trial(
            world,
            draw,
            folder,
            uid,
            maker,
            opened,
            [f"--seed {seed} --only {number}, user {uid}, plan by {maker}"],
        )
        try:
            return trial.play()
        finally:
            opened.close()
            for path in folder.rglob("*"):
                if path.is_dir() and not path.is_symlink():
                    path.chmod(0o755)
            for path in folder.iterdir():
                remove(path) if path.is_dir() and not path.is_symlink() else path.unlink()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], "tests.surgery.odd_places", (), playing(played), count=100))
