"""The log dirs do not belong to one and the same broker."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from segmend.broker.identity import DUPLICATE_ID, OTHER_CLUSTER, OTHER_NODE, UNEXPECTED_METADATA
from segmend.broker.old_identity import INCONSISTENT, refusals
from segmend.findings import Finding, Where
from segmend.formats.meta_properties import FILE_NAME
from segmend.formats.names import CLUSTER_METADATA
from segmend.logdir.partition_dir import PartitionDir
from segmend.node.metadata_copy import MetadataCopy

from . import remedies
from .context import BrokerContext, DirContext
from .manual import ERROR, INFO, REFUSES, Code, Level, Page, Scope

CODES = (
    Code("K03", ERROR, "the cluster id, node id or (2.8 to 3.6) any other property differs between the dirs",
         REFUSES,
         explains=("K03", "K04", "K05", "K06", "K21", "C14", "M05", "M06", "M07", "N17", "N27", "M01")),
    Code("K04", ERROR, "two dirs have the same directory id", REFUSES),
    Code("K06", ERROR, "two dirs hold a `__cluster_metadata-0`", REFUSES),
    Code("K28", INFO, "the metadata lies in another dir than the node looks for it", REFUSES, unplayed=True),
)  # fmt: skip
PAGE = Page(
    meaning="A disk was moved from another broker or cluster, or cloned.",
    broker="It does not start.",
    own={"K28": "it does not start, unless metadata.log.dir names the dir in which the metadata lies."},
    advice="""
        K03: only if the disk really belongs to this node now, change its ids. K04: give the clone a new
        directory id. K06: keep the one in metadata.log.dir (by default the first of log.dirs) and move the
        other away, unless that one has more: without it, what it has more is lost. K28: put it where it was,
        or the disks, if they changed places; it is an error where the voters tell (KIP-853), else a note:
        metadata.log.dir may name the dir in which it lies.""",
    kafka="MetaPropertiesEnsemble.verify, KafkaRaftServer.initializeLogDirs, KIP-858.",
)
SCOPE = Scope.BROKER
LEVEL = Level.STARTUP


def run(broker: BrokerContext, _context: BrokerContext) -> Iterator[Finding]:
    """Each dir against the first that says something."""
    dirs = [broker.of(log_dir) for log_dir in broker.dirs]
    yield from _differing(dirs, "cluster_id", "cluster id", OTHER_CLUSTER)
    yield from _differing(dirs, "node_id", "node id", OTHER_NODE)
    yield from _unlike(dirs)
    yield from _cloned(dirs)
    holders = [context for context in dirs if context.log_dir.has_metadata_name]
    holders.sort(key=lambda context: context.log_dir is not broker.broker_dirs.metadata_dir)
    for context in holders[1:]:
        yield _second_metadata(context, holders[0])
    if len(holders) == 1 and broker.broker_dirs.home_is_doubtful:
        yield _misplaced_metadata(broker, holders[0])


def _misplaced_metadata(broker: BrokerContext, home: DirContext) -> Finding:
    """By default the first of log.dirs has it; a voter is known by the id of its dir."""
    dirs = {each.directory_id: each.path for each in broker.dirs}
    voter = dirs.get(broker.broker_dirs.own_voter or "")
    place, misplaced = f"{home.path}/{CLUSTER_METADATA}", voter not in (None, home.path)
    wanted = voter if voter is not None and misplaced else broker.dirs[0].path
    what = "the voters know the node by" if misplaced else "by default it is in the first of log.dirs,"
    return home.finding(
        "K28",
        f"{what} {wanted}",
        Where(CLUSTER_METADATA),
        severity=ERROR if misplaced else None,
        broker_says=UNEXPECTED_METADATA.format(place, wanted),
        remedy=remedies.advice(shlex.join(["mv", "-n", place, f"{wanted}/"])) if misplaced else None,
    )


def _second_metadata(context: DirContext, home: DirContext) -> Finding:
    """Which of the two a broker goes by, its settings tell; the one that has more is never in the way."""
    more = _has_more(context.log_dir.cluster_metadata, home.log_dir.cluster_metadata)
    ahead = "; this one has more, so look which of them is the node's" if more else ""
    places = [f"{each.path}/{CLUSTER_METADATA}" for each in (home, context)]
    return context.finding(
        "K06",
        f"{home.path} has a {CLUSTER_METADATA} too{ahead}",
        Where(CLUSTER_METADATA),
        broker_says=UNEXPECTED_METADATA.format(places[1], home.path),
        remedy=remedies.look(*places) if more else remedies.set_aside(context.path, CLUSTER_METADATA),
    )


def _has_more(this: PartitionDir | None, other: PartitionDir | None) -> bool:
    """Whether a copy of the metadata goes, or once went, further than another one does."""
    if this is None:
        return False
    best = None if other is None else MetadataCopy.of(other).best
    return MetadataCopy.of(this).reached > ((0, 0) if best is None else best.position)


def _differing(dirs: list[DirContext], field: str, what: str, says: str) -> Iterator[Finding]:
    told = _told(dirs, field)
    for context, value in told[1:]:
        first = told[0][1]
        if value != first:
            groups = [
                [each.path for each, own in told if own == one] for one in dict.fromkeys(v for _, v in told)
            ]
            two = any(_is_elsewhere(context, each) for each, own in told if own == first)
            message = f"{what} {value}, but {told[0][0].path} has {first}"
            yield context.finding(
                "K03",
                f"{message}: these are dirs of {len(groups)} brokers, and each has to be looked at alone"
                if two
                else message,
                Where(FILE_NAME),
                broker_says=says.format(path=context.path, expected=first, stored=value),
                remedy=remedies.check_alone(*groups)
                if two
                else remedies.identity(*(each.path for each in dirs), **_to_be_said(dirs)),
            )


def _told(dirs: list[DirContext], field: str) -> list[tuple[DirContext, object]]:
    told = [(context, getattr(context.identity.value, field, None)) for context in dirs]
    return [(context, value) for context, value in told if value is not None]


def _to_be_said(dirs: list[DirContext]) -> dict[str, str]:
    """What the dirs differ in: which is right, only a human knows."""
    fields = ("cluster_id", "node_id")
    return {name: name.upper() for name in fields if len({value for _, value in _told(dirs, name)}) > 1}


def _is_elsewhere(one: DirContext, other: DirContext) -> bool:
    """Whether two dirs are of two brokers for certain: by the metadata of one, or by what both hold."""
    ours, theirs = one.log_dir, other.log_dir
    if CLUSTER_METADATA in ours.entries and CLUSTER_METADATA in theirs.entries:
        return True
    if {p.key for p in ours.current} & {p.key for p in theirs.current}:
        return True
    image, value = one.broker_dirs.metadata, one.identity.value
    if image is None or value is None or value.node_id is None:
        return False
    return value.directory_id is not None and value.directory_id in image.log_dirs.get(value.node_id, ())


def _unlike(dirs: list[DirContext]) -> Iterator[Finding]:
    """2.8 wanted the same properties in all dirs, KRaft nodes up to 3.3; ids that differ are told already."""
    told = [(context, context.identity.value) for context in dirs if context.identity.value]
    for context, value in told[1:]:
        first = told[0][1]
        pairs = ((value.cluster_id, first.cluster_id), (value.node_id, first.node_id))
        if any(a != b for a, b in pairs if None not in (a, b)):
            continue
        if INCONSISTENT in refusals((first, value), context.release, kraft=context.broker_dirs.kraft):
            yield context.finding(
                "K03",
                f"its properties are not those in {told[0][0].path}",
                Where(FILE_NAME),
                broker_says=INCONSISTENT,
                remedy=remedies.look(*(f"{each.path}/{FILE_NAME}" for each in dirs)),
            )


def _cloned(dirs: list[DirContext]) -> Iterator[Finding]:
    owners: dict[str, DirContext] = {}
    for context in dirs:
        own = context.identity.value.directory_id if context.identity.value else None
        if own is None:
            continue
        first = owners.setdefault(own, context)
        if first is not context:
            yield context.finding(
                "K04",
                f"directory id {own} is that of {first.path} too",
                Where(FILE_NAME),
                broker_says=DUPLICATE_ID.format(own, first.path, context.path),
                remedy=remedies.identity(*(each.path for each in dirs)),
            )
