"""A file that one replica lost is no compaction: its records, of transactions too, come from the others."""

import shutil
from pathlib import Path

from tests.cli.run import run
from tests.golden.judge import copy_tree
from tests.golden.shared import golden
from tests.rescue.replicas import replicas, told

from segmend.kernel.batches import iter_batches
from segmend.logdir.disk import FileReader


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
    with FileReader(str(log)) as reader:
        gone = list(iter_batches(reader))[2:4]
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
