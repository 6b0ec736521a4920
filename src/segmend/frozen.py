"""Dataclasses with slots, made in a seventh of the time: `frozen` for values, `dataclass` for all others.

The standard ones compile six functions for each class and look into each annotation, half a millisecond every
time that Python starts, and a command needs a hundred classes. Here one is compiled, `__init__`, once there
are more than a few values of a class, and the rest is the same for all classes. `fields` and `asdict` of
`dataclasses` work as ever; `field` and `replace` are here, since that module brings half of Python's
compiler: it is imported late. `Any` is said here of values whose types the annotations of their class tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar, cast, dataclass_transform

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Class = TypeVar("Class", bound=type)
Value = TypeVar("Value", bound="DataclassInstance")
MISSING: Final[Any] = object()
_FEW: Final = 8
"""So many values of a class are made before it is worth to compile how."""


class Field:
    """How one field is made, shown and compared."""

    __slots__ = ("compare", "default", "default_factory", "init", "kw_only", "metadata", "repr")

    def __init__(
        self, *, default: Any = MISSING, default_factory: Any = MISSING,
        init: bool = True, repr: bool = True, compare: bool = True,
        kw_only: bool | None = None, metadata: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self.default = default
        self.default_factory = default_factory
        self.init = init
        self.repr = repr
        self.compare = compare
        self.kw_only = kw_only
        self.metadata = metadata or {}

    def standard(self) -> object:
        """The same as `dataclasses` has it."""
        given = {name: getattr(self, name) for name in self.__slots__}
        return import_module("dataclasses").field(
            **{name: each for name, each in given.items() if each is not MISSING}
        )


def field(**options: Any) -> Any:
    """As `dataclasses.field`."""
    return Field(**options)


def is_made(kind: object) -> bool:
    """Whether it is a class of these, or a value of one."""
    return hasattr(kind, "__every__")


def fields(kind: Any) -> Mapping[str, Field]:
    """The fields of a class or value by name, also those of its bases."""
    return cast(Mapping[str, Field], kind.__every__)


def as_dict(value: object) -> dict[str, Any]:
    """The values of the fields as they are; `dataclasses.asdict` makes dicts of dataclasses in them, too."""
    return {name: getattr(value, name) for name in fields(value)}


class AsJson:
    """A base of values whose JSON object has their fields as they are."""

    __slots__ = ()

    def to_json(self) -> dict[str, object]:
        return as_dict(self)


def replace(value: Value, /, **changes: object) -> Value:
    """As `dataclasses.replace`."""
    kind: Any = type(value)
    names = kind.__given__
    return cast(Value, kind(**(dict(zip(names, kind.__values__(value), strict=True)) | changes)))


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def frozen(cls: Class) -> Class:
    """Make a class of annotations one of values, whose fields are given by name."""
    return _made(cls, {**_SHOWN, **_COMPARED, **_VALUE}, kw_only=True)


@dataclass_transform(field_specifiers=(field,))
def dataclass(
    *, slots: Literal[True], frozen: bool = False, kw_only: bool = False, eq: bool = True
) -> Callable[[Class], Class]:
    """As `dataclasses.dataclass`, but only with slots."""
    assert slots
    compared: dict[str, Any] = _COMPARED if frozen else {"__eq__": _eq, "__hash__": None}
    methods = {**_SHOWN, **(compared if eq else {}), **(_VALUE if frozen else {})}
    return lambda cls: _made(cls, methods, kw_only=kw_only)


def _made(cls: Class, methods: dict[str, object], *, kw_only: bool) -> Class:
    """The class anew, for slots cannot be added to one."""
    every: dict[str, Field] = {}
    for base in reversed(cls.__mro__[1:]):
        every |= base.__dict__.get("__own__", {})
    inherited = every
    own = dict(_own(cls, kw_only))
    every = inherited | own
    body = {
        name: each for name, each in cls.__dict__.items() if name not in (*own, "__dict__", "__weakref__")
    }
    compared = [name for name, each in every.items() if each.compare]
    given = tuple(name for name, each in every.items() if each.init)
    left = _FEW

    def __init__(self: Any, *given: Any, **named: Any) -> None:
        """The first few values; then make way for the compiled one, which also says what is wrong."""
        nonlocal left
        left -= 1
        if left < 0 or not _filled(self, every, given, named):
            made.__init__ = _initializer(made, every, kept="__setattr__" in methods)
            made.__init__(self, *given, **named)

    body = {
        **methods,
        **body,
        "__slots__": tuple(name for name in own if name not in inherited),
        "__own__": own,
        "__dataclass_fields__": _FIELDS,
        "__every__": every,
        "__given__": given,
        "__values__": attrgetter(*given) if len(given) > 1 else _one_by_one,
        "__shown__": tuple(name for name, each in every.items() if each.repr),
        "__compared__": attrgetter(*compared) if compared else _nothing,
        "__init__": __init__,
    }
    made: Any = type(cls)(cls.__name__, cls.__bases__, body)
    made.__qualname__ = cls.__qualname__
    return cast(Class, made)


def _own(cls: type, kw_only: bool) -> Iterator[tuple[str, Field]]:
    """The fields that a class adds to those of its bases."""
    for name, kind in cls.__annotations__.items():
        if str(kind).startswith(("ClassVar[", "typing.ClassVar[")):
            continue
        given = cls.__dict__.get(name, MISSING)
        if given.__class__.__hash__ is None:
            raise ValueError(f"{cls.__qualname__}.{name}: all values would share this default")
        if given.__class__.__module__ == "dataclasses":
            raise ValueError(f"{cls.__qualname__}.{name}: `field` is that of segmend.frozen here")
        each = given if isinstance(given, Field) else Field(default=given)
        if each.kw_only is None:
            each.kw_only = kw_only
        yield name, each


class _Fields:
    """What `dataclasses` asks of a class; few are ever asked."""

    def __get__(self, _value: object, cls: type) -> dict[str, Any]:
        bases = [base for base in reversed(cls.__mro__) if "__own__" in base.__dict__]
        kinds = {name: base.__annotations__[name] for base in bases for name in base.__dict__["__own__"]}
        given = {name: each.standard() for base in bases for name, each in base.__dict__["__own__"].items()}
        asked = type(cls.__name__, (), {"__module__": cls.__module__, "__annotations__": kinds, **given})
        known = import_module("dataclasses").dataclass(init=False, repr=False, eq=False)(asked)
        cls.__dataclass_fields__ = known.__dataclass_fields__  # type: ignore[attr-defined]
        return cast(dict[str, Any], known.__dataclass_fields__)


_FIELDS: Final = _Fields()


def _filled(
    value: object, every: Mapping[str, Field], given: tuple[object, ...], named: dict[str, object]
) -> bool:
    """Set all fields; whether that can be done with what is given."""
    fields = {name: each for name, each in every.items() if each.init}
    in_order = [name for name, each in fields.items() if not each.kw_only]
    asked = dict(zip(in_order, given, strict=False)) | named
    if len(asked) != len(given) + len(named) or not asked.keys() <= fields.keys():
        return False
    for name, each in fields.items():
        if name not in asked:
            made = each.default if each.default_factory is MISSING else each.default_factory()
            if made is MISSING:
                return False
            asked[name] = made
        object.__setattr__(value, name, asked[name])
    if hasattr(value, "__post_init__"):
        value.__post_init__()
    return True


def _initializer(cls: type, every: Mapping[str, Field], *, kept: bool) -> Callable[..., None]:
    known: dict[str, Any] = {"missing": MISSING}
    parameters: tuple[list[str], list[str]] = ([], [])
    lines = []
    for name, each in every.items():
        given, usual = name, ""
        if each.default_factory is not MISSING:
            known[f"new_{name}"] = each.default_factory
            given, usual = f"new_{name}() if {name} is missing else {name}", "=missing"
        elif each.default is not MISSING:
            known[f"usual_{name}"] = each.default
            usual = f"=usual_{name}"
        if not each.init:
            assert not usual, "what is set later has no default"
            continue
        parameters[bool(each.kw_only)].append(name + usual)
        if kept:
            known[f"put_{name}"] = getattr(cls, name).__set__
        lines.append(f" put_{name}(self, {given})" if kept else f" self.{name} = {given}")
    named = ["*", *parameters[True]] if parameters[True] else []
    if hasattr(cls, "__post_init__"):
        lines.append(" self.__post_init__()")
    head = f"def __init__({', '.join(['self', *parameters[False], *named])}):"
    exec("\n".join([head, *(lines or [" pass"])]), known)
    made: Callable[..., None] = known["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


def _one_by_one(self: Any) -> list[Any]:
    """Of no fields, or of one, which no `attrgetter` gives in a tuple."""
    return [getattr(self, name) for name in type(self).__given__]


def _nothing(_self: object) -> tuple[()]:
    """What a class without fields is compared by."""
    return ()


def _repr(self: Any) -> str:
    shown = (f"{name}={getattr(self, name)!r}" for name in type(self).__shown__)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _eq(self: Any, other: Any) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    compared = self.__class__.__compared__
    return compared(self) == compared(other)


def _hash(self: Any) -> int:
    return hash(self.__class__.__compared__(self))


def _keep(_self: object, name: str, _value: object = None) -> None:
    raise import_module("dataclasses").FrozenInstanceError(f"cannot assign to or delete field {name!r}")


def _state(self: object) -> list[object]:
    return [*as_dict(self).values()]


def _restore(self: object, state: list[object]) -> None:
    for name, kept in zip(fields(self), state, strict=True):
        object.__setattr__(self, name, kept)


_SHOWN = {"__repr__": _repr}
_COMPARED = {"__eq__": _eq, "__hash__": _hash}
_VALUE = {"__setattr__": _keep, "__delattr__": _keep, "__getstate__": _state, "__setstate__": _restore}
