"""A disk that gets full in the middle: `python -m tests.surgery.full_disks [--seed N] [--count N]`; root's.

Drawn are a golden directory, the operation with its cause, a file system (ext4, xfs or btrfs, really
mounted), whether journal and old bytes lie on it too, the user, the call of `apply` and of `undo` before
which somebody else takes the room, and how much of it is left. The command stops, and nothing is lost, nor
is it by the next try; once there is room the same command goes on, and undo gives back all.
"""

import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from tests.cli.run import Ran
from tests.conftest import GOLDEN
from tests.golden.unpack import unpack
from tests.mounts import MAKE, QUOTA, btrfs, mounted
from tests.removal import remove
from tests.surgery.chains import contents, covered
from tests.surgery.child import NOBODY, begun_and_heard, owned_by_nobody, watched
from tests.surgery.drawn import GOLDENS, OF_THE_STATE
from tests.surgery.picture import picture
from tests.surgery.shows.bed import Bed
from tests.surgery.shows.matrix import cases_of, refusal
from tests.surgery.story import difference
from tests.surgery.trials import each_of, main

from segmend.surgery.execute.runs import runs

SUB = "0/256"


def limit(disk: Path, left: int | None) -> None:
    """Allow so many bytes more than there are, or all."""
    top = disk.parent
    btrfs("filesystem", "sync", top)
    used = next(
        int(line.split()[1]) for line in btrfs("qgroup", "show", "--raw", top) if line.startswith(SUB)
    )
    btrfs("qgroup", "limit", "none" if left is None else used + left, SUB, top)


def fill_up(disk: Path, left: int) -> None:
    """Take all blocks that are left but so many bytes."""
    reserve, filler = disk / "reserve", disk / "filler"
    with suppress(OSError), open(reserve, "wb") as file:
        file.write(b"x" * left)
        os.fsync(file.fileno())
    with open(filler, "ab", buffering=0) as file:
        for size in (1 << 20, 1 << 16, 4096, 512):
            with suppress(OSError):
                while True:
                    file.write(b"y" * size)
            with suppress(OSError):
                os.fsync(file.fileno())
    reserve.unlink(missing_ok=True)
    os.sync()


def make_room(disk: Path) -> None:
    (disk / "filler").unlink(missing_ok=True)
    os.sync()


def nothing(_call: int) -> None:
    """Nobody else is there."""


