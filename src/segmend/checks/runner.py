"""One pass over the dirs: each segment is scanned once and every check looks at that scan.

Threads take slices of segments (the kernel works outside the GIL); findings come out in
the same order whatever the number of threads: broker, then each dir, its partitions by
name, their segments by offset.
"""

from __future__ import annotations

import errno
import fnmatch
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from segmend.broker.failures import NO_FILE
from segmend.broker.leading import NO_BROKER
from segmend.broker.sanity import INDEX_SANITY, IndexSanity
from segmend.broker.server_odds import untold
from segmend.findings import Finding, Severity
from segmend.frozen import dataclass, field, frozen, replace
from segmend.logdir.file_system import Unreadable
from segmend.node.listed import left_out, missing_files, unlisted
from segmend.node.only_zookeeper import not_given, only_zookeeper_knows
from segmend.node.process_limits import MAX_MAP_COUNT
from segmend.threads import Jobs, slices
from segmend.wording import plural

from .context import NOBODY, BrokerContext, DirContext, Keeper, PartitionContext, ReadFailure
from .manual import Level, Scope
from .registry import Check, all_checks, known_codes
from .segment_view import SegmentView

if TYPE_CHECKING:
    from segmend.kernel.types import SegmentScan
    from segmend.logdir.log_dir import LogDir
    from segmend.logdir.partition_dir import PartitionDir
    from segmend.logdir.user import User
    from segmend.node.broker_dirs import BrokerDirs

    from .weighing.judge import Judge

# Findings of one partition that are looked at together for causes; a ruined one has millions.
HELD = 5_000
# How often a partition is looked at again that a broker changes meanwhile.
_LOOKS = 4

# Slices in flight for each thread.
SLICES_AHEAD = 4

SCANNED_KINDS = frozenset({"current", "future", "stray", "cluster-metadata"})

_SKIPPED = {
    Level.STARTUP: (
        "owners and attributes of segments' files",
        "batches",
        "indexes against batches",
        "CRCs",
        "records",
    ),
    Level.DEFAULT: ("CRCs", "records"),
    Level.DEEP: (),
}  # fmt: skip

ONLY_AT_STARTUP: Final = ("I25",)
"""What a startup check alone looks for: by it no level can be compared with another one."""
INDEX_LOOKS: Final = "which indexes a start up to 2.2 rebuilds"

METADATA_UNSEEN = "the cluster's metadata"
"""What is not looked at where a KRaft node's metadata log is in none of the dirs, and may be elsewhere."""

OnProgress = Callable[[int, int], None]


@dataclass(slots=True, kw_only=True)
class Summary:
    """What was looked at and what was found; complete when the run is exhausted."""

    level: Level
    dirs: tuple[str, ...] = ()
    clean: dict[str, bool] = field(default_factory=dict)
    running: dict[str, bool] = field(default_factory=dict)
    counts: dict[Severity, int] = field(default_factory=lambda: dict.fromkeys(Severity, 0))
    partitions: int = 0
    segments: int = 0
    batches: int = 0
    bytes: int = 0
    skipped: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    vanished: list[str] = field(default_factory=list)
    dirs_not_given: int = 0
    metadata_unseen: bool = False
    index_looks_unseen: bool = False
    unknown: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    apart: set[str] = field(default_factory=set)
    releases: list[str] = field(default_factory=list)
    surgery: list[str] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def is_partial(self) -> bool:
        """Whether what may have findings was not looked at."""
        return bool(self.unreadable or self.missed(self.vanished))

    def missed(self, gone: Iterable[str]) -> list[str]:
        """Of paths that were gone before they were read, those that no running broker can have deleted."""
        still = tuple(f"{path}/" for path, running in self.running.items() if not running)
        return [path for path in gone if path.startswith(still)]

    def to_json(self) -> dict[str, object]:
        """The last object of `check --json`."""
        return {
            "type": "summary",
            "errors": self.counts[Severity.ERROR],
            "warnings": self.counts[Severity.WARNING],
            "infos": self.counts[Severity.INFO],
            "level": self.level.name.lower(),
            "partitions": self.partitions,
            "segments": self.segments,
            "batches": self.batches,
            "bytes": self.bytes,
            "skipped": [
                *self.skipped,
                *self.unseen,
                *([INDEX_LOOKS] if self.index_looks_unseen else []),
                *([METADATA_UNSEEN] if self.metadata_unseen else []),
                *self.unknown,
                *self.others,
            ],
            "unknown": self.unknown,
            "unreadable": self.unreadable,
            "vanished": self.vanished,
            "dirs_not_given": self.dirs_not_given,
            "clean_shutdown": self.clean,
            "broker_running": self.running,
            "releases": self.releases,
            "surgery": self.surgery,
            "seconds": round(self.seconds, 3),
        }


