"""Whether the broker's user may use a log dir at all: what is tried before a log of it is loaded, and behind.

Follows `LogManager.createAndValidateLogDirs`, `lockLogDirs`, the beginning of `loadLogs`, and
`CheckpointFile.write`. Who the user is, is known to `segmend.logdir.as_user`.
"""

from __future__ import annotations

from collections.abc import Sequence

from segmend.broker.failures import (
    CANNOT_CREATE,
    CANNOT_LOCK,
    CANNOT_WRITE_CHECKPOINT,
    DIR_FAILED,
    IO_ERROR,
    NO_FILE,
    NO_READABLE_DIR,
    Fate,
)
from segmend.broker.identity import REWRITING, UNWRITTEN_IDENTITY, Rewriting
from segmend.broker.recovery import EMPTIED_UNWRITTEN, UNWRITTEN
from segmend.broker.server_names import MIGRATION
from segmend.broker.strays import SET_ASIDE, STRAYS, StrayHandling
from segmend.formats import clean_shutdown
from segmend.formats.config_values import boolean
from segmend.formats.meta_properties import FILE_NAME as META_PROPERTIES
from segmend.formats.offset_checkpoint import CLEANER_OFFSET, HIGH_WATERMARK, LOG_START_OFFSET, RECOVERY_POINT
from segmend.loading.dirs import DirState
from segmend.loading.replicas import Loaded
from segmend.loading.values import Service
from segmend.logdir.file_system import READ, SEARCH, WRITE, Unreadable
from segmend.logdir.log_dir import LOCK, LogDir
from segmend.logdir.release import Release
from segmend.node.broker_dirs import BrokerDirs

_WRITTEN_SOON = (HIGH_WATERMARK, RECOVERY_POINT, LOG_START_OFFSET)
FULL = f"how long {{}} serves: its file system is full; {UNWRITTEN}; {EMPTIED_UNWRITTEN}"
WITHIN_A_MINUTE = "how long {} serves: a checkpoint is first written a minute after the start, and then: {}"
NO_MORE_FAILURES = (
    "what becomes of a dir that fails later, for the thread that would take it offline ends: {}"
)
NO_MORE_FILES = f"how long {{}} serves: its file system has room for no more files (df -i); {UNWRITTEN}"


def enter(state: DirState, release: Release) -> None:
    """What the user is refused at the dir itself."""
    log_dir, path, files = state.log_dir, state.path, state.log_dir.files
    if log_dir.unreadable is not None and log_dir.unreadable.forbidden:
        state.unknown.append(str(log_dir.unreadable))
    state.unknown.extend(f"{path}/{name}: {NO_FILE}" for name in log_dir.no_files)
    if words := _has_no_room(log_dir):
        state.unknown.append(words.format(path))
    if files.denial(path, READ) is not None:
        state.never_live = True
        says = NO_READABLE_DIR.format(path)
        alone = IO_ERROR.of(release) is Fate.DIR
        state.leave_out(f"{CANNOT_CREATE.format(path)}: {says}" if alone else says)
        return
    closed = files.denial(path, WRITE | SEARCH)
    there = LOCK in log_dir.entries
    locked_out = log_dir.lock_refusal or (files.denial(f"{path}/{LOCK}", WRITE) if there else closed)
    if locked_out is not None:
        _fail(state, f"{CANNOT_LOCK.format(path)}: {path}/{LOCK} ({locked_out})", release)
        state.doubtful = state.doubtful or state.offline
    marker = f"{path}/{clean_shutdown.FILE_NAME}"
    kept = (closed or files.fixed(marker)) if log_dir.is_clean else None
    if kept is not None:
        state.leave_out(state.offline or f"{DIR_FAILED.format(path)}: {marker} ({kept})")


def _has_no_room(log_dir: LogDir) -> str | None:
    """Why nothing can be written: what a start writes depends on what it finds to do."""
    try:
        space = log_dir.space()
    except Unreadable:
        return None
    return FULL if space.has_no_room else NO_MORE_FILES if space.has_no_more_files else None


def rewrite_identity(state: DirState, broker: BrokerDirs) -> str | None:
    """Why the process ends, or what else comes of a meta.properties that is written anew, and cannot be."""
    log_dir, path = state.log_dir, f"{state.path}/{META_PROPERTIES}"
    value, release = log_dir.meta_properties.value, broker.release
    kept = log_dir.files.fixed(path) if META_PROPERTIES in log_dir.entries and not state.offline else None
    if kept is None or value is None:
        return None
    says = UNWRITTEN_IDENTITY.format(state.path, path, kept)
    how = REWRITING.of(release)
    wants_id = broker.kraft or boolean(broker.config.given.get(MIGRATION))
    changes = (wants_id and value.directory_id is None) or None in (value.cluster_id, value.node_id)
    if broker.kraft:
        return says if how is Rewriting.IF_OTHER and changes else None
    if how is Rewriting.ENDS:
        return says
    if how is Rewriting.PASSED_OVER:
        state.unknown.append(f"{state.path}: {NO_MORE_FAILURES.format(says)}")
    elif how is Rewriting.OFFLINE or (how is Rewriting.IF_OTHER and changes):
        state.offline = says
    return None


def leave(state: DirState, release: Release) -> None:
    """The checkpoints are written within seconds after the start: beside, and renamed into place."""
    files, path = state.log_dir.files, state.path
    closed = files.denial(path, WRITE | SEARCH)
    for name in _WRITTEN_SOON:
        beside = f"{name}.tmp"
        denied = closed or (
            files.denial(f"{path}/{beside}", WRITE) if beside in state.log_dir.entries else None
        )
        if denied is not None:
            says = CANNOT_WRITE_CHECKPOINT.format(f"{path}/{name}")
            _fail(state, f"{says}: {path}/{beside} ({denied})", release)
        elif name in state.log_dir.entries and (kept := files.fixed(f"{path}/{name}")) is not None:
            says = f"{CANNOT_WRITE_CHECKPOINT.format(f'{path}/{name}')}: {path}/{beside} -> {name} ({kept})"
            if name == HIGH_WATERMARK:
                _fail(state, says, release)
            else:
                state.unknown.append(WITHIN_A_MINUTE.format(path, says))


def _fail(state: DirState, reason: str, release: Release) -> None:
    if IO_ERROR.of(release) == Fate.BROKER:
        state.fatal = state.fatal or reason
    else:
        state.offline = state.offline or reason


def set_aside(loaded: Sequence[Loaded], states: Sequence[DirState], release: Release) -> str | None:
    """Why a start ends that takes a log dir, which lies in another one under such a name, for a stray."""
    homes = {state.log_dir.real_path: state for state in states}
    for one in loaded:
        # Of a link only its own name changes.
        place = f"{one.dir_state.log_dir.real_path}/{one.path.rpartition('/')[2]}"
        state = homes.get(place)
        if state is not None and one.service == Service.STRAY:
            says = SET_ASIDE.format(f"{state.path}/{CLEANER_OFFSET}")
            if STRAYS.of(release) is StrayHandling.RENAME:
                return says
            state.unknown.append(f"{state.path}: whether the broker goes on once it is a stray: {says}")
    return None
