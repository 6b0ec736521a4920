"""An older copy of the dir of a broker that was in sync: no all-clear beside metadata that tells of more."""

import base64
import json
import os
import shutil
from itertools import product
from pathlib import Path

import pytest
from tests.cli.run import run
from tests.copies import copy_tree
from tests.golden.unpack import unpack
from tests.lab.backups import HERE, NODES, ONCE, THRICE
from tests.merge.test_passed_over import COMMANDS, told

VERSIONS = sorted(each.name.removesuffix(".tar.xz") for each in HERE.glob("*.tar.xz"))
LOST_TIMES = 2_000_000_000
"""As of files that were copied much later."""


@pytest.fixture(scope="session")
def bases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The dirs `b*/d0` of three real brokers, and older ones in `old`."""
    home = tmp_path_factory.mktemp("backups")
    return {version: unpack(HERE / f"{version}.tar.xz", home / version) for version in VERSIONS}


def forget_times(log_dir: Path, copied: int = LOST_TIMES) -> None:
    for each in (log_dir, *log_dir.rglob("*")):
        os.utime(each, (copied, copied))


def rows(out: Path) -> dict[str, set[tuple[int, str]]]:
    """By partition its offsets and values."""
    found = dict[str, set[tuple[int, str]]]()
    for file in out.glob("[!_]*.jsonl"):
        lines = map(json.loads, file.read_text().splitlines())
        found[file.stem] = {(row["offset"], base64.b64decode(row["value"]).decode()) for row in lines}
    return found


def lacking(base: Path, out: Path, topics: tuple[str, ...]) -> list[tuple[str, int, str]]:
    acknowledged, got = json.loads((base / "acknowledged.json").read_text()), rows(out)
    return [
        (name, offset, value)
        for name, offset, value in acknowledged
        if name.rpartition("-")[0] in topics and (offset, value) not in got.get(name, set())
    ]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("times", ["kept", "lost"])
@pytest.mark.parametrize("what", ["whole", "without metadata", "without checkpoints"])
def test_an_older_copy_beside_newer_metadata(
    what: str, times: str, version: str, bases: dict[str, Path], tmp_path: Path
) -> None:
    """Others have the metadata, and not the partitions: what was acknowledged since is gone."""
    base = bases[version]
    copy = tmp_path / "b1" / "d0"
    copy_tree(base / "old" / "b1" / "d0", copy)
    if what == "without metadata":
        shutil.rmtree(copy / "__cluster_metadata-0")
    if what == "without checkpoints":
        shutil.rmtree(copy / "__cluster_metadata-0")
        for each in copy.glob("*-checkpoint"):
            each.unlink()
    if times == "lost":
        forget_times(copy)
    home = tmp_path / "b2" / "d0"
    copy_tree(base / "b2" / "d0", home)
    for each in (*home.glob(f"{THRICE}-*"), *home.glob(f"{ONCE}-*")):
        shutil.rmtree(each)
    for each in home.glob("*-checkpoint"):
        each.unlink()
    asked = ("--topic", THRICE)
    for number, command in enumerate(COMMANDS):
        ran = told((*command, *asked), tmp_path / f"o{number}", copy, home, code=4)
        for line in ran.of("partition"):
            assert any(str(copy) in each for each in line["doubts"]), command
    assert lacking(base, tmp_path / "o1", (THRICE,))


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_as_it_was_left_is_no_doubt(version: str, bases: dict[str, Path], tmp_path: Path) -> None:
    """All of one moment, or one that is; also copies that lost their times, as in a bucket."""
    base = bases[version]
    whole = [base / f"b{node}" / "d0" for node in NODES]
    for number, dirs in enumerate((whole, whole[:1], whole[1:], [base / "old" / "b1" / "d0"])):
        for command in (("diff",), ("rescue", "--as", "jsonl")):
            ran = told(command, tmp_path / f"o{number}-{len(command)}", *dirs, code=0)
            assert [line for line in ran.of("partition") if line["doubts"]] == [], (number, command)
    assert lacking(base, tmp_path / "o0-3", (THRICE, ONCE)) == []
    anew = [tmp_path / f"b{node}" / "d0" for node in NODES]
    for from_, to in zip(whole, anew, strict=True):
        copy_tree(from_, to)
        forget_times(to)
    told(("diff",), tmp_path, *anew, code=0)


@pytest.mark.parametrize("version", VERSIONS)
def test_dirs_that_were_copied_one_after_another_without_their_times(
    version: str, bases: dict[str, Path], tmp_path: Path
) -> None:
    """Nothing tells that they are of one moment: assumed, where all that were in sync are here."""
    whole, home, other = bases[version] / "b1" / "d0", tmp_path / "d0", tmp_path / "d1"
    for each in (home, other):
        copy_tree(whole, each)
    shutil.rmtree(other / "__cluster_metadata-0")
    for each in home.glob(f"{ONCE}-*"):
        shutil.rmtree(each)
    identity = other / "meta.properties"
    lines = identity.read_text().splitlines()
    kept = [each for each in lines if "directory.id" not in each]
    identity.write_text("\n".join([*kept, f"directory.id={22 * 'A'}", ""]))
    forget_times(home)
    forget_times(other, LOST_TIMES + 600)
    ran = told(("diff", "--topic", ONCE), tmp_path, home, other, code=0)
    for line in ran.of("partition"):
        assert any(each.startswith(f"{other}: all its files are younger") for each in line["assumed"])


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_any_choice_of_copies(version: str, bases: dict[str, Path], tmp_path: Path) -> None:
    """0 is said only of what has all, or where brokers of which no dir is here are named."""
    base = bases[version]
    for number, choice in enumerate(product(("", "old/", None), repeat=3)):
        picked = [(node, each) for node, each in zip(NODES, choice, strict=True) if each is not None]
        if not picked:
            continue
        dirs = [base / f"{each}b{node}" / "d0" for node, each in picked]
        ran = run("rescue", *dirs, "--as", "jsonl", "--out", tmp_path / f"o{number}", "--json")
        assert ran.code in (0, 4)
        newest = any(each == "" for _, each in picked)
        if ran.code == 0 and newest:
            away = ran.of("summary")[0]["not_here"]
            assert not lacking(base, tmp_path / f"o{number}", (THRICE,)), choice
            assert away or not lacking(base, tmp_path / f"o{number}", (ONCE,)), choice
