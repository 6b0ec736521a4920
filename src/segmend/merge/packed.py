"""Very many values of one class as columns of numbers: a tenth of the memory that they take one by one.

A log of very many holes has as many runs, and each is asked for now and then: it is made when it is.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, MutableSequence, Sequence
from typing import Final, Generic, TypeVar, overload

from segmend.formats.java_number import LONG_MIN
from segmend.frozen import fields

Value = TypeVar("Value")
Numbers = MutableSequence[int]
_CODES: Final = {"int": "b", "int | None": "b", "Digest": "Q"}
"""How the numbers of a field are held at first; of any other kind of field there are few different values."""
_WIDER: Final = {"b": "h", "h": "i", "i": "q"}
"""What holds numbers that are too large for it."""


class Packed(Sequence[Value], Generic[Value]):
    """Values of one class (`frozen`), in order; equal values of what is no number are shared."""

    __slots__ = ("_columns", "_kind", "_names", "_others", "_shared")

    def __init__(self, kind: Callable[..., Value], values: Iterable[Value] = ()) -> None:
        self._kind = kind
        self._names = tuple(fields(kind))
        hints = [kind.__annotations__[name] for name in self._names]
        kinds = [
            str(getattr(hint, "__name__", hint)) for hint in hints
        ]  # words in one module, types in another
        self._columns: list[Numbers] = [array(_CODES.get(each, "b")) for each in kinds]
        self._shared = [None if each in _CODES else _Shared() for each in kinds]
        self._others = [at for at, each in enumerate(kinds) if self._shared[at] or "None" in each]
        self.extend(values)

    def append(self, value: Value) -> None:
        for at, given in enumerate(map(value.__getattribute__, self._names)):
            shared = self._shared[at]
            number = shared.number(given) if shared else LONG_MIN if given is None else given
            column = self._columns[at]
            try:
                column.append(number)
            except OverflowError:
                self._columns[at] = with_number(column, number)

    def extend(self, values: Iterable[Value]) -> None:
        if not isinstance(values, Packed):
            for value in values:
                self.append(value)
            return
        for at, more in enumerate(values._columns):
            mine, theirs = self._shared[at], values._shared[at]
            known = [mine.number(each) for each in theirs.values] if mine and theirs else None
            self._columns[at] = _longer(
                self._columns[at], array("i", map(known.__getitem__, more)) if known else more
            )

    def drop(self, count: int) -> None:
        """Take the last ones away."""
        for column in self._columns:
            del column[len(column) - count :]

    def column(self, name: str) -> Sequence[int]:
        """The numbers of one field, which is one of whole numbers; None is the least of all."""
        at = self._names.index(name)
        assert self._shared[at] is None, f"{name} is no number"
        return self._columns[at]

    def __len__(self) -> int:
        return len(self._columns[0])

    def __iter__(self) -> Iterator[Value]:
        return map(self._value, zip(*self._columns, strict=True))

    @overload
    def __getitem__(self, at: int) -> Value: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Value, ...]: ...
    def __getitem__(self, at: int | slice) -> Value | tuple[Value, ...]:
        if isinstance(at, slice):
            return tuple(self[number] for number in range(*at.indices(len(self))))
        return self._value(column[at] for column in self._columns)

    def _value(self, numbers: Iterable[int]) -> Value:
        plain = [*numbers]
        given: list[object] = [*plain]
        for at in self._others:
            shared, number = self._shared[at], plain[at]
            given[at] = shared.values[number] if shared else None if number == LONG_MIN else number
        value: Value = self._kind(**dict(zip(self._names, given, strict=True)))
        return value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and [*self] == [*other]

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr([*self])


class _Shared:
    """The different values of a field, each with its number."""

    __slots__ = ("_numbers", "values")

    def __init__(self) -> None:
        self.values: list[object] = []
        self._numbers: dict[object, int] = {}

    def number(self, value: object) -> int:
        """Of what is no value of Python itself, each object is one."""
        known = value if isinstance(value, bool | str | tuple | frozenset) else (_Shared, id(value))
        number = self._numbers.get(known, -1)
        if number < 0 or (known is not value and self.values[number] is not value):
            number = self._numbers[known] = len(self.values)
            self.values.append(value)
        return number


def joined(one: Packed[Value], more: Packed[Value]) -> Packed[Value]:
    """All of both; either may be used up for that."""
    if not one:
        return more
    one.extend(more)
    return one


def narrow(numbers: Iterable[int]) -> Numbers:
    """A column of them, in as few bytes as these need: most logs have offsets of four."""
    column: Numbers = array("i")
    for number in numbers:
        column = with_number(column, number)
    return column


def _longer(column: Numbers, more: Sequence[int]) -> Numbers:
    """The column and more, both columns of one field."""
    if isinstance(column, array) and isinstance(more, array):
        if column.itemsize < more.itemsize:
            column = array(more.typecode, column)
        column.extend(more if column.typecode == more.typecode else iter(more))
        return column
    return [*column, *more]


def with_number(column: Numbers, number: int) -> Numbers:
    """The column with one more; one beyond 64 bits, which damage may make, needs a list."""
    while True:
        try:
            column.append(number)
        except OverflowError:
            wider = _WIDER.get(column.typecode) if isinstance(column, array) else None
            column = array(wider, column) if wider else [*column]
        else:
            return column
