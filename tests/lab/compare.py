"""Compare a forecast with what a real broker did to the same files, point by point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from segmend.loading import BrokerOutcome, DirOutcome, PartitionOutcome
from segmend.loading.run import Line

DELETING = frozenset(
    {"file-deleted", "snapshot-deleted", "segments-deleted", "swap-completed", "stray-renamed"}
)
"""Effects that take a file away."""
MAKING = frozenset({"index-created", "index-rebuilt"})
"""Effects that make a file, perhaps in the place of one that was taken away."""


@dataclass(frozen=True)
class Said:
    """The lines of a forecast that are compared."""

    broker: BrokerOutcome
    offline: list[str]
    partition: PartitionOutcome | None

    @classmethod
    def of(cls, lines: Sequence[Line], topic: str) -> Said:
        """Sort the lines; the partition is that of the topic."""
        broker = next(line for line in lines if isinstance(line, BrokerOutcome))
        offline = [Path(line.dir).name for line in lines if isinstance(line, DirOutcome) and not line.online]
        mine = [line for line in lines if isinstance(line, PartitionOutcome) and line.topic == topic]
        return cls(broker, sorted(offline), mine[0] if mine else None)

    @property
    def effects(self) -> set[str]:
        """The names of the partition's effects."""
        return {effect.effect for effect in self.partition.effects} if self.partition else set()

    @property
    def deleted(self) -> set[str]:
        """Names of the partition's files that it says are taken away for good."""
        return self._files(DELETING) - self._files(MAKING)

    @property
    def places(self) -> set[int]:
        """The offsets at which something is lost or fails."""
        found = self.partition.effects if self.partition else ()
        return {each.offset for each in found if each.loses and each.offset is not None}

    def _files(self, effects: frozenset[str]) -> set[str]:
        found = self.partition.effects if self.partition else ()
        return {Path(each.file).name for each in found if each.effect in effects and each.file}


def after(before: dict[str, int], done: dict[str, Any]) -> dict[str, int]:
    """The files that lay there after the load, with their sizes."""
    left = {name: size for name, size in before.items() if name not in done.get("gone", [])}
    return {
        **left,
        **done.get("new", {}),
        **{name: sizes[1] for name, sizes in done.get("resized", {}).items()},
    }


def is_log(name: str) -> bool:
    """Whether it is a segment's log as the broker names it."""
    return len(name) == 24 and name.endswith(".log")


def of_files(before: dict[str, int], done: dict[str, Any], said: Said) -> list[str]:
    """Segments and bytes left, and every other file that went."""
    assert said.partition is not None
    files = after(before, done)
    logs = [size for name, size in files.items() if is_log(name) and size >= 0]
    found = []
    if (len(logs), sum(logs)) != (said.partition.after.segments, said.partition.after.bytes):
        extent = said.partition.after
        found.append(f"logs: {len(logs)} of {sum(logs)} bytes, said {extent.segments} of {extent.bytes}")
    gone = set(done.get("gone", []))
    bases = {name.partition(".")[0] for name in gone | said.deleted if is_log(name)}
    silent = {
        name for name in gone - said.deleted if name.partition(".")[0] not in bases and ".swap" not in name
    }
    if silent:
        found.append(f"gone, not said: {sorted(silent)}")
    kept = {
        name
        for name in said.deleted & set(files)
        if not name.endswith(".snapshot") and name not in done.get("new", {})
    }
    if kept:
        found.append(f"said to go, still there: {sorted(kept)}")
    return found


def of_partition(before: dict[str, int], done: dict[str, Any], said: Said) -> list[str]:
    """Offsets, files and straying of the hurt partition."""
    if said.partition is None:
        return ["partition: no line of it"] if before else []  # no replica lies there: nothing to forecast
    stray = "stray-renamed" in said.effects
    found = [] if stray == done.get("stray", False) else [f"stray: {done.get('stray', False)}, said {stray}"]
    extent = said.partition.after
    if extent.log_end_offset is None:
        return found  # its log dir is offline
    ends = [extent.log_start_offset, extent.log_end_offset]
    # librdkafka gives the smaller one first, whatever they are.
    if isinstance(done["offsets"], list) and done["offsets"][:2] != sorted(end or 0 for end in ends):
        found.append(f"offsets: {done['offsets'][:2]}, said {ends}")
    return found if stray or not before else found + of_files(before, done, said)


def disagreements(
    verdict: dict[str, Any], before: dict[str, int], lines: Sequence[Line], topic: str
) -> list[str]:
    """Every point in which the forecast is not what the broker did; nothing if it is right."""
    said = Said.of(lines, topic)
    outcome = "starts" if said.broker.starts else "refuses"
    if outcome != verdict["outcome"]:
        return [f"outcome: {verdict['outcome']}, said {outcome} ({said.broker.reason})"]
    if outcome == "refuses":
        return []
    found = []
    if said.offline != verdict.get("offline", []):
        found.append(f"offline: {verdict.get('offline', [])}, said {said.offline}")
    return found + of_partition(before, verdict["partition"], said)


def of_reads(
    verdict: dict[str, Any], lines: Sequence[Line], topic: str, whole: Sequence[Sequence[int]]
) -> list[str]:
    """Whether it says of every partition that fails a consumer from the beginning that reads fail, and where.

    Not the other way round: an index that leads lookups astray harms only who begins in the middle.
    `whole` are the ranges of records of the sound log.
    """
    if "partition" not in verdict or not isinstance(verdict["partition"]["offsets"], list):
        return []
    read, said = verdict["partition"].get("read", {}), Said.of(lines, topic)
    waits = read.get("stuck") if read.get("missing") else None  # else it waits for what is written next
    fails = bool(read.get("errors") or waits or read.get("repeated"))
    if fails and "reads-fail" not in said.effects:
        return [f"reads: {read.get('errors', [])} stuck at {read.get('stuck')}, said nothing"]
    stops = (waits is not None or read.get("errors")) and "ABORT" not in read.get("errors", [])
    if not stops or "missing" not in read:
        return []
    return of_place(read["missing"], said, whole)


def of_place(missing: Sequence[Sequence[int]], said: Said, whole: Sequence[Sequence[int]]) -> list[str]:
    """Whether a place that it names is where the records end: none was delivered between the two."""
    absent, sound = (
        {offset for first, last in ranges for offset in range(first, last + 1)} for ranges in (missing, whole)
    )
    first, places = missing[0][0], said.places
    delivered = sound - absent
    if any(delivered.isdisjoint(range(min(first, place), max(first, place))) for place in places):
        return []
    return [f"reads: nothing from {first} on, said {sorted(places)}"]
