"""A damaged log is no witness: sound derived files stay, and no start loses more by a repair than without."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.checks.build_partition import write_log_dir
from tests.copies import copy_tree
from tests.faults.patient import START, Patient, lonely_topic, patient_in
from tests.faults.table import fault_called
from tests.faults.written import metadata_dir, plain
from tests.files import contents
from tests.lab.test_verdicts import unpacked
from tests.surgery.desk import left_code, left_code_of
from tests.surgery.sweep import run


class Bed:
    """A base of the lab with one fault, and plans for it; `whole` is the base."""

    def __init__(self, name: str, fault: str, root: Path) -> None:
        self.root, self.release = root, name.partition("-")[0]
        self.whole = unpacked(name, root / "whole")
        copy_tree(self.whole, root / "hurt")
        self.patient: Patient = patient_in(root / "hurt", lonely_topic(root / "hurt"))
        fault_called(fault).hurt(self.patient)

    def plan(self, *options: object) -> dict[str, Any]:
        where = self.root / "plan.json"
        ran = run("plan", "repair", *self.patient.dirs, *options, "--kafka", self.release, "-o", where)
        found: dict[str, Any] = json.loads(where.read_text())
        assert ran.code == left_code(found), ran.err
        return found

    def apply(self) -> None:
        ran = run("apply", self.root / "plan.json", "--yes", "--state-dir", self.root / "state")
        assert ran.code == 1 + left_code_of(self.root / "plan.json"), ran.err


@pytest.mark.parametrize(("fault", "code"), [("log-flip-old", "I21"), ("log-flip-rolled-last-batch", "P06")])
def test_a_marker_that_cannot_be_read_does_not_overrule_the_files_that_know_of_it(
    fault: str, code: str, tmp_path: Path
) -> None:
    bed = Bed("4.3.1-clean", fault, tmp_path)
    plan = bed.plan()
    assert plan["steps"] == []
    words = next(words for words in plan["left"] if words.startswith(code))
    assert "is damaged at byte" in words
    assert "--from" in words
    bed.plan("--from", bed.whole / "b1" / bed.patient.log_dir.name)
    bed.apply()
    assert contents(tmp_path / "hurt") == contents(bed.whole)


def test_an_index_that_would_make_the_next_start_cut_more_is_not_made(tmp_path: Path) -> None:
    plan = Bed("4.3.1-killed", "log-flip-rolled-without-index", tmp_path).plan()
    assert plan["steps"] == []
    words = next(words for words in plan["left"] if words.startswith("I01"))
    assert "would lose 89 records of the partition, as it is it would lose 30 records" in words


def test_an_index_that_would_make_the_next_start_fail_is_not_made(tmp_path: Path) -> None:
    """Without it the start cuts off a marker of no known kind before any replay comes upon it."""
    bed = Bed("4.3.1-killed", "snapshot-only-newest", tmp_path)
    fault_called("log-flip-old-without-index").hurt(bed.patient)
    words = next(words for words in bed.plan()["left"] if words.startswith("I01"))
    assert "made anew, the next start would fail" in words


def test_a_broker_that_does_not_start_is_not_made_to_start_and_delete(tmp_path: Path) -> None:
    """Corrupt indexes bring it to a rolled segment that ends in zeros; without them it would cut there."""
    bed = Bed("1.1.0-killed", "timeindex-zero-tail-old", tmp_path)
    fault_called("log-tail-zeros-rolled").hurt(bed.patient)
    plan = bed.plan()
    assert {Path(step["path"]).parent.name for step in plan["steps"]} == {"f000-0"}
    words = next(words for words in plan["left"] if words.startswith("I14"))
    assert "would lose 59 records of the partition, as it is it would fail" in words


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize("epochs", ["", "0\n1\n0 x\n"])
def test_a_future_replica_with_a_hole_is_not_helped_to_take_over(
    epochs: str, alone: bool, tmp_path: Path
) -> None:
    """Without leader epochs it is copied anew; with them the records in its hole go with the current one."""
    bed = Bed("4.3.1-clean", "index-missing-rolled", tmp_path)
    here = bed.patient.partition
    future = (
        next(each for each in bed.patient.dirs if each != here.parent) / f"{here.name}.{'5e' * 16}-future"
    )
    shutil.copytree(here, future)
    (future / "leader-epoch-checkpoint").write_text(epochs)
    sorted(future.glob("*.log"))[1].unlink()
    if not alone:
        found = run("check", *bed.patient.dirs, "--kafka", "4.3.1", "--json").of("finding")
        (hole,) = (row for row in found if row["code"] == "N08")
        subprocess.run(hole["remedy"]["command"].replace("mv -n", "cp -rn"), shell=True, check=True)
        assert (future.parent.with_name(f"{future.parent.name}.aside") / future.name).is_dir()
    where = tmp_path / "plan.json"
    dirs = [future] if alone else bed.patient.dirs
    assert run("plan", "repair", *dirs, "--kafka", "4.3.1", "-o", where).code == 4
    plan = json.loads(where.read_text())
    assert not [step for step in plan["steps"] if step["path"].endswith("leader-epoch-checkpoint")]
    assert [words for words in plan["left"] if words.startswith("E0")]


def test_what_is_no_better_without_a_mend_is_mended(tmp_path: Path) -> None:
    """It is the start offset that comes to be right by which records are there to be lost."""
    bed = Bed("1.1.0-killed", "start-beyond-end", tmp_path)
    fault_called("log-old-batch-at-tail").hurt(bed.patient)
    bed.plan()
    bed.apply()
    assert bed.plan()["steps"] == []


def test_brokers_that_look_at_time_indexes_get_a_sound_one_beside_a_new_index(tmp_path: Path) -> None:
    bed = Bed("1.1.0-killed", "index-missing-active", tmp_path)
    bed.plan()
    bed.apply()
    assert bed.plan()["steps"] == []


def test_a_missing_transaction_index_is_not_made_of_a_damaged_log(tmp_path: Path) -> None:
    bed = Bed("4.3.1-clean", "log-flip-rolled-last-batch", tmp_path)
    lost = bed.patient.file("last-rolled", "txnindex")
    lost.unlink()
    plan = bed.plan()
    assert [step["path"] for step in plan["steps"]] == []
    assert [words for words in plan["left"] if words.startswith("I17") and str(lost) in words]


def test_what_comes_to_light_by_a_repair_is_named(tmp_path: Path) -> None:
    bed = Bed("4.3.1-killed", "log-magic-3-rolled", tmp_path)
    fault_called("log-size-large-rolled").hurt(bed.patient)
    assert [words for words in bed.plan()["left"] if words.startswith("L11") and "then plan again" in words]


@pytest.mark.slow
def test_epochs_made_anew_do_not_begin_beyond_the_log(tmp_path: Path) -> None:
    bed = Bed("4.3.1-clean", "start-beyond-end", tmp_path)
    fault_called("epochs-negative").hurt(bed.patient)
    bed.plan()
    bed.apply()
    epochs = (bed.patient.partition / "leader-epoch-checkpoint").read_bytes()
    assert (
        epochs
        == (bed.whole / "b1" / "d1" / bed.patient.partition.name / "leader-epoch-checkpoint").read_bytes()
    )
    assert bed.plan()["steps"] == []


def test_what_is_wrong_only_beside_a_damaged_log_is_named(tmp_path: Path) -> None:
    plan = Bed("1.1.0-clean", "log-magic-1-rolled", tmp_path).plan()
    assert plan["steps"] == []
    words = next(words for words in plan["left"] if words.startswith("I16"))
    assert "is damaged at byte" in words


def test_a_segment_under_a_wrong_name_keeps_its_offsets(tmp_path: Path) -> None:
    plan = Bed("4.3.1-killed", "segment-wrong-base", tmp_path).plan()
    assert [step["path"] for step in plan["steps"] if step["path"].endswith(".log")] == []
    assert [words for words in plan["left"] if words.startswith("N05")]


def test_what_a_start_makes_worse_is_named_though_by_itself_it_is_a_note(tmp_path: Path) -> None:
    plan = Bed("4.3.1-clean", "swap-absurd-offset", tmp_path).plan()
    assert {words.partition(" ")[0] for words in plan["left"]} == {"N14", "N15"}


def repaired(dirs: list[Path], root: Path) -> dict[str, Any]:
    ran = run("plan", "repair", *dirs, "--kafka", "4.3", "-o", root / "plan.json")
    found: dict[str, Any] = json.loads((root / "plan.json").read_text())
    assert ran.code == (4 if found["left"] else 0), ran.err
    return found


def trimmed(root: Path) -> Path:
    """A log dir in which `DeleteRecords` moved the start of `u-0` into its first segment."""
    folder = write_log_dir(root / "a", [plain("u")])
    (folder / "u-0" / "leader-epoch-checkpoint").write_text("0\n1\n0 7\n")
    (folder / START).write_text("0\n1\nu 0 7\n")
    assert run("check", folder).code == 0
    return folder


@pytest.mark.parametrize("content", ["", "0\n1\nu zero 7\n", "0\n1\nu 0 -7\n", "0\n1\nu 0 100000\n"])
def test_a_lost_log_start_offset_comes_back_from_the_epochs(content: str, tmp_path: Path) -> None:
    folder = trimmed(tmp_path)
    (folder / START).write_text(content)
    plan = repaired([folder], tmp_path)
    assert [step["path"] for step in plan["steps"]] == [str(folder / START)]
    assert plan["left"] == []
    assert run("apply", tmp_path / "plan.json", "--yes", "--state-dir", tmp_path / "state").code == 1
    assert (folder / START).read_text() == "0\n1\nu 0 7\n"


def tiered(folder: Path) -> None:
    """The first two segments lie in remote storage; the log still starts at 0."""
    for base in (0, 18):
        for path in (folder / "u-0").glob(f"{base:020d}.*"):
            path.unlink()
    (folder / START).write_text("0\n1\nu 0 0\n")


@pytest.mark.parametrize("tier", [True, False])
def test_epochs_of_remote_segments_are_not_made_up(tier: bool, tmp_path: Path) -> None:
    folder = write_log_dir(tmp_path / "a", [plain("u")])
    if tier:
        tiered(folder)
    epochs = folder / "u-0" / "leader-epoch-checkpoint"
    epochs.write_text("0\nseven\n")
    plan = repaired([folder], tmp_path)
    assert [step["path"] for step in plan["steps"]] == ([] if tier else [str(epochs)])
    assert [words for words in plan["left"] if "in remote storage only" in words] == plan["left"]


def test_the_id_of_the_metadata_log_is_known_to_all(tmp_path: Path) -> None:
    dirs = list(metadata_dir(tmp_path))
    path = dirs[0] / "__cluster_metadata-0" / "partition.metadata"
    path.write_text("version: 0\ntopic_id: zzz")
    plan = repaired(dirs, tmp_path)
    assert [step["path"] for step in plan["steps"]] == [str(path)]
    assert run("apply", tmp_path / "plan.json", "--yes", "--state-dir", tmp_path / "state").code == 1
    assert path.read_text() == "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ"


def test_a_cleaner_offset_beyond_the_end_becomes_what_a_broker_resets_it_to(tmp_path: Path) -> None:
    """The line stays: from it alone is known that the cleaner was there, and that offsets may be missing."""
    bed = Bed("2.8.2-clean", "cleaner-above-end", tmp_path)
    path = bed.patient.log_dir / "cleaner-offset-checkpoint"
    topic, partition = bed.patient.topic, 0
    bed.plan()
    bed.apply()
    assert f"{topic} {partition} 0" in path.read_text().splitlines()
