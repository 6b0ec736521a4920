"""What the frame of the command line needs, and nothing more: it is loaded for every `--help`."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any, Final, NoReturn

from segmend.cli.nearest import did_you_mean, question
from segmend.cli.output import emit, flush
from segmend.errors import UsageError

# All that is said is English. `argparse` looks for translations of each of its words on the disk, every time.
argparse._ = lambda words: words  # type: ignore[attr-defined]
argparse.ngettext = lambda one, many, count: one if count == 1 else many  # type: ignore[attr-defined]

_BELOW_NOTHING: Final = re.compile(r"-[\d.]")
"""`-5MB/s` is a value, and its option says what is wrong with it; no option is called like that."""


class Formatter(argparse.RawDescriptionHelpFormatter):
    """Help as wide as the terminal, about which the base class asks `shutil`, and that brings compressors."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=columns() - 2)


def columns() -> int:
    """How wide the terminal is, as `shutil.get_terminal_size`."""
    said = os.environ.get("COLUMNS", "")
    try:
        return int(said) if said.isdigit() and int(said) else os.get_terminal_size(1).columns or 80
    except (OSError, ValueError):
        return 80


class Once(argparse._StoreAction):
    """An option with one value: a second one is refused, the base class would forget the first."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[object] | None,
        option_string: str | None = None,
    ) -> None:
        assert isinstance(parser, Parser)
        if option_string is not None and self.dest in parser.given:
            raise argparse.ArgumentError(self, "given twice; it takes one value")
        parser.given.add(self.dest)
        super().__call__(parser, namespace, values, option_string)


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaints are `UsageError`s (exit 16, one line)."""

    # As many arguments as the base class may have: here and below they are only handed on.
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._negative_number_matcher = _BELOW_NOTHING
        # Python 3.14 would colour the help: it looks the same under each Python.
        self.color = False
        self.given: set[str] = set()
        for action in (None, "store"):
            self.register("action", action, Once)

    def error(self, message: str) -> NoReturn:
        """Say what is wrong with the command line and where help is."""
        raise UsageError(f"{message} (see `{self.prog} --help`)")

    def _check_help(self, action: argparse.Action) -> None:
        """Python 3.14 would try each line of help as it is given, and make a parser whole for it."""

    def _get_validation_formatter(self) -> argparse.HelpFormatter:
        """Python 3.14 tries arguments with it; that of the base class loads colours, and `dataclasses`."""
        return self.formatter_class(prog=self.prog)

    def _print_message(self, message: str, file: object = None) -> None:  # noqa: ARG002
        """Help and version, as all that commands print; the base class is silent where that finds no room."""
        emit(message.splitlines())
        flush()

    def parse_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> argparse.Namespace:
        """As the base class; of an option that there is not, say which may have been meant."""
        parsed, extra = self.parse_known_args(args, namespace)
        if extra:
            options = (option for parser in with_subparsers(self) for option in _options(parser))
            wrong = next((word for word in extra if word.startswith("-")), "")
            question = did_you_mean(wrong.partition("=")[0], options) if wrong else ""
            self.error(f"unrecognized arguments: {' '.join(extra)}{question}")
        return parsed

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """As the base class, and also words that stand behind an option: `check A --deep B`."""
        self.given.clear()
        known, extra = super().parse_known_args(args, namespace)
        last = next(
            (each for each in self._actions if each.nargs in ("*", "+") and not each.option_strings), None
        )
        if last is not None:
            end = extra.index("--") if "--" in extra else len(extra)
            more = [word for word in extra[:end] if not _is_option(word)] + extra[end + 1 :]
            extra = [word for word in extra[:end] if _is_option(word)]
            setattr(known, last.dest, [*(getattr(known, last.dest) or ()), *more])
        return known, extra

    def _check_value(self, action: argparse.Action, value: object) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            asked = did_you_mean(str(value), map(str, action.choices or ()))
            if not asked and isinstance(action, argparse._SubParsersAction):
                below = list(_below(action.choices, str(value)))
                asked = question(below) if below else ""
            error.message += asked
            raise


def _below(commands: Mapping[str, argparse.ArgumentParser], word: str) -> Iterator[str]:
    """The commands that have a sub-command of this name, or a topic: `plan repair` of `repair`."""
    for name, parser in commands.items():
        if isinstance(parser, LateParser):
            parser.complete()
        offered = (each.offered() for each in parser._actions if isinstance(each, Offering))
        subparsers = subparsers_of(parser)
        choices = (*(subparsers.choices if subparsers else ()), *chain.from_iterable(offered))
        if word in choices:
            yield f"{name} {word}"


def _is_option(word: str) -> bool:
    """Anything but a lone dash, which is stdin."""
    return word.startswith("-") and word != "-"


class Offering(Once):
    """An argument that takes any words, of which `offered` knows some: completions ask for them."""

    def __init__(self, *args: Any, offered: Callable[[], Iterable[str]], **options: Any) -> None:
        super().__init__(*args, **options)
        self.offered = offered


class LateParser(Parser):
    """A parser of a sub-command that is made, and gets its options from `fill`, when it is the one."""

    fill: Callable[[argparse.ArgumentParser], None] | None = None

    def __init__(self, *args: Any, **options: Any) -> None:
        self._make: Callable[[], None] | None = partial(super().__init__, *args, **options)
        self._actions = []

    def complete(self) -> None:
        """Make it, and add the options, if that was not done yet."""
        make, self._make = self._make, None
        if make is not None:
            make()
            if self.fill is not None:
                self.fill(self)

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """As the base class, with all options."""
        self.complete()
        return super().parse_known_args(args, namespace)


def subparsers_of(parser: argparse.ArgumentParser) -> argparse._SubParsersAction[Any] | None:
    """The action that holds the sub-commands, if the parser has any."""
    return next((each for each in parser._actions if isinstance(each, argparse._SubParsersAction)), None)


def with_subparsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """The parser and all parsers of sub-commands below it, as far as they have their options."""
    yield parser
    subparsers = subparsers_of(parser)
    for each in subparsers.choices.values() if subparsers else ():
        yield from with_subparsers(each)


def _options(parser: argparse.ArgumentParser) -> Iterator[str]:
    return (option for action in parser._actions for option in action.option_strings)
