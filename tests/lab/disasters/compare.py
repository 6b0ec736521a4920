"""The forecast of a disaster against what the real broker did, point by point.

Starts or refuses, log dirs, for each partition service and offsets, strays, and every file: gone, new, cut,
rewritten; of epochs and producer snapshots the content. What coordinators append after the start is told
apart by the recording (`grown`). A forecast that names something as `unknown` need not be right about what
hangs on it, and may then not say that nothing is lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from segmend.formats import epoch_checkpoint, producer_snapshot
from segmend.formats.offset_checkpoint import HIGH_WATERMARK
from segmend.loading.load import LoadedLog
from segmend.loading.state import States
from segmend.logdir.files import FileEntry
from segmend.surgery.recipes import offset_index, time_index
from tests.lab.base import STORY
from tests.lab.disasters.bases import TOPICS
from tests.lab.disasters.files import Seen, Tree
from tests.lab.disasters.said import Line, Said
from tests.lab.disasters.scene import META

Verdict = dict[str, Any]
Entries = Sequence[tuple[int, int | None]]
SERVED = ("served", "empty")
INDEXES = (".index", ".timeindex", ".txnindex")
MADE = (".snapshot", "-checkpoint", ".metadata", ".txnindex")
"""What every start may make without a word."""
ROW = 46
"""Bytes of a producer in a snapshot."""
INTERVAL = 512
"""The lab's index.interval.bytes."""
BUILT = {"index": offset_index.build, "timeindex": time_index.build}
OLD = 1_767_000_000_000
"""The lab's idempotent producers have timestamps below this: a broker forgets them when it reads a snapshot
(`producer.id.expiration.ms`), which changes nothing but what it writes into the next one. Before 2.4 a marker
did not count, so that it forgets those of transactions as well."""


def disagreements(verdict: Verdict, before: Tree, said: Said) -> list[str]:
    """Every point in which the forecast is not what the broker did; nothing if it is right."""
    wrong = [*of_contract(said)]
    starts = verdict["outcome"] == "starts"
    if starts != (said.broker["outcome"] == "starts"):
        return [
            *wrong,
            f"outcome: {verdict['outcome']} ({verdict.get('fatal')}), said {said.broker['outcome']}",
        ]
    if not starts:
        return wrong
    offline = sorted(line["dir"] for line in said.of("dir") if line["outcome"] == "offline")
    told = {*before, *(line["dir"] for line in said.of("dir"))}
    if offline != [name for name in verdict.get("offline", []) if name in told]:
        wrong.append(f"offline: {verdict.get('offline', [])}, said {offline}")
    wrong += of_service(verdict, said)
    for name in (name for name in ("d0", "d1") if name in verdict["files"] and name not in offline):
        wrong += of_high_watermarks(name, verdict["files"][name], said)
    for place in sorted({*before, *verdict["files"]}):
        if "/" in place and not place.endswith(META) and place.partition("/")[0] not in offline:
            wrong += (f"{place}: {each}" for each in of_place(place, verdict, before, said))
    return wrong


def of_contract(said: Said) -> Iterator[str]:
    """Whether the lines hold together: what the last one counts is what the others tell."""
    broker, partitions = said.broker, said.of("partition")
    unserved = [line for line in partitions if line["outcome"] not in SERVED]
    losing = [line for line in partitions if any(each["records_lost"] for each in line["effects"])]
    nothing = broker["outcome"] == "starts" and not (broker["lost"]["partitions"] or broker["unserved"])
    if (
        nothing
        and not broker["unknown"]
        and (unserved or losing or any(d["outcome"] == "offline" for d in said.of("dir")))
    ):
        yield "contract: nothing lost, beside partitions lost or unserved or a dir offline"
    for line in partitions:
        served = line["outcome"] in SERVED
        if served != (line["after"]["log_end_offset"] is not None):
            yield f"contract: {line['file']} is {line['outcome']}, after {line['after']}"
        if not served and not line["reason"] and broker["outcome"] == "starts":
            yield f"contract: {line['file']} is {line['outcome']} for no reason"


def of_service(verdict: Verdict, said: Said) -> Iterator[str]:
    """Leaders and offsets of every partition that the broker knows, against the lines."""
    lines, unknown = said.partitions, said.broker["unknown"]
    for name, (first, end) in verdict["offsets"].items():
        line = lines.get(name)
        if line is None:
            if not unknown:
                yield f"{name}: served {first}..{end}, said nothing"
        elif line["outcome"] not in SERVED:
            yield f"{name}: served {first}..{end}, said {line['outcome']}: {line['reason']}"
        else:
            after = line["after"]
            more = appended(verdict, said, f"{line['dir']}/{name}")
            wanted = [after["log_start_offset"], after["log_end_offset"]]
            if first != wanted[0] or not wanted[1] <= end <= wanted[1] + more:
                yield f"{name}: offsets {[first, end]}, said {wanted}"
    yield from of_unserved(verdict, said)