@frozen
class Wanted:
    """What is asked for; empty means all.

    `names` are partition directories: with them nothing is said about whole dirs. `files`
    are files relative to the log dir.
    """

    only: Collection[str] = ()
    ignore: Collection[str] = ()
    topic: str | None = None
    names: Collection[str] = ()
    files: Collection[str] = ()

    def code(self, code: str) -> bool:
        return (not self.only or code in self.only) and code not in self.ignore

    def partition(self, partition: PartitionDir) -> bool:
        if self.names and partition.name not in self.names:
            return False
        return self.topic is None or fnmatch.fnmatchcase(partition.topic, self.topic)

    def finding(self, finding: Finding) -> bool:
        return self.code(finding.code) and (not self.files or finding.file in self.files)

    def check(self, check: Check) -> bool:
        """Whether `check` can give a finding that is wanted."""
        narrow = bool(self.names) and check.scope in (Scope.BROKER, Scope.DIR)
        return not narrow and any(self.code(code.name) for code in check.codes)


@dataclass(slots=True)
class _SliceResult:
    findings: list[Finding] = field(default_factory=list)
    scans: list[SegmentScan | None] = field(default_factory=list)
    failures: list[ReadFailure] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Pending:
    """A slice that is being looked at; `last` is the last of its partition."""

    context: PartitionContext
    result: Callable[[], _SliceResult]
    last: bool


