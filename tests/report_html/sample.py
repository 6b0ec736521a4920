"""An audit's tables as a fleet would give them: three brokers with two log dirs, ten topics, 25 findings.

Everything conforms to `segmend.fleet.schemas.STORED`. Numbers come from a seeded generator, so
that every run draws the same picture.
"""

import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from segmend.checks import Code, Consequence, Entry, Page
from segmend.findings import Severity
from segmend.fleet.growth import ByteChange, DirGrowth
from segmend.fleet.schemas import STORED
from segmend.report.html import Past

NOW = datetime(2026, 11, 21, 3, 12, tzinfo=UTC)
NOW_MS = int(NOW.timestamp() * 1000)
HOUR, DAY = 3_600_000, 86_400_000
RUN = "2026-11-21T03:12:00Z"
DIRS = ("/var/lib/kafka/d1", "/var/lib/kafka/d2")
GIB = 1 << 30

# topic, partitions, replicas, GiB a partition, days kept, codec
TOPICS = (
    ("orders", 6, 3, 5.2, 7, "lz4"),
    ("payments.settled", 4, 3, 3.1, 30, "zstd"),
    ("clickstream", 8, 2, 9.4, 3, "lz4"),
    ("inventory-changes", 3, 3, 1.2, 400, "none"),
    ("user-profiles", 3, 3, 0.8, 900, "zstd"),
    ("search-index-updates", 4, 2, 2.0, 14, "snappy"),
    ("audit-log", 2, 3, 4.4, 365, "gzip"),
    ("iot.telemetry.raw", 4, 2, 6.1, 2, "none"),
    ("__consumer_offsets", 5, 3, 0.2, 20, "none"),
    ("__transaction_state", 3, 3, 0.04, 20, "none"),
)


def tables() -> dict[str, pa.Table]:
    """The sample audit."""
    partitions, segments, replicas = _logs(random.Random(7))
    findings = _findings()
    rows = {
        "log_dirs": _log_dirs(partitions),
        "partitions": partitions,
        "segments": segments,
        "findings": findings,
        "replicas": replicas,
        "runs": [_run(partitions, segments, findings)],
    }
    return {name: table(name, content) for name, content in rows.items()}


def table(name: str, rows: list[dict[str, Any]]) -> pa.Table:
    """Rows as the stored table of that name; a column that a row does not have is null."""
    return pa.Table.from_pylist([{"run_id": RUN, **row} for row in rows], schema=STORED[name])


def entry(title: str, advice: str = "Wait.") -> Entry:
    """L05 in a manual."""
    code = Code("L05", Severity.ERROR, title, Consequence.WRONG)
    page = Page(meaning="A batch is damaged.", broker="It dies.", advice=advice, kafka="LogSegment.")
    return Entry(code=code, level="deep", title="A batch is damaged", page=page, beside=(code,))


def finding(**fields: Any) -> dict[str, Any]:
    """A row of `findings` with something in every place."""
    plain = {
        "code": "L05",
        "severity": "error",
        "broker": 1,
        "topic": "orders",
        "partition": 0,
        "dir": DIRS[0],
    }
    return {**plain, "message": "The batch's CRC does not match.", "source": "scan", **fields}


def _log_dirs(partitions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    rows = []
    for broker in (1, 2, 3):
        for number, path in enumerate(DIRS):
            id_ = _dir_id(broker, number)
            mine = [p["bytes"] for p in partitions if p["log_dir_id"] == id_]
            free = {(3, 1): 9 * GIB, (1, 0): 52 * GIB}.get((broker, number), 91 * GIB)
            rows.append(
                {
                    "cluster_id": "hT3QzkQ5R9uXyqJk3nq2Ww",
                    "broker": broker,
                    "log_dir_id": id_,
                    "path": path,
                    "directory_id": f"dir{id_}",
                    "meta_version": 1,
                    "release": "4.3",
                    "clean_shutdown": broker != 1,
                    "partitions": len(mine),
                    "disk_total_bytes": sum(mine) + free + 6 * GIB,
                    "disk_free_bytes": free,
                }
            )
    return rows


def _dir_id(broker: int, number: int) -> int:
    return 2 * broker + number


def _logs(rng: random.Random) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]:
    partitions: list[dict[str, Any]] = []
    segments: list[dict[str, Any]] = []
    replicas: list[dict[str, Any]] = []
    for topic, count, copies, gib, days, codec in TOPICS:
        for partition in range(count):
            size = int(gib * GIB * rng.uniform(0.55, 1.4))
            end = int(size / rng.uniform(180, 900))
            for broker in _holders(partition, copies):
                row = _partition(rng, topic, partition, broker, size, end, days)
                partitions.append(row)
                segments += _segments(row, codec)
                replicas.append(_replica(row, end, copies, _holders(partition, copies)))
    return partitions, segments, replicas


