"""The meta.properties file, which says whose disk this is, is missing or broken.

Codes
    K01  meta.properties is missing
    K02  meta.properties cannot be read, or a key is missing
    K05  the directory id is reserved, or not the one that this node registered

What it means
    The file holds the cluster id, the node id and (since 3.7) the id of this directory.
What the broker does
    K01: in KRaft mode it does not start; in ZooKeeper mode it writes the file. K02: the
    log dir is offline; if it is the metadata dir or the only one, the broker does not
    start. K05: with a reserved id it does not start. With a changed one the
    controller takes the replicas for offline until the broker has reassigned each.
What to do
    Write the file with the ids of the broker's other dirs and a directory id of its
    own: the former one, which `__cluster_metadata-0` knows, or a new one.
Kafka
    MetaPropertiesEnsemble, KIP-631, KIP-858 (directory ids, 3.7): RegisterBrokerRecord,
    BrokerRegistrationChangeRecord.
"""

from __future__ import annotations

from collections.abc import Iterator

from segmend.findings import Finding, Severity
from segmend.formats.meta_properties import FILE_NAME
from segmend.logdir.tree import LogDir

from . import remedies
from .context import DirContext
from .levels import Level, Scope

CODES = {"K01": Severity.ERROR, "K02": Severity.ERROR, "K05": Severity.ERROR}
SCOPE = Scope.DIR
LEVEL = Level.STARTUP


def run(log_dir: LogDir, context: DirContext) -> Iterator[Finding]:
    """Missing, reserved, or its first other damage."""
    remedy = remedies.identity(context.path)
    if context.identity is None:
        if context.kraft and FILE_NAME not in log_dir.entries:
            says = f"No `{FILE_NAME}` found in {context.path} (have you run `kafka-storage.sh` to format the "
            message = f"{FILE_NAME} is missing: the broker does not know whose disk this is"
            yield context.finding(
                "K01", message, file=FILE_NAME, broker_says=f"{says}directory?)", remedy=remedy
            )
        return
    for damage in context.identity[1][:1]:
        reserved = damage.kind == "reserved-directory-id"
        yield context.finding(
            "K05" if reserved else "K02",
            damage.reason,
            file=FILE_NAME,
            position=damage.position,
            broker_says=f"Invalid reserved directory ID found in {context.path}"
            if reserved
            else f"Error while reading meta.properties file {context.path}/{FILE_NAME}",
            remedy=remedy,
        )
    if not context.identity[1]:
        yield from _without_node(context)
        yield from _changed(context, context.identity[0].directory_id)


def _without_node(context: DirContext) -> Iterator[Finding]:
    """A file of version 0, or an empty one, on a KRaft node; ZooKeeper's broker.id counts."""
    if context.kraft and context.identity is not None and context.identity[0].node_id is None:
        yield context.finding(
            "K02",
            "no node.id: the broker does not know whose disk this is",
            file=FILE_NAME,
            broker_says=f"Error: node ID not found in {context.path}",
            remedy=remedies.identity(context.path),
        )


def _changed(context: DirContext, own: str | None) -> Iterator[Finding]:
    """An id the node never registered, or none, is a new disk, unless a registered one is nowhere."""
    cluster, node = context.broker.cluster, context.broker.node_id
    registered = cluster.log_dirs.get(node, ()) if cluster and node is not None else ()
    if not registered or own in registered:
        return
    present = [context.broker.of(log_dir).identity for log_dir in context.broker.dirs]
    told = "no directory id" if own is None else f"directory id {own}"
    missing = sorted({*registered} - {found[0].directory_id for found in present if found})
    if missing:
        yield context.finding(
            "K05",
            f"{told}, but node {node} registered {' and '.join(missing)}, which no dir here has",
            file=FILE_NAME,
            remedy=remedies.identity(context.path),
            severity=Severity.WARNING,
        )
