"""The bytes of derived files after a start: what the broker wrote anew against what the recipes make.

Of indexes all that a recovery wrote, also of a segment that it cut, and of the active one, which is padded
with zeros; of producer snapshots the rows.
"""

import functools
import itertools
import struct
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from segmend.formats import producer_snapshot, txn_index
from segmend.formats.names import file_prefix, is_found, parse_file_name
from segmend.formats.producer_snapshot import ProducerSnapshot, ProducerStateEntry
from segmend.formats.txn_index import TransactionIndex
from segmend.loading.load import LoadedLog
from segmend.loading.segment import Segment
from segmend.loading.state import States
from segmend.logdir.files import FileEntry
from segmend.logdir.log_dir import LogDir
from segmend.logdir.release import Release
from segmend.surgery.derive.sources import replayed, segment_of
from segmend.surgery.recipes import offset_index, time_index, transaction_index
from tests.lab.base import STORY
from tests.lab.disasters.bases import TOPICS
from tests.lab.disasters.files import Seen
from tests.lab.disasters.reads import fault

INTERVAL, UNSET = 512, 4096
"""The lab's index.interval.bytes, and what a broker has whose metadata does not know the topic."""
BUILT = {"index": offset_index.build, "timeindex": time_index.build}
OLD = 1_767_000_000_000
"""The lab's idempotent producers have timestamps below this: a broker forgets them when it reads a snapshot
(`producer.id.expiration.ms`), which changes nothing but what it writes into the next one. Before 2.4 a marker
did not count, so that it forgets those of transactions as well, and has other timestamps in their rows."""
NO_ROWS, ROW, FEW = 10, 46, 6
"""Bytes of a snapshot without producers, and of each; how many of them are tried in every order."""
ONE_STABLE_OFFSET = (2, 8)
"""Before it the last stable offsets of a recovered index depend on the snapshot that it began with."""
TRIMS = (3, 0)
"""Before it the indexes of a segment that was cut are not those of what is left."""
Written = dict[str, Any]


class Over(dict[int, ProducerStateEntry]):
    """The producers of a snapshot, written over what was `under` them."""

    under: FileEntry | States | None


def written(did: dict[str, Any]) -> Written:
    """The files that are new or other than before."""
    return {**did.get("new", {}), **did.get("changed", {})}


def differs(what: object, data: bytes, pad: int = 0) -> bool:
    """Whether a file is recorded with a content that is not this, or this and zeros."""
    if not isinstance(what, list) or len(what) != 2:
        return False
    whole = data + bytes(max(0, pad - len(data)))
    return what != [len(whole), Seen(len(whole), whole).short()]


def of_indexes(was: dict[str, Seen], did: dict[str, Any], log: LoadedLog, interval: int) -> Iterator[str]:
    """The indexes of recovered segments."""
    state, found = log.state, written(did)
    if state.partition.topic not in (STORY, *TOPICS):
        return
    for segment in state.segments:
        base = file_prefix(segment.base_offset)
        if not (segment.recovered and segment.in_order) or f"{base}.log" in did.get("new", {}):
            continue
        name = f"{base}.log"
        cut = name not in was or was[name].size != segment.size or name in found
        if cut and (name not in was or was[name].size < segment.size or state.settings.release < TRIMS):
            continue
        pad = segment is state.segments[-1]
        kinds = [kind for kind in BUILT if f"{base}.{kind}" in found]
        for kind, data in built(kinds, segment, was[name].data, state.settings.release, interval):
            what = found[f"{base}.{kind}"]
            if differs(what, data, what[0] if pad and isinstance(what, list) else 0):
                yield f"{base}.{kind} is {what}, built {len(data)} {Seen(len(data), data).short()}"


def built(
    kinds: Sequence[str], segment: Segment, data: bytes, release: Release, interval: int
) -> Iterator[tuple[str, bytes]]:
    """These indexes of what is left of the log."""
    if not kinds:
        return
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work) / "x-0"
        folder.mkdir()
        (folder / segment.name).write_bytes(data[: segment.size])
        opened = LogDir.open(work)
        for kind in kinds:
            arguments = {"base_offset": segment.base_offset, "interval": interval}
            yield kind, BUILT[kind](opened, "x-0", arguments, release)


def of_transactions(was: dict[str, Seen], did: dict[str, Any], log: LoadedLog) -> Iterator[str]:
    """The indexes of aborted transactions of recovered segments, where all of the log before is there.

    A log of an old format is recovered as if no transaction had begun before each segment.
    """
    state, found, end = log.state, written(did), 0
    if state.settings.log_start or state.settings.release < ONE_STABLE_OFFSET:
        return
    for segment in state.segments:
        base = file_prefix(segment.base_offset)
        seen = was.get(f"{base}.log")
        if seen is None or seen.size != segment.size or f"{base}.log" in found or segment.base_offset != end:
            return
        end = next_offset(seen.data)
        what = found.get(f"{base}.txnindex")
        if segment.recovered and segment.in_order and what is not None:
            data = aborted_in(log, segment)
            model = txn_index.render(TransactionIndex(entries=segment.aborted))  # by a wrong snapshot, too
            if differs(what, data) and differs(what, model):
                yield f"{base}.txnindex is {what}, built {Seen(len(data), data).short()}"


