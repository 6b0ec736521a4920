"""What lies beside the replicas, or should lie there: it is said that nobody looked at it."""

import shutil
from pathlib import Path

import pytest
from tests.cli.run import Ran, run
from tests.merge.test_diff import PLAIN, broker

COMMANDS = (
    ("diff",), ("rescue", "--as", "jsonl"), ("rescue",), ("export",), ("fleet", "diff"), ("fleet", "export"),
)  # fmt: skip
ASIDE = f"t-0.{'a' * 32}"


def told(command: tuple[str, ...], out: Path, *dirs: Path, code: int) -> Ran:
    """As JSON; what people read has the same path."""
    more = () if "diff" in command else ("--out", out)
    driver = ("--driver", "local") if command[0] == "fleet" else ()
    return run(*command, *dirs, *more, *driver, "--json", code=code)


@pytest.mark.parametrize("kind", ["stray", "delete", "future"])
def test_directories_that_no_broker_serves_are_named(kind: str, tmp_path: Path) -> None:
    dirs = [broker(tmp_path, 1, PLAIN), broker(tmp_path, 2, PLAIN[:5])]
    aside = dirs[0] / f"{ASIDE}-{kind}"
    (dirs[0] / "t-0").rename(aside)
    shutil.copytree(dirs[1] / "t-0", dirs[1] / "other-0")
    more = [str(aside)] if kind == "stray" else []
    for number, command in enumerate(COMMANDS):
        for _ in range(2):
            ran = told(command, tmp_path / f"o{number}", *dirs, code=4 if more else 0)
            (summary,) = ran.of("summary")
            assert (summary["not_looked_at"], summary["strays"]) == ([str(aside)], more), command
        ran = told((*command, "--topic", "other"), tmp_path / f"t{number}", *dirs, code=0)
        assert ran.of("summary")[0]["not_looked_at"] == [], command
    for ran in (run("diff", *dirs), run("rescue", *dirs, "--out", tmp_path / "text")):
        assert (
            f"not looked at, for no broker serves them (being deleted, moved, or set aside): {aside};"
            in ran.out
        )
        assert (f"may have records that no replica here has: {aside};" in ran.out) is bool(more)
    both = told(("rescue", "--as", "jsonl"), tmp_path / "both", aside, dirs[1] / "t-0", code=0)
    assert both.of("summary")[0]["records"] == 100
    assert run("diff", aside, dirs[1] / "t-0", "--json", code=4).of("partition")[0]["verdict"] == "behind"


ANEW = "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAg\n"


@pytest.mark.parametrize(
    ("beside", "data", "code"),
    [
        (ANEW, b"".join(PLAIN), 0),  # Of a topic that was deleted: its records are not of this one.
        (None, b"", 0),
        (None, None, 4),
        (None, b"".join(PLAIN), 4),
        ("", b"".join(PLAIN), 4),
    ],
)
def test_what_was_set_aside_is_no_all_clear_where_it_may_be_of_this_topic(
    beside: str | None, data: bytes | None, code: int, tmp_path: Path
) -> None:
    dirs = [broker(tmp_path, 1, PLAIN[:5]), broker(tmp_path, 2, PLAIN[:5])]
    aside = dirs[1] / f"{ASIDE}-stray"
    shutil.copytree(dirs[1] / "t-0", aside)
    log = aside / f"{0:020d}.log"
    log.unlink()
    log.symlink_to(tmp_path / "nothing") if data is None else log.write_bytes(data)
    if beside is not None:
        (aside / "partition.metadata").write_text(beside)
    for number, command in enumerate(COMMANDS):
        ran = told(command, tmp_path / f"o{number}", *dirs, code=code)
        (summary,) = ran.of("summary")
        assert (summary["not_looked_at"], bool(summary["strays"])) == ([str(aside)], code == 4), command


def test_what_was_set_aside_of_a_partition_without_a_replica_is_no_all_clear(tmp_path: Path) -> None:
    dirs = [broker(tmp_path, 1, PLAIN), broker(tmp_path, 2, PLAIN)]
    aside = dirs[0] / f"gone-7.{'a' * 32}-stray"
    shutil.copytree(dirs[0] / "t-0", aside)
    for number, command in enumerate(COMMANDS):
        ran = told(command, tmp_path / f"o{number}", *dirs, code=4)
        assert ran.of("summary")[0]["strays"] == [str(aside)], command


def test_a_replica_on_a_disk_that_is_not_mounted_is_no_all_clear(tmp_path: Path) -> None:
    dirs = [broker(tmp_path, 1, PLAIN), broker(tmp_path, 2, PLAIN[:5])]
    (dirs[0] / "t-0").rename(tmp_path / "gone")
    (dirs[0] / "t-0").symlink_to(tmp_path / "nothing")
    for number, command in enumerate(COMMANDS):
        ran = told(command, tmp_path / f"o{number}", *dirs, code=8)
        assert ran.of("summary")[0]["unread"] == [str(dirs[0] / "t-0")], command
    assert f"could not be read: {dirs[0] / 't-0'}: links to nothing" in run("diff", *dirs).out


def test_a_log_that_is_a_link_to_nothing_was_not_read(tmp_path: Path) -> None:
    dirs = [broker(tmp_path, 1, PLAIN), broker(tmp_path, 2, PLAIN[:5])]
    log = dirs[0] / "t-0" / f"{0:020d}.log"
    log.unlink()
    log.symlink_to(tmp_path / "nothing")
    for number, command in enumerate(COMMANDS):
        ran = told(command, tmp_path / f"o{number}", *dirs, code=12)
        assert f"{log}: a link to nothing, or no file" in ran.of("partition")[0]["doubts"], command
