"""Bytes brought from file to file: all are there, holes stay, a wrong one is told; blocks are shared."""

import hashlib
import os
import random
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.faults.on_disk import overwrite
from tests.mounts import mounted, need_mount
from tests.surgery.child import NOBODY
from tests.surgery.world import make, plan_of

from segmend.errors import SegmendError
from segmend.formats import posix_acl
from segmend.formats.posix_acl import MASK, OTHERS, OWNER, OWNING_GROUP, USER, AclEntry, PosixAcl
from segmend.frozen import replace
from segmend.logdir.disk import FileReader
from segmend.surgery.dir_fingerprint import DirFingerprint
from segmend.surgery.execute.apply import apply, rehearse
from segmend.surgery.execute.undo import undo
from segmend.surgery.new_bytes import NewBytes
from segmend.surgery.steps.move_dir import MoveDir
from segmend.surgery.writing import copying
from segmend.surgery.writing.effects import Effects
from segmend.surgery.writing.work import Workplace

BLOCK = 4096
MIB = 1 << 20


class Notes(Effects):
    """Writes down what is asked of the file system; at the position `lies` it writes something else."""

    def __init__(self, lies: int = -1) -> None:
        self.lies = lies
        self.written: list[tuple[int, int]] = []
        self.shared = 0

    def write(self, fd: int, data: bytes | memoryview, position: int) -> None:
        self.written.append((position, len(data)))
        wrong = bytearray(data)
        if position <= self.lies < position + len(data):
            wrong[self.lies - position] ^= 1
        super().write(fd, wrong, position)

    def clone(self, fd: int, source: str, position: int, length: int, at: int) -> bool:
        done = super().clone(fd, source, position, length, at)
        self.shared += length if done else 0
        return done


def copied(fx: Effects, source: Path, target: Path, start: int, end: int, at: int = 0) -> bytes:
    work = Workplace(fx=fx, vault="")
    fd = fx.create(str(target))
    try:
        with FileReader(str(source)) as reader:
            copying.copy(work, reader, fd, [(start, end)], at - start)
    finally:
        fx.close(fd)
    return target.read_bytes()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Many pieces, and a half."""
    path = tmp_path / "source"
    path.write_bytes(random.Random(1).randbytes(5 * MIB + copying.PIECE // 2))
    return path


@pytest.mark.parametrize(
    ("start", "end", "at"),
    [(0, None, 0), (0, None, 8192), (1, None, 0), (5000, 3 * MIB + 77, 904), (100, 200, 0), (4096, 4096, 0)],
)
def test_the_bytes_arrive(source: Path, tmp_path: Path, start: int, end: int | None, at: int) -> None:
    data = source.read_bytes()
    found = copied(Effects(), source, tmp_path / "t", start, len(data) if end is None else end, at)
    assert found == (bytes(at) + data[start:end] if start != end else b"")


def test_many_pieces_come_in_order(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "PIECE", 4000)
    data = source.read_bytes()
    fx = Notes()
    assert copied(fx, source, tmp_path / "t", 0, len(data)) == data
    assert fx.written == sorted(fx.written)
    assert len(fx.written) in (0, -(-len(data) // 4000)), "none where the blocks can be shared"


@pytest.mark.parametrize("lies", [0, 3 * MIB, 5 * MIB + 9])
def test_what_reads_back_wrong_is_told(source: Path, tmp_path: Path, lies: int) -> None:
    with pytest.raises(SegmendError, match="does not read back"):
        copied(Notes(lies), source, tmp_path / "t", 1, source.stat().st_size)


def test_a_source_that_became_shorter_is_told(source: Path, tmp_path: Path) -> None:
    with pytest.raises(SegmendError, match="became shorter"):
        copied(Effects(), source, tmp_path / "t", 1, source.stat().st_size + 1)


def put(piece: NewBytes, target: Path, at: int = 0, fx: Effects | None = None) -> None:
    fx = fx or Effects()
    fd = fx.create(str(target))
    try:
        piece.fill(Workplace(fx=fx, vault=""), at)(fd)
    finally:
        fx.close(fd)


def test_holes_stay_holes_and_count_as_zeros(tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    with open(path, "wb") as file:
        for at in (0, 2 * MIB, 6 * MIB):
            file.seek(at)
            file.write(b"x" * 5000)
        file.truncate(9 * MIB + 1)
    piece = NewBytes.range_of(str(path), 100, 9 * MIB - 100)
    assert piece.sha256 == hashlib.sha256(path.read_bytes()[100 : 9 * MIB]).hexdigest()
    put(piece, tmp_path / "t")
    assert (tmp_path / "t").read_bytes() == path.read_bytes()[100 : 9 * MIB]
    assert (tmp_path / "t").stat().st_blocks * 512 < MIB


def test_a_source_that_changed_is_not_copied(source: Path, tmp_path: Path) -> None:
    piece = NewBytes.range_of(str(source), 0, 3 * MIB)
    assert piece.changed() is None
    overwrite(source, 2 * MIB, b"other")
    changed = piece.changed()
    assert changed is not None
    assert "are not what they were" in changed
    with pytest.raises(SegmendError, match="is not what it was when the plan was made"):
        put(piece, tmp_path / "t")


def test_a_source_that_stayed_is_not_read_to_know_it(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    piece = NewBytes.range_of(str(source), 0, 3 * MIB)
    with monkeypatch.context() as patch:
        patch.setattr(FileReader, "read_into", None)
        assert piece.changed() is None
    shutil.copy2(source, source.with_name("again"))
    os.replace(source.with_name("again"), source)
    assert piece.changed() is None, "another inode is read, and has the same bytes"


def test_what_cannot_be_shared_changes_nothing(tmp_path: Path, source: Path) -> None:
    fx = Effects()
    fd = fx.create(str(tmp_path / "t"))
    try:
        assert not fx.clone(fd, str(source), 1, 7, 0), "no whole blocks"
        assert not fx.clone(fd, str(tmp_path / "missing"), 0, BLOCK, 0)
        assert os.fstat(fd).st_size == 0
    finally:
        fx.close(fd)


@pytest.fixture(scope="module", params=["xfs", "btrfs"])
def sharing(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file system that shares blocks, on a loop device."""
    kind = request.param
    home = tmp_path_factory.mktemp(kind)
    need_mount(kind, home)
    with mounted(kind, home, size=400) as disk:
        yield disk


