"""Whatever happens to one file of one replica, diff sees it; and where nothing happened, it says so."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.run import run
from tests.golden.shared import golden
from tests.seeds import SEED

HURTS: dict[str, Callable[[bytearray, int, int], bytes]] = {
    "nothing": lambda data, _at, _size: data,
    "flip": lambda data, at, size: data[:at] + bytes([data[at] ^ 1 << size % 8]) + data[at + 1 :],
    "cut": lambda data, at, _size: data[:at],
    "drop": lambda data, at, size: data[:at] + data[at + size :],
    "twice": lambda data, at, size: data[: at + size] + data[at : at + size] + data[at + size :],
    "zeros": lambda data, at, size: data[:at] + bytes(len(data[at : at + size])) + data[at + size :],
}


def copy_of(fleet: Path, name: str, into: Path) -> Path:
    """The replicas of one partition, and the files beside them."""
    for log_dir in fleet.glob("b*/d*"):
        target = into / log_dir.relative_to(fleet)
        target.mkdir(parents=True)
        for each in log_dir.iterdir():
            if each.is_file():
                shutil.copy2(each, target)
            elif each.name == name:
                shutil.copytree(each, target / name)
    return into


@pytest.mark.slow
@pytest.mark.parametrize("what", HURTS)
def test_it_is_seen(what: str, tmp_path: Path) -> None:
    fleet = golden("4.3.1-fleet")
    logs = [path for path in sorted(fleet.glob("b*/d*/*-[0-9]*/*.log")) if path.stat().st_size]
    logs = [path for path in logs if "__cluster" not in path.parent.name]
    dice = random.Random(f"{what} {SEED}")
    for number in range(6):
        path = dice.choice(logs)
        root = copy_of(fleet, path.parent.name, tmp_path / str(number))
        hurt = root / path.relative_to(fleet)
        data = bytearray(hurt.read_bytes())
        hurt.write_bytes(HURTS[what](data, dice.randrange(len(data)), dice.randrange(1, 3000)))
        same = hurt.read_bytes() == path.read_bytes()
        ran = run("diff", *sorted(root.glob(f"b*/d*/{path.parent.name}")), "--json")
        assert (ran.code == 0) == same, (what, SEED, number, hurt)
        shutil.rmtree(root)
