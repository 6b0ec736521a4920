"""Killed at any change of the disk, the same command goes on, and ends with the same bytes."""

import errno
import random
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import one_in
from tests.faults.on_disk import flip
from tests.files import contents
from tests.golden.shared import golden
from tests.rescue.replicas import replicas
from tests.seeds import SEED
from tests.surgery.faulty import Died, Disk, Failing, Mortal, Unplugged

from segmend.cluster.cluster_dirs import FleetDirs
from segmend.errors import SegmendError
from segmend.logdir.log_dir import LogDir
from segmend.logdir.release import Release
from segmend.rescue import partly
from segmend.rescue.outlet import JOURNAL
from segmend.rescue.request import RescueRequest
from segmend.rescue.rows import Tally
from segmend.rescue.run import here, rescue
from segmend.surgery.writing.atomic import TEMPORARY
from segmend.surgery.writing.effects import Effects

TWO = ("codec-none-0", "txn-open-0")


def go(dirs: Iterable[Path], out: Path, form: str, fx: Effects) -> int:
    """The rescue; how many lines it told."""
    paths = tuple(map(str, dirs))
    request = RescueRequest(dirs=paths, out=str(out), form=form, release=Release.parse("4.3"))
    opened, each = [LogDir.open(path) for path in paths], here(lambda *_: None)
    return len(list(rescue(request, FleetDirs(opened), (), each, lambda _: (), fx)))


@pytest.mark.parametrize("form", one_in(4, ["jsonl", "log-dir", "csv", "parquet"]))
def test_killed_anywhere_it_ends_with_the_same_bytes(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partly, "_EACH", 9000)
    went_on, really = list[int](), Tally.go_on

    def go_on(tally: Tally, counts: Mapping[str, Any]) -> None:
        went_on.append(counts["records"])
        really(tally, counts)

    monkeypatch.setattr(Tally, "go_on", go_on)
    dirs = replicas(golden("4.3.1-killed"), tmp_path, TWO, count=2)
    whole = Disk()
    assert go(dirs, tmp_path / "whole", form, whole) == 3
    wanted = contents(tmp_path / "whole")
    step = 1 if form == "log-dir" else 2
    for at in range(1, whole.calls + 1, step * 3):
        out = tmp_path / f"out{at}"
        with pytest.raises(Died):
            go(dirs, out, form, Mortal(at, half=bool(at % 2)))
        began = logs(out)
        assert go(dirs, out, form, Disk()) == 3
        assert contents(out) == wanted, f"killed at {at}, {whole.names[at - 1]}"
        assert began.items() <= logs(out).items(), "a log that was whole was written once more"
    assert went_on or form in ("log-dir", "parquet"), "no run went on behind a note"


def test_what_was_begun_from_other_bytes_is_written_anew(tmp_path: Path) -> None:
    dirs = replicas(golden("4.3.1-killed"), tmp_path, TWO, count=2)
    whole = Disk()
    go(dirs, tmp_path / "whole", "log-dir", whole)
    with pytest.raises(Died):
        go(dirs, tmp_path / "out", "log-dir", Mortal(whole.calls // 2))
    begun = next((tmp_path / "out").glob("*.tmp"))
    for log in begun.glob("*.log"):
        flip(log, 40)
    (begun / f"{999:020}.log").write_bytes(b"of a segment that is none any more")
    assert go(dirs, tmp_path / "out", "log-dir", Disk()) == 3
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


def logs(out: Path) -> dict[tuple[str, str], int]:
    """Inodes of the logs that have their name, by partition."""
    found = [*out.glob("*/*.log")]
    return {(path.parent.name.removesuffix(TEMPORARY), path.name): path.stat().st_ino for path in found}


@pytest.mark.parametrize("form", ["log-dir", "jsonl", "csv", "parquet"])
def test_a_full_disk_stops_it_in_one_line_and_it_goes_on(form: str, tmp_path: Path) -> None:
    dirs = replicas(golden("4.3.1-killed"), tmp_path, TWO, count=1)
    whole = Disk()
    go(dirs, tmp_path / "whole", form, whole)
    for at in (4, whole.calls // 2, whole.calls - 3):
        out = tmp_path / f"out{at}"
        with pytest.raises(SegmendError, match="no space left on device; make room"):
            go(dirs, out, form, Failing(at, errno.ENOSPC))
        assert go(dirs, out, form, Disk()) == 3
        assert contents(out) == contents(tmp_path / "whole")


def test_without_power_it_ends_with_the_same_bytes(tmp_path: Path) -> None:
    """What the journal tells of is on the disk, though small files are synced together."""
    dirs = replicas(golden("4.3.1-killed"), tmp_path, TWO, count=2)
    whole = Unplugged(1 << 40, tmp_path / "stash")
    go(dirs, tmp_path / "out", "log-dir", whole)
    wanted = contents(tmp_path / "out")
    whole.power_off()
    assert contents(tmp_path / "out") == wanted
    dice = random.Random(SEED)
    for number in range(6):
        at, out = dice.randrange(1, whole.calls + 1), tmp_path / f"out{number}"
        fx = Unplugged(at, tmp_path / f"stash{number}")
        with pytest.raises(Died):
            go(dirs, out, "log-dir", fx)
        fx.power_off(dice if number % 2 else None)
        go(dirs, out, "log-dir", Disk())
        assert contents(out) == wanted, (SEED, at)


def test_a_journal_that_is_not_as_we_write_it_is_a_line(tmp_path: Path) -> None:
    """Damaged, or of an earlier release: conflicts were lists."""
    dirs, out = replicas(golden("4.3.1-killed"), tmp_path, TWO[:1], count=1), tmp_path / "out"
    go(dirs, out, "jsonl", Effects())
    journal = out / JOURNAL
    asked, told, summary = journal.read_text().splitlines()
    older = told.replace('"conflicts":[]', '"conflicts":[[1,2,"order"]]')
    assert older != told
    for line in ("[]", "5", "null", "{}", '{"type":"partition"}', '{"type":"summary"}', older):
        journal.write_text(f"{asked}\n{line}\n")
        with pytest.raises(SegmendError, match="is not as this release writes it; give a new directory"):
            go(dirs, out, "jsonl", Effects())
    journal.write_text(f"{asked}\n{told}\n{summary}\n")
    assert go(dirs, out, "jsonl", Effects()) == 2
