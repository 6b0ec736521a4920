"""A rescue gives what was acknowledged, whatever happened to three replicas, as long as one has it sound.

`python -m tests.lab.acknowledged` plays other seeds, and more of them.
"""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.run import Ran
from tests.lab.acknowledged.judge import (
    Record,
    Told,
    Trial,
    World,
    compare,
    faults_of_base,
    opened,
    play,
    rescued,
)

pytestmark = pytest.mark.slow
KINDS = "4.3.1-kinds"
"""Of `kinds`: odder records."""
AGED = "1.1.0-aged"
"""Of `aged`: raised from messages of magic 0, format and protocol at once, so that replicas are of both."""
SEEDS = {"1.1.0": (1, 2, 26), "4.3.1": (2, 3, 422, 133, 480, 403, 1206), KINDS: (1, 2), AGED: (1, 2, 3, 4, 5)}
"""26, 422: the epoch flipped of a batch that begins a file or an epoch, whose followers were then denied.
133: zeros that end in the header of a batch, whose base offset is then another that fits.
480: the last batch of a compacted log with another base offset.
403: bytes gone, which left one batch with the base offset of another and a gap behind it.
1206: the base offset of a last batch that was compacted, which then told of compaction far behind the log."""
FORMS = ("jsonl", "parquet", "delta", "log-dir", "csv")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], World]:
    """The base of a release, unpacked once."""
    made: dict[str, World] = {}

    def found(version: str) -> World:
        if version not in made:
            made[version] = opened(version, tmp_path_factory.mktemp(version))
        return made[version]

    return found


@pytest.mark.parametrize("version", SEEDS)
def test_unhurt_replicas_give_what_was_acknowledged(version: str, world: Callable[[str], World]) -> None:
    found = world(version)
    assert faults_of_base(found) == []
    assert sum(map(len, found.acknowledged.values())) > 300


@pytest.mark.parametrize("version", SEEDS)
def test_hurt_replicas_give_it_in_every_form(version: str, world: Callable[[str], World]) -> None:
    for number, seed in enumerate(SEEDS[version]):
        trial = play(world(version), seed, form=FORMS[number % len(FORMS)])
        assert trial.faults == [], (seed, trial.wounds)


@pytest.mark.parametrize("version", SEEDS)
def test_where_damage_overlaps_it_gives_the_rest_and_names_what_is_gone(
    version: str, world: Callable[[str], World]
) -> None:
    text = [(seed, "jsonl") for seed in (1, 24, 2147)]
    for seed, form in [*text, (24, "delta"), (2147, "log-dir")]:
        trial = play(world(version), seed, overlap=True, form=form)
        assert trial.faults == [], (seed, trial.wounds)


def test_logs_of_other_endings_beside_live_ones_are_no_records(world: Callable[[str], World]) -> None:
    """Whole files that a cleaner or a deletion left, hurt or not; and live ones that have such a name now."""
    for version, seeds in (("4.3.1", (1, 2, 3)), (AGED, (100, 101, 102))):
        for seed in seeds:
            trial = play(world(version), seed, only="endings")
            assert trial.faults == [], (version, seed, trial.wounds)


def test_of_flipped_epochs_none_takes_what_another_replica_has(world: Callable[[str], World]) -> None:
    """2, 8: up to the end of a file; 22: to the epoch that comes next; 41: two batches to the same one."""
    for seed in (2, 8, 22, 41):
        trial = play(world("4.3.1"), seed, only="epoch", wounds=120)
        assert trial.faults == [], (seed, trial.wounds)


def test_of_batches_that_are_gone_without_a_trace_none_is_lost(world: Callable[[str], World]) -> None:
    """5, 32: out of files that were compacted. 9: above what was cleaned, with a few gaps besides.

    16, 18: the first of a log that has records without a key behind. 3061: the one before the last.
    """
    for version, seeds in (("4.3.1", (2, 5, 32)), ("1.1.0", (9, 16, 18, 3061))):
        for seed in seeds:
            trial = play(world(version), seed, only="lifted")
            assert trial.faults == [], (version, seed, trial.wounds)


def test_a_deleted_key_stays_so_where_its_tombstone_is_damaged_on_who_was_never_cleaned(
    world: Callable[[str], World],
) -> None:
    """Indexes of 4.3.1 have each batch of what was cleaned: what is gone from it, its cleaner took.

    3, 8: batches are gone without a trace; 8: also a marker, the last of few gaps of who was never cleaned,
    which was taken for a cleaner's: what came again before it was left out, and nothing said so.
    """
    found = world("4.3.1-cleaned")
    assert faults_of_base(found) == []
    for seed, only in ((1, ""), (3, ""), (9, ""), (10, ""), (3, "lifted"), (8, "lifted")):
        trial = play(found, seed, wounds=0 if only else 40, only=only)
        assert trial.faults == [], (seed, trial.wounds)


def test_compacting_a_replica_gives_what_a_real_cleaner_left_of_another(
    world: Callable[[str], World], tmp_path: Path
) -> None:
    """The cleaner of broker 2 came to the end, those of the others did not. It left no old tombstone."""

    def left(node: int, *options: str) -> set[Record]:
        dirs = [world(KINDS).root / f"b{node}" / "d0"]
        return set(rescued(tmp_path / f"{node}{len(options)}", dirs, "jsonl", *options).rows["compacted-0"])

    cleaned = left(2)
    for node in (1, 3):
        compacted = left(node, "--compact")
        assert left(node) > compacted > cleaned
        assert [row for row in compacted - cleaned if row[2] is not None] == []


def test_the_judge_takes_a_loss_of_any_size(tmp_path: Path) -> None:
    """Of a false base offset it may say that 2^60 offsets are missing, and of as many that nothing tells."""
    line = {
        "type": "partition", "topic": "compacted", "partition": 0, "missing": [[5, 1 << 60]], "open": 0,
        "doubts": ["offsets 2 to 3: or not", f"offsets 4 to {1 << 61}: whether they are lost nothing tells"],
    }  # fmt: skip
    rows: list[Record] = [(offset, "a", "b", 0, ()) for offset in (1, 2, 3, 7, 8)]
    told = Told(Ran(4, json.dumps(line), ""), {"compacted-0": rows[:4]})
    world = World(tmp_path, tmp_path, {"compacted-0": []}, {"compacted-0": rows})
    trial = Trial(1, [], [])
    compare(world, trial, told, "compacted-0", {1, 2, 3})
    assert trial.faults == ["compacted-0: 1 records too many: [7]"]
    assert trial.invented == (1 << 60) - 4 - 2
