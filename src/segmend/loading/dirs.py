"""One log dir before its logs are loaded: the marker, the checkpoints, the names of its directories."""

from __future__ import annotations

from typing import Final

from segmend.broker.checkpoints import (
    LOG_STARTS,
    RESETTING,
    UNREADABLE_CHECKPOINT,
    DirCheckpoint,
    dir_checkpoint,
    mark_failure,
)
from segmend.broker.failures import DIR_FAILED, NEEDS_METADATA_DIR, NOT_A_PARTITION, NOT_EMPTY
from segmend.broker.identity import Identity
from segmend.broker.log_dirs import HALF, goes_first, is_minded
from segmend.broker.old_identity import READING, Reading
from segmend.broker.strays import knows
from segmend.formats.clean_shutdown import FILE_NAME as MARKER
from segmend.formats.damage import Damage
from segmend.formats.offset_checkpoint import CLEANER_OFFSET, HIGH_WATERMARK, LOG_START_OFFSET, RECOVERY_POINT
from segmend.frozen import dataclass, field
from segmend.loading.timing.estimate import DirWork, LoadJob, Work
from segmend.loading.values import Effect
from segmend.logdir.file_system import SEARCH, WRITE, Unreadable, is_full
from segmend.logdir.log_dir import LogDir
from segmend.logdir.release import Release
from segmend.node.broker_dirs import BrokerDirs

Offsets = dict[tuple[str, int], int]


PATIENCE: Final = 2.0
"""Seconds in which a running broker is seen to go on with what the metadata says."""


@dataclass(slots=True, kw_only=True)
class DirState:
    """What the broker has read of a dir, and what became of it so far.

    `fatal` ends the start of the broker; `offline` the service of this dir, with the reason;
    `doubtful` says that the dir is marked offline already while its logs are loaded, `unread`
    that it was before any of them was, `never_live` that it was not even taken for one of the dirs.
    `late` is the partition over which it failed once its logs were loaded, or the checkpoint that the first
    of its partitions then asks.
    `live`: a broker runs over it, and changes it while it is looked at; `patience` has the seconds that
    this may be waited for still.
    `unmarked` is what is thrown where a partition of it asks for its high watermark.
    `foreign` are the directories that are no partition to this release.
    `unknown` is what this process may not read of it, `open_transactions` names the logs so far that
    have one.
    """

    log_dir: LogDir
    clean: bool
    live: bool = False
    patience: float = PATIENCE
    fatal: str | None = None
    offline: str | None = None
    doubtful: str | None = None
    unread: bool = False
    never_live: bool = False
    late: str | None = None
    unmarked: str | None = None
    unknown: list[str] = field(default_factory=list)
    open_transactions: list[str] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    offsets: dict[str, Offsets] = field(default_factory=dict)
    jobs: list[LoadJob] = field(default_factory=list)
    metadata: Work = field(default_factory=Work)

    @property
    def path(self) -> str:
        return self.log_dir.path

    @property
    def work(self) -> DirWork:
        jobs = [] if self.unread else self.jobs
        return DirWork(jobs=jobs, metadata=self.metadata, device=self.log_dir.device)

    def leave_out(self, reason: str) -> None:
        """Offline from the beginning: nothing in it is loaded, and nothing in it can end the start."""
        self.offline, self.unread = reason, True
        self.fatal = self.doubtful = None
        self.effects.clear()

    def fail(self, reason: str) -> None:
        """Offline while its logs are loaded, whatever they would have met later."""
        self.offline, self.late = reason if self.late else self.offline or reason, None

    def of(self, checkpoint: str, key: tuple[str, int]) -> int | None:
        return self.offsets.get(checkpoint, {}).get(key)


def is_needed(state: DirState, broker: BrokerDirs) -> bool:
    """Whether the broker ends without this dir, whatever others it has."""
    has_metadata = state.log_dir.cluster_metadata is not None
    return broker.kraft and has_metadata and NEEDS_METADATA_DIR.of(broker.release)


