"""The forecast of a disaster against what the real broker did, point by point.

Starts or refuses, log dirs, for each partition service and offsets, strays, and every file: gone, new, cut,
rewritten; of epochs and producer snapshots the content. What coordinators append after the start is told
apart by the recording (`grown`). A forecast that names something as `unknown` need not be right about what
hangs on it, and may then not say that nothing is lost.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from segmend.formats import epoch_checkpoint
from segmend.formats.names import file_prefix, parse_file_name
from segmend.formats.offset_checkpoint import HIGH_WATERMARK, LOG_START_OFFSET, RECOVERY_POINT
from segmend.loading.epochs import EpochCache
from segmend.loading.load import LoadedLog
from tests.lab.disasters.contents import INTERVAL, UNSET, of_indexes, of_snapshots, of_transactions
from tests.lab.disasters.files import Seen, Tree
from tests.lab.disasters.said import Line, Said
from tests.lab.disasters.scene import META

Verdict = dict[str, Any]
Entries = Sequence[tuple[int, int | None]]
SERVED = ("served", "empty")
INDEXES = (".index", ".timeindex", ".txnindex")
MADE = (".snapshot", "-checkpoint", ".metadata", ".txnindex")
"""What every start may make without a word."""


NOT_TOLD = "not told: "
"""Before a point that it names as unknown: not what the broker did, and no agreement either."""
NAMED = "named as unknown: "
"""Before what it names so, whether anything hung on that or not."""
NOT_COMPARED = "not compared: "
"""Before a point that is passed over, and the reason; `known` lists the records that need that."""
ON_ITS_WAY = "a race decides when a future replica takes the place of another"
LISTED = (
    ": which of them the broker takes depends on the order",
    ": by the order in which the broker completes",
)
"""What it says of files of one number; the disaster may lie on another file system now."""
COMES_UP = "whether it comes up, and serves, with"
"""What it says of a setting that only the machine answers for. Both said here, not taken from the product."""
GETS_PAST = ": whether a consumer gets past byte "
"""What it says of a hole that is not read without --deep."""
CAPPED = 210
"""Names from that length on are cut when a directory is set aside."""
MOVED = "directory replaced"
"""What it says of a partition whose move between log dirs goes on."""
RACE = "; or it is led at once"
"""What it says where a race decides."""
ASSIGNED = (2, 7)
"""Since then the epochs of a file are assigned one by one when it is read."""


def wrong(points: Sequence[str]) -> list[str]:
    """Those in which it is wrong; the others it has left open."""
    return [each for each in differing(points) if not each.startswith(NOT_TOLD)]


def differing(points: Sequence[str]) -> list[str]:
    """Those that are not what the broker did, whether it is wrong or has left them open."""
    return [each for each in points if not each.startswith((NAMED, NOT_COMPARED))]


def left_open(said: Said, name: str = "") -> str:
    """The mark of what it names as unknown: the whole broker under ZooKeeper, or this dir."""
    named = any(f"/{name}" in each for each in said.broker["unknown"]) if name else False
    return NOT_TOLD if named or (not name and (said.broker["unknown"] or not said.kraft)) else ""


def disagreements(verdict: Verdict, before: Tree, said: Said) -> list[str]:
    """Every point in which the forecast is not what the broker did; nothing if it is right.

    Where a number in server.properties is something to start or fall by, whether it starts and serves is left
    open, what becomes of the files is not.
    """
    odd = NOT_TOLD if any(each.startswith(COMES_UP) for each in said.broker["unknown"]) else ""
    found = [*of_contract(said)]
    starts = verdict["outcome"] == "starts"
    if starts != (said.broker["outcome"] == "starts"):
        mark = (
            NOT_TOLD if any(listed in each for each in said.broker["unknown"] for listed in LISTED) else odd
        )
        words = f"{verdict['outcome']} ({verdict.get('fatal')}), said {said.broker['outcome']}"
        return [*found, f"{mark}outcome: {words}"]
    if not starts:
        return [*found, *of_ended(verdict, before, said)]
    offline = sorted(line["dir"] for line in said.of("dir") if line["outcome"] == "offline")
    told = {*before, *(line["dir"] for line in said.of("dir"))}
    differing_dirs = {*offline} ^ {name for name in verdict.get("offline", []) if name in told}
    if differing_dirs:  # what it does not know of one dir says nothing of the other
        open_ = NOT_TOLD if all(left_open(said, name) for name in differing_dirs) else ""
        return [*found, f"{open_}offline: {verdict.get('offline', [])}, said {offline}"]
    found += (
        f"{odd}{each}"
        for each in (*of_service(verdict, said), *of_reads(verdict, said), *of_committed(verdict, said))
    )
    for name in (name for name in ("d0", "d1") if name in verdict["files"] and name not in offline):
        found += of_high_watermarks(name, verdict["files"][name], said)
    for name in (name for name in ("d0", "d1") if name in before and name not in offline):
        found += of_top(name, before[name], verdict["files"].get(name, {}), said)
    moving = moved(said)
    for place in sorted({*before, *verdict["files"]}):
        log_dir, _, name = place.partition("/")
        if log_dir in said.unread:
            touched = place in verdict["files"] and (name != META or log_dir in offline)  # by a controller
            found += [f"{place}: touched, said not to be opened"] * touched
        elif name and name != META:
            mark = passed_over(plain(name), verdict, said) if plain(name) in moving else ""
            found += (f"{mark}{place}: {each}" for each in of_place(place, verdict, before, said))
    return [marked(each) for each in found]


def of_ended(verdict: Verdict, before: Tree, said: Said) -> Iterator[str]:
    """What a start that ends has done to directories by then was told.

    Not the other way round: how far it comes with what it loads at the same time is a race.
    """
    for place, did in verdict.get("files", {}).items():
        name, line = place.partition("/")[2], said.at(place)
        if not name or name == META:
            continue
        effects = {each["effect"] for each in line.get("effects", ())}
        for kind, effect in (("renamed", "stray-renamed"), ("removed", "directory-deleted")):
            if did.get(kind) and effect not in effects:
                yield f"{place}: {kind} before it ends, said {sorted(effects)}"
        if did.get("made"):
            yield f"{place}: made before it ends, said nothing"
        elif not did.get("removed"):
            log = said.logs.get(place)
            made = set() if log is None else {stem(each.name) for each in log.state.segments if not each.log}
            yield from (f"{place}: {each}" for each in of_changes(before[place], did, line, made))


def moved(said: Said) -> set[str]:
    """The partitions with a future replica that takes their place, or is set aside beside them."""
    paths = (each.partition(":")[0] for each in said.broker["unknown"])
    strays = (line for line in said.of("directory") if line["outcome"] == "stray-renamed")
    return {
        *(line["file"] for line in said.of("later") if line["what"] == MOVED),
        *(plain(line["file"]) for line in strays if line["kind"] == "future"),
        *(plain(line["file"]) for line in said.of("partition") if line["file"].endswith("-future")),
        *(plain(path.rpartition("/")[2]) for path in paths if path.endswith("-future")),
    }


def passed_over(name: str, verdict: Verdict, said: Said) -> str:
    """The mark of what became of a partition with a future replica, where it is what its end can be.

    It has the place of the current one, which is gone, or it is set aside with it, or it is emptied already,
    to take the place of one that was made anew: a race decides what is in there then.
    """
    files = verdict["files"]
    for place in (place for place in files if place.endswith("-future")):
        log_dir, _, whole = place.partition("/")
        now, did = files.get(f"{log_dir}/{name}", {}), files[place]
        took = did.get("removed") and (now.get("made") or str(now.get("renamed", "")).endswith("-stray"))
        sizes = [what[0] for file, what in did.get("changed", {}).items() if is_log(file)]
        emptied = recreated(said, name) and sizes == [0]
        if plain(whole) == name and (took or emptied):
            return f"{NOT_COMPARED}{ON_ITS_WAY}: "
    return NOT_TOLD if any(f"/{name}." in each for each in said.broker["unknown"]) else ""


def plain(name: str) -> str:
    """`f000-0` of `f000-0.<hex>-future`."""
    return name.partition(".")[0] if name.endswith("-future") else name


def marked(point: str) -> str:
    """With its mark in front."""
    mark = next((each for each in (NOT_COMPARED, NOT_TOLD) if each in point), "")
    return mark + point.replace(NOT_TOLD, "").replace(NOT_COMPARED, "")


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
    lines = said.partitions
    for name, (first, end) in verdict["offsets"].items():
        line = lines.get(name)
        if line is None:
            yield f"{left_open(said)}{name}: served {first}..{end}, said nothing"
        elif line["outcome"] not in SERVED:
            mark = NOT_TOLD if may_be_led(line, end, said) else ""
            yield f"{mark}{name}: served {first}..{end}, said {line['outcome']}: {line['reason']}"
        elif line["outcome"] in SERVED:
            after = line["after"]
            more = appended(verdict, said, f"{line['dir']}/{name}")
            wanted = [after["log_start_offset"], after["log_end_offset"]]
            if name in moved(said) and any(each["effect"] == "reads-fail" for each in line["effects"]):
                wanted[0] = first  # the future replica begins there
            if first != wanted[0] or not wanted[1] <= end <= wanted[1] + more:
                yield f"{name}: offsets {[first, end]}, said {wanted}"
    yield from of_unserved(verdict, said)


def may_be_led(line: Line, end: int, said: Said) -> bool:
    """Whether it says that it is a race: what is made anew is empty, what lay there ends as it was loaded."""
    log = said.logs.get(f"{line['dir']}/{line['file']}")
    loaded = None if log is None or log.after is None else log.after.log_end_offset
    return RACE in line["reason"] and end in (0, loaded)


def of_unserved(verdict: Verdict, said: Said) -> Iterator[str]:
    """Nothing is said to be served that has no leader, or that this cluster does not know."""
    lines, known = said.partitions, {*verdict["offsets"], *verdict["unled"]}
    for name, line in lines.items():
        if line["outcome"] in SERVED and name not in known and said.kraft:
            yield f"{name}: no such partition, said {line['outcome']}"
    for name, why in verdict["unled"].items():
        if not name and not any(line["outcome"] in SERVED for line in lines.values()):
            continue  # nobody answers clients
        if name not in lines:
            yield f"{left_open(said)}{name}: not served {why}, said nothing"
        elif name in lines and lines[name]["outcome"] in SERVED:
            yield f"{name}: not served {why}, said {lines[name]['outcome']}"


def of_reads(verdict: Verdict, said: Said) -> Iterator[str]:
    """A consumer that stops before the end was told so, and where.

    Not the other way round: an index that leads lookups astray harms only who begins in the middle.
    """
    failing = {Path(each["dir"]).name for each in said.of("later") if each["what"] == "log dir offline"}
    gone = verdict.get("offline_later", [])
    yield from (f"{name}: offline once it is read, said online" for name in gone if name not in failing)
    for name, read in verdict.get("reads", {}).items():
        line = said.partitions.get(name, {})
        in_failing = Path(line.get("dir", "")).name in failing & {*gone}
        if in_failing and read.get("stops", (None, None))[1] in OFFLINE_ERRORS:
            continue  # whatever was to be read of that dir after that
        effects = line.get("effects", ())
        failed = [each for each in effects if each["effect"] == "reads-fail"]
        places = [each["offset"] for each in failed]
        at, why = read.get("stops", (None, None))
        ends = (each for each in effects if each["effect"] in ENDING and each["offset"] in (at, None))
        skipped = any(each["effect"] == "segment-skipped" for each in effects)
        if at is None or (why == "nothing" and (skipped or any(ends))):
            continue  # it waits at the end of what there is
        if str(why).startswith(OF_A_BATCH):  # a consumer is ahead of batches whose offsets go backwards
            at = min([at, *(each["offset"] for each in failed if each["broker_says"] == BACKWARDS)])
        missed = [range(first, last + 1) for first, last in read.get("gaps", ())]
        if not any(place is None or place >= at or any(place in gap for gap in missed) for place in places):
            mark = (
                NOT_TOLD if any(f"/{name}/" in e and GETS_PAST in e for e in said.broker["unknown"]) else ""
            )
            yield f"{mark}{name}: a consumer stops at {at} ({why}), said {places}"


def of_committed(verdict: Verdict, said: Said) -> Iterator[str]:
    """A reader of committed records that is given aborted ones, or misses some, was told of an index of them.

    Not the other way round: what a wrong row hides may have been aborted anyhow.
    """
    for name, read in verdict.get("committed", {}).items():
        effects = said.partitions.get(name, {}).get("effects", ())
        told = (each["file"] for each in effects if each["effect"] == "reads-fail")
        if not any(str(file).endswith(".txnindex") for file in told):
            yield f"{name}: readers of committed records: {read}, said nothing"


ENDING = ("tail-truncated", "segments-deleted")
"""Effects after which there may be nothing from their offset on, though the log ends above it."""
OF_A_BATCH = ("magic", "crc", "size")
BACKWARDS = "the batch does not begin after the last offset of the batch before it"
OFFLINE_ERRORS = ("error 6", "error 56")
"""NOT_LEADER_OR_FOLLOWER, KAFKA_STORAGE_ERROR."""
TOP = (".kafka_cleanshutdown", "meta.properties", "-checkpoint", ".tmp")
"""What a start may make, change and take away at the top of a log dir."""


def of_top(name: str, was: dict[str, Seen], did: dict[str, Any], said: Said) -> Iterator[str]:
    """Nothing else of a log dir's own files comes, changes or goes, and no log starts elsewhere than said."""
    for kind in ("gone", "new", "changed"):
        for file in did.get(kind, ()):
            if not file.endswith(TOP) or (kind == "gone" and file.endswith("-checkpoint")):
                yield f"{name}: {file} is {kind}, said nothing"
    seen = {**did.get("new", {}), **did.get("changed", {})}
    for row in str(seen.get(LOG_START_OFFSET, "")).splitlines()[2:]:
        topic, number, offset = row.rsplit(" ", 2)
        line = said.at(f"{name}/{topic}-{number}")
        if line.get("outcome") == "served" and int(offset) > line["after"]["log_start_offset"]:
            yield f"{name}: log start {row}, said {line['after']['log_start_offset']}"
    for row in str(seen.get(RECOVERY_POINT, "")).splitlines()[2:]:
        topic, number, offset = row.rsplit(" ", 2)
        end = said.at(f"{name}/{topic}-{number}").get("after", {}).get("log_end_offset")
        if end is not None and int(offset) > end:
            yield f"{name}: recovery point {row}, said it ends at {end}"


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
    active = log.state.segments[-1].name
    what = verdict["files"].get(place, {}).get("changed", {}).get(active, ())
    return int(what[2]) if "grown" in what[1:2] else 0


