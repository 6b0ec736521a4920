"""Recipes: derived files computed anew from the batches; one file a recipe, discovered.

A recipe is pure: `build(log_dir, partition, arguments, release)` reads the model and gives
the bytes of one file, the same bytes each time. A plan names recipe, arguments and the hash
of what they give; `apply` runs the recipe again. `arguments` are JSON values, `partition` is
the name of a partition directory, empty for a file of the log dir itself. A recipe raises
`Unreadable`, and `SegmendError` where its sources do not tell what the file must hold.

What is byte for byte what a broker writes, and where a broker's own bytes depend on more
than the log holds, each recipe says in its docstring; `tests/surgery/test_recipes.py` counts
it on every golden directory, `tests/surgery/test_broker_rebuild.py` against real brokers.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Final, Self

from segmend.discovery import modules_in
from segmend.errors import SegmendError
from segmend.frozen import frozen
from segmend.logdir.log_dir import LogDir
from segmend.logdir.partition_dir import PartitionDir
from segmend.logdir.release import Release
from segmend.surgery.derive import Arguments

Build = Callable[[LogDir, str, Arguments, Release], bytes]
OF_INDEXES: Final = {"index": "offset-index", "timeindex": "time-index"}
"""The recipe of an index, by its suffix; the arguments of both are the same."""


def names() -> list[str]:
    """Of every recipe of this package; each is the name of its file, with dashes."""
    return [name.replace("_", "-") for name in modules_in(__path__)]


@functools.cache
def _module(name: str) -> ModuleType | None:
    """Of one recipe; what the others import stays where it is."""
    return importlib.import_module(f"{__name__}.{name.replace('-', '_')}") if name in names() else None


def reads_one_log(name: str) -> bool:
    """Whether a recipe reads the log of its `base_offset` and no more (it has `READS_ONE_LOG`)."""
    return bool(getattr(_module(name), "READS_ONE_LOG", False))


@frozen
class Rebuild:
    """A file of a log dir (`file` is relative to it) that a recipe is to make; `note` is for the plan."""

    log_dir: LogDir
    partition: str
    file: str
    recipe: str
    arguments: Arguments
    note: str = ""

    @classmethod
    def within(cls, partition: PartitionDir, name: str, recipe: str, **arguments: object) -> Self:
        """A file in the directory of a partition."""
        return cls(
            log_dir=partition.log_dir, partition=partition.name, file=f"{partition.name}/{name}",
            recipe=recipe, arguments=arguments,
        )  # fmt: skip

    @property
    def path(self) -> str:
        return f"{self.log_dir.path}/{self.file}"

    def build(self, release: Release) -> bytes:
        """Its bytes; raises what the recipe raises."""
        return build(self.recipe, self.log_dir, self.partition, self.arguments, release)


def build(name: str, log_dir: LogDir, partition: str, arguments: Arguments, release: Release) -> bytes:
    """The bytes that the recipe `name` gives; raises `SegmendError` for a name that is none, or arguments."""
    module = _module(name)
    if module is None:
        raise SegmendError(f"the plan asks for the recipe '{name}', which this segmend does not have")
    try:
        recipe: Build = module.build
        return recipe(log_dir, partition, arguments, release)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        given = str(dict(arguments))[:80]
        raise SegmendError(f"the recipe '{name}' cannot do with {given}: {error!r}") from None
