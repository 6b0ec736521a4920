"""A topic that was made anew right before a kill: the checkpoint still has the mark of the one before."""

import os
from pathlib import Path

import pytest
from tests.cli.run import run
from tests.copies import copy_tree
from tests.faults.on_disk import lines_of, put_lines
from tests.faults.patient import Patient
from tests.faults.written import two_dirs, with_zookeeper
from tests.golden.shared import golden

from segmend.formats.offset_checkpoint import HIGH_WATERMARK
from segmend.formats.partition_metadata import FILE_NAME
from segmend.logdir.log_dir import LogDir
from segmend.node.broker_dirs import BrokerDirs

DAY = 24 * 3600


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A log that ends below its mark, of a killed broker whose metadata log has the record that made it."""
    copy_tree(golden("4.3.1-killed"), tmp_path / "data")
    for path in (tmp_path / "data").glob("b1/d*/__cluster_metadata-0/*.checkpoint"):
        path.unlink()
    (partition,) = (tmp_path / "data").glob("b1/d*/idem-0")
    path = partition.parent / HIGH_WATERMARK
    rows = [row for row in path.read_text().splitlines() if not row.startswith("idem 0 ")]
    path.write_text(
        "\n".join([*rows, "idem 0 5000", ""]).replace(f"0\n{len(rows) - 2}\n", f"0\n{len(rows) - 1}\n", 1)
    )
    return partition


@pytest.mark.parametrize(
    ("checkpoint", "made", "loses"), [(-DAY, 0, False), (-DAY, -2 * DAY, True), (DAY, 2 * DAY, True)]
)
def test_a_mark_counts_unless_both_clocks_say_that_it_is_older(
    home: Path, checkpoint: int, made: int, loses: bool
) -> None:
    """As real brokers left it (3.6.2, 3.9.2, 4.3.1)."""
    dirs = sorted(home.parents[1].glob("d*"))
    image = BrokerDirs([LogDir.open(str(path)) for path in dirs]).metadata
    assert image is not None
    created = image.created[image.ids["idem"]] / 1000
    for path, since in ((home.parent / HIGH_WATERMARK, checkpoint), (home / FILE_NAME, made)):
        os.utime(path, (created + since, created + since))
    said = run("forecast", *dirs, "--json")
    line = next(each for each in said.of("partition") if each["topic"] == "idem")
    assert ("high-watermark-reset" in {each["effect"] for each in line["effects"]}) == loses
    found = run("check", *dirs, "--json").of("finding")
    assert [each["severity"] for each in found if each["code"] == "C10b"] == ["error" if loses else "info"]


@pytest.mark.parametrize(("written", "doubt"), [(False, True), (True, False)])
def test_a_mark_that_the_files_alone_call_older_is_in_doubt(
    written: bool, doubt: bool, tmp_path: Path
) -> None:
    """Without the record that made the topic; one in the log that is older than the checkpoint decides."""
    dirs = two_dirs(tmp_path, clean=False)
    with_zookeeper(dirs)
    patient = Patient(tuple(dirs), dirs[0] / "t-0", dirs[1] / "v-0")
    mark = patient.end + 1000
    patient.line(HIGH_WATERMARK, mark)
    if not written:
        for path in patient.partition.iterdir():
            path.unlink()
        (patient.partition / f"{0:020d}.log").touch()
    (patient.partition / FILE_NAME).write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAEQ\n")
    os.utime(patient.partition / FILE_NAME, (4e9, 4e9))
    said = run("forecast", *dirs, "--json", "--kafka", "2.8.2")
    line = next(each for each in said.of("partition") if each["topic"] == "t")
    lost = sum(each["records_lost"] for each in line["effects"])
    assert (lost == 0, any(f"to {mark - 1}: the high" in each for each in said.json[-1]["unknown"])) == (
        doubt,
        doubt,
    )
    found = run("check", *dirs, "--json", "--kafka", "2.8.2").of("finding")
    assert [each["severity"] for each in found if each["code"] == "C10b"] == ["warning" if doubt else "error"]
    compared = run("diff", *dirs, "--json", "--topic", "t")
    assert compared.code == 4
    (verdict,) = compared.of("partition")
    assert bool(verdict["missing"]) != doubt


@pytest.mark.parametrize("empty", [False, True])
@pytest.mark.parametrize("young", [True, False])
def test_before_topics_had_ids_files_that_are_all_younger_leave_it_in_doubt(
    empty: bool, young: bool, tmp_path: Path
) -> None:
    """1.1.0 kept all of a topic made anew seconds before a kill, of which we said 59 records are lost."""
    copy_tree(golden("1.1.0-killed"), tmp_path / "data")
    (topic,) = (tmp_path / "data").glob("b1/d*/idem-0")
    for path in topic.iterdir():
        if empty and path.suffix == ".log":
            path.write_bytes(b"")
        os.utime(path, (2_000_000_000, 2_000_000_000 if young or path.suffix != ".index" else 1))
    marks = topic.parent / HIGH_WATERMARK
    put_lines(marks, [*(row for row in lines_of(marks) if not row.startswith("idem 0 ")), "idem 0 5000"])
    os.utime(marks, (1_000_000_000, 1_000_000_000))  # before its first record
    told = run("forecast", *sorted(topic.parents[1].glob("d*")), "--kafka", "1.1.0", "--json")
    (line,) = (each for each in told.of("partition") if each["topic"] == "idem")
    lost = any(each["effect"] == "high-watermark-reset" for each in line["effects"])
    assert (lost, any("whether it had offsets" in each for each in told.json[-1]["unknown"])) == (
        not young,
        young,
    )
    assert told.code == 4
