"""A small broker's disk and a plan that takes every kind of step there is, on it.

Two log dirs `a` and `b` count as lying on two disks. The bytes are random, and everything is cut
and patched at multiples of 16, so that a byte is safe if and only if its 16 are found somewhere.
"""

import os
import random
from dataclasses import dataclass
from pathlib import Path

from tests.surgery.picture import Tree, picture

from segmend.logdir.release import Release
from segmend.surgery.dir_fingerprint import DirFingerprint
from segmend.surgery.fingerprint import Fingerprint
from segmend.surgery.new_bytes import NewBytes
from segmend.surgery.plan import Plan
from segmend.surgery.step import Step
from segmend.surgery.steps.append_file import AppendFile
from segmend.surgery.steps.cut_file import CutFile
from segmend.surgery.steps.make_dir import MakeDir
from segmend.surgery.steps.move_dir import MoveDir
from segmend.surgery.steps.patch_file import PatchFile
from segmend.surgery.steps.quarantine import Quarantine
from segmend.surgery.steps.replace_file import ReplaceFile

CHUNK = 16
LABELLED = frozenset({
    "a/recovery-point-offset-checkpoint", "a/.kafka_cleanshutdown", "a/cut-0/0.log", "a/patch-0/0.log",
    "a/append-0/0.log", "a/near-0/0.log", "a/far-0/0.log", "a/gone-0/0.log",
})  # fmt: skip
"""They have an extended attribute. (tmpfs has those of users since Linux 6.6, other file systems always.)"""
CLOSED = {"a/far-0/sub/note": 0o444, "a/far-0/sub": 0o555}
"""Modes that keep their owner, but not root, from changing what is moved to another disk."""
OLD = 1_600_000_000_000_000_000


@dataclass(frozen=True)
class World:
    """`root` holds `a`, `b`, and `replica`, from which a step copies; `state` is beside them."""

    root: Path

    @property
    def a(self) -> Path:
        return self.root / "a"

    @property
    def b(self) -> Path:
        return self.root / "b"

    @property
    def state(self) -> Path:
        return self.root / "state"

    def tree(self, *, folder_times: bool = True) -> Tree:
        """Everything about every file of the log dirs."""
        return picture(self.a, folder_times=folder_times) | picture(self.b, folder_times=folder_times)


def make(root: Path, seed: int = 1) -> World:
    """A fresh world."""
    chance = random.Random(seed)
    world = World(root)
    sizes = {
        "a/meta.properties": 64, "a/recovery-point-offset-checkpoint": 48, "b/meta.properties": 64,
        "a/.kafka_cleanshutdown": 32, "a/cut-0/0.log": 640, "a/cut-0/0.index": 96, "a/patch-0/0.log": 320,
        "a/append-0/0.log": 160, "a/near-0/0.log": 128, "a/near-0/0.index": 32, "a/far-0/0.log": 256,
        "a/far-0/0.index": 48, "a/far-0/sub/note": 16, "a/gone-0/0.log": 192, "a/gone-0/0.index": 16,
        "replica/5.log": 320, "b/stray-0/0.log": 64,
    }  # fmt: skip
    for name, size in sizes.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(chance.randbytes(size))
        path.chmod(chance.choice([0o600, 0o640, 0o644]))
        if name in LABELLED:
            os.setxattr(path, "user.label", name.encode())
    for name, mode in CLOSED.items():
        (root / name).chmod(mode)
    for number, path in enumerate(sorted(root.rglob("*"), reverse=True)):
        time = OLD + number * 1_000_000_007
        os.utime(path, ns=(time, time))
    return world


def steps(world: World) -> list[Step]:
    """Every kind of step; files made, rewritten, cut, patched, grown, moved on one disk and to the other."""
    a, b, replica = world.a, world.b, world.root / "replica" / "5.log"
    like = Fingerprint(kind="file", mode=0o640, uid=os.getuid(), gid=os.getgid(), mtime_ns=OLD)
    chance = random.Random(2)
    made = [
        ReplaceFile.with_bytes(str(a / "recovery-point-offset-checkpoint"), chance.randbytes(80), "changed"),
        ReplaceFile.with_bytes(str(b / "recovery-point-offset-checkpoint"), b"0\n0\n", "new", like=like),
        Quarantine.of(str(a / ".kafka_cleanshutdown"), "to be recovered"),
        CutFile.to(str(a / "cut-0" / "0.log"), 400, "torn"),
        CutFile.to(str(a / "cut-0" / "0.index"), 48, "torn"),
        PatchFile.at(str(a / "patch-0" / "0.log"), 32, NewBytes.inline(chance.randbytes(64)), "blanked"),
        PatchFile.at(
            str(a / "patch-0" / "0.log"), 160, NewBytes.range_of(str(replica), 0, 96), "transplanted"
        ),
        AppendFile.to(str(a / "append-0" / "0.log"), NewBytes.range_of(str(replica), 16, 160), "grafted"),
        AppendFile.to(
            str(a / "append-0" / "5.log"), NewBytes.range_of(str(replica), 0, 320), "new", like=like
        ),
        Quarantine.of(str(a / "gone-0"), "of a topic that is gone"),
        MoveDir.of(str(a / "near-0"), str(a / "nearer-0"), "renamed"),
        MoveDir.of(str(a / "far-0"), str(b / "far-0"), "moved"),
        MakeDir.like(str(b / "new-0"), str(a), "restored"),
    ]
    return [*made, _in_new_dir(b / "new-0" / "0.log")]


def _in_new_dir(path: Path) -> Step:
    like = Fingerprint(kind="file", mode=0o600, uid=os.getuid(), gid=os.getgid(), mtime_ns=OLD, size=32)
    content = NewBytes.inline(bytes(range(32)))
    after = like.but(sha256=content.sha256)
    missing = Fingerprint(kind="missing")
    return ReplaceFile(path=str(path), before=missing, after=after, reason="restored", content=content)


def plan_of(world: World, chosen: list[Step] | None = None) -> Plan:
    """The plan with these steps, or all."""
    return Plan(
        operation="test", arguments={}, release=Release.parse("4.3"),
        dirs=(DirFingerprint.of(str(world.a)), DirFingerprint.of(str(world.b))),
        steps=tuple(steps(world) if chosen is None else chosen),
    )  # fmt: skip


def chunks(world: World) -> set[bytes]:
    """Every 16 bytes of the log dirs."""
    found: set[bytes] = set()
    for home in (world.a, world.b):
        for path in home.rglob("*"):
            if path.is_file():
                data = path.read_bytes()
                found.update(data[at : at + CHUNK] for at in range(0, len(data), CHUNK))
    return found


def lost(world: World, wanted: set[bytes], places: list[Path]) -> list[bytes]:
    """Those of the 16 bytes that are in no file below these places."""
    files = [path.read_bytes() for place in places for path in place.rglob("*") if path.is_file()]
    everything = b"\0\1\0".join(files)
    return [chunk for chunk in wanted if chunk not in everything]
