"""Read off the dump and the directory which features a golden really holds, for the manifest."""

from itertools import pairwise
from pathlib import Path
from typing import Any

Files = dict[str, dict[str, list[Any]]]


def from_batches(batches: list[dict[str, Any]]) -> set[str]:
    """Formats, codecs and flags of batches."""
    found: set[str] = set()
    for batch in batches:
        magic = batch.get("magic")
        found |= {f"magic-{magic}", f"codec-{batch.get('codec', 'none')}-v{magic}"}
        if batch.get("isTransactional"):
            found.add("transactional")
        elif batch.get("producerId", -1) >= 0:
            found.add("idempotent")
        if batch.get("isControl"):
            found.add("control-batches")
        if batch.get("count") == 0:
            found.add("empty-batches")
        if batch.get("baseOffset") == batch.get("lastOffset"):
            found.add("single-record-batches")
        if batch.get("partitionLeaderEpoch", 0) > 0:
            found.add("leader-epochs")
        if batch.get("deleteHorizonMs") is not None:
            found.add("delete-horizon")
        if batch.get("timestampType") == "LogAppendTime":
            found.add("log-append-time")
    return found


def from_records(records: list[dict[str, Any]]) -> set[str]:
    """Shapes of keys, values, headers, times."""
    found: set[str] = set()
    for record in records:
        if "codec" in record:
            found |= {f"magic-{record['magic']}", f"codec-{record.get('codec')}-v{record['magic']}"}
        for part in ("key", "value"):
            if record.get(part) == "":
                found.add(f"empty-{part}")
            elif record.get(f"{part}Size") == -1:
                found.add(f"null-{part}")
        if record.get("headerKeys"):
            found.add("headers")
        if "endTxnMarker" in record:
            found.add(f"txn-{str(record['endTxnMarker']).lower()}")
        moment = record.get("timestamp", -1)
        if record.get("timestampType") == "CreateTime" and 0 <= moment < 10**12:
            found.add("ancient-times")
        if moment > 4 * 10**12:
            found.add("future-times")
    return found


def is_empty_partition(path: Path) -> bool:
    """Whether it is a partition whose only segment has no byte."""
    if not path.name.rpartition("-")[2].isdigit():
        return False
    return [log.stat().st_size for log in path.glob("*.log")] == [0]


def from_directory(path: Path) -> set[str]:
    """What a directory's name and files tell."""
    found = {suffix for suffix in ("-future", "-delete", "-stray") if path.name.endswith(suffix)}
    if path.name.startswith("__"):
        found.add(path.name.rpartition("-")[0])
    if is_empty_partition(path):
        found.add("empty-partition")
    return found


def from_file(path: Path) -> set[str]:
    """What a file's name and size tell."""
    size = path.stat().st_size
    signs = {
        "deleted-files": path.suffix == ".deleted",
        "clean-marker": path.name == ".kafka_cleanshutdown",
        "metadata-snapshot": path.suffix == ".checkpoint" and path.parent.name == "__cluster_metadata-0",
        "aborted-transactions": path.suffix == ".txnindex" and size > 0,
        "preallocated-10MiB-indexes": path.suffix == ".index" and size == 10 * 1024 * 1024,
    }
    return {name for name, there in signs.items() if there}


def from_offsets(offsets: dict[str, int]) -> set[str]:
    """What the offsets of a partition tell."""
    found = {"deleted-head"} if offsets["log_start_offset"] > 0 else set()
    end = offsets["log_end_offset"]
    return found | ({"open-transaction"} if offsets.get("last_stable_offset", end) < end else set())


def from_compacted(name: str, records: list[dict[str, Any]]) -> set[str]:
    """Whether a segment of the compacted topic has lost records, and kept tombstones."""
    if "/compacted-0/" not in name:
        return set()
    if not any(later - earlier > 1 for earlier, later in pairwise(row["offset"] for row in records)):
        return set()
    return {"compacted"} | ({"tombstones"} if any(row.get("valueSize") == -1 for row in records) else set())


def features(root: Path, dumped: Files, seen: dict[str, Any]) -> list[str]:
    """All features, sorted."""
    found: set[str] = set()
    for path in root.rglob("*"):
        found |= from_directory(path) if path.is_dir() else from_file(path)
    for name, content in dumped.items():
        records = content.get("records", [])
        found |= from_batches(content.get("batches", [])) | from_records(records)
        found |= from_compacted(name, records)
    for offsets in seen["partitions"].values():
        found |= from_offsets(offsets)
    if len(list(root.glob("*/d*"))) > len(list(root.glob("*"))):
        found.add("two-log-dirs")
    return sorted(found - {"magic-None", "codec-none-vNone"})
