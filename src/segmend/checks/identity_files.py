"""The meta.properties file, which says whose disk this is, is missing or broken."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from segmend.broker.identity import NO_NODE_ID, RESERVED_ID, TO_BE_GIVEN, UNFORMATTED, UNREADABLE, Identity
from segmend.broker.old_identity import READING, Reading, refusals
from segmend.findings import Finding, Remedy, Severity, Where
from segmend.formats.kafka_uuid import parse_uuid
from segmend.formats.meta_properties import BROKER_ID, FILE_NAME, NODE_ID, MetaProperties
from segmend.logdir.log_dir import LogDir

from . import remedies
from .context import BrokerContext, DirContext
from .manual import ERROR, OFFLINE, REFUSES, WRONG, Code, Level, Page, Scope

CODES = (
    Code("K01", ERROR, "meta.properties is missing", REFUSES),
    Code("K02", ERROR, "meta.properties cannot be read, or a key is missing", OFFLINE),
    Code("K05", ERROR, "the directory id is reserved, or not the one that this node registered", WRONG),
)
PAGE = Page(
    meaning="""
        The file holds the cluster id, the node id and (since 3.7) the id of this directory.""",
    own={
        "K01": """
            in KRaft mode it does not start; in ZooKeeper mode it writes the file. If no dir has one,
            nobody looks whether broker.id and cluster are what they were; with others nobody serves all
            this.""",
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
        if context.broker_dirs.kraft and file.missing:
            message = f"{FILE_NAME} is missing: the broker does not know whose disk this is"
            says = UNFORMATTED.format(context.path)
            yield context.finding("K01", message, Where(FILE_NAME), broker_says=says, remedy=remedy)
        elif context.broker_dirs.is_nobodys and log_dir.current:
            message = f"{FILE_NAME} is missing in each dir: only that told whose replicas these are"
            yield context.finding("K01", message, Where(FILE_NAME), remedy=remedy, severity=Severity.WARNING)
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
    dirs = [each.path for each in context.broker.dirs]
    return remedies.identity(*dirs, directory_id=directory_id, **_to_be_said(context.broker))


def _to_be_said(broker: BrokerContext) -> dict[str, str]:
    """The ids that no file tells which could be kept: as damaged ones still have them, or by a human."""
    files = [(each.path, each.meta_properties) for each in broker.dirs]
    identities = [
        Identity(path=path, missing=file.missing, value=file.value, damages=file.damages)
        for path, file in files
    ]
    kept = [each.kept for each in identities if each.kept is not None]
    damaged = [each.value for each in identities if each.kept is None and each.value is not None]
    wanted = {}
    if broker.broker_dirs.kraft and not any(each.cluster_id for each in kept):
        wanted["cluster_id"] = _one_of((each.cluster_id for each in damaged), TO_BE_GIVEN, _is_uuid)
    if broker.broker_dirs.config.node_id is None and not any(
        each.node_id is not None and each.node_id >= 0 for each in kept
    ):
        wanted["node_id"] = _one_of((_node(each) for each in damaged), "NODE_ID")
    return wanted


def _node(value: MetaProperties) -> str | None:
    """Under the key of either version: of which one it is may be what is damaged."""
    return value.properties.get(NODE_ID) or value.properties.get(BROKER_ID)


def _one_of(values: Iterable[str | None], unknown: str, is_right: Callable[[str], bool] = str.isdigit) -> str:
    known = {value for value in values if value is not None}
    return known.pop() if len(known) == 1 and all(map(is_right, known)) else unknown


def _is_uuid(text: str) -> bool:
    try:
        return bool(parse_uuid(text))
    except ValueError:
        return False
