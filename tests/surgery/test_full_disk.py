"""A disk without room for as much as a name, as XFS when full: what leaves it makes the room it needs."""

import errno
import os
from itertools import count
from pathlib import Path

import pytest
from tests.surgery.faulty import Died, Disk, Unplugged
from tests.surgery.picture import picture

from segmend.surgery.writing.transfer import transfer
from segmend.surgery.writing.work import Workplace

FILES = {"0.log": 900, "0.index": 0, "7.log": 300, "leader-epoch-checkpoint": 8}
NEVER = 10**9


class Packed(Unplugged):
    """Nothing is made or renamed in a directory of `full` before a file of it has gone."""

    def __init__(self, at: int, full: Path, other: Path) -> None:
        super().__init__(at, full.with_name(f"{full.name}-stash"), other)
        self._full = full

    def create(self, path: str, mode: int = 0o600) -> int:
        self._need_room(path)
        return super().create(path, mode)

    def rename(self, old: str, new: str) -> None:
        self._need_room(new)
        super().rename(old, new)

    def _need_room(self, path: str) -> None:
        left = sum(path.is_file() for path in self._full.rglob("*"))
        if path.startswith(f"{self._full}/") and left == len(FILES):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)


def partition(home: Path) -> tuple[Path, Path]:
    """A partition on the full disk, and where it goes."""
    source, target = home / "full/p-0", home / "free/p-0"
    source.mkdir(parents=True)
    target.parent.mkdir()
    (home / "vault").mkdir()
    for name, size in FILES.items():
        (source / name).write_bytes(name.encode() * size)
        os.utime(source / name, ns=(10**18, 10**18))
    os.utime(source, ns=(10**18, 10**18))
    return source, target


@pytest.mark.slow
@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("unplugged", [False, True])
def test_what_is_moved_off_it_goes_on_wherever_it_was_stopped(
    tmp_path: Path, back: bool, unplugged: bool
) -> None:
    for at in count(1):
        home = tmp_path / str(at)
        source, target = partition(home)
        whole = list(picture(source).values())
        fx = Packed(at, source.parent, target.parent)
        stopped = False
        try:
            transfer(Workplace(fx=fx, vault=str(home / "vault")), str(source), str(target))
        except Died:
            stopped = True
        if unplugged:
            fx.power_off()
        ends = (target, source) if back else (source, target)
        fx.live_on(NEVER)
        again = Disk(target.parent) if back else fx
        transfer(Workplace(fx=again, vault=str(home / "vault")), *map(str, ends))
        assert list(picture(ends[1]).values()) == whole, f"stopped at call {at}"
        assert [path for path in home.glob("*/*") if "stash" not in path.parent.name] == [ends[1]]
        if not stopped:
            assert at > 30
            return
