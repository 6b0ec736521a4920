"""Values are what `dataclass(frozen=True, slots=True, kw_only=True)` would have made of the same class."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from segmend.frozen import frozen


def made(decorator: Callable[[type], type]) -> Any:
    @decorator
    class Value:
        """One of everything."""

        FIXED: ClassVar[int] = 3
        first: int
        second: str = "two"
        third: list[int] = dataclasses.field(default_factory=list, compare=False)
        fourth: str = dataclasses.field(default="hidden", repr=False)

        @property
        def both(self) -> str:
            """Out of two fields."""
            return f"{self.first} {self.second}"

    return Value


Ours = made(frozen)
Theirs = made(dataclasses.dataclass(frozen=True, slots=True, kw_only=True))


@frozen
class Kept:
    """One that pickle finds."""

    name: str
    size: int = 0


@frozen
class Bigger(Kept):
    """One that inherits."""

    weight: float = 1.0


@frozen
class Nothing:
    """One without fields."""


SAME: list[Callable[[Any], object]] = [
    lambda kind: repr(kind(first=1)),
    lambda kind: kind(first=1).both,
    lambda kind: kind(first=1) == kind(first=1, third=[4]),
    lambda kind: kind(first=1) == kind(first=1, fourth="other"),
    lambda kind: kind(first=1) == 1,
    lambda kind: len({kind(first=1), kind(first=1), kind(first=2)}),
    lambda kind: dataclasses.asdict(kind(first=1)),
    lambda kind: [each.name for each in dataclasses.fields(kind)],
    lambda kind: repr(dataclasses.replace(kind(first=1), second="b")),
    lambda kind: kind(first=1).third is not kind(first=1).third,
    lambda kind: repr(copy.copy(kind(first=1, second="c"))),
    lambda kind: kind.FIXED,
    lambda kind: kind.__slots__,
    lambda kind: hasattr(kind(first=1), "__dict__"),
    lambda kind: dataclasses.is_dataclass(kind),
]


@pytest.mark.parametrize("ask", SAME)
def test_both_answer_the_same(ask: Callable[[Any], object]) -> None:
    assert ask(Ours) == ask(Theirs)


@pytest.mark.parametrize(
    "ask",
    [
        lambda kind: setattr(kind(first=1), "first", 2),
        lambda kind: delattr(kind(first=1), "first"),
        lambda kind: kind(),
        lambda kind: kind(1),
        lambda kind: kind(first=1, nosuch=2),
        lambda kind: hash(kind(first=[])),
    ],
)
def test_both_refuse_the_same(ask: Callable[[Any], object]) -> None:
    refused = []
    for kind in (Ours, Theirs):
        with pytest.raises((TypeError, AttributeError)) as raised:
            ask(kind)
        refused.append(raised.type)
    assert refused[0] is refused[1]


def test_values_travel_to_other_processes_and_inherit() -> None:
    for value in (Kept(name="a"), Bigger(name="b", size=2, weight=0.5), Nothing()):
        assert pickle.loads(pickle.dumps(value)) == value
        assert copy.deepcopy(value) == value
    assert repr(Bigger(name="b")) == "Bigger(name='b', size=0, weight=1.0)"
    assert Kept(name="a") != Bigger(name="a")
    assert Nothing() == Nothing()


def test_what_a_class_asserts_of_itself_is_asserted() -> None:
    @frozen
    class Positive:
        number: int

        def __post_init__(self) -> None:
            if self.number <= 0:
                raise ValueError("not positive")

    assert Positive(number=1).number == 1
    for make in (lambda: Positive(number=0), lambda: dataclasses.replace(Positive(number=1), number=-1)):
        with pytest.raises(ValueError, match="not positive"):
            make()
