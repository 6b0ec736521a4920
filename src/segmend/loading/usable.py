"""What the broker's user may not use of a partition: opens that are refused while it is loaded, and later.

Follows `LogLoader.removeTempFilesAndCollectSwapFiles`, `FileRecords.open`, `AbstractIndex`,
`TransactionIndex` and `LeaderEpochFileCache`. Who the user is, is known to `segmend.logdir.as_user`.
"""

from __future__ import annotations

from segmend.broker.checkpoints import EPOCHS_WRITTEN, LEADER_EPOCHS, EpochWrite
from segmend.broker.failures import (
    CANNOT_WRITE_CHECKPOINT,
    IS_A_DIRECTORY,
    UNLISTED_IS_NULL,
    LoadFailure,
    fatal,
    io_failure,
    storage_failure,
)
from segmend.formats import epoch_checkpoint
from segmend.loading.state import LoadState
from segmend.logdir.file_system import FOLDERS, READ, SEARCH, WRITE, Unreadable, unmakeable


def enter(state: LoadState) -> None:
    """Look at the directory; raises `LoadFailure` where it cannot be listed and searched."""
    partition, release = state.partition, state.settings.release
    files, path = partition.log_dir.files, partition.path
    denied = files.denial(path, READ | SEARCH)
    if denied is not None and UNLISTED_IS_NULL.of(release) and files.denial(path, SEARCH) is None:
        raise fatal("NullPointerException", f"{path}: {denied}", partition.name)
    if denied is not None:
        raise io_failure(release, f"{path}: {denied}", partition.name)
    if partition.unreadable is not None:
        raise partition.unreadable
    state.held_back = files.held_back(path, state.names)


def check_writable(state: LoadState, name: str) -> None:
    """Raise the IOException of a file that is there and that the broker opens to write."""
    denied = state.unwritable(name)
    if denied is not None:
        raise io_failure(state.settings.release, f"{state.path(name)} ({denied})", state.path(name))


def check_made(state: LoadState, name: str) -> None:
    """Raise the IOException of a file that is made where a folder is, or a link that leads nowhere."""
    type = state.partition.entries.get(name)
    if name in state.names or type not in (*FOLDERS, "link-broken"):
        return
    path = f"{state.partition.path}/{name}"
    refused = IS_A_DIRECTORY if type in FOLDERS else unmakeable(state.partition.log_dir.files, path)
    if refused is not None:
        raise io_failure(state.settings.release, f"{state.path(name)} ({refused})", state.path(name))


def check_folder(state: LoadState, name: str) -> None:
    """Raise the IOException of a file that is to come or go: its directory or one of its name forbids it."""
    taken = IS_A_DIRECTORY if state.partition.entries.get(name) in FOLDERS else None
    denied = taken or state.partition.log_dir.files.denial(state.partition.path, WRITE) or _fixed(state, name)
    if denied is not None:
        raise io_failure(state.settings.release, f"{state.path(name)} ({denied})", state.path(name))


def check_gone(state: LoadState, name: str) -> None:
    """Raise the IOException of a file that is to be removed, and that nobody may."""
    denied = _fixed(state, name)
    if denied is not None:
        raise io_failure(state.settings.release, f"{state.path(name)}: {denied}", state.path(name))


def _fixed(state: LoadState, name: str) -> str | None:
    here = state.partition.entries.get(name) is not None
    return state.partition.log_dir.files.fixed(f"{state.partition.path}/{name}") if here else None


def note_lazy(state: LoadState, *indexes: str, offset: int | None = None) -> None:
    """Indexes that are opened at the first look-up only: a fetch takes the dir offline then, or a look-up by
    time (seen on 2.8.2, 3.7.2 and 4.3.1)."""
    for name in indexes:
        taken = IS_A_DIRECTORY if state.partition.entries.get(name) in FOLDERS else None
        denied = taken or state.unwritable(name)
        if denied is not None:
            says = f"{state.path(name)} ({denied})"
            state.note("reads-fail", name, offset=offset, says=says)
            state.closed_index = state.closed_index or says


def leave(state: LoadState) -> None:
    """The leader epochs are written down, beside and renamed into place: the directory must let the user."""
    denied, release = _epochs_denied(state), state.settings.release
    if denied is None:
        return
    when = EPOCHS_WRITTEN.of(release)
    if when == EpochWrite.APPENDING:
        state.closed_epochs = denied
        return
    says = CANNOT_WRITE_CHECKPOINT.format(f"{state.path(epoch_checkpoint.FILE_NAME)}: {denied}")
    epochs = state.partition.leader_epochs.value
    first = min((each.start_offset for each in epochs.entries), default=None) if epochs else None
    if when == EpochWrite.LOADING and first is not None and first <= state.settings.log_start:
        raise storage_failure(release, says, state.partition.name)
    raise io_failure(release, says, state.partition.name)


def fails_later(state: LoadState) -> tuple[str, str] | None:
    """What takes the dir offline after the start, and the broker's words: the first write of a producer, or
    the first look-up in an index that is opened only then; None where nothing does, or sooner."""
    if state.closed_epochs is not None:
        return "the first write", state.closed_epochs
    return None if state.closed_index is None else ("the first look-up in it", state.closed_index)


def _epochs_denied(state: LoadState) -> str | None:
    partition, beside = state.partition, f"{epoch_checkpoint.FILE_NAME}.tmp"
    if not (state.settings.recover and LEADER_EPOCHS.of(state.settings.release)):
        return None
    taken = IS_A_DIRECTORY if partition.entries.get(beside) in FOLDERS else None
    denied = taken or partition.log_dir.files.denial(partition.path, WRITE) or state.unwritable(beside)
    denied = denied or _fixed(state, beside) or _fixed(state, epoch_checkpoint.FILE_NAME)
    return None if denied is None else f"{state.path(beside)} ({denied})"


def unreadable_text(state: LoadState, refused: Unreadable, name: str) -> LoadFailure | Unreadable:
    """What comes of a text file that cannot be read: the broker's exception, if it is his to have one."""
    return refused if refused.forbidden else storage_failure(state.settings.release, str(refused), name)
