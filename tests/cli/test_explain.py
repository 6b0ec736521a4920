"""`segmend explain`: every finding has its page."""

import json

import pytest

from segmend.cli.commands.explain.command import FAMILIES
from segmend.cli.main import main
from segmend.fleet.cross import whole_manual

CODES = {code: entry.code.severity for code, entry in whole_manual().items()}


def test_the_list_has_every_code_once(capsys) -> None:
    assert main(["explain"]) == 0
    out = capsys.readouterr().out
    listed = [line.split()[0] for line in out.splitlines() if line.startswith("  ")]
    assert sorted(listed) == sorted(CODES)
    assert {code[0] for code in CODES} <= set(FAMILIES)


@pytest.mark.parametrize("code", ["N01", "n01", "C10b", "c10B", "R02"])
def test_a_page(code: str, capsys) -> None:
    assert main(["explain", code]) == 0
    out = capsys.readouterr().out
    for heading in ("What it means", "What the broker does", "What to do", "Kafka"):
        assert f"\n{heading}\n    " in out


def test_every_page_is_shown(capsys) -> None:
    assert main(["explain", *CODES]) == 0
    out = capsys.readouterr().out
    assert all(f"{code}  {severity}: " in out for code, severity in CODES.items())


def test_json(capsys) -> None:
    assert main(["explain", "--json"]) == 0
    pages = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert sorted(page["code"] for page in pages) == sorted(CODES)
    assert all(page["type"] == "explanation" and page["what_to_do"] for page in pages)


def test_an_unknown_code_is_usage(capsys) -> None:
    assert main(["explain", "Z01"]) == 16
    assert "no finding is called 'Z01'" in capsys.readouterr().err
