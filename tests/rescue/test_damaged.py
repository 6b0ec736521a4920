"""What is sound on some replica is rescued, once and in order; what is hurt on all is named, and no more."""

import random
from pathlib import Path

import pytest
from tests.cli.run import run
from tests.conftest import one_in
from tests.golden.shared import golden
from tests.rescue.replicas import hurt, replicas, told


@pytest.mark.slow
@pytest.mark.parametrize("seed", one_in(8, range(8)))
def test_three_hurt_replicas_give_everything(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    dirs = replicas(golden("4.3.1-killed"), tmp_path)
    run("rescue", dirs[0], "--out", tmp_path / "whole", "--as", "jsonl")
    hurt(dirs, draw, lambda: set(draw.sample(range(3), draw.choice((0, 1, 2)))))
    ran = run("rescue", *dirs, "--out", tmp_path / "out", "--as", "jsonl", "--json")
    whole = told(tmp_path / "whole")
    assert told(tmp_path / "out") == whole
    rows = ran.of("partition")
    lost = {(row["topic"], each) for row in rows for a, b in row["missing"] for each in range(a, b + 1)}
    # Between two batches that nobody has sound side by side, nothing tells what compaction removed.
    assert {topic for topic, _ in lost} <= {"compacted"}
    assert lost.isdisjoint(("compacted", row["offset"]) for row in whole["compacted-0"])
    assert ran.code == (4 if lost else 0)
    assert {source["broker"] for row in rows for source in row["sources"]} == {1, 2, 3}


HURT = {
    "4.3.1-killed": ("codec-none-0", "codec-zstd-0", "single-0"),
    "1.1.0-killed": ("v0-gzip-0", "v1-lz4-0", "v1-none-0", "upgraded-0"),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", one_in(99, [(name, seed) for name in HURT for seed in range(8)]))
def test_what_is_hurt_on_all_of_them_is_named_and_the_rest_is_there(
    case: tuple[str, int], tmp_path: Path
) -> None:
    name, seed = case
    draw = random.Random(seed)
    dirs = replicas(golden(name), tmp_path, HURT[name])
    run("rescue", dirs[0], "--out", tmp_path / "whole", "--as", "jsonl")
    gone = hurt(dirs, draw, lambda: {0, 1, 2} if draw.random() < 0.2 else {draw.randrange(3)})
    ran = run("rescue", *dirs, "--out", tmp_path / "out", "--as", "jsonl", "--json")
    whole, out = told(tmp_path / "whole"), told(tmp_path / "out")
    assert ran.code == 4
    assert gone
    for row in ran.of("partition"):
        partition = f"{row['topic']}-{row['partition']}"
        lost = {offset for first, last in row["missing"] for offset in range(first, last + 1)}
        assert lost == gone.get(partition, set())
        assert out[partition] == [each for each in whole[partition] if each["offset"] not in lost]
        assert row["records"] == len(out[partition])
