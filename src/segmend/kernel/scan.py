"""One pass over a `.log` file that says everything about it, and goes on after damage.

`scan_log` is safe to call from many threads at once; the native engine releases the GIL.
"""

from __future__ import annotations

from collections import Counter

from segmend.formats.batch import HEADER_SIZE_V2, PREFIX, read_header
from segmend.formats.java_number import INT_MAX
from segmend.frozen import replace
from segmend.kernel.batches import iter_batches, next_offset_from
from segmend.kernel.diagnosis import diagnose
from segmend.kernel.engine import ENGINE
from segmend.kernel.records import check_wrapper, signed64, unpack_payload
from segmend.kernel.salvage import Salvage
from segmend.kernel.types import (
    MAX_PROBLEMS,
    TAIL_KINDS,
    WINDOW,
    WINDOW_LIMIT,
    Problem,
    Reader,
    SegmentScan,
    SoundPart,
)
from segmend.kernel.walker import DAMAGE, END, MORE, Deferred, Engine, ScanTask, Stop, sort_problems
from segmend.kernel.window import Window

__all__ = ["ScanTask", "iter_batches", "next_offset_from", "scan_log"]


def scan_log(
    reader: Reader,
    task: ScanTask,
    *,
    until_damage: bool = False,
    engine: Engine = ENGINE,
    window: int = WINDOW,
) -> SegmentScan:
    """Walk batches of a `.log` file as `task` says; never raises on content.

    `until_damage` stops where a recovery does. `window` is the size of one read in bytes.

    Follows LogSegment.recover for what it folds; unlike it, it does not stop at damage.
    """
    task = replace(task, stop=min(task.stop, reader.size), end=reader.size)
    with Window(reader, size=window) as opened:
        return _Pass(engine, opened, task, until_damage=until_damage).run()


