"""Which log dirs lie under the given paths, and whose they are.

A path may be one log dir, a broker's directory with several of them, a directory of
brokers, or a glob of any of these. A directory is a log dir when it holds what only a log
dir holds: meta.properties, a checkpoint, a lock, or a partition directory with segments in
it. Its name says nothing: `broker-1` is as good a name for a broker as for a partition.
An empty directory that a glob names, or that lies beside a log dir, or where a log dir (or what has some)
would lie by those of other brokers, may be a disk that was replaced or is not mounted: it counts as a log
dir, too, also with what mkfs makes in it. So does a link to nothing beside what has
log dirs in it, and what a glob names and this user may not look into. A directory that has several
names (links, mounts) is found once, by the first of them. A file beside log dirs that is called as they are
but for numbers in its path (`d2` beside `d1`), or as those of another broker, stands where one was.
"""

from __future__ import annotations

import fnmatch
import glob
import os
import re
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

from segmend.errors import SegmendError, UsageError
from segmend.fleet.remote import files_of
from segmend.formats import partition_metadata
from segmend.formats.names import parse_dir_name, parse_file_name
from segmend.frozen import frozen, replace
from segmend.grouping import grouped
from segmend.logdir.file_system import FILES, FOLDERS, EntryType, Files, Unreadable, place_of
from segmend.logdir.log_dir import LOG_DIR_FILES, LogDir
from segmend.logdir.partition_dir import PARTITION_KINDS, PartitionDir

DEPTH: Final = 4
"""How far below a given path log dirs are looked for."""

_LOOKED_AT: Final = 8
_ASKED: Final = 64
"""So many partitions of a log dir that names no cluster are asked for their topic ids."""
_BROKER_NAME: Final = re.compile(r"(?:broker|kafka|node|server)[-_.]?(\d{1,9})", re.ASCII | re.IGNORECASE)
_EMPTY: Final = "the directory is empty: a disk that was replaced, or is not mounted?"
_DANGLING: Final = "a link to nothing: a disk that is not mounted?"
_A_FILE: Final = "not a directory: a file stands where a log dir is to be?"
_OF_A_DISK: Final = "lost+found"
"""mkfs makes it, and it is empty on a sound disk."""


@frozen
class Place:
    """A log dir of the fleet. `broker` is negative where nothing on the disk or its path names one.

    `cluster_id` is that of meta.properties; without one it is what else tells, None without that.
    """

    log_dir_id: int
    path: str
    broker: int
    cluster_id: str | None
    unreadable: str | None = None
    """Why it could not be listed."""
    empty: bool = False
    identity: tuple[str | None, int | None] | None = None
    """Cluster and node id of its meta.properties, None without one."""

    @property
    def unread(self) -> str | None:
        """Why nothing of what may have been in it is known; None if all of it is there to be read."""
        return _EMPTY if self.empty else self.unreadable

    @property
    def files(self) -> Files:
        """What it is read from, also in another process that this value was sent to."""
        return files_of(self.path)

    def opened(self) -> LogDir | None:
        try:
            return None if self.unreadable else LogDir.open(self.path, self.files)
        except Unreadable:
            return None

    @property
    def is_as_listed(self) -> bool:
        """Whether this process finds there what was listed: another machine may have another disk there.

        An object store is the same for all.
        """
        if self.unread or "://" in self.path:
            return True
        log_dir = self.opened()
        return log_dir is not None and bool(log_dir.entries) and self.identity in (None, _identity(log_dir))


def refuse_others(places: Iterable[Place]) -> None:
    """SegmendError for one that is not here as it was listed: its rows would be missing, or another's."""
    for path, place in {place.path: place for place in places}.items():
        if not place.is_as_listed:
            raise SegmendError(
                f"{path} is not on {socket.gethostname()} as it was when the read was planned: every worker "
                "needs it at that path"
            )


def _identity(log_dir: LogDir) -> tuple[str | None, int | None] | None:
    meta = log_dir.meta_properties.value
    return None if meta is None else (meta.cluster, meta.node_id)


