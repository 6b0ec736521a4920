"""Partitions in another log dir: moved, drained, balanced; and replicas out of their leader's files."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from tests.surgery.shows.bed import Asked, Bed, Case
from tests.surgery.test_balance import disks
from tests.surgery.test_graft import batches, fall_behind

from segmend.surgery.ops.balance import operation as balance


def served(log_dir: Path) -> set[str]:
    """The partitions that a broker serves out of a log dir."""
    names = {path.name for path in log_dir.iterdir() if path.is_dir()}
    return {name for name in names if name[-1].isdigit() and name != "__cluster_metadata-0"}


def move(bed: Bed) -> Asked:
    """A partition, and one without records."""
    names = ("codec-lz4-0", "empty-0")
    target = next(log_dir for log_dir in bed.dirs if log_dir != bed.where(names[0]).parent)
    wanted = [part for name in names if bed.where(name).parent != target for part in ("--partition", name)]
    return Asked(
        argv=("move", *bed.dirs, *wanted, "--to", target), moved=True,
        done=lambda: served(target).issuperset(names),
    )  # fmt: skip


def drain(bed: Bed) -> Asked:
    """A log dir whose disk is to be taken away."""
    source = bed.dirs[1]
    return Asked(argv=("drain", *bed.dirs, "--from", source), moved=True, done=lambda: not served(source))


def spread(bed: Bed) -> Asked:
    """A disk that has it all, and an empty one."""
    source = bed.dirs[1]
    if served(source):
        bed.plan("drain", "--from", source, "--kafka", bed.version)
        bed.apply()
    sizes = [bytes_of(path) for path in bed.dirs[0].iterdir()]

    @contextmanager
    def two_disks() -> Iterator[None]:
        with patch.object(balance, "file_systems", disks(sum(sizes), room=sum(sizes))):
            yield

    def is_spread() -> bool:
        fill = [sum(bytes_of(path) for path in log_dir.iterdir()) for log_dir in bed.dirs]
        return abs(fill[0] - fill[1]) <= max(sizes)

    options = ("--spread", "5%", "--reserve", "1KB", "--days", "0")
    return Asked(argv=("balance", *bed.dirs, *options), moved=True, done=is_spread, during=two_disks)


def bytes_of(path: Path) -> int:
    """What a directory's files take on the disk."""
    return sum(file.stat().st_blocks * 512 for file in path.rglob("*") if file.is_file())


def behind(bed: Bed) -> Asked:
    """A replica that a kill left at the middle of its log, with part of a batch."""
    mine, leader = bed.where("codec-gzip-0"), bed.other("codec-gzip-0")
    fall_behind(mine, len(batches(leader)) // 2, torn=5)
    return Asked(
        argv=("graft", *bed.dirs, "--partition", mine.name, "--from", leader), done=same(mine, leader)
    )


def lost(bed: Bed) -> Asked:
    """A replica that is not there any more."""
    name = "mixed-0" if bed.release < (0, 9) else "nulls-0"
    mine, leader = bed.where(name), bed.other(name)
    shutil.rmtree(mine)
    return Asked(argv=("graft", *bed.dirs, "--partition", name, "--from", leader), done=same(mine, leader))


def hurt(bed: Bed) -> Asked:
    """A replica with a damaged batch and a torn end; the leader has both."""
    mine, leader = bed.where("codec-gzip-0"), bed.other("codec-gzip-0")
    fall_behind(mine, len(batches(leader)) // 2, torn=5)
    log = min(path for path in mine.glob("*.log") if path.stat().st_size)
    data = log.read_bytes()
    log.write_bytes(data[:40] + bytes([data[40] ^ 1]) + data[41:])
    return Asked(
        argv=("merge", *bed.dirs, "--partition", mine.name, "--from", leader.parent), done=same(mine, leader)
    )


def same(mine: Path, leader: Path) -> Callable[[], bool]:
    """Whether the replica has the leader's batches."""
    return lambda: mine.is_dir() and batches(mine) == batches(leader)


CASES = [
    Case(name="graft-behind", ask=behind, killed=True),
    Case(name="graft-lost", ask=lost),
    Case(name="merge", ask=hurt, killed=True),
    Case(name="drain", ask=drain, killed=True),
    Case(name="balance", ask=spread),
    Case(name="move", ask=move),
]
