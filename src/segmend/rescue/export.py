"""An export: run after run, the records that are new are added to what is there, each of them once.

There is no journal: what grows (see `forms`) knows how far it reaches, and the next run begins there,
whatever became of the one before. Partitions are committed many at a time, for about `_BUNDLE` bytes.
"""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Final

from segmend.cluster.cluster_dirs import FleetDirs
from segmend.cluster.policies import Policies
from segmend.errors import SegmendError, UsageError
from segmend.fleet.surroundings import Surroundings
from segmend.formats.java_number import LONG_MAX
from segmend.frozen import replace
from segmend.logdir import disk
from segmend.merge.spans import Spans
from segmend.rescue import forms
from segmend.rescue.lines import Line, PartitionLine
from segmend.rescue.outlet import Folder, in_words, refuse_place
from segmend.rescue.request import RescueRequest
from segmend.rescue.run import Each, RescueTask, replicas_wanted, summary_of, with_doubts
from segmend.surgery.writing.atomic import TEMPORARY
from segmend.surgery.writing.effects import Effects, sync_dir

_LOCK: Final = "_export.lock"
_BUNDLE: Final = 256 << 20


def export(
    request: RescueRequest,
    fleet: FleetDirs,
    only: Sequence[str],
    each: Callable[[forms.Growing], Each],
    fx: Effects | None = None,
    bundle: int | None = _BUNDLE,
) -> Iterator[Line]:
    """The lines of the report: of a partition once what is new of it is added, last the summary.

    `only` are as of `rescue`; `each` gives what writes the partitions for what grows; there is a commit
    for about `bundle` bytes, or one for all. Raises `SegmendError`.
    """
    form = forms.growing(request.form)
    refuse_place(request.out, request.form, (log_dir.path for log_dir in fleet.dirs))
    wanted, fx = replicas_wanted(request, fleet, only), fx or Effects()
    compacts = Policies([fleet], request.configs)
    around = Surroundings(fleet, request.wants, whole=not only)
    with _opened(request.out, form, fx):
        folder = Folder(request.out, fx)
        tasks = [
            RescueTask(request=request, places=wanted[key], release=fleet.release, compacted=compacts(key[0]))
            for key in sorted(wanted)
        ]
        table = form.grow(request, folder, [task.due for task in tasks], lambda: fleet.image)
        lows = {key: table.reached(f"{key[0]}-{key[1]}").next_offset for key in wanted}
        tasks = [
            replace(task, request=replace(request, offsets=(lows[task.places[0].key], LONG_MAX)))
            for task in tasks
        ]
        told, pending = list[PartitionLine](), list[PartitionLine]()
        for line in with_doubts(each(table)(tasks, folder), around, wanted):
            if line.get("refused"):
                told.append(line)
                yield line
                continue
            pending.append(_said(line, lows[line["topic"], line["partition"]]))
            if bundle is not None and sum(held["bytes"] for held in pending) >= bundle:
                yield from _commit(table, pending, request.out, fx)
                told, pending = told + pending, []
        yield from _commit(table, pending, request.out, fx)
        yield summary_of(told + pending, compacts, around)


def _commit(
    table: forms.Growing, lines: Sequence[PartitionLine], out: str, fx: Effects
) -> Sequence[PartitionLine]:
    """The lines, once what they tell is there for good."""
    sync_dir(fx, out)
    table.commit(lines)
    return lines


def _said(line: PartitionLine, low: int) -> PartitionLine:
    """A line of `rescue` as what is true of this run: up to where it took, and from where the table ended."""
    end = line["form"]["next_offset"]
    # Without a run before, the log begins where it begins.
    gone = [(low, line["first_offset"] - 1)] if 0 < low < line["first_offset"] else []
    words = [f"offsets {a} to {b} were deleted from the log before an export took them" for a, b in gone]
    first = min(line["first_offset"], end)
    return {
        **line, "first_offset": first, "next_offset": end, "missing": Spans(chain(gone, line["missing"])),
        "doubts": [*words, *line["doubts"]],
    }  # fmt: skip


@contextmanager
def _opened(out: str, form: forms.GrowingForm, fx: Effects) -> Iterator[None]:
    """OUT for one export at a time; raises `UsageError` if something else is in there."""
    with in_words(out):
        kind = disk.path_type(out)
        if kind is not None and kind != "dir":
            raise UsageError(f"{out}: not a directory")
        if kind is None:
            fx.make_dir(out, 0o755)
        names = {name.removesuffix(TEMPORARY) for name in disk.names(out)} - {_LOCK}
        if names and not form.BEGINS & names:
            raise UsageError(f"{out}: is not empty, and no such export began there; give a new directory")
        fd = fx.create(f"{out}/{_LOCK}", 0o644)
        try:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise SegmendError(f"{out}: another export is at work there") from None
            yield
        finally:
            fx.close(fd)
