"""Offsets that one replica leaves out, and whether that is compaction: what is lost, what is told."""

from pathlib import Path

import pytest
from tests.cli.run import run
from tests.copies import copy_tree
from tests.faults.on_disk import batches_of, flip
from tests.golden.shared import golden
from tests.rescue.replicas import replicas

from segmend.formats.build import NewRecord, build_batch


def cut_out(log: Path, *numbers: int) -> int:
    """Take the bytes of these batches out of a file; how many offsets that were."""
    batches = batches_of(log)
    gone = [batches[number] for number in numbers]
    data = log.read_bytes()
    kept = (data[each.position : each.end] for each in batches if each not in gone)
    log.write_bytes(b"".join(kept))
    return sum(each.last_offset - each.base_offset + 1 for each in gone)


@pytest.mark.slow
@pytest.mark.parametrize("many", [1, 5])
def test_of_a_topic_that_is_not_compacted_they_come_from_the_others(many: int, tmp_path: Path) -> None:
    copy_tree(golden("4.3.1-fleet"), root := tmp_path / "root")
    logs = sorted(root.glob("b2/*/orders-0/*.log"))[1:-1]
    gone = sum(cut_out(log, *([2, 4] if many > 1 else [2])) for log in logs[:many])
    where = (*sorted(root.glob("b*/d*")), "--topic", "orders", "--json")
    ran = run("diff", *where)
    told = {line["broker"]: line for line in ran.of("replica") if line["partition"] == 0}
    assert (ran.code, told[2]["relation"], told[2]["behind_records"]) == (4, "damaged", gone)
    assert {told[1]["relation"], told[3]["relation"]} == {"best", "equal"}
    ran = run("rescue", *where, "--out", tmp_path / "out", "--as", "jsonl")
    assert (ran.code, sum(line["records"] for line in ran.of("partition"))) == (0, 6 * 880)


@pytest.mark.slow
@pytest.mark.parametrize("export", [False, True])
def test_topics_whose_gaps_no_policy_explains_are_named(export: bool, tmp_path: Path) -> None:
    copy_tree(golden("4.3.1-fleet"), root := tmp_path / "root")
    command = "export" if export else "rescue"
    where = [command, *sorted(root.glob("b*/d*")), "--topic", "orders", "--as", "delta"]
    ran = run(*where, "--out", tmp_path / "whole", "--json")
    assert ran.json[-1]["policy_untold"] == []
    for log in sorted(root.glob("b*/*/orders-0/*.log"))[1::4]:
        cut_out(log, 2)
    ran = run(*where, "--out", tmp_path / "out", "--json")
    assert ran.json[-1]["policy_untold"] == [{"topic": "orders", "gaps": "lost"}]
    told = "cleanup.policy (delete) was taken, by which offsets that nobody has are lost: orders "
    assert told in run(*where, "--out", tmp_path / "told").out
    (given := tmp_path / "server.properties").write_text("log.cleanup.policy=delete\n")
    ran = run(*where, "--out", tmp_path / "given", "--config", given, "--json")
    assert ran.json[-1]["policy_untold"] == []


def test_where_no_metadata_tells_records_without_a_key_do(tmp_path: Path) -> None:
    dirs = replicas(golden("1.1.0-killed"), tmp_path, ("codec-none-0", "nulls-0"))
    whole = {
        line["topic"]: line["records"]
        for line in run("rescue", *dirs, "--out", tmp_path / "whole", "--as", "jsonl", "--json").of(
            "partition"
        )
    }
    for name in ("codec-none-0", "nulls-0"):
        log = max((dirs[1] / name).glob("*.log"), key=lambda path: path.stat().st_size)
        assert cut_out(log, 2)
    ran = run("rescue", *dirs, "--out", tmp_path / "out", "--as", "jsonl", "--json")
    assert {line["topic"]: line["records"] for line in ran.of("partition")} == whole
    assert run("diff", *dirs).code == 4


@pytest.mark.parametrize(
    ("keys", "lacking", "missing"),
    [
        ((None, b"k"), {}, []),
        ((None, b"k"), {2: [4]}, []),  # who has it
        ((None, None), {2: [0, 4], 3: [0, 6]}, []),  # where the log begins
        ((None, b"k"), {1: [4], 2: [4], 3: [4]}, [[8, 9]]),
        ((b"k", b"k"), {1: [4], 2: [4], 3: [4]}, [[8, 9]]),  # the key came again before that
        ((b"k%d", b"l%d"), {1: [4], 2: [4], 3: [4]}, []),  # so a cleaner leaves it
    ],
)
def test_a_batch_that_is_gone_between_two_others(
    keys: tuple[bytes | None, ...], lacking: dict[int, list[int]], missing: list[list[int]],
    tmp_path: Path) -> None:  # fmt: skip
    batches = [
        build_batch(
            [
                NewRecord(key=key % first if key and b"%" in key else key, value=b"v%d" % first)
                for key in keys
            ],
            base_offset=first,
        )
        for first in range(0, 20, 2)
    ]
    for number in (1, 2, 3):
        home = tmp_path / f"b{number}" / "t-0"
        home.mkdir(parents=True)
        kept = (each for at, each in enumerate(batches) if at not in lacking.get(number, ()))
        (home / f"{0:020d}.log").write_bytes(b"".join(kept))
    if not lacking:
        flip(home / f"{0:020d}.log", -1)  # damage is no gap
    dirs = sorted(tmp_path.glob("b*"))
    ran = run("rescue", *dirs, "--out", tmp_path / "out", "--as", "jsonl", "--json")
    (line,) = ran.of("partition")
    gone = all(lacking.get(number) == [4] for number in (1, 2, 3))
    assert (ran.code, line["missing"], line["records"]) == (4 if missing else 0, missing, 20 - 2 * gone)
    assert [each["topic"] for each in ran.json[-1]["policy_untold"]] == (["t"] if lacking else [])
