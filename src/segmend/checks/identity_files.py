"""The meta.properties file, which says whose disk this is, is missing or broken."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.identity import NO_NODE_ID, RESERVED_ID, UNFORMATTED, UNREADABLE
from segmend.broker.old_identity import READING, Reading, refusals
from segmend.findings import Finding, Remedy, Severity, Where
from segmend.formats.meta_properties import FILE_NAME, MetaProperties
from segmend.logdir.tree import LogDir

from . import remedies
from .context import DirContext
from .levels import Level, Scope
from .manual import ERROR, OFFLINE, REFUSES, WRONG, Code, Page

CODES = (
    Code("K01", ERROR, "meta.properties is missing", REFUSES),
    Code("K02", ERROR, "meta.properties cannot be read, or a key is missing", OFFLINE),
    Code("K05", ERROR, "the directory id is reserved, or not the one that this node registered", WRONG),
)
PAGE = Page(
    meaning="""
        The file holds the cluster id, the node id and (since 3.7) the id of this directory.""",
    own={
        "K01": "in KRaft mode it does not start; in ZooKeeper mode it writes the file.",
        "K02": """
            the log dir is offline; if it is the metadata dir or the only one, the broker does not start.""",
        "K05": """
            with a reserved id it does not start. With a changed one the controller takes the replicas for
            offline until the broker has reassigned each.""",
    },
    advice="""
        Write the file with the ids of the broker's other dirs and a directory id of its own: the former one,
        which `__cluster_metadata-0` knows, or a new one.""",
    kafka="""
        MetaPropertiesEnsemble, KIP-631, KIP-858 (directory ids, 3.7): RegisterBrokerRecord,
        BrokerRegistrationChangeRecord.""",
)
SCOPE = Scope.DIR
LEVEL = Level.STARTUP


def run(log_dir: LogDir, context: DirContext) -> Iterator[Finding]:
    """Missing, reserved, or its first other damage."""
    remedy = _remedy(context)
    file = context.identity
    if file.value is None:
        if context.broker_dirs.kraft and FILE_NAME not in log_dir.entries:
            message = f"{FILE_NAME} is missing: the broker does not know whose disk this is"
            says = UNFORMATTED.format(context.path)
            yield context.finding("K01", message, Where(FILE_NAME), broker_says=says, remedy=remedy)
        return
    for damage in file.damages[:1]:
        reserved = damage.kind == "reserved-directory-id"
        yield context.finding(
            "K05" if reserved else "K02",
            damage.reason,
            Where(FILE_NAME, position=damage.position),
            broker_says=RESERVED_ID.format(file.value.directory_id, context.path)
            if reserved
            else UNREADABLE.format(context.path),
            remedy=remedy,
        )
    if not file.damages:
        yield from _without_node(context, file.value)
        yield from _changed(context, file.value.directory_id)


def _without_node(context: DirContext, value: MetaProperties) -> Iterator[Finding]:
    """An empty file, or one of another version's keys: what old brokers require, and KRaft's node.id."""
    if READING.of(context.release) == Reading.STRICT and value.version not in (None, 0):
        return  # K21
    words = next(refusals([value], context.release, kraft=context.broker_dirs.kraft), None)
    if context.broker_dirs.kraft and value.node_id is None:
        words = words or NO_NODE_ID.format(context.path)
    if words is not None:
        message = "a key is missing or has a wrong value: the broker does not know whose disk this is"
        remedy = _remedy(context)
        yield context.finding("K02", message, Where(FILE_NAME), broker_says=words, remedy=remedy)


def _changed(context: DirContext, own: str | None) -> Iterator[Finding]:
    """An id the node never registered, or none, is a new disk, unless a registered one is nowhere."""
    broker = context.broker_dirs
    registered, node = broker.registered_dirs, broker.node_id
    if not registered or own in registered or context.log_dir.is_metadata_apart:
        return
    present = {value.directory_id for value in broker.identities}
    told = "no directory id" if own is None else f"directory id {own}"
    missing = sorted({*registered} - present)
    if missing:
        yield context.finding(
            "K05",
            f"{told}, but node {node} registered {' and '.join(missing)}, which no dir here has",
            Where(FILE_NAME),
            remedy=_remedy(context, f"{context.path}={missing[0]}" if len(missing) == 1 else None),
            severity=Severity.WARNING,
        )


def _remedy(context: DirContext, directory_id: str | None = None) -> Remedy:
    """All dirs of the broker: one alone does not tell whose it is."""
    return remedies.identity(*(each.path for each in context.broker.dirs), directory_id=directory_id)
