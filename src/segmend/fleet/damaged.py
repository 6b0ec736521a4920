"""Damage that costs a reader records: what it is, and what is made of it by the mode of the read."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from segmend.errors import SegmendError
from segmend.fleet.listing import Place
from segmend.fleet.options import FAIL_ON_LOSS, FAILFAST, PERMISSIVE
from segmend.fleet.ranges import ByteRange
from segmend.frozen import dataclass, field, frozen
from segmend.kernel.types import KINDS, Problem
from segmend.logdir.file_system import Unreadable
from segmend.logdir.transactions import Uncommitted
from segmend.wording import few, plural

LOG = logging.getLogger("segmend.fleet")
TALLY: Final = "tally"
"""In the context of a warning: the numbers of its task, which whoever gathers the warnings adds up."""
VANISHED: Final = "vanished"
UNKNOWN_END: Final = "unknown-end"
_QUIET = ("header-fragment", "zero-tail")
_SHOWN = 3


@frozen
class DamagedPlace:
    """A damaged place of a log, or of a log that cannot be read at all (`unreadable`, `vanished`).

    `first_offset` is the first one that is lost with it, None if nothing tells; `last_offset` is
    None at the end of a log, where nothing tells how many there were.
    """

    piece: ByteRange
    kind: str
    position: int
    end: int
    first_offset: int | None
    last_offset: int | None
    reason: str

    @property
    def text(self) -> str:
        path = f"{self.piece.place.path}/{self.piece.log_name}"
        if self.kind == VANISHED:
            return f"{path}: {self.reason}"
        return f"{path}: byte {self.position}: {self.kind}: {self.reason}"


Report = Callable[[DamagedPlace], None]


def is_loss(piece: ByteRange, problem: Problem) -> bool:
    """Whether it may have cost records: zeros and crumbs at the end of an active log did not."""
    return problem.kind not in _QUIET or piece.next_base is not None


def damage_of(
    piece: ByteRange, problem: Problem, first_offset: int | None, last_offset: int | None
) -> DamagedPlace:
    """As the reader of a range tells it."""
    return DamagedPlace(
        piece=piece,
        kind=problem.kind,
        position=problem.position,
        end=problem.end,
        first_offset=first_offset,
        last_offset=last_offset,
        reason=KINDS[problem.kind],
    )


def unreadable(
    piece: ByteRange, error: Unreadable, first_offset: int | None, last_offset: int | None
) -> DamagedPlace:
    """What the system refused to read, or what is there no more: a broker may delete what was listed."""
    return DamagedPlace(
        piece=piece,
        kind=VANISHED if error.missing else "unreadable",
        position=piece.start,
        end=piece.end,
        first_offset=first_offset,
        last_offset=last_offset,
        reason="gone since it was listed" if error.missing else error.reason,
    )


def missing(piece: ByteRange, size: int, first_offset: int, last_offset: int) -> DamagedPlace:
    """Offsets between a log of so many bytes and the next one, which others have."""
    return DamagedPlace(
        piece=piece,
        kind="missing",
        position=size,
        end=size,
        first_offset=first_offset,
        last_offset=last_offset,
        reason="no segment has these offsets",
    )


def without_end(piece: ByteRange, transaction: Uncommitted) -> DamagedPlace:
    """A transaction of which a consumer of committed records cannot know whether it is one."""
    return DamagedPlace(
        piece=piece,
        kind=UNKNOWN_END,
        position=transaction.first_position,
        end=transaction.last_position,
        first_offset=transaction.first_offset,
        last_offset=transaction.last_offset,
        reason=f"its marker is lost: nobody knows how the transaction of producer {transaction.producer_id} "
        f"from offset {transaction.first_offset} to {transaction.last_offset} ended",
    )


@dataclass(slots=True)
class DamageTally:
    """What one task met, by the mode of the read and that for what is gone; `tell` writes the warnings."""

    mode: str
    gone_mode: str
    task: tuple[str, str] = ("", "")
    """The name of the read, and the first place of the task, which none of its others has."""
    vanished: dict[str, str] = field(default_factory=dict)
    kinds: Counter[str] = field(default_factory=Counter)
    partitions: set[str] = field(default_factory=set)
    unended: list[str] = field(default_factory=list)

    def report(self, damage: DamagedPlace) -> None:
        """Count it; SegmendError with FAILFAST, and with `failOnDataLoss` if it is gone."""
        mode = self.gone_mode if damage.kind == VANISHED else self.mode
        if mode in _FAILS:
            raise SegmendError(f"{damage.text} ({_FAILS[mode]})")
        name = f"{damage.piece.topic}-{damage.piece.partition}"
        if damage.kind == VANISHED:
            self.vanished[f"{damage.piece.place.path}/{damage.piece.log_name}"] = name
            return
        if damage.kind == UNKNOWN_END:
            self.unended.append(name)
            return
        self.kinds[damage.kind] += 1
        self.partitions.add(name)

    def tell(self) -> None:
        """Lines in the log of the task, if there is anything to say and the mode wants it said."""
        if self.mode != PERMISSIVE:
            return
        numbers = {
            "task": self.task, "vanished": self.vanished, "kinds": self.kinds,
            "partitions": sorted(self.partitions), "unended": self.unended,
        }  # fmt: skip
        for words in self._words():
            LOG.warning("kafka-log: %s", words, extra={"context": {TALLY: json.dumps(numbers)}})

    def _words(self) -> Iterator[str]:
        if self.kinds:
            kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(self.kinds.items()))
            places = plural(self.kinds.total(), "damaged place")
            yield f"{places} cost records ({kinds}) in {few_of(self.partitions)}; the table damage names them"
        if self.unended:
            left_out = plural(len(self.unended), "transaction is", "transactions are")
            yield (
                f"{left_out} left out in {few_of(self.unended)}, of which lost markers leave open whether "
                "they were committed; the column _damage names them"
            )
        if self.vanished:
            logs = plural(len(self.vanished), "log is", "logs are")
            names = few_of(self.vanished.values())
            yield f"{logs} gone since the read was planned, in {names}; no row comes of what is nowhere else"


def added_up(tallies: Iterable[str]) -> list[DamageTally]:
    """What the tasks of each read met, of the texts in the context of their warnings.

    A task done twice counts once.
    """
    reads: dict[str, DamageTally] = {}
    for numbers in map(json.loads, sorted({*tallies})):
        every = reads.setdefault(numbers["task"][0], DamageTally(PERMISSIVE, PERMISSIVE))
        every.vanished |= numbers["vanished"]
        every.kinds.update(numbers["kinds"])
        every.partitions.update(numbers["partitions"])
        every.unended += numbers["unended"]
    return [*reads.values()]


def few_of(names: Iterable[str]) -> str:
    """The first few of them, each once and whole: some are paths."""
    return few(sorted(set(names)), _SHOWN, longest=None)


_FAILS: Final = {FAILFAST: "mode FAILFAST", FAIL_ON_LOSS: FAIL_ON_LOSS}


def tell_gone(why: Iterable[str], mode: str) -> None:
    """What has left no byte in the place where it would be read, in the log; SegmendError if `mode` fails."""
    for words in why:
        if mode in _FAILS:
            raise SegmendError(f"{words} ({_FAILS[mode]})")
        if mode == PERMISSIVE:
            LOG.warning("kafka-log: %s", words)


def tell_unseen(refused: Iterable[str], vanished: Iterable[str]) -> None:
    """Files that the system did not let a task read, or that are gone: its rows say nothing of them."""
    for words, paths in (
        ("could not be read with this user's permissions", list(refused)),
        ("gone since the read was planned", list(vanished)),
    ):
        if paths:
            LOG.warning("kafka-log: %s: %s", words, few_of(paths))


def tell_unread(places: Iterable[Place], mode: str) -> None:
    """Log dirs of which no row can come, likewise."""
    unread = (f"{place.path}: {place.unread}" for place in places if place.unread)
    tell_gone((words if mode in _FAILS else f"{words}; no row comes from there" for words in unread), mode)
