"""Every fault, of the lab and on written log dirs, through plan, apply, check, plan and undo (`sweep`).

A few each time; CI takes every sixteenth one, and some pairs of faults; `python -m tests.sweep` takes all.
"""

import random
import shutil
from pathlib import Path

import pytest
from tests.copies import copy_tree
from tests.faults.hurts import Hurt
from tests.faults.patient import lonely_topic, patient_in
from tests.faults.table import Case, all_cases, recorded_faults
from tests.lab.pairs import CANNOT, Pair, drawn
from tests.lab.releases import release
from tests.lab.test_verdicts import unpacked
from tests.seeds import SEED, SWEEP
from tests.surgery.sweep import Evening, complaints

BASES = ("1.1.0-clean", "1.1.0-killed", "2.8.2-killed", "3.9.2-clean", "4.3.1-clean", "4.3.1-killed")
EACH = 1 if SWEEP else 16
PAIRS = 40 if SWEEP else 3
FEW = ("index-stale", "log-flip-rolled", "snapshot-crc", "log-magic-3-rolled", "start-beyond-end")
FOUND = (
    ("4.3.1-killed", "log-flip-rolled-first-batch + log-size-large-rolled"),
    ("2.8.2-killed", "transaction-marker-removed + cleaner-above-end"),
    ("1.1.0-killed", "log-size-plausible-rolled + log-size-5-active-last"),
    ("1.1.0-clean", "snapshot-beyond + log-offset-high-last"),
    ("3.9.2-killed", "log-offset-high-bit + log-flip-active-first-batch"),
    ("1.1.0-clean", "partition-linked + epochs-count"),
    ("1.1.0-clean", "epochs-empty + start-beyond-end"),
)
"""Pairs that once broke a promise."""
WAYS = {
    "repair": ("repair",),
    "deep": ("repair", "--deep"),
    "from": ("repair", "--from"),
    "blank": ("repair", "--blank"),
    "trim": ("trim",),
}
LOSSY = ("blank", "trim")

Hurts = dict[str, Hurt]


def hurts(name: str) -> Hurts:
    """The faults of a base."""
    version, mark = name.split("-")
    return {each.name: each.hurt for each in recorded_faults() if each.applies(release(version).number, mark)}


def drawn_of(names: list[str], salt: object) -> list[str]:
    """Every sixteenth one."""
    draw = random.Random(f"{SEED} {salt}")
    return draw.sample(sorted(names), len(names) // EACH)


def complaints_of_lab(name: str, hurts: Hurts, root: Path, *, way: str = "repair") -> dict[str, list[str]]:
    """What was broken, by fault."""
    base = unpacked(name, root / "base")
    return {
        fault: found
        for fault, hurt in hurts.items()
        if (found := complaints_of_one(name, base, hurt, root / "case", way))
    }


def complaints_of_one(name: str, base: Path, hurt: Hurt, root: Path, way: str) -> list[str]:
    """Hurt a copy, and mend it in one of the ways."""
    shutil.rmtree(root, ignore_errors=True)
    copy_tree(base, root / "disks")
    patient = patient_in(root / "disks", lonely_topic(root / "disks"))
    try:
        hurt(patient)
    except CANNOT:
        return []
    operation, *options = WAYS[way]
    given = [*options, base / "b1" / patient.log_dir.name] if way == "from" else options
    release = name.partition("-")[0]
    evening = Evening(root=root, dirs=patient.dirs, release=release, operation=operation, options=given)
    if way in LOSSY:
        evening.accept()
    return complaints(evening)


def complaints_of_case(case: Case, root: Path, *options: str) -> list[str]:
    """The same for a fault on a written log dir."""
    dirs = case.hurt(root / "disks").dirs
    found = complaints(Evening(root=root, dirs=dirs, release=case.scene.release, options=options))
    # As in "repair: N27": lines that can be read afterwards name what is gone.
    known = tuple(f"new: {code} " for code in case.scene.mend.partition(": ")[2].split())
    return [words for words in found if not known or not words.startswith(known)]


def test_a_few_faults(swift_path: Path) -> None:
    table = hurts("4.3.1-clean")
    assert complaints_of_lab("4.3.1-clean", {name: table[name] for name in FEW}, swift_path) == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "way"),
    [*((name, "repair") for name in BASES), ("4.3.1-clean", "deep"), ("4.3.1-killed", "deep")],
)
def test_faults_of_the_lab(name: str, way: str, swift_path: Path) -> None:
    table = hurts(name)
    some = drawn_of(sorted(table), (name, way))
    assert complaints_of_lab(name, {fault: table[fault] for fault in some}, swift_path, way=way) == {}


def of_logs(name: str) -> Hurts:
    """The faults in batches, for which there are the ways that lose something or take it elsewhere."""
    table = hurts(name)
    return {each.name: each.hurt for each in recorded_faults() if each.family == "log" and each.name in table}


@pytest.mark.slow
@pytest.mark.parametrize("way", ["from", "blank", "trim"])
@pytest.mark.parametrize("name", ["4.3.1-clean", "4.3.1-killed"])
def test_damaged_batches(name: str, way: str, swift_path: Path) -> None:
    table = of_logs(name)
    some = drawn_of(sorted(table), (name, way))
    assert complaints_of_lab(name, {fault: table[fault] for fault in some}, swift_path, way=way) == {}


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--deep",)], ids=["default", "deep"])
def test_faults_on_written_log_dirs(options: tuple[str, ...], swift_path: Path) -> None:
    draw, cases = (
        random.Random(f"{SEED} {'-'.join(options)}"),
        [case for case in all_cases() if not case.scene.vast],
    )
    found = {
        str(case): complaints_of_case(case, swift_path / str(number), *options)
        for number, case in enumerate(draw.sample(cases, len(cases) // EACH))
    }
    assert {name: words for name, words in found.items() if words} == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", BASES)
def test_two_faults_at_once(name: str, swift_path: Path) -> None:
    version, mark = name.split("-")
    pairs = {pair.name: pair.hurt for pair, _ in zip(drawn(version, mark, SEED), range(PAIRS), strict=False)}
    assert complaints_of_lab(name, pairs, swift_path) == {}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "pair"), FOUND)
def test_two_faults_that_once_broke_a_promise(name: str, pair: str, swift_path: Path) -> None:
    assert complaints_of_lab(name, {pair: Pair.named(pair).hurt}, swift_path) == {}
