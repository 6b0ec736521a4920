"""What a rescue counts is what became of each record that was read, whatever the form."""

from pathlib import Path
from typing import Any

import pytest
from tests.cli.run import run
from tests.fleet.build import cut, plain, write_broker

from segmend.formats.build import BatchProducer, NewRecord, build_batch

FORMS = ("jsonl", "parquet", "log-dir")


def _line(out: Path, form: str, *words: object) -> dict[str, Any]:
    (line,) = run("rescue", *words, "--out", out, "--as", form, "--json").of("partition")
    return line


@pytest.mark.parametrize("form", FORMS)
def test_what_another_replica_gave_and_what_nobody_asked_for_are_two_counts(
    form: str, tmp_path: Path
) -> None:
    """A high watermark inside of a batch took it twice, -3 duplicates; all behind --offsets were such."""
    shorter = plain("orders", 0)
    cut(2)(shorter)
    dirs = [write_broker(tmp_path, 1, [plain("orders", 0)]), write_broker(tmp_path, 2, [shorter])]
    for home in dirs:
        (home / "replication-offset-checkpoint").write_text("0\n1\norders 0 115\n")
    for number, (offsets, records) in enumerate((((), 120), (("--offsets", "7..16"), 10))):
        line = _line(tmp_path / f"o{number}", form, *dirs, *offsets)
        counts = [line[name] for name in ("records", "read", "duplicates", "not_asked_for")]
        assert counts == [records, 234, 114, 120 - records]


@pytest.mark.parametrize("mark", [0, 2])
@pytest.mark.parametrize("form", FORMS)
def test_the_records_inside_a_message_of_old_are_counted(form: str, mark: int, tmp_path: Path) -> None:
    """A log dir with transactions took a compressed one for one record."""
    folder = tmp_path / "b1" / "t-0"
    folder.mkdir(parents=True)
    made = [NewRecord(value=b"v", timestamp=1)]
    open_one = BatchProducer(id=7, epoch=0, base_sequence=0, transactional=True)
    (folder / f"{0:020}.log").write_bytes(
        build_batch(made * 5, magic=1, codec=1)
        + build_batch(made * 2, base_offset=5, producer=open_one)
        + build_batch(made * 3, base_offset=7)
    )
    (tmp_path / "b1" / "replication-offset-checkpoint").write_text(f"0\n1\nt 0 {mark}\n")
    line = _line(tmp_path / "out", form, tmp_path / "b1")
    counts = [line[name] for name in ("records", "read", "open", "unacknowledged", "marked", "duplicates")]
    assert counts == [10, 10, 2, 10 - mark, 10 - mark, 0]
