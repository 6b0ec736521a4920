"""On the fleet's drivers diff, rescue and export tell what they tell alone."""

import random
from pathlib import Path

import pytest
from tests.cli.run import Ran, run
from tests.golden.shared import golden
from tests.rescue.drawn import BROKERS, Trial, brokers, content
from tests.rescue.replicas import hurt, replicas
from tests.seeds import SEED


def lines(ran: Ran) -> list[object]:
    return sorted(map(str, ran.of("partition")))


@pytest.mark.slow
@pytest.mark.parametrize("driver", ["local", pytest.param("spark", marks=pytest.mark.spark)])
@pytest.mark.parametrize("form", ["log-dir", pytest.param("parquet", marks=pytest.mark.slow)])
def test_it_gives_the_same(driver: str, form: str, tmp_path: Path) -> None:
    draw = random.Random(1)
    dirs = replicas(golden("4.3.1-killed"), tmp_path / "brokers", ("codec-zstd-0", "txn-0", "nulls-0"))
    hurt(dirs, draw, lambda: {draw.randrange(3)})
    alone = run("rescue", *dirs, "--out", tmp_path / "alone", "--as", form, "--json")
    there = run(
        "fleet", "rescue", tmp_path / "brokers", "--out", tmp_path / "there", "--as", form, "--json",
        "--driver", driver,
    )  # fmt: skip
    assert (there.code, lines(there)) == (alone.code, lines(alone)), there.err
    assert content(tmp_path / "there") == content(tmp_path / "alone")


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_of_hurt_brokers_drawn_all_that_is_told_and_written_is_the_same(tmp_path: Path) -> None:
    """And an export that is killed adds each record once."""
    whole = {name: brokers(name, tmp_path / name) for name in BROKERS}
    for number in range(2):
        assert Trial(SEED, number, whole.__getitem__, tmp_path / str(number), "local").play() == []
