"""A log that was cut at the end of a batch, behind all that its indexes know of; one beyond its marks."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.run import run
from tests.faults.hands import positions
from tests.faults.patient import HIGH, RECOVERY
from tests.faults.written import ACTIVE, known_dirs

SNAPSHOT = "t-0/00000000000000000220.snapshot"
Spoil = Callable[[Path], object]


def marked(name: str, offset: int) -> Spoil:
    """The line of the partition in a checkpoint."""

    def spoil(home: Path) -> None:
        rows = (home / name).read_text().splitlines()
        rows = [f"t 0 {offset}" if row.startswith("t 0 ") else row for row in rows]
        (home / name).write_text("\n".join([*rows, ""]))

    return spoil


@pytest.mark.parametrize(
    ("clean", "spoils", "code"),
    [
        (True, (), "C04"),
        (False, (lambda home: (home / SNAPSHOT).unlink(),), "C04"),
        (False, (marked(RECOVERY, 164),), "P05"),
        (False, (marked(RECOVERY, 164), lambda home: (home / SNAPSHOT).unlink()), None),
    ],
)
def test_what_is_written_beside_a_log_tells_of_its_end(
    clean: bool, spoils: tuple[Spoil, ...], code: str | None, tmp_path: Path
) -> None:
    """The high watermark is of five seconds ago: where nothing else tells, "nothing lost" is said."""
    dirs = known_dirs(tmp_path)
    log = dirs[0] / f"{ACTIVE}.log"
    log.write_bytes(log.read_bytes()[: positions(log.read_bytes())[-1]])
    for kind in ("index", "timeindex"):
        log.with_suffix(f".{kind}").unlink()
    for home in dirs if not clean else ():
        (home / ".kafka_cleanshutdown").unlink()
    for spoil in (marked(HIGH, 200), *spoils):
        spoil(dirs[0])
    ran = run("forecast", *dirs, "--kafka", "4.3.1", "--json")
    doubts = [each for each in ran.json[-1]["unknown"] if "whether the log went on" in each]
    assert (ran.code, len(doubts)) == ((4, 1) if code else (0, 0))
    assert all(each.endswith("tells of 219") for each in doubts)
    found = run("check", *dirs, "--json").of("finding")
    assert {each["code"] for each in found if each["severity"] == "warning"} - {"I01"} == (
        {code} if code else set()
    )


@pytest.mark.parametrize(
    ("clean", "spoils", "doubts"),
    [
        (True, (), 0),
        (True, (marked(RECOVERY, 164), marked(HIGH, 200)), 1),
        (True, (marked(RECOVERY, 164),), 0),
        (True, (marked(HIGH, 200),), 0),
        (False, (marked(RECOVERY, 164), marked(HIGH, 200)), 0),
    ],
)
def test_a_log_longer_than_a_stop_left_it_is_another_one(
    clean: bool, spoils: tuple[Spoil, ...], doubts: int, tmp_path: Path
) -> None:
    """As 1.1.0 and 2.8.2 with an older log in place of a new one, and with a marker that was made by hand.

    A follower may know less of the high watermark as it stops, and a killed broker flushed less.
    """
    dirs = known_dirs(tmp_path, clean)
    for spoil in spoils:
        spoil(dirs[0])
    ran = run("forecast", *dirs, "--kafka", "4.3.1", "--json")
    says = [each for each in ran.json[-1]["unknown"] if "as it stopped" in each]
    assert (ran.code, len(says)) == (4 if doubts else 0, doubts)
    assert all("ends at offset 220, that one ended at 200" in each for each in says)