def of_unserved(verdict: Verdict, said: Said) -> Iterator[str]:
    """Nothing is said to be served that has no leader, or that this cluster does not know."""
    lines, known = said.partitions, {*verdict["offsets"], *verdict["unled"]}
    for name, line in lines.items():
        if line["outcome"] in SERVED and name not in known and said.kraft:
            yield f"{name}: no such partition, said {line['outcome']}"
    for name, why in verdict["unled"].items():
        if name not in lines and not said.broker["unknown"]:
            yield f"{name}: not served {why}, said nothing"
        elif name in lines and lines[name]["outcome"] in SERVED:
            yield f"{name}: not served {why}, said {lines[name]['outcome']}"


def of_high_watermarks(name: str, did: dict[str, Any], said: Said) -> Iterator[str]:
    """A lone leader's high watermark is its log end; nobody has a line who is not said to be served there."""
    text = did.get("changed", {}).get(HIGH_WATERMARK, did.get("new", {}).get(HIGH_WATERMARK, ""))
    for row in text.splitlines()[2:]:
        topic, number, offset = row.rsplit(" ", 2)
        line = said.at(f"{name}/{topic}-{number}")
        end = line.get("after", {}).get("log_end_offset")
        if line and end is not None and line["outcome"] == "served" and int(offset) > end:
            yield f"{name}: high watermark {row}, said it ends at {end}"


def appended(verdict: Verdict, said: Said, place: str) -> int:
    """How many batches coordinators wrote into the active segment of a log after the start."""
    log = said.logs.get(place)
    if log is None or not log.state.segments:
        return 0
    active = f"{log.state.segments[-1].base_offset:020d}.log"
    what = verdict["files"].get(place, {}).get("changed", {}).get(active, ())
    return int(what[2]) if "grown" in what[1:2] else 0


def of_place(place: str, verdict: Verdict, before: Tree, said: Said) -> Iterator[str]:
    """The files of one directory."""
    did, line, was = verdict["files"].get(place, {}), said.at(place), before.get(place, {})
    effects = {each["effect"] for each in line.get("effects", ())}
    stray = "stray-renamed" in effects or line.get("outcome") == "stray-renamed"
    if stray != str(did.get("renamed", "")).endswith("-stray"):
        yield f"renamed to {did.get('renamed')}, said {sorted(effects)}"
        return
    removed = bool(did.get("removed")) or str(did.get("renamed", "")).endswith("-delete")
    if removed or "directory-deleted" in effects:
        if not (removed and "directory-deleted" in effects):
            yield f"removed: {removed}, said {sorted(effects)}"
        return
    if did.get("made") and not stray:
        if not said.broker["unknown"] and not recreated(said, place.partition("/")[2]):
            yield "made, said nothing"
        return
    log = said.logs.get(place)
    if log is None or log.failure is not None or log.after is None or stray:
        return
    yield from of_files(was, did, log)
    yield from of_epochs(was, did, log)
    yield from of_snapshots(was, did, log)
    yield from of_indexes(was, did, log)
    yield from of_changes(
        was, did, line, {f"{each.base_offset:020d}" for each in log.state.segments if not each.log}
    )


def recreated(said: Said, name: str) -> bool:
    """Whether it says of a partition that an empty log takes its place, in whichever log dir."""
    line = said.partitions.get(name, {"outcome": None, "effects": ()})
    return line["outcome"] == "empty" or any(
        each["effect"] == "log-recreated-empty" for each in line["effects"]
    )


def after(was: dict[str, Seen], did: dict[str, Any]) -> dict[str, int]:
    """The sizes of the files after the start."""
    left = {
        name: seen.size for name, seen in was.items() if name not in did.get("gone", ()) and seen.size >= 0
    }
    for name, what in {**did.get("new", {}), **did.get("changed", {})}.items():
        left[name] = len(what) if isinstance(what, str) else what[0]
    return left


def of_files(was: dict[str, Seen], did: dict[str, Any], log: LoadedLog) -> Iterator[str]:
    """Each segment's log with its size, the last one perhaps grown since."""
    left = after(was, did)
    logs = {int(name[:20]): size for name, size in left.items() if is_log(name)}
    wanted = {segment.base_offset: segment.size for segment in log.state.segments}
    active = f"{max(wanted, default=0):020d}.log"
    if "grown" in did.get("changed", {}).get(active, ())[1:2] and active in was:
        logs[max(wanted)] = was[active].size
    if logs != wanted:
        differing = {base: (logs.get(base), wanted.get(base)) for base in sorted(logs.keys() | wanted.keys())}
        yield f"logs (seen, said): { {base: pair for base, pair in differing.items() if pair[0] != pair[1]} }"


