"""On the fleet's drivers diff, rescue and export tell what they tell alone."""

from __future__ import annotations

import json
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.run import Ran, run
from tests.golden.judge import copy_tree
from tests.merge.test_any_damage import HURTS
from tests.rescue.replicas import hurt, replicas
from tests.rescue.test_gaps import cut_out
from tests.seeds import SEED


def content(out: Path) -> dict[str, bytes]:
    """Every file but the report, which names the dirs as they were given."""
    files = [path for path in out.rglob("*") if path.is_file() and not path.name.startswith("_rescue")]
    return {str(path.relative_to(out)): path.read_bytes() for path in files}


def lines(ran: Ran) -> list[object]:
    return sorted(map(str, ran.of("partition")))


@pytest.mark.slow
@pytest.mark.parametrize("driver", ["local", pytest.param("spark", marks=pytest.mark.spark)])
@pytest.mark.parametrize("form", ["log-dir", pytest.param("parquet", marks=pytest.mark.slow)])
def test_it_gives_the_same(
    driver: str,
    form: str,
    golden: Callable[[str], Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    draw = random.Random(1)
    dirs = replicas(golden("4.3.1-killed"), tmp_path / "brokers", ("codec-zstd-0", "txn-0", "nulls-0"))
    hurt(dirs, draw, lambda: {draw.randrange(3)})
    alone = run(capsys, "rescue", *dirs, "--out", tmp_path / "alone", "--as", form, "--json")
    there = run(
        capsys, "fleet", "rescue", tmp_path / "brokers", "--out", tmp_path / "there", "--as", form, "--json",
        "--driver", driver,
    )  # fmt: skip
    assert (there.code, lines(there)) == (alone.code, lines(alone)), there.err
    assert content(tmp_path / "there") == content(tmp_path / "alone")


MORE = (
    "batch",
    "batch everywhere",
    "file",
    "replica",
    "partition",
    "aside",
    "checkpoints",
    "identity",
    "metadata",
)


def wound(root: Path, draw: random.Random) -> str:
    """Hurt a replica, all of a partition, or what lies beside them; what was done."""
    log = draw.choice(
        [log for log in sorted(root.glob("b*/d*/[cop]*-[0-9]/*.log")) if log.stat().st_size > 3000]
    )
    replica, log_dir, everywhere = log.parent, log.parents[1], root.glob(f"b*/d*/{log.parent.name}")
    what = draw.choice([*HURTS, *MORE])
    if what in HURTS:
        data = bytearray(log.read_bytes())
        log.write_bytes(HURTS[what](data, draw.randrange(len(data)), draw.randrange(1, 3000)))
    elif what.startswith("batch"):
        for each in everywhere if what.endswith("everywhere") else [replica]:
            cut_out(each / log.name, 1)
    elif what == "file":
        log.unlink()
    elif what in ("replica", "partition"):
        for each in everywhere if what == "partition" else [replica]:
            shutil.rmtree(each)
    elif what == "aside":
        replica.rename(f"{replica}.{'a' * 32}-stray")
    else:
        names = {
            "checkpoints": "*-checkpoint",
            "identity": "meta.properties",
            "metadata": "__cluster_metadata-0/*.log",
        }
        for each in list(log_dir.glob(names[what])):
            each.unlink()
    return f"{what} {log.relative_to(root)}"


def said(ran: Ran) -> list[str]:
    """Every line, without the time it took and the token that a task has in its files' names."""
    told = [{key: value for key, value in row.items() if key != "seconds"} for row in ran.json]
    return sorted(re.sub(r"(-\d{20})-[0-9a-f]{16}(-\d+\.parquet)", r"\1\2", json.dumps(row)) for row in told)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(2))
def test_of_a_hurt_cluster_each_line_is_the_same(
    number: int, golden: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    draw = random.Random(f"fleet {SEED} {number}")
    copy_tree(golden("4.3.1-fleet"), root := tmp_path / "root")
    did = [wound(root, draw) for _ in range(draw.randrange(1, 5))]
    where = (*sorted(root.glob("b*/d*")), "--topic", "[cop]*", "--json")
    for command in ("diff", "rescue --as jsonl", "export"):
        outs = [() if command == "diff" else ("--out", tmp_path / f"{command[:6]}{each}") for each in (0, 1)]
        alone = run(capsys, *command.split(), *where, *outs[0])
        there = run(capsys, "fleet", *command.split(), *where, *outs[1], "--driver", "local")
        assert (there.code, said(there)) == (alone.code, said(alone)), (command, did, there.err)
