"""Rows of the fleet's tables from the model of a log dir: names as in `schemas`, -1 and null kept apart."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping

import pyarrow as pa

from segmend.checks.context import PartitionContext
from segmend.checks.segment_view import SegmentView
from segmend.findings import Finding
from segmend.fleet.listing import Place
from segmend.fleet.schemas import STORED, TABLES
from segmend.fleet.settled import Settled
from segmend.formats import epoch_checkpoint, offset_checkpoint
from segmend.formats.batch import CODEC_NAMES
from segmend.kernel.types import SegmentScan
from segmend.logdir.file_system import Unreadable, or_none
from segmend.logdir.files import FileEntry
from segmend.logdir.log_dir import LogDir
from segmend.logdir.partition_dir import PartitionDir

Row = dict[str, object]
"""By the columns of its table, which say what each holds."""

_OWN_CHECKPOINTS = ("current", "cluster-metadata")


def table(name: str, rows: list[Row]) -> pa.Table:
    """The rows as the stored table `name` without its run_id; names that are no UTF-8 are made so."""
    schema = pa.schema(list(STORED[name])[1:]) if name in STORED else TABLES[name]
    try:
        return pa.Table.from_pylist(rows, schema=schema)
    except UnicodeEncodeError:
        return pa.Table.from_pylist([_printable(row) for row in rows], schema=schema)


def _printable(row: Row) -> Row:
    return {name: _clean(value) for name, value in row.items()}


def _clean(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    return tuple(_clean(item) for item in value) if isinstance(value, tuple) else value


def dir_keys(place: Place) -> Row:
    """The columns that say which log dir a row is of."""
    return {"cluster_id": place.cluster_id, "broker": place.broker, "log_dir_id": place.log_dir_id}


def partition_keys(place: Place, partition: PartitionDir) -> Row:
    """The same for a partition."""
    return dir_keys(place) | {"topic": partition.topic, "partition": partition.partition}


def log_dir_row(place: Place, log_dir: LogDir | None, *, release: str, bytes: int) -> Row:
    """A row of `log_dirs`; the dir is None when it could not be listed."""
    row = dir_keys(place) | {"path": place.path, "release": release, "bytes": bytes}
    if log_dir is None:
        return row
    meta = log_dir.meta_properties.value
    space = or_none(log_dir.space)
    return row | {
        "directory_id": log_dir.directory_id,
        "meta_version": meta.version if meta else None,
        "clean_shutdown": log_dir.is_clean,
        "partitions": len(log_dir.partitions),
        "disk_total_bytes": space.total if space else None,
        "disk_free_bytes": space.available if space else None,
    }


def checkpoint_rows(place: Place, log_dir: LogDir) -> Iterator[Row]:
    """Every line of the dir's offset checkpoints."""
    for name in offset_checkpoint.FILE_NAMES:
        loaded = log_dir.offset_checkpoint(name)
        for line, entry in enumerate(loaded.value.entries if loaded.value else ()):
            yield dir_keys(place) | {
                "file": name, "version": 0, "line": line,
                "topic": entry.topic, "partition": entry.partition, "offset": entry.offset,
            }  # fmt: skip


def epoch_rows(place: Place, partition: PartitionDir) -> Iterator[Row]:
    """Every line of the partition's leader-epoch-checkpoint."""
    value = partition.leader_epochs.value
    for line, entry in enumerate(value.entries if value else ()):
        yield partition_keys(place, partition) | {
            "file": f"{partition.name}/{epoch_checkpoint.FILE_NAME}", "version": 0, "line": line,
            "epoch": entry.epoch, "offset": entry.start_offset,
        }  # fmt: skip


def segment_row(keys: Row, view: SegmentView, scan: SegmentScan | None, settled: Settled) -> Row:
    """A row of `segments`, after `keys` of its partition; without a scan only what names and sizes say."""
    statuses = [each and or_none(each.stat) for each in settled.of(view.segment)]
    status = statuses[0]
    _, index, timeindex, txnindex = [each and each.size for each in statuses]
    row = {
        **keys,
        "segment": view.base_offset,
        "file": f"{view.context.partition.name}/{view.log.name}",
        "is_active": view.is_active,
        "log_bytes": status.size if status else None,
        "mtime_ms": status.mtime_ns // 1_000_000 if status else None,
        "index_bytes": index,
        "timeindex_bytes": timeindex,
        "txnindex_bytes": txnindex,
    }
    if scan:
        row.update(_scanned(scan))
    return row


