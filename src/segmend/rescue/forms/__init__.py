"""The forms in which a rescue is written, one file each, found by their names.

Each has `prepare(request, outlet, due, known)` for before the first partition, for each of them
`write(job, outlet) -> Written`, and `finish(home, outlet, lines)` once all are done. Those of `GROWING` have
`grow`, too, for what an export adds to run after run. Some need packages of an extra and are loaded only when
they are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Final, Protocol, cast

from segmend.discovery import modules_in
from segmend.errors import MissingExtra

if TYPE_CHECKING:
    from segmend.cluster.cluster_dirs import Home
    from segmend.node.metadata_image import MetadataImage
    from segmend.rescue.lines import PartitionLine
    from segmend.rescue.outlet import Folder
    from segmend.rescue.reached import Reached
    from segmend.rescue.request import Due, Job, RescueRequest, Written

GROWING: Final = ("delta", "kafka")
"""What `--as` of an export can be."""
_EXTRAS: Final = {"pyarrow": "arrow", "numpy": "arrow", "confluent_kafka": "kafka"}


class Form(Protocol):
    """What the module of a form looks like."""

    def write(self, job: Job, outlet: Folder) -> Written:
        """Write one partition."""


class NamedForm(Form, Protocol):
    """One that is a choice of `--as`."""

    def prepare(
        self, request: RescueRequest, outlet: Folder, due: Sequence[Due], known: MetadataImage | None
    ) -> None:
        """Look whether these can be written; raises `SegmendError`.

        `known` is the metadata of their cluster, if it is among the dirs.
        """

    def finish(self, home: Home | None, outlet: Folder, lines: Sequence[PartitionLine]) -> None:
        """All partitions are written: `lines` is what the journal says of them.

        `home` is whose log dir OUT is to be, None where no dir tells that.
        """


class Growing(Form, Protocol):
    """What has been exported so far, opened to be added to; a form that knows it."""

    def reached(self, name: str) -> Reached:
        """How far it has a partition."""

    def elsewhere(self, name: str) -> Form:
        """What adds to it a partition in a task on another machine."""

    def commit(self, lines: Sequence[PartitionLine]) -> None:
        """Have for good what these lines tell; raises `SegmendError`."""


class GrowingForm(Protocol):
    """The module of a form to which an export adds; `BEGINS` are names in OUT once one began."""

    BEGINS: frozenset[str]

    def grow(
        self,
        request: RescueRequest,
        outlet: Folder,
        due: Sequence[Due],
        known: Callable[[], MetadataImage | None],
    ) -> Growing:
        """Open what is there; raises `SegmendError` if that is something else."""


def names() -> list[str]:
    """What `--as` can be; none of them is loaded."""
    return [name.replace("_", "-") for name in modules_in(__path__)]


def prepare(request: RescueRequest, outlet: Folder, due: Sequence[Due], known: MetadataImage | None) -> None:
    """For a form of which nobody knows how much room it needs before it is compressed."""
    del request, outlet, due, known


def finish(home: Home | None, outlet: Folder, lines: Sequence[PartitionLine]) -> None:
    """For a form that has nothing more to do."""
    del home, outlet, lines


def form(name: str) -> NamedForm:
    """The form that is one of `names`; raises `MissingExtra`."""
    return cast(NamedForm, loaded(f"{__name__}.{name.replace('-', '_')}", name))


def growing(name: str) -> GrowingForm:
    """The form that is one of `GROWING`; raises `MissingExtra`."""
    return cast(GrowingForm, loaded(f"{__name__}.{name}", name, ""))


def loaded(module: str, name: str, instead: str = ", or take --as jsonl") -> ModuleType:
    """A module that may need packages of an extra, for `--as name`; raises `MissingExtra`."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if str(error.name).startswith("segmend"):
            raise
        package = str(error.name)
        raise MissingExtra(f"--as {name} needs {package}", _EXTRAS.get(package, "fleet"), instead) from None