def interval_of(log: LoadedLog) -> int:
    """The index.interval.bytes of its topic: the lab's, or what metadata says that was changed."""
    settings = log.state.settings
    return settings.interval if settings.interval_known else INTERVAL


def of_place(place: str, verdict: Verdict, before: Tree, said: Said) -> Iterator[str]:
    """The files of one directory."""
    did, line, was = verdict["files"].get(place, {}), said.at(place), before.get(place, {})
    effects = {each["effect"] for each in line.get("effects", ())}
    stray = "stray-renamed" in effects or line.get("outcome") == "stray-renamed"
    capped = bool(did.get("removed")) and len(place) > CAPPED  # it goes on under the beginning of its name
    if stray != (capped or str(renamed(place, verdict)).endswith("-stray")):
        yield f"renamed to {did.get('renamed')}, said {sorted(effects)}"
        return
    if capped or (stray and place.endswith("-future")):
        return
    removed = bool(did.get("removed")) or str(did.get("renamed", "")).endswith("-delete")
    if removed or "directory-deleted" in effects:
        if not (removed and "directory-deleted" in effects):
            yield f"removed: {removed}, said {sorted(effects)}"
        return
    if did.get("made") and not stray:
        if not recreated(said, place.partition("/")[2]):
            yield f"{left_open(said)}made, said nothing"
        return
    log = said.logs.get(place)
    if log is None or log.failure is not None or log.after is None:
        return
    if stray and "partition.metadata" in did.get("new", ()):
        return  # what was made in its place was seen, not what it is itself
    yield from of_files(was, did, log)
    yield from of_epochs(was, did, log)
    ended = any(name.endswith("-future") and each.get("removed") for name, each in verdict["files"].items())
    yield from of_snapshots(was, after(was, did), did, log, moved=ended)
    blank = any(each.get("made") for name, each in verdict["files"].items() if name.endswith(f"/{META}"))
    unknown = stray and place.partition("/")[2] not in {*verdict["offsets"], *verdict["unled"]}
    yield from of_indexes(was, did, log, UNSET if blank or unknown else interval_of(log))
    yield from of_transactions(was, did, log)
    yield from of_changes(was, did, line, {stem(each.name) for each in log.state.segments if not each.log})


