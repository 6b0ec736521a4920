"""Three hurt brokers whose dirs lie in an object store: their diff, rescue and export are as from a disk."""

import re
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.cli.run import Ran, run
from tests.fleet.bucket import s3_server, upload
from tests.lab.acknowledged.judge import hurt, opened
from tests.rescue.drawn import content, said
from tests.rescue.test_export import table

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("bucket")]
COMMITTED = ("--isolation", "read_committed")
COMMANDS = (
    ("diff",), ("rescue", "--as", "jsonl"), ("rescue", "--as", "parquet", *COMMITTED),
    ("rescue", "--as", "log-dir"), ("rescue", "--as", "csv", *COMMITTED, "--salvage"), ("export",),
    ("export", *COMMITTED),
)  # fmt: skip


def told(ran: Ran, root: str) -> list[str]:
    """Without where the dirs are, and what that does to the size of a table."""
    return sorted(re.sub(r'"(bytes|size)": \d+', "", line.replace(root, "")) for line in said(ran))


def rows(out: Path, root: str) -> Counter[str]:
    """Of every kind of table; of a log dir the files."""
    if (out / "_delta_log").is_dir():
        return Counter(str(row).replace(root, "") for row in table(out))
    texts = [line for each in out.glob("[!_]*.[jc]s*") for line in each.read_text().splitlines()]
    tables = [row for each in out.glob("*.parquet") for row in pq.ParquetFile(each).read().to_pylist()]
    found = texts + tables or sorted(content(out).items())
    return Counter(str(row).replace(root, "") for row in found)


def test_it_is_as_from_a_disk(tmp_path: Path) -> None:
    codes = set[int]()
    with s3_server() as client:
        for version, seed in (("4.3.1", 24), ("1.1.0", 24)):
            (home := tmp_path / version).mkdir()
            bed = hurt(opened(version, home), seed, overlap=True)
            upload(client, bed.root, version)
            for number, command in enumerate(COMMANDS):
                ran, found = [], []
                for place, root in (("there", f"s3://snap/{version}"), ("here", str(bed.root))):
                    dirs, out = [f"{root}/b{node}/d0" for node in (1, 2, 3)], home / f"{place}{number}"
                    more = () if command == ("diff",) else ("--out", out)
                    one = run(
                        "fleet", *command, *dirs, *more, "--topic", "[!_]*", "--driver", "local", "--json"
                    )
                    ran.append((one.code, told(one, root)))
                    found.append(rows(out, root) if more else Counter())
                assert ran[0] == ran[1], command
                assert found[0] == found[1], command
                codes.add(ran[0][0])
    assert 4 in codes <= {0, 4}
