"""A few of `python -m tests.surgery.drawn`, of `chains`, `denied`, `killed` and `full_disks`."""

import os
from pathlib import Path

import pytest
from tests.mounts import MAKE, need_mount
from tests.seeds import SEED, sampled, some_of
from tests.surgery import chains, denied, drawn, full_disks, killed

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def test_surgery_drawn_at_random(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    told = drawn.play(range(4), SEED, drawn.GOLDENS, tmp_path)
    assert (told["DISAGREES"], told["ok"]) == (0, 4), capfd.readouterr().out


def test_chains_of_plans_lose_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    count = sampled(100, 4)
    told = chains.play(range(count), SEED, drawn.GOLDENS, tmp_path)
    assert (told["DISAGREES"], told["ok"]) == (0, count), capfd.readouterr().out


@pytest.mark.skipif(os.geteuid() != 0, reason="only root plays both users")
def test_who_lacks_a_right_is_told_how_to_go_on(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    told = denied.play(range(sampled(100, 5)), SEED, denied.OPERATIONS, tmp_path)
    assert told["DISAGREES"] == 0, capfd.readouterr().out


@pytest.mark.parametrize("operation", some_of([*killed.WAYS], 6, SEED))
def test_kills_at_random_cost_nothing(
    operation: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    told = killed.play(range(sampled(6, 1)), SEED, [operation], tmp_path)
    assert told["DISAGREES"] == 0, capfd.readouterr().out
    assert told[operation] >= sampled(60, 5)


@pytest.mark.parametrize("kind", MAKE)
def test_a_disk_that_gets_full_costs_nothing(
    kind: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    need_mount(kind, tmp_path)
    told = full_disks.play(range(sampled(60, 3)), SEED, [kind], tmp_path)
    assert told["DISAGREES"] == 0, capfd.readouterr().out
