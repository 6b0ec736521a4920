"""What a start does, and its words, stand in `segmend.broker`: a check refers to them."""

import ast
from pathlib import Path

import pytest

from segmend import checks

MODULES = sorted(Path(checks.__file__).parent.glob("*.py"))


def retyped(value: ast.expr) -> bool:
    """Whether it is, or may become, a text that stands there."""
    parts = [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]
    texts = (isinstance(each, ast.Constant) and each.value is not None for each in parts)
    return any(texts) or any(isinstance(each, ast.JoinedStr | ast.BinOp) for each in parts)


def offences(tree: ast.AST) -> list[int]:
    """Lines that retype a broker's words, or compare a release with a number."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "broker_says" and retyped(node.value):
            found.append(node.value.lineno)
        if isinstance(node, ast.Compare) and "release" in ast.unparse(node.left):
            found += [node.lineno for other in node.comparators if isinstance(other, ast.Tuple)]
    return found


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_no_check_has_a_rule_or_words_of_its_own(module: Path) -> None:
    assert offences(ast.parse(module.read_text())) == []


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
    assert not offences(
        ast.parse("f(broker_says=GONE.say(release, 'a b') if x else None); release < max(needs)")
    )
