"""The next command of each finding, pasted as it stands: it does what it promises.

The log dirs have blanks, quotes and what a shell expands in their names, and bash reads the command. A plan
has steps; after `apply` the finding is gone, and no error is there that was not there before. One that is
called safe loses nothing. A shell command that moves something does the same. What stands in capitals is put
in by hand: a replica of the same partition that is sound.
"""

import itertools
import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.brokers import broker_of
from tests.cli.run import run
from tests.cli.typed import words_of
from tests.faults.hurts import unhurt
from tests.faults.table import Case, all_cases
from tests.seeds import SWEEP

from segmend.checks import CheckRun, Level
from segmend.findings import Finding, Remedy, Safety, Severity
from segmend.report.findings import finding_lines

pytestmark = pytest.mark.usefixtures("no_other_processes")
ELSEWHERE = ("kafka-configs.sh", "kafka-topics.sh", "kafka-transactions.sh", "dmesg", "sysctl", "readlink")
"""Programs that talk to the cluster (`test_cluster_commands`) or the machine."""
DISKS = "the $HOME 'disks' `of` \"b\""
LOOKS = ("segmend show ", "segmend check ", "segmend forecast ")
ASKS = {"K03": "which of the dirs is right only a human knows; it says what to add"}
"""Codes whose command ends with a question."""
OTHERS = 3
"""Of the faults whose codes another one has shown already CI takes one in so many."""
LATER = {
    ("log-not-gzip", "L19"): "the replica has the same fault",
    ("partition-of-long-topic", "N27"): "the directory under the long name is there still (M06)",
}
"""Commands that do not help before something else is done."""
HIDING = {
    "C01": "recovery-count",
    "C07": "start-malformed",
    "C10": "high-watermark-malformed",
    "K23": "metadata-logs-empty",
}
"""Codes with which new ones come (lines that can be read again, one empty log of two), each with a fault."""
BROUGHT_TO_LIGHT = {*HIDING, "L05"}
"""Where several faults are mended also a CRC under no index."""


def found(dirs: Sequence[Path], case: Case) -> list[Finding]:
    return list(CheckRun(broker_of(filter(Path.is_dir, dirs), case.scene.release), level=Level.DEEP))


def params() -> Iterator[Any]:
    """The first of each code, at once that of every third; of the others CI takes some, a sweep all.

    And those that show what is an exception.
    """
    seen: set[str] = set()
    number, others = 0, itertools.count()
    exceptions = {*HIDING.values(), *(fault for fault, _ in LATER)}
    for case in all_cases():
        if not case.scene.vast:
            codes = set(case.scene.codes.replace("+", "").split())
            new = bool(codes - seen)
            number += new
            marks = () if new and number % 3 == 0 else pytest.mark.slow
            seen |= codes
            if codes and (new or SWEEP or next(others) % OTHERS == 0 or case.fault.name in exceptions):
                yield pytest.param(case, id=str(case), marks=marks)


def wanted(findings: Sequence[Finding], case: Case, looks: list[str]) -> dict[Remedy, list[Finding]]:
    """The next commands that change something, each with what it is said to help; and those that look."""
    commands: dict[Remedy, list[Finding]] = {}
    for finding in findings:
        remedy = finding.remedy
        if remedy is None or finding.cause is not None:
            continue
        if remedy.command.startswith(LOOKS):
            looks.append(remedy.command)
        from_other = (
            "_PARTITION_DIR" in remedy.command or "OTHER_METADATA_DIR" in remedy.command
        ) and case.fault.hurt is unhurt  # the other is hurt, too
        if not from_other and not remedy.command.startswith((*ELSEWHERE, *LOOKS)):
            commands.setdefault(remedy, []).append(finding)
    return commands


@pytest.mark.parametrize("case", list(params()))
def test_the_next_command_does_what_it_promises(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = found(case.hurt(tmp_path / DISKS).dirs, case)
    monkeypatch.chdir(tmp_path)
    looks: list[str] = []
    commands, brought = wanted(before, case, looks), set[str]()
    for command in dict.fromkeys(looks):
        assert run(*words_of(command)).code in (0, 4), command
    for remedy, findings in commands.items():
        for name in os.listdir(tmp_path):
            shutil.rmtree(name) if Path(name).is_dir() else Path(name).unlink()
        dirs = case.hurt(tmp_path / DISKS).dirs
        other = case.scene.write(tmp_path / "the other")
        place = (findings[0].file or "").partition("/")[0]
        command = remedy.command.replace("LEADER_PARTITION_DIR", shlex.quote(str(other.dirs[0] / place)))
        if "OTHER_METADATA_DIR" in command:
            command = command.replace("OTHER_METADATA_DIR", shlex.quote(str(of_another_node(other.dirs))))
        command = command.replace("REPLICA_PARTITION_DIR", shlex.quote(str(other.dirs[0] / place)))
        done, codes = pasted(command, case), {finding.code for finding in findings}
        assert codes <= ASKS.keys() if done is None else codes.isdisjoint(ASKS), remedy.command
        if done is None:
            continue
        assert done or remedy.safety != Safety.SAFE, f"{remedy.command} loses something"
        told = {(each.code, each.file) for each in findings}
        after = found(dirs, case)
        later = {code for code, _ in told if (case.fault.name, code) in LATER}
        new = {e.code for e in after if e.severity == Severity.ERROR} - {e.code for e in before}
        hidden = HIDING.keys() & codes or new <= HIDING.keys()
        brought |= codes | new if new else set()
        helped = told.isdisjoint((each.code, each.file) for each in after) and (hidden or not new)
        assert helped != bool(later), remedy.command
    assert {code for code, fault in HIDING.items() if fault == case.fault.name} <= brought


def of_another_node(dirs: Sequence[Path]) -> Path:
    """The dir with the metadata, as if of node 2, and a server.properties that has both for voters."""
    found = next((path for path in dirs if (path / "__cluster_metadata-0").is_dir()), dirs[0])
    identity = found / "meta.properties"
    if identity.exists():
        identity.write_text(identity.read_text().replace("node.id=1", "node.id=2"))
    voters = "controller.quorum.voters=1@localhost:9093,2@localhost:9094"
    home = f"log.dirs={found.parent.parent / DISKS / found.name}"
    Path("server.properties").write_text(f"process.roles=broker,controller\nnode.id=1\n{voters}\n{home}\n")
    return found


def pasted(command: str, case: Case) -> bool | None:
    """Whether it loses nothing; None where there is no plan, because something must be said first."""
    if not command.startswith("segmend "):
        subprocess.run(["bash", "-c", command], check=True)
        return True
    ran = run(*words_of(command), "--kafka", case.scene.release)
    if not Path("plan.json").exists():
        assert ran.code == 16
        return None
    plan = json.loads(Path("plan.json").read_text())
    assert plan["steps"], f"{command}: {ran.out}"
    assert run("apply", "plan.json", "--yes", "--state-dir", "state").code & ~4 in (0, 1)
    return not plan["losses"]


@pytest.mark.slow
def test_what_people_are_shown_is_accepted_by_a_shell(tmp_path: Path) -> None:
    """Not a word of it is run: `bash -n`."""
    lines = [
        line.strip().removeprefix("next:").strip()
        for case in list(all_cases())[::16]
        if not case.scene.vast
        for line in finding_lines(found(case.hurt(tmp_path / str(case)).dirs, case))
        if line.strip().startswith("next:")
    ]
    assert lines
    assert all("  # " in line for line in lines)
    subprocess.run(["bash", "-n", "-c", "\n".join(lines)], check=True)
