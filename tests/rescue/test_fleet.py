"""On the fleet's drivers a rescue gives what it gives alone."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.run import Ran, run
from tests.rescue.replicas import hurt, replicas


def content(out: Path) -> dict[str, bytes]:
    """Every file but the report, which names the dirs as they were given."""
    files = [path for path in out.rglob("*") if path.is_file() and not path.name.startswith("_rescue")]
    return {str(path.relative_to(out)): path.read_bytes() for path in files}


def lines(ran: Ran) -> list[object]:
    return sorted(map(str, ran.of("partition")))


@pytest.mark.slow
@pytest.mark.parametrize("driver", ["local", pytest.param("spark", marks=pytest.mark.spark)])
@pytest.mark.parametrize("form", ["log-dir", pytest.param("parquet", marks=pytest.mark.slow)])
def test_it_gives_the_same(
    driver: str,
    form: str,
    golden: Callable[[str], Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    draw = random.Random(1)
    dirs = replicas(golden("4.3.1-killed"), tmp_path / "brokers", ("codec-zstd-0", "txn-0", "nulls-0"))
    hurt(dirs, draw, lambda: {draw.randrange(3)})
    alone = run(capsys, "rescue", *dirs, "--out", tmp_path / "alone", "--as", form, "--json")
    there = run(
        capsys, "fleet", "rescue", tmp_path / "brokers", "--out", tmp_path / "there", "--as", form, "--json",
        "--driver", driver,
    )  # fmt: skip
    assert (there.code, lines(there)) == (alone.code, lines(alone)), there.err
    assert content(tmp_path / "there") == content(tmp_path / "alone")
