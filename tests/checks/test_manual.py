"""Every check has a page in the manual, every code one owner and a consequence."""

import ast
import re
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

import segmend
from segmend.checks import Consequence, all_checks, known_codes
from segmend.checks.manual import REFUSES, SLOW, WARNING, Code, Page, entries
from segmend.fleet import refused
from segmend.fleet.cross import cross_checks, whole_manual

CODES = whole_manual()


@pytest.mark.parametrize("code", CODES)
def test_the_page_is_whole(code: str) -> None:
    entry = CODES[code]
    assert entry.title
    assert "\n" not in entry.title, "a docstring of one line"
    assert entry.code.title
    assert all(entry.page.sections().values()), "no section is empty"
    assert 5 < len(entry.broker_line) < 450


@pytest.mark.parametrize("code", CODES)
def test_what_a_page_says_of_single_codes_is_said_of_its_own(code: str) -> None:
    entry = CODES[code]
    named = [name for label in entry.page.own for name in label.split(", ")]
    assert set(named) <= {each.name for each in entry.beside}
    assert len(named) == len(set(named))


def test_a_page_quotes_a_broker_as_the_rules_do() -> None:
    """But for what stands for a value: `...`, a number, a letter, a partition."""
    home = Path(segmend.__file__).parent
    trees = (
        ast.parse(path.read_text()) for room in ("broker", "formats") for path in home.glob(f"{room}/*.py")
    )
    rules = "\n".join(
        node.value
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    texts = {" ".join(entry.page.sections()["What the broker does"].split()) for entry in CODES.values()}
    quotes = [quote for text in texts for quote in re.findall(r'"([A-Z][^"]{14,})"', text) if " " in quote]
    assert len(quotes) > 20
    parts = {
        part.strip(" .,:;()") for each in quotes for part in re.split(r"\.{3}|\d+|\b[A-Z]\b|\bt-0\b", each)
    }
    assert {part for part in parts if len(part) > 3 and part not in rules} == set()


def test_a_code_has_one_owner() -> None:
    tables = [
        *(check.codes for check in all_checks()),
        *(module.CODES for module in (*cross_checks(), refused)),
    ]
    counts = Counter(code.name for codes in tables for code in codes)
    assert [code for code, count in counts.items() if count > 1] == []
    assert counts.keys() == CODES.keys()


def test_a_code_is_found() -> None:
    assert known_codes()["E01"].code.name == "E01"
    assert "X99" not in known_codes()


def test_every_code_has_its_consequence() -> None:
    for entry in CODES.values():
        assert {entry.code.consequence(clean=clean) for clean in (True, False)} <= set(Consequence)
        assert entry.code.fatal <= (entry.code.clean in (Consequence.REFUSES, Consequence.OFFLINE))


def test_a_kill_may_have_another_consequence() -> None:
    code = Code("A01", WARNING, "one", REFUSES, SLOW)
    assert (code.consequence(clean=True), code.consequence(clean=False)) == (REFUSES, SLOW)
    assert Code("A01", WARNING, "one", REFUSES).consequence(clean=False) is REFUSES


def test_a_page_says_it_of_all_codes_or_of_single_ones() -> None:
    own = {"A02, A03": "It dies.", "A04": "nothing."}
    page = Page(meaning="a\n    b", broker="It reads.", more="Slowly.", own=own, advice="c", kafka="d")
    lines = [page.broker_line(code) for code in ("A01", "A02", "A03", "A04")]
    assert lines == ["It reads.", "It dies.", "It dies.", "nothing."]
    assert page.sections() == {
        "What it means": "a b",
        "What the broker does": "It reads. Slowly. A02, A03: It dies. A04: nothing.",
        "What to do": "c",
        "Kafka": "d",
    }


def test_an_entry_names_its_page_and_the_codes_beside_it() -> None:
    module = ModuleType("example", "Two faults.")
    codes = Code("A01", WARNING, "one", SLOW), Code("A02", WARNING, "two", SLOW)
    module.__dict__.update(CODES=codes, PAGE=Page(meaning="a", broker="b", advice="c", kafka="d"))
    found = {(e.title, e.level, e.beside) for _, e in entries(module, "deep")}
    assert found == {("Two faults", "deep", codes)}
