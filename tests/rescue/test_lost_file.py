"""A file that one replica lost is no compaction: its records, of transactions too, come from the others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.run import run
from tests.rescue.replicas import replicas, told

Golden = Callable[[str], Path]


def test_transactions_of_a_lost_file_are_not_taken_for_removed(
    golden: Golden, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dirs = replicas(golden("4.3.1-killed"), tmp_path, ("compacted-txn-0",))
    run(capsys, "rescue", dirs[0], "--out", tmp_path / "whole", "--as", "jsonl")
    (dirs[0] / "compacted-txn-0" / f"{653:020d}.log").unlink()
    ran = run(capsys, "rescue", *dirs, "--out", tmp_path / "out", "--as", "jsonl")
    assert (ran.code, told(tmp_path / "out")) == (0, told(tmp_path / "whole"))