def read_dir(log_dir: LogDir, release: Release, *, clean: bool | None, cleaner: bool = True) -> DirState:
    """Read the marker and the four checkpoints; `clean` overrides the marker.

    Without a log cleaner nobody meets the damage of its checkpoint.
    """
    live = bool(log_dir.broker_running())
    state = DirState(log_dir=log_dir, clean=log_dir.is_clean if clean is None else clean, live=live)
    taken = goes_first(release)
    unknown = [each.name for each in log_dir.partitions if not knows(each.kind, release)]
    state.foreign = [*(name for name in log_dir.foreign if name not in taken), *unknown]
    for name in (RECOVERY_POINT, LOG_START_OFFSET, HIGH_WATERMARK, CLEANER_OFFSET):
        if name != LOG_START_OFFSET or LOG_STARTS.of(release):
            read_checkpoint(state, name, release, heeded=cleaner or name != CLEANER_OFFSET)
    marker = f"{log_dir.path}/{MARKER}"
    if MARKER in taken and log_dir.entries.get(MARKER) == "dir" and is_full(log_dir.files, marker):
        state.leave_out(f"{DIR_FAILED.format(log_dir.path)}: {NOT_EMPTY.format(marker)}")
    return state


def untouched(log_dir: LogDir) -> DirState:
    """One of a node that is no broker: nobody looks for logs in it."""
    return DirState(log_dir=log_dir, clean=log_dir.is_clean, unread=True, foreign=list(log_dir.foreign))


def refuse_foreign(state: DirState, release: Release, *, apart: bool | None) -> None:
    """A directory that is no partition ends the start, but for one where no logs of topics are looked for.

    `apart`: see `BrokerDirs.is_apart`. Played on 3.9.2 and 4.3.1, which mind a directory as `.lock` alone.
    """
    foreign = [name for name in state.foreign if is_minded(name, apart=bool(apart))]
    if not foreign or state.unread:
        return
    says = NOT_A_PARTITION.of(release).format(f"{state.path}/{foreign[0]}", foreign[0])
    if apart is None and not any(is_minded(name, apart=True) for name in foreign):
        state.unknown.append(f"{says} This ends the start only if log.dirs has that dir")
    else:
        state.fatal = says


def read_checkpoint(state: DirState, name: str, release: Release, *, heeded: bool = True) -> None:
    """Read one of the checkpoints into `state`, and (if `heeded`) what its damage does to the dir."""
    file = state.log_dir.offset_checkpoint(name)
    damage = next(iter(file.damages), None)
    if file.unreadable is not None and file.unreadable.forbidden:
        state.unknown.append(str(file.unreadable))
    elif file.unreadable is not None:
        damage = Damage("malformed", 0, str(file.unreadable))
    state.offsets[name] = file.value.offsets() if file.value is not None and damage is None else {}
    if damage is None or not heeded:
        return
    fate = dir_checkpoint(damage, release)
    if fate == DirCheckpoint.FATAL:
        state.fatal = state.fatal or damage.reason
        return
    if name == HIGH_WATERMARK:
        state.unmarked = mark_failure(damage, release)
    reset = RESETTING.get(name)
    says = reset.say(release, state.path) if reset else damage.reason
    state.effects.append(Effect(effect="checkpoint-reset", file=name, broker_says=says))
    if fate == DirCheckpoint.OFFLINE:
        reason = f"{UNREADABLE_CHECKPOINT.say(release, f'{state.path}/{name}')}: {damage.reason}"
        if name == HIGH_WATERMARK and state.offline is None:  # `LazyOffsetCheckpoints`
            state.late = name
        state.offline = state.offline or reason
        if reset:
            state.doubtful = state.doubtful or reason


def _keeps_a_half(log_dir: LogDir, release: Release) -> bool:
    """Whether a meta.properties.tmp is there that a release up to 3.6 cannot remove before it reads."""
    files, path = log_dir.files, f"{log_dir.path}/{HALF}"
    if HALF not in log_dir.entries or HALF not in goes_first(release):
        return False
    full = log_dir.entries[HALF] == "dir" and is_full(files, path)
    return full or (files.fixed(path) or files.denial(log_dir.path, WRITE | SEARCH)) is not None


def identity_of(log_dir: LogDir, release: Release, *, is_metadata_dir: bool) -> Identity:
    """The dir's meta.properties for `identity.verify`; a file in its place cannot be read."""
    file = log_dir.meta_properties
    if (not log_dir.entries and not _may_be_missing(log_dir)) or _keeps_a_half(log_dir, release):
        return Identity(path=log_dir.path, missing=False, value=None, is_metadata_dir=is_metadata_dir)
    return Identity(
        path=log_dir.path,
        missing=file.missing or (file.unreadable is not None and READING.of(release) == Reading.STRICT),
        value=file.value if file.unreadable is None else None,
        damages=file.damages,
        is_metadata_dir=is_metadata_dir,
    )


def _may_be_missing(log_dir: LogDir) -> bool:
    """Whether it is a directory, or nothing at all; a loop of links is neither."""
    try:
        return log_dir.files.path_type(log_dir.path) in ("dir", None)
    except Unreadable as refused:
        return refused.forbidden
