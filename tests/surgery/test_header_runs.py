"""Fields outside of the checksum, flipped: what neighbours, or the checksum, prove needs no replica."""

import shutil
import struct
from pathlib import Path
from random import Random

import pytest
from tests.cli.run import run
from tests.conftest import one_in
from tests.copies import copy_tree
from tests.golden.shared import golden

pytestmark = pytest.mark.usefixtures("no_other_processes")

_HEAD = struct.Struct(">qi")
RELEASES = ("4.3.1-clean", "2.8.2-clean", "1.1.0-clean")


def positions(data: bytes) -> list[int]:
    found, position = [], 0
    while position + 12 <= len(data):
        found.append(position)
        position += 12 + int(_HEAD.unpack_from(data, position)[1])
    return found


def flipped(data: bytes, draw: Random) -> bytes:
    """Two to four batches in a row, one bit each; the last batch is left as it is."""
    hurt, places = bytearray(data), positions(data)
    first = draw.randrange(len(places) - 4)
    for place in places[first : first + draw.randint(2, 4)]:
        base, size = _HEAD.unpack_from(hurt, place)
        _HEAD.pack_into(hurt, place, base ^ 1 << draw.choice((0, 1, 2, 3, 5, 8, 16, 20, 30)), size)
    return bytes(hurt)


def full_logs(home: Path) -> list[Path]:
    """Of v2 batches, none of them cleaned: `single-0` and what moved."""
    logs = [log for name in ("single-0", "moved-0") for log in sorted(home.rglob(f"{name}/*.log"))]
    return [log for log in logs if len(positions(log.read_bytes())) > 5]


@pytest.mark.parametrize("release", one_in(3, RELEASES))
@pytest.mark.parametrize("seed", one_in(3, range(3)))
def test_offsets_in_a_row_are_put_right(tmp_path: Path, release: str, seed: int) -> None:
    home, draw = tmp_path / "home", Random(seed)
    copy_tree(golden(release), home)
    log = draw.choice(full_logs(home))
    sound = log.read_bytes()
    log.write_bytes(flipped(sound, draw))
    found = run("check", log.parent.parent, "--json")
    wrong = [each for each in found.of("finding") if each["severity"] == "error"]
    assert wrong
    assert all(each["remedy"]["command"].startswith("segmend plan repair") for each in wrong), wrong
    plan = tmp_path / "plan.json"
    assert run("plan", "repair", log.parent.parent, "-o", plan).code == 0
    assert run("apply", plan, "--yes", "--state-dir", tmp_path / "state").code == 1
    assert log.read_bytes() == sound
    shutil.rmtree(home)


LAST = [
    (release, name, at) for release in RELEASES for name, at in (("single-0", (11, 0)), ("single-0", (11, 3)))
]
LAST += [("2.8.2-clean", "single-0", (16, 0)), ("1.1.0-clean", "v0-snappy-0", (11, 4)),
         ("0.10.2.2-clean", "v0-none-0", (11, 2)), ("2.8.2-clean", "v1-none-0", (11, 6))]  # fmt: skip


@pytest.mark.parametrize(("release", "name", "at"), LAST)
@pytest.mark.parametrize("which", one_in(2, [-1, 0]), ids=["active", "rolled"])
def test_a_last_batch_that_is_whole_but_for_its_size_is_not_cut_off(
    tmp_path: Path, release: str, name: str, at: tuple[int, int], which: int
) -> None:
    """It looks like a torn end, up to which all would be trimmed; its CRC says that it is a batch."""
    whole, (byte, bit) = next(golden(release).glob(f"b1/*/{name}")), at
    home = tmp_path / "home" / name
    copy_tree(whole, home)
    for path in (each for each in whole.parent.iterdir() if each.is_file()):
        shutil.copy2(path, home.parent)
    log = sorted(home.glob("*.log"))[which]
    sound = log.read_bytes()
    hurt = bytearray(sound)
    hurt[positions(sound)[-1] + byte] ^= 1 << bit
    log.write_bytes(hurt)
    plan = tmp_path / "plan.json"
    ran = run("plan", "trim", home.parent, "-o", plan, "--json")
    (told,) = ran.of("plan")
    assert (ran.code, ran.of("step")) == (4, [])
    assert ["`segmend plan repair` may keep" in left for left in told["left"]] == [True]
    for level in ("--startup",) * (which == -1 and byte == 11), (), ("--deep",):
        found = run("check", home.parent, "--json", *level)
        logs = [each for each in found.of("finding") if (each["file"] or "").endswith(".log")]
        assert [each["code"] in ("L08", "L10", "L11") for each in logs] == [True], logs
        assert logs[0]["remedy"]["command"].startswith("segmend plan repair")
        assert logs[0]["remedy"]["safety"] == "safe"
    assert run("plan", "repair", home.parent, "-o", plan).code in (0, 4)
    run("apply", plan, "--yes", "--state-dir", tmp_path / "state")
    assert log.read_bytes() == sound
