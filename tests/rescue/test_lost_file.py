"""A file that one replica lost is no compaction: its records, of transactions too, come from the others."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.run import run
from tests.copies import copy_tree
from tests.faults.on_disk import batches_of
from tests.golden.shared import golden
from tests.rescue.replicas import replicas, told


def test_transactions_of_a_lost_file_are_not_taken_for_removed(tmp_path: Path) -> None:
    dirs = replicas(golden("4.3.1-killed"), tmp_path, ("compacted-txn-0",))
    run("rescue", dirs[0], "--out", tmp_path / "whole", "--as", "jsonl")
    (dirs[0] / "compacted-txn-0" / f"{653:020d}.log").unlink()
    ran = run("rescue", *dirs, "--out", tmp_path / "out", "--as", "jsonl")
    assert (ran.code, told(tmp_path / "out")) == (0, told(tmp_path / "whole"))


def test_a_hole_in_a_topic_that_is_not_compacted_is_said(tmp_path: Path) -> None:
    name, root = "codec-lz4-0", tmp_path / "root"
    copy_tree(golden("4.3.1-killed") / "b1", root)
    log = max(root.glob(f"*/{name}/*.log"), key=lambda path: path.stat().st_size)
    gone = batches_of(log)[2:4]
    data = log.read_bytes()
    log.write_bytes(data[: gone[0].position] + data[gone[-1].end :])
    dirs = sorted(root.glob("*/meta.properties"))
    where = (*(path.parent for path in dirs), "--topic", name[:-2])
    words = f"offsets {gone[0].base_offset} to {gone[-1].last_offset}: no byte of them is here"
    for ran in (
        run("diff", *where, "--json"),
        run("rescue", *where, "--out", tmp_path / "out", "--as", "jsonl", "--json"),
    ):
        doubts = next(line["doubts"] for line in ran.of("partition") if line["topic"] == name[:-2])
        assert (ran.code, [each[: len(words)] for each in doubts]) == (4, [words])
    # Without the metadata log nobody says that it is not compacted, but for records that no cleaner leaves.
    for each in root.glob("*/__cluster_metadata-0"):
        shutil.rmtree(each)
    (partition,) = run("diff", *where, "--json").of("partition")
    assert partition["missing"] == [[gone[0].base_offset, gone[-1].last_offset]]


@pytest.mark.parametrize("release", ["1.1.0-clean", "4.3.1-killed"])
@pytest.mark.parametrize("hurt", [Path.unlink, lambda log: log.write_bytes(b"")])
def test_an_index_without_its_log_shows_that_no_cleaner_took_it(
    release: str, hurt: Callable[[Path], object], tmp_path: Path
) -> None:
    """A cleaner leaves an empty log beside indexes without an entry, as in `compacted-txn`."""
    names = ("compacted-0", "compacted-txn-0")
    one, other = replicas(golden(release), tmp_path, names, count=2)
    where = ("--out", tmp_path / "whole", "--as", "jsonl")
    run("rescue", one, *where, code=0)
    log = sorted((one / "compacted-0").glob("*.log"))[1]
    following = int(sorted((one / "compacted-0").glob("*.log"))[2].stem)
    hurt(log)
    words = f"offsets {int(log.stem)} to {following - 1}: no byte of them is here, though {log.parent}/"
    for ran in (
        run("diff", one, "--json", code=4),
        run("rescue", one, "--out", tmp_path / "rest", "--as", "jsonl", "--json", code=4),
    ):
        doubts = {line["topic"]: line["doubts"] for line in ran.of("partition")}
        assert [each[: len(words)] for each in doubts["compacted"]] == [words]
        assert doubts["compacted-txn"] == []
    run("rescue", one, other, "--out", tmp_path / "both", "--as", "jsonl", code=0)
    assert told(tmp_path / "both") == told(tmp_path / "whole")
