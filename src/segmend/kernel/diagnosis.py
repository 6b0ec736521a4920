"""What the bytes are where a walk found no sound batch, and where it can go on."""

from __future__ import annotations

from segmend.formats.batch import HEADER_SIZE_V2, LOG_OVERHEAD, PREFIX, read_header
from segmend.frozen import dataclass
from segmend.kernel.records import signed64
from segmend.kernel.salvage import Salvage
from segmend.kernel.types import Problem, ProblemKind
from segmend.kernel.walker import Stop
from segmend.kernel.window import Window

Detail = tuple[tuple[str, int | str], ...]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The problem, whose `end` is where the walk goes on unless its kind is one of `TAIL_KINDS`.

    `next_offset` is what a broker, which believes the damaged header, takes to follow.
    """

    problem: Problem
    next_offset: int | None = None


def diagnose(salvage: Salvage, window: Window, stop: Stop, position: int, limit: int, low: int) -> Diagnosis:
    """Look at the damage at `position`; batches before `limit` with an offset from `low` may follow it."""
    kind = stop.kind
    assert kind, "where a walk stopped at damage it says which"
    head = bytes(window.at(position, min(HEADER_SIZE_V2, window.end - position)))[:HEADER_SIZE_V2]
    if kind == "header-fragment" or len(head) < PREFIX.size:
        zeros = ("zeros", int(not head.strip(b"\0")))
        fragment = Problem(kind="header-fragment", position=position, end=window.end, detail=(zeros,))
        return Diagnosis(fragment)
    if not head.strip(b"\0") and salvage.only_zeros_from(position):
        return Diagnosis(Problem(kind="zero-tail", position=position, end=window.end))
    offset, size, _, magic = PREFIX.unpack_from(head)
    detail = _detail(salvage, stop, position, head)

    def problem(kind: ProblemKind, end: int, *more: tuple[str, int | str]) -> Problem:
        return Problem(kind=kind, position=position, end=end, offset=offset, detail=(*detail, *more))

    following = position + LOG_OVERHEAD + size
    if kind in ("crc-mismatch", "bad-magic") and salvage.may_begin(following, low):
        readable = magic < 2 or len(head) == HEADER_SIZE_V2
        beyond = signed64(read_header(head).last_offset + 1) if readable else None
        return Diagnosis(problem(kind, following, ("next", "boundary")), beyond)
    if kind == "crc-mismatch":
        salvage.charge(size)
    sound = salvage.next_batch(position + 1, limit, low)
    if sound is not None:
        return Diagnosis(problem(kind, sound, ("next", "resync")))
    if kind == "size-past-end" and limit == window.end:
        return Diagnosis(problem("torn-tail", window.end))
    return Diagnosis(problem(kind, limit, ("next", "gave-up" if salvage.gave_up else "end")))


def _detail(salvage: Salvage, stop: Stop, position: int, head: bytes) -> Detail:
    _, size, _, magic = PREFIX.unpack_from(head)
    if stop.kind == "crc-mismatch":
        return ("stored", read_header(head).crc), ("computed", stop.computed), ("size", size)
    if stop.kind == "bad-magic":
        sound = salvage.is_sound_as_v2(position, LOG_OVERHEAD + size)
        return ("magic", magic), ("sound_as_magic_2", int(sound)), ("size", size)
    return ("size", size), ("available", salvage.end - position - LOG_OVERHEAD)
