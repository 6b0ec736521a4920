"""A few of `python -m tests.rescue.full_disks`."""

from pathlib import Path

import pytest
from tests.cli.run import run
from tests.merge.test_diff import PLAIN, broker
from tests.mounts import TMPFS, mounted, need_mount
from tests.rescue.full_disks import KINDS, play
from tests.seeds import SEED, sampled
from tests.surgery.full_disks import fill_up, make_room


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_full_disk_stops_a_rescue_that_goes_on_with_room(
    kind: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    need_mount(kind, tmp_path)
    told = play(range(sampled(40, 3)), SEED, [kind], tmp_path)
    assert not told["DISAGREES"], capfd.readouterr().out


@pytest.mark.parametrize("command", [("export",), ("fleet", "export", "--driver", "local")])
@pytest.mark.parametrize("left", [0, 4096])
def test_a_disk_on_which_no_table_can_begin(command: tuple[str, ...], left: int, tmp_path: Path) -> None:
    """It is the library of tables that meets this: in words of its own, in colours, and without a number."""
    need_mount(TMPFS, tmp_path)
    dirs = [broker(tmp_path, number, PLAIN) for number in (1, 2)]
    with mounted(TMPFS, tmp_path) as disk:
        fill_up(disk, left)
        ran = run(*command, *dirs, "--out", disk / "out", code=8)
        assert ran.err.endswith(
            "no space left on device; make room and give the same command again, which goes on\n"
        )
        make_room(disk)
        run(*command, *dirs, "--out", disk / "out", code=0)