def is_log(name: str) -> bool:
    """Whether it is a segment's log as the broker names it."""
    return len(name) == 24 and name.endswith(".log") and name[:20].isdigit()


def of_epochs(was: dict[str, Seen], did: dict[str, Any], log: LoadedLog) -> Iterator[str]:
    """leader-epoch-checkpoint: what the load leaves, and then the epoch of the new leader at the log end."""
    name = epoch_checkpoint.FILE_NAME
    text = {**did.get("new", {}), **did.get("changed", {})}.get(name)
    if text is None:
        text = was[name].data.decode() if name in was else None
    if text is None or log.after is None:
        return
    rows = [tuple(map(int, line.split())) for line in text.splitlines()[2:]]
    wanted, end = log.state.epochs.entries, log.after.log_end_offset
    if rows not in (wanted, *led(wanted, rows[-1:], end)):
        yield f"epochs {rows}, said {wanted} and a new one at {end}"


def led(entries: Entries, new: Entries, end: int | None) -> Iterator[Entries]:
    """The entries once a leader began its epoch at the log end (`LeaderEpochFileCache.assign`).

    Epochs from the future go then, and perhaps with them the newest of the past: the first epoch that this
    leader was given.
    """
    kept = [each for each in entries if all(each[0] < epoch and each[1] < start for epoch, start in new)]
    yield [*kept, *((epoch, end) for epoch, _ in new)]
    if len(kept) < len(entries):
        yield [*kept[:-1], *((epoch, end) for epoch, _ in new)]


def of_snapshots(was: dict[str, Seen], did: dict[str, Any], log: LoadedLog) -> Iterator[str]:
    """Producer snapshots: which ones, and the size of those that are written anew."""
    name, forgetful = ".snapshot", log.state.settings.release < (2, 4)
    left = after(was, did)
    there = {int(each[:20]) for each in left if each.endswith(name) and each[:20].isdigit()}
    wanted = log.state.snapshots
    if there != set(wanted):
        yield f"snapshots: {sorted(there - set(wanted))} not said, {sorted(set(wanted) - there)} said"
    for offset, kept in wanted.items():
        if offset in there and not isinstance(kept, FileEntry):
            size, most = left[f"{offset:020d}{name}"], size_of(kept)
            expired = sum(state.timestamp < OLD or forgetful for state in kept.values())
            if not most - expired * ROW <= size <= most:
                yield f"snapshot {offset}: {size} bytes, said {most}"


def of_indexes(was: dict[str, Seen], did: dict[str, Any], log: LoadedLog) -> Iterator[str]:
    """The bytes of indexes that a recovery wrote anew: those of the recipes, where all of a log was kept."""
    state = log.state
    written = {**did.get("new", {}), **did.get("changed", {})}
    for segment in state.segments[:-1] if state.partition.topic in (STORY, *TOPICS) else ():
        base = f"{segment.base_offset:020d}"
        name = f"{base}.log"
        whole = name in was and name not in written and was[name].size == segment.size and segment.in_order
        for kind, build in BUILT.items() if segment.recovered and whole else ():
            what = written.get(f"{base}.{kind}", ())
            arguments = {"base_offset": segment.base_offset, "interval": INTERVAL}
            data = build(state.partition.log_dir, state.partition.name, arguments, state.settings.release)
            if len(what) == 2 and what[1] != Seen(len(data), data).short():
                yield f"{base}.{kind} is {what}, built {len(data)} {Seen(len(data), data).short()}"


def size_of(states: States) -> int:
    """How long a snapshot of so many producers is."""
    return len(producer_snapshot.render(producer_snapshot.ProducerSnapshot(entries=()))) + ROW * len(states)


def of_changes(was: dict[str, Seen], did: dict[str, Any], line: Line, made: set[str]) -> Iterator[str]:
    """No file changes of which nothing is said; those of a segment that the load makes are `made`."""
    told = {
        str(each["file"]).rpartition("/")[2].removesuffix(".swap")
        for each in line.get("effects", ())
        if each["file"]
    }
    bases = made | {name[:20] for name in told}
    logs = {name[:20] for name in told if is_log(name)}
    for name in did.get("gone", ()):
        if not (name in told or name[:20] in logs or name.endswith((".snapshot", ".swap"))):
            yield f"{name} is gone, said nothing"
    renamed = {name.removesuffix(".swap") for name in did.get("gone", ())}
    for name in set(did.get("new", {})) - renamed:
        if name.removesuffix(".deleted") not in told and name[:20] not in bases and not name.endswith(MADE):
            yield f"{name} is new, said nothing"
    for name, what in did.get("changed", {}).items():
        index = name.endswith(INDEXES) and (len(what) == 1 or name[:20] in bases)
        if not (index or name in told or "grown" in what[1:2] or name.endswith((".snapshot", "-checkpoint"))):
            yield f"{name} is {what}, was {was[name].size}, said nothing"
