"""Read off the dump and the directory which features a golden really holds, for the manifest."""

from pathlib import Path
from typing import Any

Files = dict[str, dict[str, list[Any]]]


def from_batches(batches: list[dict[str, Any]]) -> set[str]:
    """Formats, codecs and flags of batches."""
    found: set[str] = set()
    for batch in batches:
        magic = batch.get("magic")
        found |= {f"magic-{magic}", f"codec-{batch.get('codec')}-v{magic}"}
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
        if "magic" in record:
            found |= {f"magic-{record['magic']}", f"codec-{record.get('codec')}-v{record['magic']}"}
        for part in ("key", "value"):
            if record.get(part) == "":
                found.add(f"empty-{part}")
            elif part not in record and "endTxnMarker" not in record:
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


def from_tree(root: Path) -> set[str]:
    """Leftovers and internal topics, from names."""
    found: set[str] = set()
    for path in root.rglob("*"):
        for suffix in ("-future", "-delete", "-stray"):
            if path.is_dir() and path.name.endswith(suffix):
                found.add(suffix)
        if path.name.endswith(".deleted"):
            found.add("deleted-files")
        if path.name == ".kafka_cleanshutdown":
            found.add("clean-marker")
        if path.is_dir() and path.name.startswith("__"):
            found.add(path.name.rpartition("-")[0])
        if path.suffix == ".checkpoint" and path.parent.name == "__cluster_metadata-0":
            found.add("metadata-snapshot")
        if path.suffix == ".txnindex" and path.stat().st_size:
            found.add("aborted-transactions")
        if path.suffix == ".index" and path.stat().st_size == 10 * 1024 * 1024:
            found.add("preallocated-10MiB-indexes")
        if path.is_dir() and path.name.rpartition("-")[2].isdigit() and [
            log.stat().st_size for log in path.glob("*.log")
        ] == [0]:
            found.add("empty-partition")
    return found


def features(root: Path, dumped: Files, seen: dict[str, Any]) -> list[str]:
    """All features, sorted."""
    found = from_tree(root)
    for content in dumped.values():
        found |= from_batches(content.get("batches", [])) | from_records(content.get("records", []))
    for name, content in dumped.items():
        if name.endswith(".snapshot"):
            rows = content.get("entries", [])
            if any(isinstance(row.get("currentTxnFirstOffset"), int) and row["currentTxnFirstOffset"] >= 0 for row in rows):
                found.add("open-transaction")
        if "/compacted-0/" in name and name.endswith(".log"):
            offsets = [row["offset"] for row in content.get("records", [])]
            if any(later - earlier > 1 for earlier, later in zip(offsets, offsets[1:], strict=False)):
                found.add("compacted")
                if any(row.get("value") is None for row in content["records"]):
                    found.add("tombstones")
    for offsets in seen["partitions"].values():
        if offsets["log_start_offset"] > 0:
            found.add("deleted-head")
        if offsets.get("last_stable_offset", offsets["log_end_offset"]) < offsets["log_end_offset"]:
            found.add("open-transaction")
    if len(list(root.glob("*/d*"))) > len(list(root.glob("*"))):
        found.add("two-log-dirs")
    return sorted(found - {"magic-None", "codec-None-vNone"})