def absolute(paths: Iterable[str]) -> list[str]:
    """As workers find them, too, which may stand in other directories; Spark writes some as `file:/...`.

    UsageError for an empty one, as of a variable that is not set: it would be the directory one stands in.
    """
    plain = (re.sub("^file:(//)?(?=/)", "", path) for path in paths)
    found = [path if "://" in path or not path else os.path.abspath(path) for path in plain]
    if not all(found):
        raise UsageError("'': an empty path; a variable that is not set?")
    return found


def find_places(paths: Sequence[str]) -> list[Place]:
    """The log dirs under `paths`, each once, sorted by broker and path.

    SegmendError when a path is not there, is a file, or has no log dir under it. What is
    there but cannot be listed comes as a `Place` with the reason.
    """
    by_path: dict[str, _FoundDir] = {}
    for given in paths:
        matches = _expand(given)
        below = [each for match in matches for each in _found_in(match)]
        log_dirs = [each.path for each in below if not each.doubtful]
        if not log_dirs and not any(_is_under(path, given) for path in by_path):
            raise SegmendError(f"{given}: no Kafka log dir in it")
        named = {match.path for match in matches} if len(matches) > 1 else set[str]()
        above = {up for path in log_dirs for up in _parents(path)}
        beside, cousins = {_parent(path) for path in log_dirs}, {_cousins(path) for path in log_dirs}
        alike, homes = {*map(_unnumbered, log_dirs)}, {*map(_unnumbered, above)}
        by_path.update(
            (each.path, each)
            for each in below
            if not each.doubtful
            or _unnumbered(each.path) in alike
            or _cousins(each.path) in cousins
            or (
                each.unreadable != _A_FILE
                and (
                    each.path in named
                    or _unnumbered(each.path) in homes
                    or _parent(each.path) in (above if each.unreadable else beside)
                )
            )
        )
    once = {place_of(files_of(path), path): each for path, each in reversed(by_path.items())}
    return _numbered([_place(each) for each in reversed(once.values())])


def _is_under(path: str, given: str) -> bool:
    return path.startswith(given.rstrip("/")) or glob.has_magic(given)


def _expand(given: str) -> list[_FoundDir]:
    """The directories that a glob stands for, or cannot be told; anything else stands for itself."""
    files = files_of(given)
    if glob.has_magic(given) and files.path_type(given) is None:
        matches = sorted(_matching(files, given))
        if not matches:
            raise SegmendError(f"{given}: matches no directory")
        return matches
    kind = files.path_type(given)
    if kind is None:
        raise SegmendError(f"{given or repr(given)}: no such directory")
    if kind != "dir":
        raise SegmendError(f"{given}: not a directory")
    return [_FoundDir(given.rstrip("/") or "/")]


def _matching(files: Files, given: str) -> Iterator[_FoundDir]:
    """Part by part of the path, on a disk as in an object store; also what is refused on the way."""
    scheme, is_url, rest = given.rpartition("://")
    first, *parts = rest.rstrip("/").split("/")
    folders = [f"{scheme}://{first}"] if is_url else [first or "/"]
    if not is_url and glob.has_magic(first):
        folders, parts = [""], [first, *parts]
    for part in parts:
        if glob.has_magic(part):
            named = [each for path in folders for each in _named_in(files, path, part)]
            yield from (each for each in named if each.unreadable is not None)
            folders = [each.path for each in named if each.unreadable is None]
        else:
            folders = [_joined(path, part) for path in folders]
    for path in folders:
        try:
            if files.path_type(path) == "dir":
                yield _FoundDir(path)
        except Unreadable as error:
            yield _FoundDir(path, error.reason)


def _named_in(files: Files, path: str, pattern: str) -> Iterator[_FoundDir]:
    """The directories of such names, as a shell has it; the one that they are in if it cannot be listed."""
    try:
        entries = files.listing(path or ".")
    except Unreadable as error:
        if not error.missing:
            yield _FoundDir(path, error.reason)
        return
    for name in fnmatch.filter(entries, pattern):
        if name[0] == "." != pattern[0]:
            continue
        if entries[name] == "link-broken":
            yield _FoundDir(_joined(path, name), _DANGLING)
        elif _is_named_as_a_dir(name, entries[name]):
            yield _FoundDir(_joined(path, name), _A_FILE)
        elif entries[name] in FOLDERS:
            yield _FoundDir(_joined(path, name))


