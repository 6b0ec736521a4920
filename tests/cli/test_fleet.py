"""`segmend fleet audit` as users run it, without Java (tests/spark runs it with)."""

import json
from pathlib import Path

import pytest
from tests.cli.run import run
from tests.fleet.build import three_brokers


def test_a_healthy_fleet(tmp_path: Path) -> None:
    root, out = three_brokers(tmp_path / "fleet"), tmp_path / "out"
    said = run("fleet", "audit", root, "--out", out, "--driver", "local", code=0)
    assert said.out.startswith("nothing wrong in 3 brokers, 3 log dirs, 12 partitions, 48 segments")
    assert "not looked at: CRCs, records (--deep)" in said.out
    assert said.out.endswith(f"report: {out}/report.html\n")
    assert said.err == ""
    assert (out / "report.html").read_text().startswith("<!doctype html>")
    assert json.loads((out / "summary.json").read_text())["exit_code"] == 0


def test_what_is_wrong_is_told_once_a_code_with_the_next_command(tmp_path: Path) -> None:
    root, out = three_brokers(tmp_path / "fleet"), tmp_path / "out"
    for file in (root / "b2").rglob("*.timeindex"):
        file.unlink()
    command = ["fleet", "audit", str(root), "--out", str(out), "--driver", "local", "--no-report"]
    lines = run(*command, code=4).out.splitlines()
    assert sum(line.split()[1:2] == ["I13"] for line in lines) == 1
    assert any("(and 15 more)" in line for line in lines)
    assert any("next: segmend plan repair" in line for line in lines)
    assert not (out / "report.html").exists()


def test_json_lines(tmp_path: Path) -> None:
    root, out = three_brokers(tmp_path / "fleet"), tmp_path / "out"
    next((root / "b1").rglob("*.timeindex")).unlink()
    command = ["fleet", "audit", str(root), "--out", str(out), "--driver", "local", "--no-report", "--json"]
    *findings, summary = map(json.loads, run(*command, code=4).out.splitlines())
    assert {f["type"] for f in findings} == {"finding"}
    assert {"code", "severity", "dir", "file", "message", "remedy", "broker"} <= set(findings[0])
    assert findings[0]["broker_effect"]["effect"] == "index-created"
    assert (summary["type"], summary["warnings"], summary["exit_code"]) == ("summary", 1, 4)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["audit", "{tmp}/nowhere", "--out", "{tmp}/out"], 8, "no such directory"),
        (["audit", "{tmp}/fleet", "--out", "{tmp}/fleet/b1/data/x"], 16, "lies in the log dir"),
        (["audit", "{tmp}/fleet"], 16, "--out"),
        (["audit"], 16, "PATH"),
        ([], 16, "COMMAND"),
        (["audit", "{tmp}/fleet", "--out", "{tmp}/file"], 8, "file"),
    ],
)
def test_a_command_line_that_makes_no_sense_is_one_line(
    tmp_path: Path, arguments: list[str], code: int, said: str
) -> None:
    three_brokers(tmp_path / "fleet")
    (tmp_path / "file").touch()
    given = [argument.format(tmp=tmp_path) for argument in arguments]
    extra = ["--driver", "local"] if given else []
    error = run("fleet", *given, *extra, code=code).err
    assert said in error
    assert error.count("\n") == 1


@pytest.mark.slow
def test_what_another_finding_explains_has_its_cause_and_no_next_command(tmp_path: Path) -> None:
    fleet = three_brokers(tmp_path / "fleet")
    log = sorted(fleet.glob("*/**/orders-0/*.log"))[-1]
    log.write_bytes(log.read_bytes()[:-7])
    arguments = ["fleet", "audit", str(fleet), "--driver", "local", "--deep"]
    ran = run(*arguments, "--out", tmp_path / "out", "--json", code=4)
    found = {line["code"]: line for line in ran.json if "code" in line}
    assert found["L01"]["cause"] is None
    assert (found["C10b"]["cause"]["code"], found["C10b"]["cause"]["file"]) == ("L01", found["L01"]["file"])
    assert "cause" not in found["C10b"]["detail"]
    again = run(*arguments, "--out", tmp_path / "again", code=4)
    assert f"because of L01 {found['L01']['file']}\n" in again.out


def test_a_master_beside_the_local_driver_is_an_error(tmp_path: Path) -> None:
    """Where the work is to be done is not guessed."""
    ran = run("fleet", "diff", tmp_path, "--driver", "local", "--master", "spark://host:7077", code=16)
    assert "--master is Spark's" in ran.err