class CheckRun:
    """The checks of one broker's log dirs; iterate to run them.

    Gives findings; `summary` is complete once they are exhausted. `on_progress` is told
    (bytes done, bytes in all). `max_map_count` is the machine's vm.max_map_count, if known; `user` whom the
    broker runs as, if that is known.
    Without `effects` no start is forecast to tell what each finding means.
    """

    def __init__(
        self,
        broker: BrokerDirs,
        *,
        level: Level = Level.DEFAULT,
        wanted: Wanted | None = None,
        on_progress: OnProgress | None = None,
        keeper: Keeper = NOBODY,
        jobs: int = 1,
        max_map_count: int | None = None,
        user: User | None = None,
        effects: bool = True,
    ) -> None:
        self._wanted = wanted or Wanted()
        checks = [c for c in all_checks() if c.level <= level and self._wanted.check(c)]
        self._checks = {scope: [c for c in checks if c.scope == scope] for scope in Scope}
        self._broker = BrokerContext(
            broker,
            level=level,
            codes=known_codes(),
            max_map_count=max_map_count or MAX_MAP_COUNT,
            keeper=keeper,
            user=user,
        )
        self._plays = effects
        self._level = level
        self._jobs = jobs
        self._on_progress = on_progress
        self._keeper = keeper
        self._total_bytes: int | None = None
        self.summary = Summary(level=level, dirs=tuple(str(d.path) for d in broker.dirs))
        self.summary.skipped.extend(_SKIPPED[level])
        # Not asked of the release as rules are: which other releases there may be does not hang on it.
        looks = INDEX_SANITY.of(replace(broker.release, asked=None)) != IndexSanity.NONE
        unseen = looks and level > Level.STARTUP and any(map(self._wanted.code, ONLY_AT_STARTUP))
        self.summary.index_looks_unseen = unseen

    def __iter__(self) -> Iterator[Finding]:
        started = time.monotonic()
        held: list[Finding] = []
        for finding in self._all():
            if finding is not None and self._wanted.finding(finding):
                held.append(self._judge.judged(finding))
            if held and (finding is None or len(held) >= HELD):
                yield from self._counted(held)
                held = []
        self.summary.seconds = time.monotonic() - started

    def _counted(self, held: Sequence[Finding]) -> Iterator[Finding]:
        for finding in self._judge.explained(held):
            self.summary.counts[finding.severity] += 1
            yield finding

    @cached_property
    def _judge(self) -> Judge:
        """Made with the first finding: a healthy disk does not pay for the modules of a start."""
        made: Judge = import_module("segmend.checks.weighing.judge").Judge(self._broker, plays=self._plays)
        return made

    def _all(self) -> Iterator[Finding | None]:
        """The findings, and None after those of the broker, of a dir, of a partition: causes lie within."""
        yield from self._whole_broker()
        yield None
        jobs = Jobs(self._jobs if self._level > Level.STARTUP else 1)
        try:
            for log_dir in self._broker.dirs:
                yield from self._dir(self._broker.of(log_dir), jobs)
        finally:
            jobs.stop()

    def _whole_broker(self) -> Iterator[Finding]:
        if self._checks[Scope.BROKER]:
            broker = self._broker.broker_dirs
            self.summary.dirs_not_given = _not_given(broker)
            self.summary.metadata_unseen = broker.metadata_is_unseen
            running = any(self._broker.of(each).running for each in broker.dirs)
            if not self._wanted.only:
                self.summary.unknown.extend((*unlisted(broker), *missing_files(broker).values()))
                self.summary.unknown.extend(untold(broker.config, broker.release))
                self.summary.others.extend(left_out(broker))
                self.summary.unknown.extend(_unserved(broker))
            if not (broker.kraft or running or self._wanted.only):
                self.summary.unknown.extend(only_zookeeper_knows(broker))
                self.summary.others.extend(not_given(broker))
        for check in self._checks[Scope.BROKER]:
            try:
                yield from check.run(self._broker, self._broker)
            except Unreadable as error:
                owners = (self._broker.of(log_dir) for log_dir in self._broker.dirs)
                owner = next((c for c in owners if error.path.startswith(f"{c.path}/")), None)
                if owner is None:
                    raise
                owner.note(error)

    def _dir(self, context: DirContext, jobs: Jobs) -> Iterator[Finding | None]:
        self.summary.clean[context.path] = context.clean
        if context.log_dir.is_metadata_apart:
            self.summary.apart.add(context.path)
        self.summary.running[context.path] = context.running
        yield from _guarded(self._checks[Scope.DIR], context.log_dir, context, context.failures)
        yield None
        pending: deque[_Pending] = deque()
        for partition in filter(self._wanted.partition, context.log_dir.partitions):
            inner = PartitionContext(context, partition)
            sizes = self._sizes(inner)
            parts = list(slices(sizes)) or [(0, 0)]
            checks = [check for check in self._checks[Scope.SEGMENT] if check.applies(inner)]
            for number, ends in enumerate(parts, 1):
                size = sum(sizes[slice(*ends)])
                result = jobs.submit(size, self._slice, inner, checks, *ends)
                pending.append(_Pending(inner, result, number == len(parts)))
                # Findings wait in memory for their turn, so no more than a few slices run ahead.
                while len(pending) > SLICES_AHEAD * self._jobs:
                    yield from self._collect(pending.popleft())
        for item in pending:
            yield from self._collect(item)
        known = {failure.file for failure in context.failures}
        for name in sorted({*context.log_dir.no_files} - known):
            context.note(Unreadable(f"{context.path}/{name}", NO_FILE))
        yield from self._failures(context)
        yield None

    def _failures(self, context: DirContext) -> Iterator[Finding]:
        for failure in dict.fromkeys(context.failures):
            for check in self._checks[Scope.FAILURE]:
                yield from check.run(failure, context)
            if failure.errno in (errno.EACCES, errno.EPERM):
                self.summary.unreadable.append(f"{context.path}/{failure.file}")
            # A broker may delete what was listed; where a link leads nowhere nothing ever was.
            elif failure.errno == errno.ENOENT and not _is_broken_link(context.log_dir, failure.file):
                self.summary.vanished.append(f"{context.path}/{failure.file}")

    def _sizes(self, context: PartitionContext) -> list[int]:
        """Of the logs that are looked into; zeros where nobody asks."""
        if context.partition.kind not in SCANNED_KINDS:
            return []
        # Sizes are for threads, and for who waits for progress.
        asked = self._level > Level.STARTUP and (self._jobs > 1 or self._on_progress is not None)
        return [view.log.known_size if asked else 0 for view in context.views]

    def _slice(
        self, context: PartitionContext, checks: Sequence[Check], first: int, last: int
    ) -> _SliceResult:
        result = _SliceResult()
        of_sound = [check for check in checks if not check.of_problems]
        for view in context.views[first:last]:
            asked = of_sound if len(of_sound) < len(checks) and self._is_sound(view) else checks
            result.findings.extend(_guarded(asked, view, context, result.failures))
            result.scans.append(self._scan(view, result.failures))
            view.forget()
        return result

    def _is_sound(self, view: SegmentView) -> bool:
        """Whether its log was read, as far as the level does, and has no problems: so are all but a few."""
        try:
            return not view.has_problems
        except Unreadable:
            return False  # each check that needs it says so

    def _scan(self, view: SegmentView, failures: list[ReadFailure]) -> SegmentScan | None:
        if self._level == Level.STARTUP:
            return None
        try:
            return view.scan
        except Unreadable as error:
            failures.append(view.context.dir.failure(error))
            return None

    def _collect(self, pending: _Pending) -> Iterator[Finding | None]:
        """What came of a slice; after the last of a partition, what the partition says as a whole."""
        context, result = pending.context, pending.result()
        if context.running:
            context.held.extend(result.findings)
        else:
            yield from result.findings
        context.scans.extend(result.scans)
        context.dir.failures.extend(result.failures)
        self._count(result.scans)
        if not pending.last:
            return
        self.summary.partitions += 1
        if context.partition.unreadable:
            context.dir.note(context.partition.unreadable)
        findings = _guarded(self._checks[Scope.PARTITION], context.partition, context, context.dir.failures)
        yield from self._settled(context, [*context.held, *findings]) if context.running else findings
        yield None
        if self._keeper.done:
            self._keeper.done(context)

    def _settled(self, context: PartitionContext, findings: list[Finding]) -> list[Finding]:
        """Of a partition whose names a running broker changed meanwhile, what is found of those of now."""
        for _ in range(_LOOKS):
            now = context.partition.afresh()
            same = now.entries == context.partition.entries and not now.unreadable
            if same or all(each.severity == Severity.INFO for each in findings):
                break
            context = PartitionContext(context.dir, now)
            checks = [check for check in self._checks[Scope.SEGMENT] if check.applies(context)]
            result = self._slice(context, checks, 0, len(context.views))
            context.scans.extend(result.scans)
            of_all = self._checks[Scope.PARTITION]
            findings = [*result.findings, *_guarded(of_all, now, context, result.failures)]
        return findings

    def _count(self, scans: Sequence[SegmentScan | None]) -> None:
        self.summary.segments += len(scans)
        self.summary.batches += sum(scan.batches for scan in scans if scan)
        self.summary.bytes += sum(scan.size for scan in scans if scan)
        if self._on_progress:
            self._on_progress(self.summary.bytes, self._total())

    def _total(self) -> int:
        if self._level == Level.STARTUP:
            return 0
        if self._total_bytes is None:
            partitions = (each for each in self._broker.broker_dirs.partitions if each.kind in SCANNED_KINDS)
            self._total_bytes = sum(p.size for p in partitions)
        return self._total_bytes


