"""A table of which something is hurt between two exports gets each record once, or a line and nothing."""

import random
from pathlib import Path

import pytest
from tests.cli.run import run
from tests.conftest import one_in
from tests.golden.shared import golden
from tests.rescue.hurt_tables import play, state
from tests.rescue.test_export import Growing, offsets


@pytest.mark.slow
@pytest.mark.parametrize("seed", one_in(6, range(6)))
def test_a_hurt_table_has_each_record_once_or_nothing_is_added(seed: int, tmp_path: Path) -> None:
    log = Growing(golden("4.3.1-killed"), tmp_path)
    assert not [*play(log, tmp_path / "out", random.Random(f"hurt {seed}"))]


@pytest.mark.parametrize(
    "command", [("export",), pytest.param(("fleet", "export", "--driver", "local"), marks=pytest.mark.slow)]
)
def test_a_last_commit_that_lost_lines_is_one_line_and_nothing_is_added(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    log, out = Growing(golden("4.3.1-killed"), tmp_path), tmp_path / "out"
    argv = (*command, log.dir, "--out", out)
    for batches in (2, 4, 6):
        end = log.show(batches)
        if batches < 6:
            run(*argv, code=0)
    last = max((out / "_delta_log").glob("*.json"))
    lines = last.read_bytes().splitlines(keepends=True)
    for lost in (b'"txn"', b'"add"', b'"'):
        last.write_bytes(b"".join(line for line in lines if lost not in line))
        before, ran = state(out), run(*argv, code=8)
        said = f"{last}: the last commit of the table is torn; move this file to another place"
        assert (ran.err.count("\n"), said in ran.err) == (1, True), ran.err
        assert state(out) == before
    last.unlink()
    run(*argv, code=0)
    assert offsets(out) == [*range(end)]
    first = min(out.glob("*.parquet"))
    first.unlink()
    ran = run(*argv, code=8)
    assert (ran.err.count("\n"), f"{first}: is gone, which the table has" in ran.err) == (1, True), ran.err


def test_a_rescue_whose_commit_lost_lines_before_its_journal_ended_is_one_line(tmp_path: Path) -> None:
    log, out = Growing(golden("4.3.1-killed"), tmp_path), tmp_path / "out"
    argv = ("rescue", log.dir, "--out", out, "--as", "delta")
    run(*argv, code=0)
    journal, last = out / "_rescue.jsonl", max((out / "_delta_log").glob("*.json"))
    journal.write_text("".join(journal.read_text().splitlines(keepends=True)[:-1]))
    lines = last.read_bytes().splitlines(keepends=True)
    last.write_bytes(b"".join(line for line in lines if b'"txn"' not in line))
    ran = run(*argv, code=8)
    assert (ran.err.count("\n"), f"{last}: the last commit of the table is torn" in ran.err) == (1, True)
    last.write_bytes(b"".join(lines))
    run(*argv, code=0)
