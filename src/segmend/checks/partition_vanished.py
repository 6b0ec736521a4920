"""A partition whose directory is gone, told by the lines that brokers keep of what lies in a log dir."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from segmend.broker.checkpoints import EMPTY_DIR_KEEPS_ITS_LINES
from segmend.findings import Finding, Remedy, Safety, Severity, Where
from segmend.formats.offset_checkpoint import HIGH_WATERMARK, LOG_START_OFFSET, RECOVERY_POINT

from . import remedies
from .context import BrokerContext, DirContext
from .manual import ERROR, LOSES, Code, Level, Page, Scope

CODES = (Code("N27", ERROR, "a partition's directory is gone, but the checkpoints have its lines", LOSES),)
PAGE = Page(
    meaning="""
        A broker writes a line of every log in the dir, and takes it out when it deletes or moves the log
        itself. So the directory was removed or moved by hand, or the dir was restored from a copy without
        it. A partition that never was here has no line: a broker makes an empty log for it, which is no
        fault. Where `__cluster_metadata` is among the dirs, only partitions that it assigns to this node
        count.
    """,
    broker="""
        It makes an empty log for the partition, as soon as the cluster wants a replica of it here. As a
        follower it fetches everything again; as the leader it has lost everything, and the followers cut
        their logs to its own.""",
    advice="""
        Look for the directory: under another name, in another log dir, in a backup, and put it back before
        the broker starts. Where another replica is sound, `segmend plan graft` copies its log here.""",
    kafka="LogManager.checkpointLogRecoveryOffsets, ReplicaManager.checkpointHighWatermarks.",
)
SCOPE = Scope.BROKER
LEVEL = Level.STARTUP

Key = tuple[str, int]
_CHECKPOINTS = (RECOVERY_POINT, HIGH_WATERMARK, LOG_START_OFFSET)


def run(broker: BrokerContext, _context: BrokerContext) -> Iterator[Finding]:
    """One finding a partition, in the dir where it reached furthest; none while a broker runs."""
    contexts = [broker.of(log_dir) for log_dir in broker.dirs]
    if any(context.running for context in contexts):
        return
    there = {partition.key for partition in broker.broker_dirs.partitions}
    there |= {parsed for parsed in map(_parsed, broker.former_names.values())}
    gone: dict[Key, list[DirContext]] = {}
    for context in contexts:
        for key in sorted({key for name in _CHECKPOINTS for key in _lines(context, name)} - there):
            gone.setdefault(key, []).append(context)
    for key, saying in gone.items():
        if _is_expected(broker, key):
            yield _finding(broker, key, max(saying, key=lambda context: _reached(context, key)))
    for log_dir in broker.dirs:
        if log_dir.directory_id and not log_dir.partitions:
            for key in sorted(_alone_in(broker, log_dir.directory_id) - there - gone.keys()):
                yield _emptied(broker.of(log_dir), key)


def _alone_in(broker: BrokerContext, directory_id: str) -> set[Key]:
    """What the metadata has in that dir, and in none of another node that is in sync."""
    image, node_id = broker.broker_dirs.image, broker.broker_dirs.node_id
    if image is None:
        return set()
    homes = {(image.names.get(key[0], ""), key[1]): image.directory(*key, node_id) for key in image.replicas}
    mine = (key for key, home in homes.items() if home == directory_id)
    return {key for key in mine if image.alone_in_sync(*key, node_id)}


def _emptied(context: DirContext, key: Key) -> Finding:
    """No line of it, in a dir with nothing: all of that was taken out, or it never got there."""
    name = f"{key[0]}-{key[1]}"
    return context.finding(
        "N27",
        f"{name} should be here by the cluster's metadata; the dir has no partition, and nothing tells "
        "whether it had records",
        Where(name),
        of=key,
        remedy=_way_back(context, name),
        severity=Severity.WARNING,
    )


def _lines(context: DirContext, checkpoint: str) -> Mapping[Key, int]:
    """Those of a file that a broker can read."""
    return {} if context.checkpoint(checkpoint).damages else context.offsets(checkpoint)


def _parsed(name: str) -> Key:
    topic, _, number = name.rpartition("-")
    return topic, int(number)


def _is_expected(broker: BrokerContext, key: Key) -> bool:
    """Not if the metadata here gives it to other nodes, or to a log dir that was not given."""
    image, node_id = broker.broker_dirs.image, broker.broker_dirs.node_id
    if image is None:
        return True
    if not image.assigned(*key, node_id):
        return False
    home = image.directory(image.ids[key[0]], key[1], node_id)
    elsewhere = {*broker.broker_dirs.registered_dirs} - {log_dir.directory_id for log_dir in broker.dirs}
    return home not in elsewhere


def _reached(context: DirContext, key: Key) -> int:
    return max(_lines(context, name).get(key, 0) for name in _CHECKPOINTS)


def _finding(broker: BrokerContext, key: Key, context: DirContext) -> Finding:
    name, reached = f"{key[0]}-{key[1]}", _reached(context, key)
    taken = "; what has its name is no directory" if name in context.log_dir.entries else ""
    known = {each: offsets[key] for each in _CHECKPOINTS if key in (offsets := _lines(context, each))}
    message = f"{name} is in none of the log dirs, but its lines are here: it reached offset {reached}{taken}"
    severity, unlisted = None, broker.broker_dirs.unlisted
    if unlisted:
        severity = Severity.WARNING
        message = f"{name} is in no log dir that could be read; it may lie in {unlisted[0]}, which could not"
    elif not reached and context.clean:
        severity, message = Severity.INFO, f"{message}, so it was empty"
    elif (doubt := _doubt(broker, context, known)) is not None:
        severity = doubt
        message = f"{message}. The broker may have deleted it: the last partition of a dir leaves its lines"
    return context.finding(
        "N27",
        message,
        Where(name, offset=reached),
        of=key,
        remedy=None if unlisted else _way_back(context, name),
        severity=severity,
        detail=known,
    )


def _way_back(context: DirContext, name: str) -> Remedy:
    """The leader's log, once nothing else has the name: nobody makes a directory there before."""
    if name in context.log_dir.entries:
        return remedies.rename(context.path, name, f"{name}.old", safety=Safety.ADVICE)
    return remedies.graft(context.path, name)


def _doubt(broker: BrokerContext, context: DirContext, known: dict[str, int]) -> Severity | None:
    """How sure it is that no broker did it, where one leaves such lines; None: for certain.

    Metadata that assigns the partition tells better, and so does any partition that is still in the dir.
    """
    if broker.broker_dirs.image is not None or context.log_dir.current:
        return None
    if RECOVERY_POINT not in known:
        return Severity.INFO
    if not EMPTY_DIR_KEEPS_ITS_LINES.of(context.release):
        return None
    return Severity.INFO if len(_lines(context, RECOVERY_POINT)) == 1 else Severity.WARNING
