"""What an operation may be asked, once for the command line and the API: the fields of its `Options`.

A frozen dataclass; `accept_loss` is `--accept-loss` on the command line and a keyword of `segmend.plan`.
Each field is `required`, an `option` or a `flag`, which say the help and how the words of a person are
read; one of a tuple may be given several times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeVar, get_origin, get_type_hints

from segmend.errors import UsageError
from segmend.frozen import MISSING, Field, field, fields, frozen

Chosen = TypeVar("Chosen")
_ASKED: Final = "asked"


@frozen
class OptionWords:
    """What the help says of an option; `parse` raises `UsageError` or `ValueError` for what is none."""

    help: str
    metavar: str
    parse: Callable[[str], object]


# As `frozen.field`, these stand for a value of the field's type.
def required(help: str, metavar: str, parse: Callable[[str], object] = str) -> Any:
    """A field that must be given."""
    return field(metadata={_ASKED: OptionWords(help=help, metavar=metavar, parse=parse)})


def option(help: str, metavar: str, parse: Callable[[str], object] = str, *, default: object = None) -> Any:
    """A field that may be given."""
    return field(default=default, metadata={_ASKED: OptionWords(help=help, metavar=metavar, parse=parse)})


def flag(help: str) -> Any:
    """A field that is True or False."""
    return field(default=False, metadata={_ASKED: OptionWords(help=help, metavar="", parse=str)})


@frozen
class Option:
    name: str
    flag: str
    asked: OptionWords
    required: bool
    default: object
    is_flag: bool
    repeatable: bool

    @classmethod
    def of(cls, name: str, declared: Field, kind: object) -> Option:
        """`kind` is the type of the field."""
        needed = declared.default is MISSING
        return cls(
            name=name, flag=_flag(name), asked=declared.metadata[_ASKED], required=needed,
            default=None if needed else declared.default, is_flag=kind is bool,
            repeatable=get_origin(kind) is tuple,
        )  # fmt: skip

    def read(self, words: str) -> object:
        """The value of what a person wrote; raises `UsageError`."""
        try:
            return self.asked.parse(words)
        except ValueError:
            raise UsageError(f"invalid {self.asked.parse.__name__} value: {words!r}") from None

    def value(self, given: object) -> object:
        """The value of a keyword: what stands for itself is read as if it were written; `UsageError`."""
        if self.is_flag:
            if not isinstance(given, bool):
                raise UsageError("takes True or False")
            return given
        several = list(given) if isinstance(given, list | tuple) else [given]
        if any(each is None or isinstance(each, bool) for each in several):
            raise UsageError("expected one argument")
        if self.repeatable:
            return tuple(self.read(str(each)) for each in several)
        if len(several) != 1:
            raise UsageError("takes one value")
        return self.read(str(several[0]))


def options_of(kind: type[object]) -> list[Option]:
    """All that an operation with these `Options` may be asked, in order."""
    hints = get_type_hints(kind)
    return [Option.of(name, each, hints[name]) for name, each in fields(kind).items()]


def _flag(name: str) -> str:
    """`from_` is `--from`, since the other is a word of Python."""
    return f"--{name.rstrip('_').replace('_', '-')}"


def chosen(kind: type[Chosen], keywords: Mapping[str, object]) -> Chosen:
    """The options that these keywords mean; None and () stand for what was not given. Raises `UsageError`."""
    known = {each.flag: each for each in options_of(kind)}
    given = {_flag(name): value for name, value in keywords.items()}
    strange = [name for name in given if name not in known]
    if strange:
        raise UsageError(f"unrecognized arguments: {' '.join(strange)} (there are {', '.join(known)})")
    given = {name: value for name, value in given.items() if value is not None and value not in ([], ())}
    missing = [name for name, each in known.items() if each.required and name not in given]
    if missing:
        raise UsageError(f"the following arguments are required: {', '.join(missing)}")
    values = {}
    for name, value in given.items():
        try:
            values[known[name].name] = known[name].value(value)
        except UsageError as error:
            raise UsageError(f"argument {name}: {error}") from None
    return kind(**values)


def given_in(options: object) -> Iterator[tuple[str, object]]:
    """Names and values of what is not left at nothing, for the `arguments` of a plan."""
    for each in options_of(type(options)):
        value = getattr(options, each.name)
        if value is not None and value is not False and value != ():
            yield each.name, list(value) if isinstance(value, tuple) else value


def arguments_of(options: object) -> dict[str, object]:
    """The same, as they are called on the command line."""
    return {name.rstrip("_").replace("_", "-"): value for name, value in given_in(options)}