def aborted_in(log: LoadedLog, segment: Segment) -> bytes:
    """The index of aborted transactions that a recovery of the segment writes."""
    mine, base = log.state.partition, segment.base_offset
    if log.state.settings.drops_epochs:
        entries = replayed(segment_of(mine, base), ()).aborted
        return txn_index.render(TransactionIndex(entries=entries))
    arguments = {"base_offset": base, "snapshot": None}
    return transaction_index.build(mine.log_dir, mine.name, arguments, log.state.settings.release)


def next_offset(data: bytes) -> int:
    """The offset after a log of sound batches that follow each other to its end; -1 if it is none.

    A recovery that begins with a snapshot does not read what is damaged below it, a recipe does.
    """
    at, end = 0, -1
    while at + 61 <= len(data):
        base, size = struct.unpack_from(">qi", data, at)
        if size < 49 or (end >= 0 and base != end) or fault(data[at : at + 12 + size]):
            return -1
        at, end = at + 12 + size, base + struct.unpack_from(">i", data, at + 23)[0] + 1
    return end if at == len(data) else -1


def of_snapshots(
    was: dict[str, Seen], left: dict[str, int], did: dict[str, Any], log: LoadedLog, *, moved: bool = False
) -> Iterator[str]:
    """Producer snapshots: which ones, and the rows of those that are written anew, in any order.

    Not where there are several of one offset: which of them goes is as the directory was listed then.
    Where another log has `moved`, 1.1 wrote down all recovery points, after which old ones of every log go.
    """
    name, release = ".snapshot", log.state.settings.release
    forgetful, found = release < (2, 4), written(did)
    contested = log.state.snapshots.contested
    bases = {each: parse_file_name(each).base_offset for each in left if each.endswith(name)}
    there = {each for each, base in bases.items() if base is not None and base not in contested}
    kept_files = (files for offset, files in log.state.snapshots.disk.items() if offset not in contested)
    wanted = {file: kept for files in kept_files for file, kept in files.items() if is_found(file)}
    renamed = {each.removesuffix(".swap") for each in did.get("gone", ())}
    there -= renamed - set(wanted)  # once the snapshots are listed
    begin = sorted(each.base_offset for each in log.state.segments)[-2:]
    newest = {each for each in wanted if begin and (bases.get(each) or 0) >= begin[0]}
    if there != set(wanted) and not (moved and release < DROPS_ALL and there == newest):
        yield f"snapshots: {sorted(there - set(wanted))} not said, {sorted(set(wanted) - there)} said"
    for file, kept in wanted.items():
        if file not in there or isinstance(kept, FileEntry):
            continue
        data = rendered(kept.values())
        if not kept and isinstance(kept, Over):
            old = was.get(file, Seen(0, b""))
            what = found.get(file, [old.size, old.short()])
            if all(differs(what, each) for each in over(kept, old.data)):
                yield f"{file} is {what}, said no rows"
            continue
        expired = sum(state.timestamp < OLD or forgetful for state in kept.values())
        if not len(data) - expired * ROW <= left[file] <= len(data):
            yield f"{file}: {left[file]} bytes, said {len(data)}"
        elif isinstance(what := found.get(file), list) and not (
            forgetful or can_be(*what, tuple(kept.values()))
        ):
            yield f"{file}: other rows than {[str(each) for each in kept.values()]}"


DROPS_ALL = (2, 0)
"""Of 1.1.0 it was seen, of 2.5.1 and 2.8.2 not (`LogManager.checkpointLogRecoveryOffsetsInDir`)."""


@functools.cache  # the topics of a base have the same rows, disaster after disaster
def can_be(size: int, digits: str, states: tuple[ProducerStateEntry, ...]) -> bool:
    """Whether a snapshot of so many bytes and these digits has these rows, or all but what is forgotten."""
    kept = [each for each in states if each.timestamp >= OLD]
    others = [each for each in states if each not in kept]
    missing = (size - NO_ROWS) // ROW - len(kept)
    if size != NO_ROWS + ROW * (len(kept) + missing) or len(kept) + missing > FEW:
        return True  # Told by its size, or too many to try.
    return any(
        Seen(size, rendered(rows)).short() == digits
        for some in itertools.combinations(others, missing)
        for rows in itertools.permutations((*kept, *some))
    )


def over(kept: FileEntry | States | None, old: bytes) -> Iterator[bytes]:
    """What a snapshot can hold: a broker writes over what is there, and does not cut it behind itself."""
    if kept is None or isinstance(kept, FileEntry):
        yield old if kept else b""
        return
    for rows in itertools.permutations(kept.values()):
        data = rendered(rows)
        yield from (data + each[len(data) :] for each in over(getattr(kept, "under", None), old))


def rendered(rows: Iterable[ProducerStateEntry]) -> bytes:
    """A snapshot of these producers."""
    return producer_snapshot.render(ProducerSnapshot(entries=tuple(rows)))