class _Pass:
    """The state of one `scan_log`."""

    def __init__(self, engine: Engine, window: Window, task: ScanTask, *, until_damage: bool) -> None:
        self._task = task
        self._window = window
        self._walker = engine.walker(task)
        self._salvage = Salvage(engine, window, task.base_offset)
        self._problems: list[Problem] = []
        self._counts: Counter[str] = Counter()
        self._quiet: dict[str, int] | None = None
        self._until_damage = until_damage
        self._sound: SoundPart | None = None
        self._believed = task.base_offset
        self._damaged_batches = 0
        self._in_tail = False

    def run(self) -> SegmentScan:
        walker = self._walker
        if walker.position < self._task.stop:
            self._window.load(walker.position)
            walker.end = min(walker.end, self._window.end)
        while not self._in_tail and not (self._until_damage and self._sound):
            before = walker.position
            stop = walker.walk(self._window.view, self._window.start)
            assert walker.position >= before, "a walk went back"
            self._drain()
            if stop.status == MORE:
                assert not self._window.covers(walker.position, stop.need), "the window has what is wanted"
            if stop.status in (END, MORE):
                self._read_bodies()
            if stop.status == END:
                break
            if stop.status == MORE and not self._window.covers(walker.position, stop.need):
                self._load(stop.need)
            if stop.status == DAMAGE:
                self._pass_damage(stop)
        return self._result()

    def _read_bodies(self) -> None:
        """Read on from the window to the walker: without checksums, what is left of the last batch.

        Nobody looks at it then, but only who reads learns that the disk cannot (K14b).
        """
        if not self._task.crc:
            unread = max(self._window.start + len(self._window.view), self._task.start)
            for _ in self._window.pieces(unread, self._walker.position):
                pass

    def _load(self, need: int) -> None:
        """Bring the batch at the walker's position into the window, or take it in pieces."""
        walker = self._walker
        if need <= WINDOW_LIMIT:
            self._window.load(walker.position, need)
            # Who cuts the file meanwhile may cut it within the batch that was taken last.
            walker.end = max(min(walker.end, self._window.end), walker.position)
            return
        magic = PREFIX.unpack_from(self._window.at(walker.position, HEADER_SIZE_V2))[3]
        crc = self._salvage.checksum(walker.position, need, magic) if self._task.crc else 0
        self._window.load(walker.position)
        walker.end = min(walker.end, self._window.end)
        stop = walker.admit(self._window.view, self._window.start, crc)
        self._drain()
        if stop.status == DAMAGE:
            self._pass_damage(stop)

    def _drain(self) -> None:
        """Take over what the walker found in this window, and do what it left to us."""
        problems = self._walker.take_problems()
        for deferred in self._walker.take_deferred():
            problems.extend(self._look_inside(deferred))
        problems.extend(self._walker.take_problems())
        self._report(problems)

    def _look_inside(self, deferred: Deferred) -> list[Problem]:
        at = deferred.position - self._window.start
        data = bytes(self._window.view[at : at + deferred.size])
        batch = read_header(data, 0, deferred.position)
        batch = batch._replace(last_offset=signed64(batch.last_offset))
        if batch.magic < 2:
            problem, records, nulls = check_wrapper(batch, data)
            self._walker.count_inner(records, nulls)
        else:
            payload, problem = unpack_payload(batch, data)
            if problem is None:
                self._walker.check_records(batch, payload)
        return [] if problem is None else [problem]

    def _report(self, problems: list[Problem]) -> None:
        if not problems:
            return
        self._counts.update(problem.kind for problem in problems)
        room = max(MAX_PROBLEMS - len(self._problems), 0)
        self._problems.extend(sort_problems(problems)[:room])
        if len(self._problems) >= MAX_PROBLEMS and self._quiet is None:
            self._quiet = self._walker.quiet()

    def _pass_damage(self, stop: Stop) -> None:
        """Say what is wrong at the walker's position, and move it to where batches go on."""
        walker = self._walker
        position, low = walker.position, walker.last_offset + 1
        if self._sound is None:
            self._sound = self._sound_part(stop)
            if self._until_damage:
                return
        diagnosis = diagnose(
            self._salvage, self._window, stop, position, min(self._task.stop, walker.end), low
        )
        self._report([replace(diagnosis.problem, expected=max(low, self._believed))])
        if stop.kind == "crc-mismatch" and diagnosis.next_offset is not None:
            in_range = 0 < diagnosis.next_offset - self._task.base_offset <= INT_MAX + 1
            self._believed = max(self._believed, diagnosis.next_offset) if in_range else self._believed
        if diagnosis.problem.kind in TAIL_KINDS:
            self._in_tail = True
            return
        assert position < diagnosis.problem.end <= walker.end, (
            "damage ends behind where it begins, in the file"
        )
        self._damaged_batches += 1
        walker.skip(diagnosis.problem.end, diagnosis.next_offset)

    def _sound_part(self, stop: Stop) -> SoundPart:
        walker, so_far = self._walker, self._walker.so_far()
        return SoundPart(
            end=walker.position,
            kind=stop.kind,
            last_offset=walker.last_offset if walker.last_offset >= self._task.base_offset else None,
            **so_far._asdict(),
        )

    def _result(self) -> SegmentScan:
        walker, task = self._walker, self._task
        whole = task.stop >= walker.end
        facts = walker.facts(whole=whole)
        if self._quiet:
            self._counts.update(self._quiet)
        total = self._counts.total()
        end = walker.end if self._in_tail else walker.position
        assert sum(n for _, n in facts["magics"]) == facts["batches"] == sum(n for _, n in facts["codecs"])
        assert len(self._problems) <= total, "a problem was not counted"
        if total > len(self._problems):
            facts["bounded"] = tuple(sorted({"problems", *facts["bounded"]}))
        return SegmentScan(
            **facts, size=walker.end, start=task.start, end=end, base_offset=task.base_offset,
            crc_checked=task.crc, records_checked=task.records,
            valid_bytes=walker.position if self._sound is None else self._sound.end,
            damaged_batches=self._damaged_batches,
            problems=tuple(self._problems), problem_counts=tuple(sorted(self._counts.items())),
            sound=self._sound,
        )  # fmt: skip