def _is_named_as_a_dir(name: str, kind: EntryType) -> bool:
    return kind in FILES and (re.search(r"[0-9]", name) is not None or "." not in name)


def _unnumbered(path: str) -> str:
    """The path with each number in it left open."""
    return re.sub(r"[0-9]+", "#", path)


def _cousins(path: str) -> tuple[str, str]:
    """What it has in common with those of its name in the directories beside its own."""
    return _parent(_parent(path)), path.rpartition("/")[2]


def _joined(path: str, name: str) -> str:
    return name if not path else f"{path.rstrip('/')}/{name}"


class _FoundDir(NamedTuple):
    """A log dir, why it could not be listed if so, or an empty directory."""

    path: str
    unreadable: str | None = None
    empty: bool = False

    @property
    def doubtful(self) -> bool:
        """Whether only what is beside it tells that it may be a log dir."""
        return self.empty or self.unreadable in (_DANGLING, _A_FILE)


def _found_in(match: _FoundDir) -> Iterator[_FoundDir]:
    if match.unreadable is None:
        yield from _below(files_of(match.path), match.path, DEPTH, seen=set())
    else:
        yield match


def _below(files: Files, path: str, depth: int, seen: set[str]) -> Iterator[_FoundDir]:
    real = files.real_path(path)
    if real in seen:
        return
    seen.add(real)
    try:
        entries = files.listing(path)
    except Unreadable as error:
        yield _FoundDir(path, error.reason)
        return
    if _is_log_dir(files, path, entries):
        yield _FoundDir(path)
    elif not entries.keys() - {_OF_A_DISK}:
        yield _FoundDir(path, empty=True)
    elif depth:
        for name, kind in sorted(entries.items()):
            if kind == "link-broken":
                yield _FoundDir(f"{path}/{name}", _DANGLING)
            elif _is_named_as_a_dir(name, kind):
                yield _FoundDir(f"{path}/{name}", _A_FILE)
            elif kind in FOLDERS and name != _OF_A_DISK:
                yield from _below(files, f"{path}/{name}", depth - 1, seen)


def _is_log_dir(files: Files, path: str, entries: dict[str, EntryType]) -> bool:
    """Whether the directory `path` with these entries is a log dir."""
    if not LOG_DIR_FILES.isdisjoint(entries):
        return True
    candidates = (
        n
        for n, kind in sorted(entries.items())
        if kind in FOLDERS and parse_dir_name(n).kind in PARTITION_KINDS
    )
    return any(_holds_segments(files, f"{path}/{name}") for name in islice(candidates, _LOOKED_AT))


def _holds_segments(files: Files, path: str) -> bool:
    try:
        names: Iterable[str] = files.listing(path)
    except Unreadable:
        return False
    return any(name == partition_metadata.FILE_NAME or parse_file_name(name).kind == "log" for name in names)


def _place(found_dir: _FoundDir) -> Place:
    """With the broker and cluster of meta.properties."""
    path, unreadable, empty = found_dir
    place = Place(log_dir_id=0, path=path, broker=-1, cluster_id=None, unreadable=unreadable, empty=empty)
    log_dir = place.opened()
    meta = None if log_dir is None else log_dir.meta_properties.value
    if meta is None:
        return place
    broker = -1 if meta.node_id is None else meta.node_id
    return replace(place, broker=broker, cluster_id=meta.cluster, identity=(meta.cluster, meta.node_id))


def _numbered(places: list[Place]) -> list[Place]:
    """Fill in what meta.properties did not say, from the sibling dirs or the path, and number all."""
    by_parent = grouped((each for each in places if each.broker >= 0), lambda each: _parent(each.path))
    named = [_named(place, by_parent) for place in places]
    strangers = sorted({_parent(p.path) for p in named if p.broker < 0})
    named = [p if p.broker >= 0 else replace(p, broker=-1 - strangers.index(_parent(p.path))) for p in named]
    named = _in_clusters(named)
    ordered = sorted(named, key=lambda p: (p.cluster_id or "", p.broker < 0, abs(p.broker), p.path))
    return [replace(place, log_dir_id=number) for number, place in enumerate(ordered)]


