"""What a rescue had written, and somebody took away: the same command does not say that it is there."""

import os
from pathlib import Path

import pytest
from tests.cli.run import run
from tests.golden.shared import golden
from tests.removal import remove


def command(form: str, out: Path) -> list[object]:
    return [
        "rescue",
        *sorted(golden("4.3.1-clean").glob("b1/d*")),
        "--topic",
        "c*",
        "--as",
        form,
        "--out",
        out,
    ]


def rescued(form: str, out: Path) -> list[Path]:
    """What there is of partitions, and of the dir itself."""
    assert run(*command(form, out)).code == 0
    return sorted(each for each in out.iterdir() if not each.name.startswith("_"))


@pytest.mark.parametrize("how", ["removed", "cut", "one file of it"])
@pytest.mark.parametrize("form", ["log-dir", "jsonl", "csv", "parquet", "delta"])
def test_what_is_gone_from_out_is_not_told_of_as_written(form: str, how: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for path in rescued(form, out):
        whole = {each: each.read_bytes() for each in [path, *path.rglob("*")] if each.is_file()}
        largest = max(whole, key=lambda each: len(whole[each]))
        if how == "removed":
            remove(path) if path.is_dir() else path.unlink()
        elif how == "cut" and whole[largest]:
            os.truncate(largest, len(whole[largest]) - 1)
        else:
            largest.unlink()
        ran = run(*command(form, out))
        assert (ran.code, ran.err.count("\n"), path.name in ran.err) == (8, 1, True), (path, ran)
        for each, data in whole.items():
            each.parent.mkdir(exist_ok=True)
            each.write_bytes(data)
        assert run(*command(form, out)).code == 0


@pytest.mark.parametrize("form", ["jsonl", "parquet", "delta", "log-dir"])
def test_who_goes_on_looks_whether_it_is_there(form: str, tmp_path: Path) -> None:
    """Of a rescue that was stopped before its end: the last line of the journal is gone."""
    out = tmp_path / "out"
    partition = next(each for each in rescued(form, out) if each.name.startswith("codec-"))
    journal = out / "_rescue.jsonl"
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:-1]))
    if form == "delta":
        remove(out / "_delta_log")
        (out / "_delta_log.json").unlink()
    remove(partition) if partition.is_dir() else partition.unlink()
    ran = run(*command(form, out))
    assert (ran.code, ran.err.count("\n"), partition.name in ran.err) == (8, 1, True), ran
