"""What a start does, and its words, stand in `segmend.broker`: a check refers to them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from segmend import checks

MODULES = sorted(Path(checks.__file__).parent.glob("*.py"))


def offences(tree: ast.AST) -> list[int]:
    """Lines that retype a broker's words, or compare a release with a number."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "broker_says":
            texts = [each for each in ast.walk(node.value) if isinstance(each, ast.Constant | ast.JoinedStr)]
            wordy = [each for each in texts if not isinstance(each, ast.Constant) or " " in str(each.value)]
            found += [each.lineno for each in wordy if isinstance(node.value, type(each) | ast.IfExp)]
        if isinstance(node, ast.Compare) and "release" in ast.unparse(node.left):
            found += [node.lineno for other in node.comparators if isinstance(other, ast.Tuple)]
    return found


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_no_check_has_a_rule_or_words_of_its_own(module: Path) -> None:
    mine = [line for line in offences(ast.parse(module.read_text())) if module.name not in NOT_CHECKS]
    assert mine == []


# Asks whether the broker is one of KRaft's.
NOT_CHECKS = {"context.py"}


@pytest.mark.parametrize(
    "line",
    [
        "f(broker_says='It is gone')",
        "f(broker_says=f'{x} is gone' if y else None)",
        "context.release < (2, 3)",
    ],
)
def test_the_net_catches(line: str) -> None:
    assert offences(ast.parse(line))
    assert not offences(ast.parse("f(broker_says=GONE.say(release, 'a b')); release < max(needs)"))