def _named(place: Place, by_parent: Mapping[str, Sequence[Place]]) -> Place:
    if place.broker >= 0:
        return place
    siblings = by_parent.get(_parent(place.path), ())
    # Where dirs of several brokers lie side by side, nothing tells whose this one is.
    if len({(each.cluster_id, each.broker) for each in siblings}) == 1:
        sibling = siblings[0]
        return replace(place, broker=sibling.broker, cluster_id=place.cluster_id or sibling.cluster_id)
    for part in reversed(place.path.split("/")):
        match = _BROKER_NAME.fullmatch(part)
        if match:
            return replace(place, broker=int(match.group(1)))
    return place


def _in_clusters(places: Sequence[Place]) -> list[Place]:
    """The places, each with a cluster as far as anything tells it.

    Without one a log dir would be compared with nobody, and a replica that is behind pass for sound. Where
    all others are of one cluster it is taken for one of that; else the topic ids in partition.metadata
    tell: no two clusters have one in common.
    """
    known = {place.cluster_id for place in places} - {None}
    if not known or all(place.cluster_id for place in places):
        return list(places)
    if len(known) == 1:
        return [replace(place, cluster_id=place.cluster_id or min(filter(None, known))) for place in places]
    ids = {place.path: dict(_topic_ids(place)) for place in places if place.cluster_id is None}
    whose = _owners([place for place in places if place.cluster_id], ids.values())
    return [
        place if place.cluster_id else replace(place, cluster_id=_only(whose, ids[place.path].values()))
        for place in places
    ]


def compared_with_nobody(places: Iterable[Place]) -> str | None:
    """Words for the log dirs of no known cluster among those of several; None without any."""
    every = list(places)
    alone = [place.path for place in every if place.cluster_id is None]
    if not alone or len(alone) == len(every):
        return None
    more = f" and {len(alone) - 1} more" if len(alone) > 1 else ""
    return f"replicas of {alone[0]}{more} against other brokers' (nothing tells of which cluster they are)"


def _partitions(place: Place) -> Iterator[PartitionDir]:
    log_dir = place.opened()
    yield from () if log_dir is None else log_dir.partitions


def _topic_ids(place: Place) -> Iterator[tuple[str, str]]:
    told = ((each.topic, topic_id) for each in _partitions(place) if (topic_id := each.topic_id) is not None)
    return islice(told, _ASKED)


def _owners(places: Sequence[Place], wanted: Iterable[Mapping[str, str]]) -> dict[str, set[str]]:
    """The clusters that have these topic ids."""
    names = {topic for each in wanted for topic in each}
    ids = {topic_id for each in wanted for topic_id in each.values()}
    owners: dict[str, set[str]] = {}
    for place in places:
        for each in _partitions(place):
            if each.topic in names and each.topic_id in ids:
                owners.setdefault(each.topic_id, set()).add(place.cluster_id or "")
    return owners


def _only(owners: Mapping[str, set[str]], topic_ids: Iterable[str]) -> str | None:
    """The one cluster that has them; None without one, or with several."""
    clusters = {cluster for topic_id in topic_ids for cluster in owners.get(topic_id, ())}
    return clusters.pop() if len(clusters) == 1 else None


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


def _parents(path: str) -> Iterator[str]:
    while path := _parent(path):
        yield path


def brokers(places: Iterable[Place]) -> dict[tuple[str, int], list[Place]]:
    """The places of each broker, by (cluster id, broker id)."""
    return grouped(places, lambda place: (place.cluster_id or "", place.broker))


def clusters(places: Iterable[Place]) -> dict[str, dict[int, list[Place]]]:
    """The places of each broker by cluster id ("" where no disk tells it), then by broker id.

    Ids are negative where nothing tells whose a dir is.
    """
    by_cluster: dict[str, dict[int, list[Place]]] = {}
    for (cluster, broker), group in brokers(places).items():
        by_cluster.setdefault(cluster, {})[broker] = group
    return by_cluster