def _holders(partition: int, copies: int) -> list[int]:
    return sorted((partition + n) % 3 + 1 for n in range(copies))


def _behind(topic: str, partition: int, broker: int) -> int:
    return {
        ("clickstream", 2, 3): 18_204,
        ("iot.telemetry.raw", 1, 2): 96_771,
        ("orders", 1, 3): 311,
        ("payments.settled", 2, 2): 4,
    }.get((topic, partition, broker), 0)


def _partition(
    rng: random.Random, topic: str, partition: int, broker: int, size: int, end: int, days: int
) -> dict[str, Any]:
    oldest = NOW_MS - int(days * DAY * rng.uniform(0.9, 1.0))
    newest = NOW_MS - rng.randrange(4 * HOUR, 9 * HOUR)
    if (topic, partition) == ("iot.telemetry.raw", 2):
        newest = 9_223_372_036_854_775
    if topic == "inventory-changes" and partition == 0:
        oldest = 1_700_000
    leo = end - _behind(topic, partition, broker)
    return {
        "broker": broker,
        "log_dir_id": _dir_id(broker, (partition + len(topic)) % 2),
        "topic": topic,
        "partition": partition,
        "dir_name": f"{topic}-{partition}",
        "kind": "current",
        "log_start_offset": end // 3,
        "high_watermark": leo - 2,
        "recovery_point": leo,
        "log_end_offset": leo,
        "last_epoch": 18,
        "segments": max(1, size // GIB),
        "bytes": size + 41_000,
        "log_bytes": size,
        "records": end - end // 3,
        "batches": end // 90,
        "min_timestamp_ms": oldest,
        "max_timestamp_ms": newest,
        "active_segment": end - 900,
    }


def _segments(row: dict[str, Any], codec: str) -> list[dict[str, Any]]:
    number = row["segments"]
    keys = ("broker", "log_dir_id", "topic", "partition")
    old = row["topic"] == "audit-log"
    return [
        {
            **{key: row[key] for key in keys},
            "segment": row["log_start_offset"] + n * 1_000,
            "file": f"{row['dir_name']}/{row['log_start_offset'] + n * 1_000:020}.log",
            "log_bytes": GIB - 4096 if n < number - 1 else row["log_bytes"] % GIB,
            "is_active": n == number - 1,
            "records": row["records"] // number,
            "batches": row["batches"] // number,
            "crc_checked": True,
            "codecs": [codec] if n else sorted({codec, "none"}),
            "magics": [1] if old and not n else [2],
        }
        for n in range(number)
    ]


def _replica(row: dict[str, Any], end: int, copies: int, holders: list[int]) -> dict[str, Any]:
    behind = end - row["log_end_offset"]
    apart = (row["topic"], row["partition"], row["broker"]) == ("orders", 1, 3)
    lost = (row["topic"], row["partition"]) == ("search-index-updates", 3)
    keys = (
        "broker",
        "log_dir_id",
        "topic",
        "partition",
        "log_start_offset",
        "high_watermark",
        "log_end_offset",
    )
    return {
        **{key: row[key] for key in (*keys, "last_epoch", "bytes")},
        "replicas": len(holders),
        "expected_replicas": copies + lost,
        "max_log_end_offset": end,
        "behind": behind,
        "diverged_at": 4_733_120 if apart else None,
        "status": "diverged" if apart else "behind" if behind else "in-step",
    }


def _findings() -> list[dict[str, Any]]:
    lines = (Path(__file__).parent / "findings.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def _run(
    partitions: list[dict[str, Any]], segments: list[dict[str, Any]], findings: list[dict[str, Any]]
) -> dict[str, Any]:
    by_severity = [f["severity"] for f in findings]
    return {
        "started": NOW,
        "seconds": 412.6,
        "version": "0.1.0",
        "driver": "spark",
        "level": "deep",
        "paths": ["/brokers/1/d*", "/brokers/2/d*", "/brokers/3/d*"],
        "brokers": 3,
        "log_dirs": 6,
        "partitions": len(partitions),
        "segments": len(segments),
        "errors": by_severity.count("error"),
        "warnings": by_severity.count("warning"),
        "infos": by_severity.count("info"),
        "new_findings": 9,
        "gone_findings": 2,
        "skipped": ["remote log storage: no plugin is configured"],
        "exit_code": 4,
    }


def past(audits: int = 12) -> Past:
    """Daily audits up to the sample; one of them saw a log dir less, and some were of other paths."""
    last = _run([], [], [])
    runs = [
        {**last, "started": NOW - timedelta(days=age), "bytes": (900 - 11 * age + age % 3 * 5) * GIB,
         "log_dirs": 5 if age == 4 else 6, "errors": age % 3, "warnings": 4}
        for age in reversed(range(audits))
    ]  # fmt: skip
    other = {**runs[0], "paths": ["/elsewhere"]}
    grown = [
        DirGrowth(
            cluster_id="hT3QzkQ5R9uXyqJk3nq2Ww", broker=number // 2 + 1,
            path=DIRS[number % 2], disk_free=free * GIB, disk_per_day=per_day,
            logs=ByteChange(before=100 * GIB, now=(100 + number) * GIB, per_day=number * GIB / 11),
        )
        for number, (free, per_day) in enumerate([(9, 3.0 * GIB), (52, GIB / 2), (91, None), (91, -5.0)])
    ]  # fmt: skip
    return Past(runs=[other, *runs], dirs=grown, since=runs[0])


HOSTILE = (
    "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=2>\"'&{{7*7}}" + "w" * 160
)


def hostile() -> dict[str, pa.Table]:
    """Names and messages that would like to be markup, and numbers that no disk should have."""
    place = {"broker": 1, "log_dir_id": 0, "topic": HOSTILE, "partition": 2_147_483_647}
    big = 9_223_372_036_854_775_807
    log_dir = {"broker": 1, "log_dir_id": 0, "path": HOSTILE, "release": HOSTILE}
    partition = {**place, "dir_name": HOSTILE, "kind": HOSTILE, "log_bytes": big // 4, "records": big}
    said = {name: HOSTILE * 8 for name in ("message", "broker_says", "remedy_command")}
    where = {"dir": HOSTILE, "file": HOSTILE, "position": -big, "offset": big}
    ends = {"log_start_offset": -1, "max_log_end_offset": big, "behind": big, "expected_replicas": 99}
    rows: dict[str, list[dict[str, Any]]] = {
        "log_dirs": [
            {**log_dir, "disk_total_bytes": 0, "disk_free_bytes": -1},
            *({**log_dir, "log_dir_id": n, "cluster_id": c} for n, c in ((1, HOSTILE), (2, " of &x="))),
        ],
        "partitions": [{**partition, "min_timestamp_ms": -big, "max_timestamp_ms": big}],
        "segments": [{**place, "log_bytes": -1, "codecs": [HOSTILE], "magics": [-9, 127]}],
        "findings": [finding(**place, **said, **where, code="<b>")],
        "replicas": [
            {**place, **ends, "broker": 1, "log_end_offset": 0, "status": HOSTILE},
            {**place, **ends, "broker": 2, "log_end_offset": big, "status": "diverged", "diverged_at": 0},
        ],
        "runs": [{"started": NOW, "seconds": -1.0, "paths": [HOSTILE], "skipped": [HOSTILE]}],
    }
    return {name: table(name, content) for name, content in rows.items()}


def big_fleet(*, brokers: int, findings: int, in_a_dir: int = 8, words: int = 400) -> dict[str, pa.Table]:
    """Many brokers with four dirs of eight partitions, long names, and the worst text to escape."""
    topic = "a-topic-with-a-very-long-name-" + "x" * 200
    dirs = [
        {
            "broker": b,
            "log_dir_id": 4 * b + d,
            "path": f"/mnt/{d}",
            "disk_total_bytes": 100,
            "disk_free_bytes": d,
        }
        for b in range(brokers)
        for d in range(4)
    ]
    places = [
        {
            "broker": row["broker"],
            "log_dir_id": row["log_dir_id"],
            "topic": f"{topic}{n}",
            "partition": row["log_dir_id"],
        }
        for row in dirs
        for n in range(in_a_dir)
    ]
    ends = {
        "log_end_offset": 1,
        "max_log_end_offset": 9,
        "behind": 8,
        "expected_replicas": 3,
        "status": "behind",
    }
    text = "'<&>\"" * words
    said = {"message": text, "broker_says": text, "remedy_command": text[:1000], "remedy_safety": "lossy"}
    rows = {
        "log_dirs": dirs,
        "partitions": [
            {**p, "kind": "current", "log_bytes": n, "min_timestamp_ms": n} for n, p in enumerate(places)
        ],
        "segments": [{**p, "log_bytes": 1 << 20, "codecs": ["lz4"], "magics": [2]} for p in places],
        "findings": [
            finding(**places[n % len(places)] | said, code=f"L{n % 20:02}") for n in range(findings)
        ],
        "replicas": [{**p, **ends} for p in places],
    }
    return {name: table(name, content) for name, content in rows.items()}
