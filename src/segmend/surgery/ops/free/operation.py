"""Room on a full disk, by the least harm first.

In this order: `.deleted` files, the cache of remote indexes, `-delete`, `-stray` and `-future`
directories, then segments that retention would delete within half a minute of the start (by the
rules of `segmend forecast`; the active segment never goes). meta.properties, checkpoints and what
is served stay.
Where that is not enough, the moves to another disk that would be are told, not done.

The rule "nothing is deleted, it goes to a quarantine" holds on a full disk too, and this follows
from it. A quarantine on the same disk is a rename: it keeps all and frees nothing. So by default
what goes must leave the disk: `segmend apply` copies it to a `--backup-dir` (or `--state-dir`) on
another one and removes it here when the copy is proven, and `segmend undo` brings it back. Where
there is no other disk, `--discard` plans for the same one, which needs no room at all; the bytes
come free only with `segmend quarantine discard`, a command of its own, which asks again and which
no undo takes back. Records in `-stray` and `-future` directories that no replica here proves to have
are given up for good only if `--accept-loss` names their number.

A broker needs little to start, and then deletes by itself what waits for deletion and what retention
takes. So a small `--bytes` is often enough: the plan says what the start itself needs on the disk.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator, Sequence

from segmend import loading
from segmend.broker.retention import RetentionLimit
from segmend.errors import UsageError
from segmend.formats.config_values import boolean
from segmend.frozen import frozen, replace
from segmend.loading import DirectoryOutcome, Later, PartitionOutcome
from segmend.logdir import disk
from segmend.logdir.config import ServerConfig
from segmend.logdir.log_dir import LogDir
from segmend.surgery.ops.free.candidates import (
    HOLD_RECORDS,
    Candidate,
    CandidateKind,
    candidates,
    first_that_reach,
    given_up,
)
from segmend.surgery.ops.free.start_space import Room, room_for
from segmend.surgery.options import flag, given_in, option, required
from segmend.surgery.plan import BACKUPS, Left, Loss, Plan
from segmend.surgery.planning import accepted_loss, amounts, assembly
from segmend.surgery.planning.assembly import Draft
from segmend.surgery.request import Request
from segmend.surgery.steps.quarantine import Quarantine
from segmend.surgery.writing.transfer import allocated
from segmend.surgery.writing.work import crosses, device_of, folder

NAME = "free"
EXAMPLES = """\
examples:
  segmend plan free /data/a /data/b --bytes 40GB --backup-dir /mnt/spare -o plan.json
  segmend apply plan.json
  segmend plan free /data/a --bytes 2GB --config server.properties -o plan.json   also what retention takes
  segmend plan free /data/a --bytes 2GB --discard -o plan.json                    no other disk: give it up

