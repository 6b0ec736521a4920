"""README.md stays true: each command of "Use it" and the Python example run on a real broker's dirs."""

import json
import os
import re
import shlex
from pathlib import Path

import pytest

from segmend.cli.main import main
from segmend.errors import ExitCode
from segmend.surgery.ops.balance import operation as balance
from tests.cli.run import run
from tests.conftest import one_in
from tests.copies import copy_tree
from tests.faults.patient import Patient
from tests.faults.table import fault_called
from tests.golden.shared import golden
from tests.golden.unpack import unpack
from tests.lab.outages.base import HERE
from tests.surgery.desk import left_code_of
from tests.surgery.picture import picture
from tests.surgery.test_balance import disks

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "README.md").read_text()


def golden_for(command: str) -> str:
    """Dirs of the release that the command names, of the newest else."""
    return "1.1.0-clean" if "--kafka 1.1" in command else "4.3.1-clean"


def section(title: str, text: str = TEXT) -> str:
    """From the heading to the next of its level."""
    level, _, _ = title.partition(" ")
    found = re.search(
        rf"^{re.escape(title)}$(.*?)(?=^#{{1,{len(level)}}} |\Z)", text, re.DOTALL | re.MULTILINE
    )
    assert found is not None, title
    return found[1]


COMMANDS = [
    line.partition(" #")[0].strip()
    for line in section("## Use it").splitlines()
    if line.startswith("    segmend ")
]
LIVE = [command for command in COMMANDS if " --bootstrap " in command]
"""They send to a cluster: tests/rescue/test_kafka.py runs their like on a real one."""
WITH_ZOOKEEPER = [command for command in COMMANDS if " --zookeeper " in command]
"""Of a cluster that was killed: no end of theirs is an all-clear."""
ELSEWHERE = [*LIVE, *WITH_ZOOKEEPER]
# What needs Java runs without it here as well, by the driver that is for small fleets.
DRIVEN = [command for command in COMMANDS if " fleet " in command and "/brokers/" in command]
RUNS = [
    pytest.param(command, (), id=command, marks=[pytest.mark.spark] if command in DRIVEN else [])
    for command in COMMANDS
    if command not in ELSEWHERE
] + [pytest.param(command, ("--driver", "local"), id=f"{command} (local)") for command in DRIVEN]
OF_AUDITS = [command for command in COMMANDS if " fleet " in command and command not in DRIVEN]
"""They ask about two audits in one OUT."""


def stage(root: Path, golden: Path) -> None:
    """The paths of the README below `root`, as links to a golden directory."""
    first, second = golden / "b1" / "d0", golden / "b1" / "d1"
    partition = max(first.glob("codec-*-0"), key=lambda path: len(list(path.glob("*.log"))))
    log = max(partition.glob("*.log"))
    for path, target in {
        "var/lib/kafka": first,
        "disk1/kafka": first,
        "disk2/kafka": second,
        "var/log/kafka/server.log": ROOT / "tests" / "lab" / "gone" / "recorded" / "1.1.0.log",
        "brokers/b1/data": first,
        "brokers/b1/data2": second,
        "…/orders-3": partition,
        "…/00000000000000368769.log": log,
        "DIR": first,
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).symlink_to(target)


def audited(root: Path) -> None:
    """Two audits of it in `root`/report."""
    where = (f"{root}/brokers/*", "--out", f"{root}/report", "--driver", "local", "--no-report")
    for _ in range(2):
        run("fleet", "audit", *where, code=0)


def placed(command: str, root: Path) -> list[str]:
    """The words of the command, its absolute paths moved below `root`."""
    return [f"{root}{word}" if word.startswith("/") else word for word in shlex.split(command)]


def test_there_are_commands() -> None:
    assert {command.split()[1] for command in COMMANDS} >= {"show", "check", "explain", "fleet"}


