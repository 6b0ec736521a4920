"""`segmend explain compaction` as a user runs it: how dirty each log is, and what holds the cleaner."""

from pathlib import Path
from typing import Any

import pytest
from tests.cli.run import run
from tests.faults.patient import CLEANER
from tests.faults.written import checkpoint, two_dirs
from tests.golden.shared import golden


@pytest.fixture
def dirs(tmp_path: Path) -> list[Path]:
    """`u-0` has segments at 0, 18 and 36 and no transactions; everything is compacted."""
    (tmp_path / "server.properties").write_text("log.cleanup.policy=compact\n")
    return two_dirs(tmp_path)


def partition(dirs: list[Path], name: str, *rows: str) -> dict[str, Any]:
    config = dirs[0].parent / "server.properties"
    config.write_text("\n".join(["log.cleanup.policy=compact", *rows]))
    ran = run(
        "explain", "compaction", *dirs, "--config", config, "--partition", name, "--json",
        "--kafka", "4.3", code=0,
    )  # fmt: skip
    (line,) = ran.of("partition")
    return line


def test_bare_it_is_a_page() -> None:
    ran = run("explain", "compaction", code=0)
    assert "min.cleanable.dirty.ratio" in ran.out
    assert len(ran.out.splitlines()) < 60


def test_a_log_that_was_never_cleaned_is_all_dirty(dirs: list[Path]) -> None:
    line = partition(dirs, "u-0")
    sizes = [path.stat().st_size for path in sorted((dirs[0] / "u-0").glob("*.log"))]
    assert (line["first_dirty_offset"], line["checkpointed"]) == (0, False)
    assert (line["end_offset"], line["bound"]) == (36, "active")
    assert (line["clean_bytes"], line["dirty_bytes"]) == (0, sum(sizes[:2]))
    assert (line["ratio"], line["outcome"]) == (1.0, "next")


def test_below_the_ratio_nothing_happens(dirs: list[Path]) -> None:
    checkpoint(CLEANER, "u 0 18")(dirs)
    assert partition(dirs, "u-0")["outcome"] == "next"
    given = "log.cleaner.min.cleanable.ratio=0.9"
    line = partition(dirs, "u-0", given)
    assert line["outcome"] == "clean-enough"
    assert line["ratio"] == pytest.approx(0.5, abs=0.01)
    assert line["settings"]["min.cleanable.dirty.ratio"]["source"] == f"server.properties: {given}"
    assert partition(dirs, "u-0", given, "log.cleaner.max.compaction.lag.ms=5")["outcome"] == "max-lag"


def test_all_clean(dirs: list[Path]) -> None:
    checkpoint(CLEANER, "u 0 36")(dirs)
    assert partition(dirs, "u-0")["outcome"] == "nothing-dirty"


def test_a_checkpoint_outside_the_log_begins_anew(dirs: list[Path]) -> None:
    checkpoint(CLEANER, "u 0 5000")(dirs)
    assert partition(dirs, "u-0")["first_dirty_offset"] == 0


def test_young_segments_wait(dirs: list[Path]) -> None:
    line = partition(dirs, "u-0", "log.cleaner.min.compaction.lag.ms=999999999999")
    assert (line["end_offset"], line["bound"], line["outcome"]) == (0, "lag", "nothing-dirty")


def test_the_cleaner_can_be_off(dirs: list[Path]) -> None:
    assert partition(dirs, "u-0", "log.cleaner.enable=false")["outcome"] == "cleaner-off"


def test_topics_with_the_policy_are_told() -> None:
    dirs = sorted(golden("4.3.1-clean").glob("b1/d*"))
    ran = run("explain", "compaction", *dirs, "--json")
    names = {"compacted", "compacted-txn", "__consumer_offsets", "__transaction_state"}
    assert {line["topic"] for line in ran.of("partition")} == names


def test_an_open_transaction_holds_the_cleaner(tmp_path: Path) -> None:
    dirs = sorted(golden("4.3.1-clean").glob("b1/d*"))
    config = tmp_path / "server.properties"
    config.write_text("log.cleanup.policy=compact")
    ran = run(
        "explain", "compaction", *dirs, "--config", config, "--topic", "txn*", "--json",
    )  # fmt: skip
    bounds = {line["topic"]: line["bound"] for line in ran.of("partition")}
    assert bounds == {"txn": "active", "txn-open": "transaction"}


def test_what_holds_the_cleaner_is_told_oldest_first(tmp_path: Path) -> None:
    dirs = sorted(golden("4.3.1-clean").glob("b1/d*"))
    config = tmp_path / "server.properties"
    config.write_text("log.cleanup.policy=compact")
    arguments = ("explain", "compaction", *dirs, "--config", config, "--topic", "txn-open")
    (line,) = run(*arguments, "--json").of("partition")
    kinds = [blocker["kind"] for blocker in line["blockers"]]
    assert kinds == ["transaction", "active"]
    opened = line["blockers"][0]
    assert opened["producer_id"] >= 0
    assert opened["since_ms"] <= line["blockers"][1]["since_ms"] + 1
    assert "an open transaction of producer" in run(*arguments).out


def test_a_batch_that_cannot_be_read_ends_it(dirs: list[Path]) -> None:
    path = dirs[0] / "u-0" / f"{18:020d}.log"
    data = bytearray(path.read_bytes())
    data[16] = 9
    path.write_bytes(data)
    line = partition(dirs, "u-0")
    assert line["outcome"] == "uncleanable"
    (found,) = (each for each in line["blockers"] if each["kind"] == "damage")
    assert (found["file"], found["position"]) == (path.name, 0)
    assert "Marking its partition (u-0) as uncleanable" in found["broker_says"]


def test_a_checkpoint_outside_is_told_in_the_brokers_words(dirs: list[Path]) -> None:
    checkpoint(CLEANER, "u 0 5000")(dirs)
    line = partition(dirs, "u-0")
    assert (line["reset"], line["checkpoint"]) == ("beyond", 5000)
    assert "which is larger than the log end offset 54" in line["broker_says"]


def test_a_full_map_cleans_a_part(dirs: list[Path]) -> None:
    rows = ("log.cleaner.dedupe.buffer.size=1048577", "log.cleaner.io.buffer.load.factor=0.0001")
    size = partition(dirs, "u-0", *rows)["size"]
    assert size["map_full"] is True
    assert 0 < size["cleaned_to"] < 36


def test_a_large_log_is_sampled_and_says_so(dirs: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    whole = partition(dirs, "u-0")["size"]
    assert (whole["estimate"], whole["read_bytes"]) == (False, whole["of_bytes"])
    for module in ("explain.cleaned_size", "loading.cleaner_reads"):
        monkeypatch.setattr(f"segmend.{module}.READ_AT_MOST", whole["of_bytes"] // 2)
    monkeypatch.setattr("segmend.loading.cleaner_reads.STRETCHES", 2)
    sampled = partition(dirs, "u-0")["size"]
    assert sampled["estimate"] is True
    assert sampled["read_bytes"] < whole["of_bytes"]
    assert sampled["low"] <= sampled["bytes"] <= sampled["high"]


def test_for_people(dirs: list[Path]) -> None:
    ran = run(
        "explain", "compaction", *dirs, "--config", dirs[0].parent / "server.properties", "--kafka", "4.3"
    )
    assert "u-0" in ran.out
    assert "dirty enough" in ran.out


def test_nothing_compacted(tmp_path: Path) -> None:
    ran = run("explain", "compaction", *two_dirs(tmp_path), "--kafka", "4.3", code=0)
    assert "no compacted partition here" in ran.out