def _is_broken_link(log_dir: LogDir, file: str) -> bool:
    folder, _, name = file.rpartition("/")
    partition = log_dir.partition(folder) if folder else None
    entries = log_dir.entries if partition is None else partition.entries
    return entries.get(name) == "link-broken"


def _not_given(broker: BrokerDirs) -> int:
    """How many dirs this node registered that are not among these; 0 without metadata."""
    present = {value.directory_id for value in broker.identities}
    return max(0, len({*broker.registered_dirs} - present) - (len(broker.dirs) - len(present)))


def _unserved(broker: BrokerDirs) -> Iterator[str]:
    """What lies in the dirs of a node that is no broker by its server.properties."""
    replicas = 0 if broker.serves else sum(len(log_dir.current) for log_dir in broker.dirs)
    if replicas:
        yield f"who serves the {plural(replicas, 'replica')} here: {NO_BROKER}"


def _guarded(
    checks: Sequence[Check], subject: object, context: Any, failures: list[ReadFailure]
) -> Iterator[Finding]:
    """Run the checks; what cannot be read is noted, and the other checks go on."""
    for check in checks:
        try:
            yield from check.run(subject, context)
        except Unreadable as error:
            owner = context if isinstance(context, DirContext) else context.dir
            failures.append(owner.failure(error))
