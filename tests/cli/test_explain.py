"""`segmend explain`: every finding has its page."""

import json

import pytest
from tests.cli.run import run

from segmend.cli.commands.explain.command import FAMILIES
from segmend.fleet.cross import whole_manual

CODES = {code: entry.code.severity for code, entry in whole_manual().items()}


def test_the_list_has_every_code_once() -> None:
    out = run("explain", code=0).out
    listed = [line.split()[0] for line in out.splitlines() if line.startswith("  ")]
    assert sorted(listed) == sorted(CODES)
    assert {code[0] for code in CODES} <= set(FAMILIES)


@pytest.mark.parametrize("code", ["N01", "n01", "C10b", "c10B", "R02"])
def test_a_page(code: str) -> None:
    out = run("explain", code, code=0).out
    for heading in ("What it means", "What the broker does", "What to do", "Kafka"):
        assert f"\n{heading}\n    " in out


def test_every_page_is_shown() -> None:
    out = run("explain", *CODES, code=0).out
    assert all(f"{code}  {severity}: " in out for code, severity in CODES.items())


def test_json() -> None:
    pages = [json.loads(line) for line in run("explain", "--json", code=0).out.splitlines()]
    assert sorted(page["code"] for page in pages) == sorted(CODES)
    assert all(page["type"] == "explanation" and page["what_to_do"] for page in pages)


def test_an_unknown_code_is_usage() -> None:
    assert "no finding is called 'Z01'" in run("explain", "Z01", code=16).err