@pytest.mark.parametrize(("command", "more"), RUNS)
def test_each_command_runs_as_it_stands(
    command: str,
    more: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    stage(tmp_path, golden(golden_for(command)))
    monkeypatch.chdir(tmp_path)
    if command in OF_AUDITS:
        audited(tmp_path)
    program, *arguments = placed(command, tmp_path)
    assert program == "segmend"
    assert main([*arguments, *more]) == 0, capfd.readouterr().err
    assert capfd.readouterr().out
    if " --out report" in command:
        assert (tmp_path / "report" / "report.html").exists()


@pytest.mark.parametrize("more", [(), ("--json",)])
@pytest.mark.parametrize("command", WITH_ZOOKEEPER)
def test_each_command_reads_zookeeper(
    command: str, more: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = unpack(HERE / "2.8.2-stagger.tar.xz", tmp_path)
    for number in (1, 2):
        (nodes / f"b{number}" / "d0").rename(nodes / f"b{number}" / "kafka")
    (nodes / "zookeeper" / "data").rename(nodes / "zk")
    assert main([*placed(command, nodes)[1:], *more]) == ExitCode.FINDINGS
    assert "in-sync replicas and leaders: no metadata log here tells them" not in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("command", LIVE)
def test_each_command_asks_for_its_cluster(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """At an address that no name server has."""
    stage(tmp_path, golden(golden_for(command)))
    monkeypatch.chdir(tmp_path)
    words = placed(command.replace(" new:", " new.invalid:"), tmp_path)
    assert main(words[1:]) == ExitCode.OPERATIONAL
    assert "new.invalid:9092: no broker answers there" in capsys.readouterr().err


@pytest.mark.slow
def test_each_command_takes_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for command in [each for each in COMMANDS if each not in ELSEWHERE]:
        root = tmp_path / golden_for(command)
        if not root.exists():
            stage(root, golden(root.name))
        monkeypatch.chdir(root)
        if command in OF_AUDITS:
            audited(root)
        local = ["--driver", "local"] if command in DRIVEN else []
        lines = run(*placed(command, root)[1:], *local, "--json", code=0).out.splitlines()
        assert lines, command
        assert all(line.startswith("{") and line.endswith("}") for line in lines), command


MENDS = {
    "repair": "index-missing-rolled",
    "repair --from": "log-flip-rolled",
    "trim": "log-torn-more",
    "graft": "partition-missing",
    "merge": "log-flip-rolled",
    "adopt": "partition-stray",
    "free": "partition-delete",
    "identity": "meta-missing-second",
}
"""The faults that the commands of "Mend it" are for; the others want none."""
LINES = re.findall("^    segmend .*", section("## Mend it"), re.MULTILINE)
MEND = [shlex.split(line.partition(" #")[0]) for line in LINES]
PLANS = [words for words in MEND if words[1] == "plan"]
AFTERWARDS = [words for words in MEND if words[1] != "plan"]
OTHER_ID = ["--topic-id", "AAAAAAAAAAAAAAAAAAAAZg", "--even-stray"]
LOSES = {"free", "rename", "restamp"}
"""After these a start loses something: a torn log is there, or nobody made the topic that it is then of."""
MORE = {
    "rename": OTHER_ID,  # nobody made the topic that it is renamed to
    "restamp": OTHER_ID,  # nor made this one anew
    "delete": ["--accept-loss", "216-records"],  # the last copy
}
"""What a command says besides, on a broker alone."""
TOLD_ELSEWHERE = {"quorum", "reverse"}
"""They want another node, and a broker that ran since: tests/surgery/test_quorum.py, test_reverse.py."""
HELPED = {*MENDS, *MORE, *TOLD_ELSEWHERE}


def patient_of(whole: Path, root: Path) -> Patient:
    """A copy of a golden directory, and a partition of it."""
    copy_tree(whole, root / "b1")
    dirs = tuple(sorted((root / "b1").iterdir()))
    mine = next(path for log_dir in dirs for path in log_dir.glob("codec-none-0"))
    return Patient(dirs, mine, next(dirs[1].glob("codec-gzip-0"), mine))


def operation_of(words: list[str]) -> str:
    return "repair --from" if words[2] == "repair" and "--from" in words else words[2]


def asked(words: list[str], patient: Patient, leader: Path, elsewhere: Path) -> list[str]:
    """The command of the block, of what is there."""
    there = {
        "DIR": [patient.log_dir],
        "DIR…": [*patient.dirs],
        "orders-3": [patient.partition.name],
        "orders-3.1f0c…-stray": [path.name for log_dir in patient.dirs for path in log_dir.glob("*-stray")],
        "/disk1/kafka": [patient.log_dir],
        "/disk2/kafka": [next(path for path in patient.dirs if path != patient.log_dir)],
        "/mnt/node2/meta": [leader.parent],
        "/mnt/replica/orders-3": [leader],
        "/mnt/leader/orders-3": [leader],
        "/mnt/spare": [elsewhere],
        "40GB": ["1KB"],
        "orders": [patient.partition.name.rpartition("-")[0]],
        "orders*": [patient.partition.name.rpartition("-")[0]],
    }
    return [str(part) for word in words[1:] for part in there.get(word, [word])]


@pytest.mark.slow
def test_what_helps_a_command_is_needed(
    tmp_path: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a sound broker alone, and without more words, there is nothing for it to plan."""
    assert {operation_of(words) for words in PLANS} >= HELPED
    whole = golden("4.3.1-clean") / "b1"
    patient = patient_of(whole, tmp_path)
    leader = next(whole.glob(f"*/{patient.partition.name}"))
    monkeypatch.chdir(tmp_path)
    for words in PLANS:
        Path("plan.json").unlink(missing_ok=True)
        given = [
            *asked(words, patient, leader, elsewhere),
            *(["--state-dir", "state"] if words[2] == "reverse" else []),
        ]
        main(given)
        steps = Path("plan.json").exists() and json.loads(Path("plan.json").read_text())["steps"]
        assert not steps or operation_of(words) not in HELPED, capsys.readouterr()


@pytest.mark.parametrize(
    "words",
    one_in(10, [words for words in PLANS if words[2] not in TOLD_ELSEWHERE]),
    ids=lambda words: " ".join(words[2:]),
)
def test_mend_it(
    words: list[str],
    tmp_path: Path,
    elsewhere: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Its plan, applied, listed and undone as the block says; names and sizes are those that are there."""
    whole = golden("4.3.1-clean") / "b1"
    patient = patient_of(whole, tmp_path)
    leader = next(whole.glob(f"*/{patient.partition.name}"))
    operation = operation_of(words)
    if operation in MENDS:
        fault_called(MENDS[operation]).hurt(patient)
    monkeypatch.chdir(tmp_path)
    if operation == "balance":
        dirs = [str(path) for path in patient.dirs]
        assert main(["plan", "drain", *dirs, "--from", dirs[1], "-o", "drain.json"]) == 0
        assert main(["apply", "drain.json", "--yes", "--state-dir", "drained"]) == 1
        used = sum(path.stat().st_size for path in patient.dirs[0].rglob("*"))
        monkeypatch.setattr(balance, "file_systems", disks(2 * used, room=1 << 40))
    hurt = picture(tmp_path / "b1")
    code = main([*asked(words, patient, leader, elsewhere), *MORE.get(operation, [])])
    assert code == left_code_of(Path("plan.json")), capsys.readouterr()
    assert (code == 4) == (operation in LOSES), "what a start does after it"
    assert json.loads(Path("plan.json").read_text())["steps"]
    before, more = hurt, {"apply": ["--yes"], "undo": ["--yes"]}
    for each in AFTERWARDS:
        wanted = 1 + code if each[1] == "apply" else 0
        assert main([*each[1:], *more.get(each[1], []), "--state-dir", "state"]) == wanted
        assert (picture(tmp_path / "b1") == before) == (each[1] != "apply"), each
    capsys.readouterr()


def test_the_python_example(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stage(tmp_path, golden(golden_for("")))
    (example,) = re.findall(r"```python\n(.*?)```", section("### From Python"), re.DOTALL)
    exec(compile(example.replace('"/var/lib', f'"{tmp_path}/var/lib'), "README.md", "exec"), {})
    assert len(capsys.readouterr().out.splitlines()) > 20


def test_the_links_lead_somewhere() -> None:
    links = [link for link in re.findall(r"\]\(([^)#]+)", TEXT) if "://" not in link]
    assert links
    assert not [link for link in links if not os.path.exists(ROOT / link)]
