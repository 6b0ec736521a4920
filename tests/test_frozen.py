"""Our dataclasses are what `dataclasses.dataclass` would have made of the same class."""

import copy
import dataclasses
import pickle
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from segmend.frozen import dataclass, field, frozen, replace


def made(decorator: Callable[[type], type], field: Callable[..., Any]) -> Any:
    @decorator
    class Value:
        """One of everything."""

        FIXED: ClassVar[int] = 3
        first: int
        second: str = "two"
        third: list[int] = field(default_factory=list, compare=False)
        fourth: str = field(default="hidden", repr=False)
        fifth: int = field(default=5, kw_only=True)

        @property
        def both(self) -> str:
            """Out of two fields."""
            return f"{self.first} {self.second}"

    return Value


KINDS: list[tuple[Callable[[Any], Any], dict[str, bool]]] = [
    (frozen, {"frozen": True, "kw_only": True}),
    (dataclass(slots=True, frozen=True), {"frozen": True}),
    (dataclass(slots=True), {}),
    (dataclass(slots=True, eq=False, kw_only=True), {"eq": False, "kw_only": True}),
]
PAIRS = [
    (made(ours, field), made(dataclasses.dataclass(slots=True, **theirs), dataclasses.field))
    for ours, theirs in KINDS
]


def replaced(value: Any, **changes: object) -> object:
    """By our `replace`, where the class is ours."""
    ours = hasattr(type(value), "__own__")
    return (replace if ours else dataclasses.replace)(value, **changes)


def answer(ask: Callable[[Any], object], kind: Any) -> object:
    try:
        return ask(kind)
    except (TypeError, AttributeError) as refused:
        return type(refused)


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
    lambda kind: repr(kind(1, "b", fifth=6)),
    lambda kind: repr(kind(1, "b", [], "c", 6)),
    lambda kind: kind(first=1).both,
    lambda kind: kind(first=1) == kind(first=1, third=[4]),
    lambda kind: kind(first=1) == kind(first=1, fourth="other"),
    lambda kind: kind(first=1) == 1,
    lambda kind: len({kind(first=1), kind(first=1), kind(first=2)}),
    lambda kind: dataclasses.asdict(kind(first=1)),
    lambda kind: repr(copy.copy(kind(first=1, second="c"))),
    lambda kind: [(each.name, each.type, each.kw_only) for each in dataclasses.fields(kind)],
    lambda kind: repr(dataclasses.replace(kind(first=1), second="b")),
    lambda kind: repr(replaced(kind(first=1), second="b")),
    lambda kind: replaced(kind(first=1), nosuch=2),
    lambda kind: kind(first=1).third is not kind(first=1).third,
    lambda kind: kind.FIXED,
    lambda kind: kind.__slots__,
    lambda kind: kind.__doc__,
    lambda kind: hasattr(kind(first=1), "__dict__"),
    lambda kind: dataclasses.is_dataclass(kind),
    lambda kind: setattr(kind(first=1), "first", 2),
    lambda kind: delattr(kind(first=1), "first"),
    lambda kind: kind(),
    lambda kind: kind(1),
    lambda kind: kind(first=1, nosuch=2),
    lambda kind: len({kind(first=[])}),
]


@pytest.mark.parametrize("pair", PAIRS, ids=range(len(PAIRS)))
@pytest.mark.parametrize("ask", SAME)
def test_both_answer_or_refuse_the_same(ask: Callable[[Any], object], pair: tuple[Any, Any]) -> None:
    ours, theirs = (answer(ask, kind) for kind in pair)
    assert str(ours) == str(theirs)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ask", SAME)
def test_the_first_value_is_made_as_the_last_one(
    ask: Callable[[Any], object], kind: tuple[Callable[[type], type], object]
) -> None:
    fresh = made(kind[0], field)
    assert len({str(answer(ask, fresh)) for _ in range(20)}) == 1


def test_a_default_is_not_shared() -> None:
    with pytest.raises(ValueError, match="share"):
        frozen(type("Shared", (), {"__annotations__": {"names": "list[str]"}, "names": []}))


def test_a_field_of_the_standard_ones_is_refused() -> None:
    with pytest.raises(ValueError, match="frozen"):
        frozen(type("Other", (), {"__annotations__": {"name": "str"}, "name": dataclasses.field()}))


def test_a_field_may_be_set_later() -> None:
    @dataclass(slots=True)
    class Late:
        first: int
        second: int = field(init=False)

    late = Late(1)
    with pytest.raises(AttributeError):
        late.second  # noqa: B018
    late.second = 2
    assert repr(late).endswith("Late(first=1, second=2)")
    with pytest.raises(TypeError):
        Late(1, second=2)  # type: ignore[call-arg]


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
