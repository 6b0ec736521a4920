"""The partitions of a rescue as tasks of the fleet's drivers, on Spark or on the cores of this machine.

OUT must be one directory for all of them. Merging and writing of a partition happen where its task runs;
what comes back is its line of the report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from segmend.errors import SegmendError, UsageError
from segmend.fleet.compare import ListedDir, places_now
from segmend.fleet.driver import Driver
from segmend.fleet.listing import Place
from segmend.frozen import frozen
from segmend.logdir.release import Release
from segmend.rescue.forms import Form
from segmend.rescue.lines import PartitionLine
from segmend.rescue.outlet import Folder, in_words
from segmend.rescue.request import RescueRequest
from segmend.rescue.run import Each, RescueTask, written
from segmend.surgery.writing.effects import Effects


@frozen
class Sent:
    """A `RescueTask` that can go to another machine: log dirs and names of the directories."""

    request: RescueRequest
    places: tuple[ListedDir, ...]
    release: Release
    compacted: bool | None
    form: Form | None

    @classmethod
    def of(cls, task: RescueTask, form: Form | None = None) -> Sent:
        """A task, packed."""
        return cls(
            request=task.request,
            places=tuple(map(ListedDir.of, task.places)),
            release=task.release,
            compacted=task.compacted,
            form=form,
        )

    def opened(self) -> RescueTask:
        """It again, where it runs."""
        return RescueTask(
            request=self.request, places=places_now(self.places), release=self.release,
            compacted=self.compacted,
        )  # fmt: skip


@frozen
class RefusedTask:
    """What stops a task, in words: an exception would come back with those of the driver around them."""

    words: str
    usage: bool


def spread(
    driver: Driver,
    places: Sequence[Place],
    told: Callable[[int, int, str], None],
    form: Callable[[str], Form | None] = lambda _: None,
) -> Each:
    """Each partition as a task; the largest begin first. `told` hears of tasks as if they were bytes.

    `places` are all log dirs: that tasks see them as they are here, and share OUT, is asked before. `form`
    is told the partition, and gives one that has no name.
    """

    def each(tasks: Sequence[RescueTask], folder: Folder) -> Iterator[PartitionLine]:
        del folder
        if tasks:
            driver.ready(places, tasks[0].request.out)
        ordered = sorted(tasks, key=lambda task: -task.size)
        sent = [Sent.of(task, form(task.places[0].name)) for task in ordered]
        for line in driver.run(write_one, sent, lambda done: told(0, 0, f"{done} of {len(sent)} partitions")):
            if isinstance(line, RefusedTask):
                raise (UsageError if line.usage else SegmendError)(line.words)
            yield line

    return each


def write_one(sent: Sent) -> PartitionLine | RefusedTask:
    """In a task: write one partition."""
    try:
        task, out = sent.opened(), sent.request.out
        with in_words(out):
            return written(task, Folder(out, Effects()), form=sent.form)
    except SegmendError as error:
        return RefusedTask(words=str(error), usage=isinstance(error, UsageError))