40GB is 40 x 10^9 bytes, 40GiB (and 40G, as of df -h) 40 x 2^30."""


@frozen
class Options:
    """What `plan free` may be asked."""

    bytes: int = required("how much to free: 40GB", "N", amounts.size)
    on: str | None = option("a log dir on the disk that is full (default: the one with least room)", "DIR")
    config: str | None = option("the broker's server.properties: its retention counts", "FILE")
    broker_retention: bool = flag(
        "no topic has retention settings of its own (with ZooKeeper they are not on these disks)"
    )
    backup_dir: str | None = option("where apply will put it: must be on another disk", "DIR")
    discard: bool = flag("no other disk: plan for `segmend quarantine discard`")
    accept_loss: int | None = option(
        "also give up N records of -stray and -future directories that are nowhere else here",
        "N-records",
        accepted_loss.records,
    )
    now: int | None = option("judge retention as of this time, in ms since 1970", "MS", int)


@frozen
class _Freeable:
    """What the disk holds that may go, what was chosen of it, and what a start needs there."""

    home: LogDir
    same: Sequence[LogDir]
    chosen: Sequence[Candidate]
    losses: Sequence[Loss]
    withheld: Sequence[tuple[Candidate, int]]
    unknown: int
    room: Room

    @property
    def bytes(self) -> int:
        return sum(each.bytes for each in self.chosen)


def plan(request: Request[Options]) -> Plan:
    """The plan; raises `UsageError` where the loss, the disk or the place of the backups is a wrong one."""
    assembly.refuse_strangers(request.broker, request.given)
    config = None if request.options.config is None else ServerConfig.load(request.options.config)
    request = replace(request, broker=request.broker.configured(config))
    looked = _look(request)
    _refuse_place(request, looked)
    steps = [Quarantine.of(path, each.words) for each in looked.chosen for path in each.paths]
    notes, left = list(_notes(request, looked)), list(_left(request, looked))
    draft = Draft(
        steps=steps, losses=looked.losses, notes=notes, left=left, extra={BACKUPS: _backups(request, looked)}
    )
    return assembly.make(NAME, dict(given_in(request.options)), request, draft)


def _look(request: Request[Options]) -> _Freeable:
    options, broker = request.options, request.broker
    home = _full(request)
    device = disk.file_stat(home.path).device
    same = [log_dir for log_dir in request.dirs if disk.file_stat(log_dir.path).device == device]
    metadata = broker.metadata
    now = time.time_ns() // 1_000_000 if options.now is None else options.now
    lines = list(loading.forecast(broker, loading.ForecastOptions(now_ms=now), request.on_progress))
    later = [line for line in lines if isinstance(line, Later)]
    known = options.config is not None and (metadata is not None or options.broker_retention)
    compacted = {} if metadata is not None else {d.path: d.cleaner_offsets for d in request.dirs}
    counted = [
        line
        for line in later
        if line.seconds is not None
        and (
            line.limit is RetentionLimit.LOG_START
            or (known and (line.topic, line.partition) not in compacted.get(line.dir, {}))
        )
    ]
    settings = {} if metadata is None else metadata.configs
    remote = frozenset(t for t, s in settings.items() if boolean(s.get("remote.storage.enable")))
    every = candidates(same, broker, _undisputed(later, counted), remote)
    chosen, losses, withheld = _choose(request, every)
    outcomes = [line for line in lines if isinstance(line, PartitionOutcome | DirectoryOutcome)]
    return _Freeable(
        home=home, same=same, chosen=chosen, losses=losses, withheld=withheld,
        unknown=sum(line.bytes_lost for line in later if line not in counted and line.limit is not None),
        room=room_for(same, outcomes, broker.config, settings),
    )  # fmt: skip


def _full(request: Request[Options]) -> LogDir:
    if request.options.on is not None:
        return request.dir_called(request.options.on, "--on")
    # One of each disk: what is free changes between two looks, and the plan is to be the same each time.
    first: dict[int, LogDir] = {}
    for log_dir in request.dirs:
        first.setdefault(disk.file_stat(log_dir.path).device, log_dir)
    return min(first.values(), key=lambda log_dir: log_dir.space().available)


def _undisputed(later: Sequence[Later], counted: Sequence[Later]) -> list[Later]:
    """Lines that count, up to the first of a partition that does not: the oldest segments go first."""
    disputed: set[tuple[str, str]] = set()
    undisputed = []
    for line in later:
        if line not in counted:
            disputed.add((line.dir, line.file))
        elif (line.dir, line.file) not in disputed:
            undisputed.append(line)
    return undisputed


def _choose(
    request: Request[Options], every: Sequence[Candidate]
) -> tuple[list[Candidate], list[Loss], list[tuple[Candidate, int]]]:
    """As many as it takes, what loses records last; what is given up; what was not accepted."""
    figure = request.options.accept_loss
    asking = HOLD_RECORDS if request.options.discard else {CandidateKind.ABANDONED}
    counted = [(each, given_up(each, request.broker) if each.kind in asking else 0) for each in every]
    chosen = first_that_reach([each for each, records in counted if not records], request.options.bytes)
    missing = request.options.bytes - sum(each.bytes for each in chosen)
    lossy = first_that_reach([each for each, records in counted if records], missing)
    rows = [(each, records) for each, records in counted if each in lossy]
    total = sum(records for _, records in rows)
    if figure is None:
        return chosen, [], rows
    accepted_loss.refuse_other_figure(figure, total)
    return [*chosen, *lossy], [_loss(each, records) for each, records in rows], []


def _loss(each: Candidate, records: int) -> Loss:
    partition = each.partition
    assert partition is not None
    return Loss(
        dir=partition.log_dir.path, topic=partition.topic, partition=partition.partition, records=records,
        bytes=each.bytes, what=f"{partition.name}, which no replica here proves to have",
    )  # fmt: skip


def _backups(request: Request[Options], looked: _Freeable) -> dict[str, str]:
    """Where `apply` puts the old bytes, and off which disk."""
    place, off = request.options.backup_dir, None if request.options.discard else looked.home.path
    said = {"dir": None if place is None else disk.real_path(place), "off": off}
    return {name: path for name, path in said.items() if path is not None}


def _refuse_place(request: Request[Options], looked: _Freeable) -> None:
    place = request.options.backup_dir
    if place is None:
        return
    if device_of(place) == device_of(looked.home.path) and not request.options.discard:
        raise UsageError(
            f"--backup-dir {request.options.backup_dir}: is on the disk of {looked.home.path}: nothing would "
            "come free; give a place on another disk (or --discard)"
        )


def _notes(request: Request[Options], looked: _Freeable) -> Iterator[str]:
    home, need = looked.home.path, looked.room
    if looked.chosen:
        what = "are set aside" if request.options.discard else f"leave the disk of {home}"
        yield f"{looked.bytes:,} bytes {what}"
        yield from _place(request, looked)
    if any(each.kind is CandidateKind.DOOMED for each in looked.chosen):
        yield from _doomed(looked.chosen)
    yield (
        f"a start needs some {need.least:,} bytes there: {need.first_writes:,} for first writes to "
        f"{need.partitions} logs and the checkpoints, {need.recovery:,} for indexes that a recovery "
        f"rebuilds, {need.metadata:,} for the metadata; the indexes of active segments grow by "
        f"{need.lengths:,} in length, which are holes unless the file system has none"
    )
    if request.options.bytes < need.least:
        yield f"--bytes {request.options.bytes} is less: have {need.least:,} bytes free before the start"
    if looked.unknown:
        yield (
            f"retention would delete {looked.unknown:,} bytes more if it is set as assumed: --config FILE "
            "lets them count (with ZooKeeper also --broker-retention)"
        )


def _place(request: Request[Options], looked: _Freeable) -> Iterator[str]:
    home = looked.home.path
    if not request.options.discard:
        place = request.options.backup_dir
        other = f"segmend apply PLAN --backup-dir DIR, where DIR is on another disk than {home}"
        yield f"nothing comes free if they stay on this disk: {f'they go to {place}' if place else other}"
        return
    outside = folder(home)
    if crosses(outside, home):
        yield (
            f"{home} is a file system or mount of its own, and nothing may be set aside inside a log dir: "
            "apply copies to the state dir, which needs the room"
        )
    else:
        yield f"segmend apply PLAN --backup-dir {shlex.quote(f'{home}.aside')} needs no room, and frees none"
    yield (
        "then segmend quarantine discard JOURNAL, which apply names, gives it up for good: after that "
        "no undo brings it back"
    )


def _doomed(chosen: Sequence[Candidate]) -> Iterator[str]:
    ends: dict[str, tuple[int, int]] = {}
    for each in chosen:
        if each.kind is CandidateKind.DOOMED and each.partition is not None:
            first, _ = ends.get(each.partition.path, (each.first_offset or 0, 0))
            ends[each.partition.path] = first, each.next_offset or 0
    for path, (first, following) in ends.items():
        yield f"{path}: offsets {first} to {following - 1} go, as retention would have them go at the start"


def _left(request: Request[Options], looked: _Freeable) -> Iterator[Left]:
    missing = request.options.bytes - looked.bytes
    if missing <= 0:
        return
    home, wanted = looked.home.path, request.options.bytes
    yield Left(why=f"{missing:,} of {wanted:,} bytes cannot be freed on the disk of {home} this way")
    records = sum(count for _, count in looked.withheld)
    for each, count in looked.withheld:
        why = f"{each.bytes:,} bytes, {count} records that no replica here proves to have"
        yield Left(why=why, path=each.paths[0])
    if records:
        yield Left(why=f"to give those up too: --accept-loss {records}-records")
    yield from (Left(why=words) for words in moves_that_free(request, looked.same, missing))


def moves_that_free(request: Request[object], full: Sequence[LogDir], wanted: int) -> Iterator[str]:
    """One command a target dir, the largest partitions first, each to the disk with most room."""
    homes = {disk.file_stat(log_dir.path).device for log_dir in full}
    others = [d for d in request.dirs if disk.file_stat(d.path).device not in homes]
    free = {disk.file_stat(d.path).device: d.space().available for d in others}
    sizes = sorted(
        ((allocated(p.path), p.name) for d in full for p in d.current), key=lambda row: (-row[0], row[1])
    )
    chosen: dict[str, list[str]] = {}
    for size, name in sizes:
        best = max(others, key=lambda d: free[disk.file_stat(d.path).device], default=None)
        if wanted <= 0 or best is None:
            break
        device = disk.file_stat(best.path).device
        if size and size <= free[device]:
            chosen.setdefault(best.path, []).append(name)
            free[device] -= size
            wanted -= size
    given = dict(zip((d.path for d in request.dirs), request.given, strict=True))
    for target, names in chosen.items():
        options = " ".join(f"--partition {shlex.quote(name)}" for name in names)
        dirs = " ".join(shlex.quote(path) for path in request.given)
        place = shlex.quote(given[target])
        yield f"to move partitions instead: segmend plan move {dirs} {options} --to {place} -o move.json"
