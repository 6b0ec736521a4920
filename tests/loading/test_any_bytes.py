"""Whatever bytes lie in a log dir, and whatever is missing, a forecast ends with a broker line.

And the topics of `explain` explain it without a traceback.
"""

import random
from pathlib import Path

import pytest
from tests.cli.run import run
from tests.conftest import one_in
from tests.faults.written import two_dirs
from tests.loading.test_outcomes import start

from segmend.formats import offset_checkpoint
from segmend.loading import EFFECTS, BrokerOutcome, DirectoryOutcome, DirOutcome, PartitionOutcome


def hurt(dirs: list[Path], seed: int) -> None:
    """A few random changes: bytes flipped, files cut, emptied, removed, swapped, renamed."""
    chance = random.Random(seed)
    files = sorted(path for each in dirs for path in each.rglob("*") if path.is_file())
    for _ in range(chance.randint(1, 4)):
        path = chance.choice(files)
        if not path.exists():
            continue
        data = bytearray(path.read_bytes())
        act = chance.randrange(6)
        if act == 0 and data:
            for _ in range(chance.randint(1, 4)):
                data[chance.randrange(len(data))] = chance.randrange(256)
            path.write_bytes(data)
        elif act == 1:
            path.write_bytes(data[: chance.randint(0, len(data))])
        elif act == 2:
            path.unlink()
        elif act == 3:
            path.write_bytes(data + chance.randbytes(chance.randint(1, 200)))
        elif act == 4:
            other = chance.choice(files)
            path.write_bytes(other.read_bytes() if other.exists() else b"")
        else:
            path.rename(path.with_name(path.name + chance.choice((".swap", ".cleaned", ".deleted", ".x"))))


@pytest.mark.parametrize("seed", one_in(4, range(60)))
def test_any_bytes(seed: int, tmp_path: Path) -> None:
    dirs = two_dirs(tmp_path, clean=seed % 2 == 0)
    hurt(dirs, seed)
    release = ("4.3.1", "3.9", "2.8", "2.2", "1.1", "0.10.2", "0.8")[seed % 7]
    lines = start(dirs, release)
    assert isinstance(lines[-1], BrokerOutcome)
    replicas = [line for line in lines if isinstance(line, PartitionOutcome)]
    assert sorted(line.name for line in replicas) == ["t-0", "u-0", "v-0"]
    for line in lines:
        if isinstance(line, PartitionOutcome | DirectoryOutcome):
            assert {effect.effect for effect in line.effects} <= EFFECTS.keys()
            assert all(effect.records_lost >= 0 and effect.bytes_lost >= 0 for effect in line.effects)


@pytest.mark.parametrize("seed", one_in(5, range(100, 124)))
def test_any_bytes_are_explained(seed: int, tmp_path: Path) -> None:
    dirs = two_dirs(tmp_path, clean=seed % 2 == 0)
    hurt(dirs, seed)
    release = ("4.3.1", "3.9", "2.8", "2.2", "1.1", "0.10.2")[seed % 6]
    for topic in ("startup", "retention", "compaction"):
        for output in ((), ("--json",)):
            ran = run("explain", topic, *dirs, "--kafka", release, *output)
            assert ran.code in ((0, 4) if topic == "retention" else (0,))
            assert ran.err == ""


@pytest.mark.parametrize("name", offset_checkpoint.FILE_NAMES)
@pytest.mark.parametrize("words", ["{", "}", "{0}", "{nosuch}", "%s"])
def test_words_of_a_file_are_never_a_pattern(name: str, words: str, tmp_path: Path) -> None:
    (log_dir, *_) = dirs = two_dirs(tmp_path)
    (log_dir / name).write_text(f"0\n1\n{words}\n")
    said = []
    for release in ("4.3.1", "3.9", "1.1", "0.10.2"):
        said += [line.reason or "" for line in start(dirs, release) if isinstance(line, DirOutcome)]
    assert any(words in reason for reason in said), said
