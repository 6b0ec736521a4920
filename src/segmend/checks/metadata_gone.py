"""A KRaft node whose metadata log is not there, or holds nothing."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.findings import Finding, Severity
from segmend.formats.names import CLUSTER_METADATA

from . import remedies
from .context import BrokerContext
from .levels import Level, Scope
from .manual import ERROR, INFO, LOSES, WARNING, Code, Page

CODES = (Code("K23", ERROR, "the log dirs of a KRaft node are without the cluster's metadata", LOSES),)
PAGE = Page(
    meaning="""
        Each KRaft node keeps `__cluster_metadata-0` in its metadata.log.dir, by default the first of
        log.dirs. It was deleted or emptied, or it lies in a dir that was not given: that is told as a
        warning, of one dir alone as a note.""",
    broker="""
        A node that is the only voter starts with empty metadata and takes every topic here for a stray: it
        renames (3.7) or deletes (before) every directory. With other voters it fetches the metadata of them
        first, and nothing is lost.""",
    advice="""
        Give all log dirs, metadata.log.dir too. Do not start a lone node: bring its metadata back from a
        copy. With other voters alive, start those first.""",
    kafka="KRaftMetadataCache, LogManager.isStrayKraftReplica, KIP-500.",
)
SCOPE = Scope.BROKER
LEVEL = Level.STARTUP


def run(broker: BrokerContext, context: BrokerContext) -> Iterator[Finding]:
    """One finding, where there are partitions that the node would not know."""
    dirs, home = context.broker_dirs, context.broker_dirs.metadata_dir
    if not dirs.kraft or home is None or not any(log_dir.current for log_dir in dirs.dirs):
        return
    log = dirs.metadata_log(home)
    if log is not None:
        alone = sum(CLUSTER_METADATA in log_dir.entries for log_dir in dirs.dirs) == 1  # else K06
        if alone and log.whole and log.blank:
            yield _finding(broker, f"{CLUSTER_METADATA} holds no metadata")
    elif dirs.home_is_known:
        yield _finding(broker, f"there is no {CLUSTER_METADATA} here, where server.properties has it")
    elif dirs.is_formatted:
        several = len(dirs.dirs) > 1
        where = "these dirs" if several else "this dir"
        message = f"no {CLUSTER_METADATA} in {where}: where it is was not given, or it is gone"
        yield _finding(broker, message, WARNING if several else INFO)


def _finding(broker: BrokerContext, message: str, severity: Severity = ERROR) -> Finding:
    home = broker.broker_dirs.metadata_dir
    assert home is not None, "a finding of the metadata has a dir"
    return broker.of(home).finding(
        "K23",
        message,
        severity=severity,
        file=CLUSTER_METADATA,
        remedy=remedies.play(*(log_dir.path for log_dir in broker.dirs)),
    )
