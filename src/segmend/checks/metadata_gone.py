"""A KRaft node whose metadata log is not there, or holds nothing."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.findings import Finding, Remedy, Safety, Severity, Where
from segmend.formats.names import CLUSTER_METADATA
from segmend.logdir.file_system import FOLDERS
from segmend.logdir.log_dir import LogDir

from . import metadata_mends, remedies
from .context import BrokerContext
from .manual import ERROR, INFO, LOSES, Code, Level, Page, Scope

CODES = (Code("K23", ERROR, "the log dirs of a KRaft node are without the cluster's metadata", LOSES),)
PAGE = Page(
    meaning="""
        Each KRaft node keeps `__cluster_metadata-0` in its metadata.log.dir, by default the first of
        log.dirs. It was deleted or emptied: that is an error. Or, as a note, nobody told where it is to
        be: a node that keeps it in a dir apart leaves no trace of that in its log.dirs, so that it may be
        where it should be, and was not looked at, or be gone.""",
    broker="""
        A node that is the only voter starts with empty metadata and takes every topic here for a stray: it
        renames (3.7) or deletes (before) every directory. With other voters it fetches the metadata of them
        first, and nothing is lost.""",
    advice="""
        Give server.properties (`--config`), or all log dirs and metadata.log.dir too. If it is gone, do
        not start a lone node: bring its metadata back from a copy. With other voters, start those first, or
        restore it from their files: `plan quorum --from`; either way its vote must not be lost.""",
    kafka="KRaftMetadataCache, LogManager.isStrayKraftReplica, KIP-500.",
)
SCOPE = Scope.BROKER
LEVEL = Level.STARTUP


def run(broker: BrokerContext, context: BrokerContext) -> Iterator[Finding]:
    """One finding, where there are partitions that the node would not know."""
    dirs, home = context.broker_dirs, context.broker_dirs.metadata_dir
    if not dirs.kraft or home is None or not any(log_dir.current for log_dir in dirs.dirs):
        return
    if home.entries.get(CLUSTER_METADATA, "dir") not in FOLDERS:
        return  # K27
    log = dirs.metadata_log(home)
    if log is not None:
        alone = sum(CLUSTER_METADATA in log_dir.entries for log_dir in dirs.dirs) == 1  # else K06
        if alone and log.whole and log.blank:
            yield _finding(broker, f"{CLUSTER_METADATA} holds no metadata")
    elif dirs.metadata_is_gone:
        place = (dirs.metadata_elsewhere or home).path
        yield _finding(broker, f"there is no {CLUSTER_METADATA} in {place}, where server.properties has it")
    elif dirs.metadata_is_gone is None and dirs.is_formatted:
        where = "these dirs" if len(dirs.dirs) > 1 else "this dir"
        message = (
            f"not looked at: the cluster's metadata. There is no {CLUSTER_METADATA} in {where}, as it should "
            "be if metadata.log.dir is another one; if not, it is gone"
        )
        yield _finding(broker, message, INFO)


def _finding(broker: BrokerContext, message: str, severity: Severity = ERROR) -> Finding:
    home = broker.broker_dirs.metadata_dir
    assert home is not None, "a finding of the metadata has a dir"
    return broker.of(home).finding(
        "K23", message, Where(CLUSTER_METADATA), severity=severity, remedy=_remedy(broker, home, severity)
    )


def _remedy(broker: BrokerContext, home: LogDir, severity: Severity) -> Remedy:
    """Restored from another node, where there is one; else nothing but a look at what a start would do."""
    dirs = broker.broker_dirs
    place = (dirs.metadata_elsewhere or home).path
    if severity is ERROR and dirs.others != ():
        return remedies.quorum(place, metadata_mends.CONFIG, metadata_mends.OTHER, safety=Safety.ADVICE)
    return remedies.play(*(log_dir.path for log_dir in broker.dirs))
