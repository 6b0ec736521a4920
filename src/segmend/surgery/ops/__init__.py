"""What makes plans: one room an operation, found by `operations`.

`ops/NAME/__init__.py` has the `HELP` line and imports nothing; `ops/NAME/operation.py` has `NAME`,
`EXAMPLES`, `Options` (see `surgery.options`) and `plan(request) -> Plan`. It reads the model and changes
nothing. `DIR...` and the options that all have (`-o`, `--kafka`, `--json`) come from the command.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast

from segmend.discovery import modules_in

if TYPE_CHECKING:
    from segmend.surgery.plan import Plan
    from segmend.surgery.request import Request


class Operation(Protocol):
    """What the module `operation` of a room looks like."""

    NAME: str
    EXAMPLES: str
    Options: type[object]
    plan: Callable[[Request[Any]], Plan]


def names() -> list[str]:
    """The names of all operations, which are those of their rooms; none of them is imported."""
    return modules_in(__path__)


def summary(name: str) -> str:
    line: str = import_module(f"{__name__}.{name}").HELP
    return line


def operation(name: str) -> Operation:
    """The operation of one of `names`; only that is imported."""
    return cast(Operation, import_module(f"{__name__}.{name}.operation"))


def takes_blank(its_module: Operation) -> bool:
    """Whether it may be given dirs that have nothing in them, beside others."""
    return bool(getattr(its_module, "TAKES_BLANK", False))