def renamed(place: str, verdict: Verdict) -> str | None:
    """Its new name; a future replica loses what makes it one, and was not recorded under the name of both."""
    did, log_dir = verdict["files"].get(place, {}), place.partition("/")[0]
    name = f"{log_dir}/{plain(place.partition('/')[2])}"
    if place.endswith("-future") and did.get("removed") and name not in verdict["files"]:
        return f"{name}.HEX-stray"
    return did.get("renamed")


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
    logs = {int(stem(name)): size for name, size in left.items() if is_log(name)}
    wanted = {segment.base_offset: segment.size for segment in log.state.segments}
    active = f"{file_prefix(max(wanted, default=0))}.log"
    what = did.get("changed", {}).get(active, ())
    if "grown" in what[1:2] and active in was:
        logs[max(wanted)] = what[5] if len(what) > 5 else was[active].size  # what the load left
    if logs != wanted:
        differing = {base: (logs.get(base), wanted.get(base)) for base in sorted(logs.keys() | wanted.keys())}
        yield f"logs (seen, said): { {base: pair for base, pair in differing.items() if pair[0] != pair[1]} }"


def is_log(name: str) -> bool:
    """Whether it is a segment's log as the broker names it."""
    parsed = parse_file_name(name)
    return (parsed.kind, parsed.state, parsed.padded) == ("log", "live", True)