class Filled:
    """One plan on a disk that gets full in the middle of a command."""

    def __init__(self, seed: int, number: int, folder: Path, disk: Path, kind: str) -> None:
        chance = self.chance = random.Random(f"{seed} {number} full")
        self.parted = False
        self.folder, self.disk = folder, disk
        golden = chance.choice(GOLDENS)
        self.bed = bed = Bed(golden, unpack(GOLDEN / f"{golden}.tar.xz", folder / "whole"), disk)
        cases = [case for case in cases_of(golden) if refusal(golden, case) is None]
        case = chance.choice([each for each in cases if each.name not in (OF_THE_STATE, "balance", "free")])
        self.asked = case.ask(bed)
        self.quota = kind == QUOTA
        self.uid = 0 if self.quota else chance.choice([0, NOBODY])
        self.state = (disk if chance.random() < 0.5 else folder) / "state"
        self.left = chance.choice([0, 0, 0, 4096, 1 << 13, 1 << 15])
        self.said = [
            f"--seed {seed} --only {number}: {golden} {case.name} on {kind}, uid {self.uid}, {self.left} "
            f"bytes left, state in {self.state}"
        ]
        self.state.mkdir()
        for path in (self.state, bed.home) if self.uid else ():
            owned_by_nobody(path)
        self.adorn(kind)
        desk = folder / "desk"
        desk.mkdir()
        desk.chmod(0o777)
        self.plan = desk / "plan.json"

    def adorn(self, kind: str) -> None:
        """Attributes, odd times, names elsewhere, and a log dir on a disk of its own, now and then."""
        chance, home = self.chance, self.bed.home
        paths = [home, *sorted(home.rglob("*"))]
        for path in chance.sample(paths, len(paths) // 4):
            os.setxattr(path, "user.note", b"of %d" % chance.getrandbits(40))
        for path in chance.sample(paths, len(paths) // 4):
            os.utime(path, ns=(0, chance.choice([0, 1, 10**18, 2 * 10**18, 4_000_000_000_123_456_789])))
        self.snapshot = self.disk / "snapshot"
        ways = ["none", "--link", *(["--reflink=always"] if kind != "ext4" else [])]
        way = chance.choice(ways)
        if way == "--link" and os.geteuid() == 0:
            subprocess.run(["cp", "-a", "--link", home, self.snapshot], check=True)
        elif way != "none":
            subprocess.run(["cp", "-a", way, home, self.snapshot], check=True)
        self.copied = picture(self.snapshot) if way != "none" else {}
        self.linked = way == "--link"
        self.parted = chance.random() < 0.4
        if self.parted:
            other = self.bed.dirs[1]
            real = self.folder / "another disk"
            subprocess.run(["cp", "-a", other, real], check=True)
            remove(other)
            other.mkdir()
            subprocess.run(["mount", "--bind", real, other], check=True)
        self.said.append(f"snapshot: {way}, d1 on another disk: {self.parted}")

    def close(self) -> None:
        """No mount is left."""
        if self.parted:
            subprocess.run(["umount", "--lazy", self.bed.dirs[1]], check=True)

    def same_beside(self) -> None:
        """What shares blocks, or is the same file under another name, stays as it was."""
        if self.copied:
            left = difference(self.copied, picture(self.snapshot))
            assert left == {}, f"the snapshot has changed: {list(left.items())[:3]}"

    def run(self, *words: object, before: Callable[[int], None] = nothing) -> Ran:

        def act() -> int:
            code, calls = watched(words, lambda call, *_: before(call))
            print(f"calls: {calls}", file=sys.stderr)
            return code

        ran = begun_and_heard(act, self.folder, self.uid)()
        self.said.append(f"segmend {' '.join(map(str, words))}\n -> {ran.code} {ran.err.strip()[-500:]}")
        assert "Traceback" not in ran.err, ran.err
        return ran

    def act(self, what: str, before: Callable[[int], None] = nothing) -> Ran:
        plan = (self.plan,) if what == "apply" else ()
        return self.run(what, *plan, "--yes", "--state-dir", self.state, before=before)

    def play(self) -> str:
        bed = self.bed
        with self.asked.during():
            ran = self.run("plan", *self.asked.argv, "--kafka", bed.version, "-o", self.plan)
        if ran.code in (8, 16) or b'"steps": []' in self.plan.read_bytes():
            return f"refused: {self.said[0]} {ran.err[-300:]}"
        self.original = bed.tree()
        self.wanted = {*contents(bed.home)}
        calls = {what: int(self.act(what).err.rpartition("calls: ")[2]) for what in ("apply", "undo")}
        assert difference(self.original, bed.tree()) == {}
        remove(self.state)
        self.state.mkdir()
        if self.uid:
            owned_by_nobody(self.state)
        self.applied = None
        stopped = sum([self.stopped(what, self.chance.randint(1, calls[what])) for what in ("apply", "undo")])
        return f"stopped {stopped} times"

    def stopped(self, what: str, at: int) -> bool:
        """Whether it was."""
        self.said.append(f"# full before call {at} of {what}")
        ran = self.act(what, lambda call: self.fill() if call == at else None)
        done, turned = {"apply": (1, 5), "undo": (0,)}[what], False
        try:
            assert ran.code in (*done, 8), ran
            self.safe()
            self.same_beside()
            if ran.code == 8:
                again = self.act(what)
                assert again.code in (*done, 8), again
                self.safe()
                if self.chance.random() < 0.3 and "undo" in again.err:
                    self.said.append("# the other way, still full")
                    turned = True
                    back = self.act("apply" if what == "undo" else "undo")
                    assert back.code in (0, 1, 5, 8), back
                    self.safe()
        finally:
            limit(self.disk, None) if self.quota else make_room(self.disk)
        if what == "apply" and not turned and self.chance.random() < 0.3:
            back = self.act("undo")
            assert back.code in (0, 16), back
            if back.code == 0:
                assert difference(self.original, self.bed.tree()) == {}, "taken back: other bytes"
        if self.ended() != {"apply": "applied", "undo": "undone"}[what]:
            again = self.act(what)
            assert again.code in done, again
        if what == "undo":
            left = difference(self.original, self.bed.tree())
            assert left == {}, f"undone: other bytes {list(left.items())[:3]}"
            self.same_beside()
        return ran.code == 8

    def ended(self) -> str:
        """What the journal says: somebody may have gone on, or back, while the disk was full."""
        begun = [run for run in runs(str(self.state)) if run.events]
        return str(begun[-1].state) if begun else "new"

    def fill(self) -> None:
        """What somebody else does in the middle."""
        limit(self.disk, self.left) if self.quota else fill_up(self.disk, self.left)

    def safe(self) -> None:
        """Every original byte is in the dirs or in the state dir."""
        held = contents(self.bed.home, self.state)
        missing = self.wanted - {*held}
        every = b"\0\1\0".join(held) if missing else b""
        gone = [each for each in missing if not covered(each, every)]
        assert not gone, f"LOST: {len(gone)} files, {gone[0][:80]!r}"


def play(numbers: Iterable[int], seed: int, kinds: Sequence[str], home: Path) -> Counter[str]:
    """How many ended how; what disagrees is printed."""

    def trial(number: int, folder: Path) -> list[str]:
        kind = random.Random(f"{seed} {number} disk").choice(kinds)
        with mounted(kind, folder) as disk:
            case = Filled(seed, number, folder, disk, kind)
            try:
                return [f"{kind}: {case.play()}"]
            except Exception as error:
                error.add_note("\n".join(case.said))
                raise
            finally:
                case.close()

    return each_of(numbers, home, trial)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], "tests.surgery.full_disks", [*MAKE], play, count=30))
