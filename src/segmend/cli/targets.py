"""What a path stands for: a log dir, one partition of it, or one file; and whose rules count there."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice

from segmend.errors import SegmendError, UsageError
from segmend.formats.names import parse_dir_name, parse_file_name
from segmend.frozen import frozen
from segmend.logdir import disk
from segmend.logdir.config import ServerConfig
from segmend.logdir.file_system import FOLDERS, EntryType, Unreadable, place_of
from segmend.logdir.log_dir import LOCK, LOG_DIR_FILES, LogDir
from segmend.logdir.partition_dir import PARTITION_KINDS, PartitionDir
from segmend.node.broker_dirs import BrokerDirs

SAME = "{}: the same directory as {}"
SHOWN = 12
"""So many of the log dirs that lie in a directory are named."""
_DEPTH = 3
"""How far below a given directory they are looked for: /var/lib/kafka/data-0/kafka-log0."""
_LISTED = 200
"""So many directories are listed to find them."""


@frozen
class Targets:
    """The log dirs to open; `names` and `files` narrow them down when a partition or file was given.

    `places` are the partition directories themselves: of several brokers not all of a name may be meant.
    """

    dirs: list[LogDir]
    names: frozenset[str] = frozenset()
    places: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()


def open_targets(
    paths: Sequence[str], *, blank: bool = False, twice: Callable[[str], None] | None = None
) -> Targets:
    """Open what the paths stand for; raises `Unreadable` for what is no log dir.

    With `blank` an empty directory may be beside one: a disk that was replaced, or is not mounted. `twice` is
    as of `open_log_dirs`.
    """
    kinds = [disk.path_type(path) for path in paths]
    files = [path for path, kind in zip(paths, kinds, strict=True) if kind == "file"]
    folders = [_folder(path) if kind == "file" else path for path, kind in zip(paths, kinds, strict=True)]
    partitions = [folder for folder in folders if disk.path_type(folder) == "dir" and _is_partition(folder)]
    if not partitions and files:
        raise UsageError(f"{files[0]}: not in a partition directory; give the log dir instead")
    if not partitions:
        return Targets(dirs=proved(open_log_dirs(paths, twice), blank=blank))
    if len(partitions) != len(folders):
        if None in kinds:
            raise _nothing_at(paths[kinds.index(None)])
        raise UsageError("give either log dirs or partition directories, not both")
    parents = dict.fromkeys(_folder(path) for path in folders)
    return Targets(
        dirs=open_log_dirs(list(parents), twice),
        names=frozenset(_name(path) for path in folders),
        places=frozenset(f"{_folder(path)}/{_name(path)}" for path in folders),
        files=frozenset(f"{_name(_folder(path))}/{_name(path)}" for path in files),
    )


def open_log_dirs(paths: Sequence[str], twice: Callable[[str], None] | None = None) -> list[LogDir]:
    """The log dirs; raises `UsageError` for what is no directory, or given twice, `Unreadable` for one above.

    With `twice` that counts once, and is told in words: among many brokers links and mounts lead anywhere.
    """
    seen: dict[object, str] = {}
    log_dirs = []
    for path in paths:
        kind = disk.path_type(path)
        if kind is None:
            raise _nothing_at(path)
        if kind != "dir":
            raise UsageError(f"{path}: not a directory; give the log dir that holds it")
        place = place_of(disk, path)
        if place in seen:
            if twice is None:
                raise UsageError(SAME.format(path, seen[place]))
            twice(SAME.format(path, seen[place]))
            continue
        seen[place] = path
        log_dirs.append(LogDir.open(path))
        _refuse_above(log_dirs[-1])
    return log_dirs


def _nothing_at(path: str) -> SegmendError:
    if "://" in path:
        return UsageError(f"{path}: only `segmend fleet` (diff, rescue, ...) reads object stores")
    return Unreadable(path, "no such directory")


def open_typed(paths: Sequence[str], *, once: bool = False) -> list[LogDir]:
    """As `open_or_note`, of what somebody typed: raises `UsageError` for the directory of a partition.

    And `Unreadable` for one above log dirs that is none itself.
    """
    opened = open_or_note(paths, once=once)
    for each in opened:
        if _named_so(each.path) and _has_ours(each.entries):
            raise UsageError(
                f"{each.path}: the directory of a partition, and a broker starts over log dirs: give all of "
                f"them, {_folder(each.path)} among them"
            )
        _refuse_above(each)
    return opened


def open_or_note(paths: Sequence[str], *, once: bool = False) -> list[LogDir]:
    """The log dirs; one that is missing, no directory, or not to be read is a broker's problem, too.

    Raises as `open_log_dirs` does where all of them are missing, and, with `once`, for what is given twice.
    """
    opened: dict[str, LogDir] = {}
    for path in paths:
        log_dir = LogDir.attempt(path)
        first = opened.setdefault(disk.real_path(path), log_dir)
        if once and first is not log_dir:
            raise UsageError(SAME.format(path, first.path))
    if all(each.unreadable and not each.unreadable.forbidden for each in opened.values()):
        open_log_dirs(paths)  # says what is wrong
    return list(opened.values())


def broker_of(args: argparse.Namespace, dirs: Sequence[LogDir]) -> BrokerDirs:
    """The broker of these dirs with the release of `--kafka` and the `--config` of the command, if any."""
    config = getattr(args, "config", None)
    given = None if config is None else ServerConfig.load(config, args.kafka)
    return BrokerDirs(dirs, release=args.kafka, given=given)


def _folder(path: str) -> str:
    """The directory of a path; `..` and a bare name are resolved first."""
    if "/" not in path.strip("/") or _name(path) in (".", ".."):
        path = disk.real_path(path)
    return path.rstrip("/").rpartition("/")[0] or "/"


def _name(path: str) -> str:
    if path.rstrip("/").rpartition("/")[2] in (".", "..", ""):
        path = disk.real_path(path)
    return path.rstrip("/").rpartition("/")[2]


def _is_partition(path: str) -> bool:
    """By its name and what lies in it: a log dir may well be called `kafka-1`."""
    return _named_so(path) and _has_ours(disk.listing(path))


def _named_so(path: str) -> bool:
    return parse_dir_name(_name(path)).kind in PARTITION_KINDS


def _has_ours(entries: Mapping[str, EntryType]) -> bool:
    """Whether any of these is a file of a partition."""
    ours = (parse_file_name(name).kind for name, kind in entries.items() if kind not in FOLDERS)
    return any(kind not in ("other", "unparsable") for kind in ours)


def proved(dirs: list[LogDir], *, blank: bool = False) -> list[LogDir]:
    """The log dirs, if they look like some at all; a wrong path should not give a hundred findings.

    Raises `Unreadable` for one that does not; an empty one may be beside others with `blank`.
    """
    wrong = {each.path: why for each in dirs if (why := _no_log_dir(each))}
    may_be = {each.path for each in dirs if not each.entries} if blank and len(wrong) < len(dirs) else set()
    for path, why in wrong.items():
        if path not in may_be:
            raise Unreadable(path, why)
    return dirs


def _no_log_dir(log_dir: LogDir) -> str:
    """Why it does not look like a log dir; empty if it does."""
    if not log_dir.entries:
        return "the directory is empty: a disk that was replaced, or is not mounted? leave it out"
    if not {LOCK, *LOG_DIR_FILES}.isdisjoint(log_dir.entries) or any(map(_may_be_one, log_dir.partitions)):
        return ""
    return "no log dir of a broker: it has no checkpoint, and no partition with a file of a log"


def _refuse_above(log_dir: LogDir) -> None:
    """Raise `Unreadable`, with those that may be meant, for a directory above log dirs, itself none."""
    if not log_dir.entries or not (why := _no_log_dir(log_dir)):
        return
    log_dirs = list(islice(_log_dirs_below(log_dir.path), SHOWN + 1))
    more = " ..." if len(log_dirs) > SHOWN else ""
    if log_dirs:
        raise Unreadable(log_dir.path, f"{why}; did you mean {shlex.join(log_dirs[:SHOWN])}{more}?")


def _log_dirs_below(path: str) -> Iterator[str]:
    """Log dirs below a directory, the nearest first; none within another."""
    level = [path]
    left = _LISTED
    for _ in range(_DEPTH):
        below: list[str] = []
        for folder in level:
            for name, kind in sorted(_listing(folder).items()):
                # Not the foreign ones alone: `kafka-1` is called like a partition.
                if kind not in FOLDERS or not left:
                    continue
                left -= 1
                inside = f"{folder.rstrip('/')}/{name}"
                if LOG_DIR_FILES.isdisjoint(_listing(inside)):
                    below.append(inside)
                else:
                    yield inside
        level = below


def _listing(path: str) -> dict[str, EntryType]:
    """What is in a directory; of one that cannot be read, nothing."""
    try:
        return disk.listing(path)
    except Unreadable:
        return {}


def _may_be_one(partition: PartitionDir) -> bool:
    """A name proves nothing (/etc has `dbus-1`, and nobody is to move what lies beside it)."""
    try:
        return _has_ours(partition.entries)
    except Unreadable:
        return True