def used(path: Path) -> int:
    """Bytes in use on the file system."""
    os.sync()
    found = os.statvfs(path)
    return (found.f_blocks - found.f_bfree) * found.f_frsize


@pytest.mark.slow
class TestSharing:
    """On real file systems with reflinks."""

    @pytest.fixture
    def big(self, sharing: Path, tmp_path: Path) -> Path:
        home = sharing / tmp_path.name
        home.mkdir()
        (home / "big").write_bytes(random.Random(2).randbytes(40 * MIB + 123))
        return home / "big"

    def test_a_whole_file_takes_no_room(self, big: Path) -> None:
        before, fx = used(big), Notes()
        assert copied(fx, big, big.with_name("t"), 0, big.stat().st_size) == big.read_bytes()
        assert fx.written == []
        assert fx.shared == big.stat().st_size
        assert used(big) - before < 4 * MIB

    def test_only_the_ends_of_a_range_are_written(self, big: Path) -> None:
        fx = Notes()
        data = big.read_bytes()
        assert (
            copied(fx, big, big.with_name("t"), 5000, 30 * MIB + 7, 5000)
            == bytes(5000) + data[5000 : 30 * MIB + 7]
        )
        assert sum(size for _, size in fx.written) == 2 * BLOCK - 5000 + 7

    def test_a_change_of_one_is_none_of_the_other(self, big: Path) -> None:
        data = big.read_bytes()
        copied(Effects(), big, big.with_name("t"), 0, len(data))
        with open(big, "r+b") as file:
            file.write(b"changed")
        assert big.with_name("t").read_bytes() == data

    def test_an_access_list_comes_back_as_one_attribute(self, sharing: Path, tmp_path: Path) -> None:
        """XFS shows it to root under two names: back on ext4 the file had an attribute more."""
        world, there = make(tmp_path), sharing / f"{tmp_path.name}-there"
        shutil.copytree(world.b, there)
        entries = [AclEntry(tag=tag, permissions=6) for tag in (OWNER, OWNING_GROUP, MASK, OTHERS)]
        entries.insert(1, AclEntry(tag=USER, permissions=6, id=NOBODY))
        log = world.a / "far-0" / "0.log"
        os.setxattr(log, posix_acl.ATTRIBUTE, posix_acl.render(PosixAcl(entries=tuple(entries))))
        before = world.tree()
        plan = plan_of(world, [MoveDir.of(str(world.a / "far-0"), str(there / "far-0"), "moved")])
        plan = replace(plan, dirs=(plan.dirs[0], DirFingerprint.of(str(there))))
        undo(apply(plan, str(world.state)).run)
        assert world.tree() == before

    @pytest.mark.parametrize("sharing", ["btrfs"], indirect=True)
    def test_an_attribute_that_the_other_disk_does_not_take_is_told_first(
        self, sharing: Path, tmp_path: Path
    ) -> None:
        """It went on as far as that file, and neither the same command nor `--dry-run` knew."""
        world = make(sharing / f"{tmp_path.name}-here")
        os.setxattr(world.a / "far-0" / "0.log", "btrfs.compression", b"zstd")
        shutil.copytree(world.b, tmp_path / "there")
        before = world.tree()
        move = MoveDir.of(str(world.a / "far-0"), str(tmp_path / "there" / "far-0"), "moved")
        plan = plan_of(world, [move])
        plan = replace(plan, dirs=(plan.dirs[0], DirFingerprint.of(str(tmp_path / "there"))))
        for command in (rehearse, apply):
            with pytest.raises(
                SegmendError, match=r"far-0/0.log: has the attribute btrfs.compression"
            ) as told:
                command(plan, str(tmp_path / "state"))
            path = shlex.quote(f"{world.a}/far-0/0.log")
            assert f"`setfattr -h -x btrfs.compression {path}`" in str(told.value)
        assert world.tree() == before

    def test_a_piece_that_changed_is_hashed_all_the_same(self, big: Path) -> None:
        piece = NewBytes.range_of(str(big), 4096, 20 * MIB)
        fx = Notes()
        put(piece, big.with_name("t"), fx=fx)
        assert fx.shared >= 19 * MIB
        overwrite(big, MIB, b"changed")
        with pytest.raises(SegmendError, match="is not what it was"):
            put(piece, big.with_name("t2"))