def stem(name: str) -> str:
    """What stands before the first dot: brokers take it for a number."""
    return name.partition(".")[0]


def of_epochs(was: dict[str, Seen], did: dict[str, Any], log: LoadedLog) -> Iterator[str]:
    """leader-epoch-checkpoint: what the load leaves, and then the epoch of the new leader at the log end."""
    name = epoch_checkpoint.FILE_NAME
    text = {**did.get("new", {}), **did.get("changed", {})}.get(name)
    if text is None:
        text = was[name].data.decode() if name in was else None
    if text is None or log.after is None:
        return
    if name in did.get("gone", ()):
        text = ""
    rows = [(int(epoch), int(start)) for epoch, start in map(str.split, text.splitlines()[2:])]
    wanted, end = log.state.epochs.entries, log.after.log_end_offset
    if name not in did.get("changed", {}):  # as it is read, nothing is written
        rows = EpochCache(rows, assigned=log.state.settings.release >= ASSIGNED).entries
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


def of_changes(was: dict[str, Seen], did: dict[str, Any], line: Line, made: set[str]) -> Iterator[str]:
    """No file changes of which nothing is said; those of a segment that the load makes are `made`."""
    told = {
        str(each["file"]).rpartition("/")[2].removesuffix(".swap")
        for each in line.get("effects", ())
        if each["file"]
    }
    bases = made | {stem(name) for name in told}
    logs = {stem(name) for name in told if is_log(name)}
    for name in did.get("gone", ()):
        if not (
            name in told or stem(name) in logs or name.endswith((".snapshot", ".swap", "-checkpoint.tmp"))
        ):
            yield f"{name} is gone, said nothing"
    renamed = {name.removesuffix(".swap") for name in did.get("gone", ())}
    for name in set(did.get("new", {})) - renamed:
        if name.removesuffix(".deleted") not in told and stem(name) not in bases and not name.endswith(MADE):
            yield f"{name} is new, said nothing"
    for name, what in did.get("changed", {}).items():
        index = name.endswith(INDEXES) and (len(what) == 1 or stem(name) in bases)
        known = name in told or (is_log(name) and stem(name) in made)  # through a link
        if not (index or known or "grown" in what[1:2] or name.endswith((".snapshot", "-checkpoint"))):
            yield f"{name} is {what}, was {was[name].size}, said nothing"