def _scanned(scan: SegmentScan) -> Row:
    return {
        "valid_bytes": scan.valid_bytes,
        "batches": scan.batches,
        "records": scan.records,
        "first_offset": scan.first_offset,
        "last_offset": scan.last_offset,
        "next_offset": scan.next_offset,
        "min_timestamp_ms": scan.min_timestamp,
        "max_timestamp_ms": scan.max_timestamp,
        "offset_of_max_timestamp": scan.offset_of_max_timestamp,
        "first_epoch": scan.epochs[0][0] if scan.epochs else -1,
        "last_epoch": scan.epochs[-1][0] if scan.epochs else -1,
        "magics": [magic for magic, _ in scan.magics],
        "codecs": [codec_name(codec) for codec, _ in scan.codecs],
        "crc_checked": scan.crc_checked,
        "problems": sum(count for _, count in scan.problem_counts),
    }


def codec_name(codec: int) -> str:
    """none, gzip, snappy, lz4 or zstd; `codec-5` for what no release has."""
    return CODEC_NAMES[codec] if 0 <= codec < len(CODEC_NAMES) else f"codec-{codec}"


def partition_row(place: Place, context: PartitionContext, settled: Settled, *, has_holes: bool) -> Row:
    """A row of `partitions`, from the scans of its segments where there are any."""
    partition, log_dir = context.partition, context.dir.log_dir
    key = (partition.topic, partition.partition)
    own = partition.kind in _OWN_CHECKPOINTS
    bases, metadata = partition.base_offsets, partition.partition_metadata.value
    cleaned = log_dir.cleaner_offsets.get(key) if own else None
    sizes = {name: size_of(entry) or 0 for name, entry in settled.files.items()}
    epochs = partition.leader_epochs.value
    entries = [{"epoch": e.epoch, "start_offset": e.start_offset} for e in epochs.entries] if epochs else None
    checkpointed = log_dir.log_start_offsets.get(key) if own else None
    return partition_keys(place, partition) | _totals(context) | {
        "dir_name": partition.name,
        "kind": partition.kind,
        "topic_id": metadata.topic_id if metadata else None,
        "log_start_offset": max(checkpointed or 0, bases[0]) if bases else checkpointed,
        "high_watermark": log_dir.high_watermarks.get(key) if own else None,
        "recovery_point": log_dir.recovery_points.get(key) if own else None,
        "cleaned_offset": cleaned,
        "leader_epochs": entries,
        "compacted": cleaned is not None or has_holes,
        "segments": len(bases),
        "first_segment": bases[0] if bases else None,
        "active_segment": bases[-1] if bases else None,
        "files": len(sizes),
        "bytes": sum(sizes.values()),
        "log_bytes": sum(sizes.get(name, 0) for name in partition.layout.logs.values()),
    }  # fmt: skip


def _totals(context: PartitionContext) -> Row:
    scans = [scan for scan in context.scans if scan is not None]
    filled = [scan for scan in scans if scan.batches]
    epochs = [scan.epochs[-1][0] for scan in filled if scan.epochs]
    return {
        "log_end_offset": _log_end_offset(context),
        "last_epoch": epochs[-1] if epochs else -1,
        "batches": sum(scan.batches for scan in scans),
        "records": sum(scan.records for scan in scans),
        "min_timestamp_ms": min((scan.min_timestamp for scan in filled), default=-1),
        "max_timestamp_ms": max((scan.max_timestamp for scan in filled), default=-1),
    }


def _log_end_offset(context: PartitionContext) -> int | None:
    if context.partition.unreadable:
        return None
    try:
        return context.log_end_offset
    except Unreadable:
        return None


def finding_row(finding: Finding, place: Place, source: str) -> Row:
    partition = None if finding.topic is None else finding.partition
    remedy = finding.remedy
    return dir_keys(place) | {
        "code": finding.code,
        "severity": finding.severity.value,
        "topic": finding.topic,
        "partition": partition,
        "segment": finding.segment,
        "dir": finding.dir,
        "file": finding.file,
        "position": finding.position,
        "offset": finding.offset,
        "message": finding.message,
        "broker_says": finding.broker_says,
        "broker_effect": finding.broker_effect and finding.broker_effect.to_json(),
        "remedy_command": remedy.command if remedy else None,
        "remedy_safety": remedy.safety.value if remedy else None,
        "detail": [(name, _text(value)) for name, value in _detail(finding).items()],
        "source": source,
        "fingerprint": _fingerprint(finding, place),
    }


def _detail(finding: Finding) -> Mapping[str, object]:
    cause = finding.cause
    return finding.detail if cause is None else {**finding.detail, "cause": cause.to_json()}


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _fingerprint(finding: Finding, place: Place) -> str:
    """The same for the same fault in another run, also when the disks are mounted elsewhere."""
    where = {
        "code": finding.code,
        "cluster": place.cluster_id,
        "broker": place.broker,
        "dir": place.path.rstrip("/").rpartition("/")[2],
        "topic": finding.topic,
        "partition": finding.partition,
        "file": finding.file,
        "position": finding.position,
    }
    text = json.dumps(where, sort_keys=True)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def size_of(entry: FileEntry | None) -> int | None:
    """Bytes of a file; None when it is missing or refused."""
    if entry is None:
        return None
    try:
        return entry.size
    except Unreadable:
        return None
