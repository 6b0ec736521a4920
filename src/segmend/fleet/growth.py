"""How log dirs, disks and topics grew between two audits of one OUT, and when a disk is full at that rate.

The rate of a disk is what its free space lost, whoever took it: several log dirs and strangers' files
may share it. The rate of a log dir or topic is what its files gained, all replicas together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from segmend.errors import UsageError
from segmend.fleet import delta
from segmend.fleet.typed_rows import LogDirRow, RunRow
from segmend.frozen import frozen

DAY_SECONDS: Final = 86_400
LEAST_SECONDS: Final = 3600
"""Two audits that lie closer together tell of no rate."""
LONGEST_SECONDS: Final = 30 * DAY_SECONDS
"""Without being told, an audit is compared with the oldest one of this time."""


@frozen
class ByteChange:
    """Bytes before and now; `per_day` is None where the audits lie too close together."""

    before: int
    now: int
    per_day: float | None


@frozen
class DirGrowth:
    """One log dir and its disk; `days_until_full` is None where the disk does not fill, or nobody knows."""

    cluster_id: str | None
    broker: int
    path: str
    logs: ByteChange
    disk_free: int | None
    disk_per_day: float | None

    @property
    def days_until_full(self) -> float | None:
        """At the rate of the time between the audits."""
        if self.disk_free is None or self.disk_per_day is None or self.disk_per_day <= 0:
            return None
        return self.disk_free / self.disk_per_day


@frozen
class TopicGrowth:
    """All replicas of one topic of one cluster."""

    cluster_id: str | None
    topic: str
    logs: ByteChange


def earlier_of(rows: Sequence[RunRow], wanted: str | None) -> RunRow:
    """The row of `runs` to compare the newest with; UsageError where there is none, or not one."""
    newest = rows[-1]
    named = [row for row in rows[:-1] if wanted is None or row["run_id"].startswith(wanted)]
    if not named or (wanted is not None and len(named) > 1):
        raise UsageError(f"an earlier run is needed; there are: {', '.join(row['run_id'] for row in rows)}")
    recent = (row for row in named if wanted or 0 <= seconds_between(row, newest) <= LONGEST_SECONDS)
    return next(recent, named[-1])


def seconds_between(before: RunRow, after: RunRow) -> float:
    """From the beginning of one run to that of the other."""
    return (after["started"] - before["started"]).total_seconds()


def dirs(out: str, before: RunRow, after: RunRow) -> list[DirGrowth]:
    """The log dirs that both audits could list, the disk that is full soonest in front."""
    seconds = seconds_between(before, after)
    then, now = (_listed(out, row["run_id"]) for row in (before, after))
    grown = [
        DirGrowth(
            cluster_id=row["cluster_id"], broker=row["broker"], path=path,
            logs=_change(then[path]["bytes"], row["bytes"], seconds),
            disk_free=row["disk_free_bytes"], disk_per_day=_taken(then[path], row, seconds),
        )
        for path, row in now.items() if path in then
    ]  # fmt: skip
    return sorted(grown, key=_soonest_full)


def in_one_only(out: str, before: RunRow, after: RunRow) -> list[str]:
    """The log dirs that only one of the audits could list: what topics gained or lost has theirs in it."""
    then, now = (_listed(out, row["run_id"]) for row in (before, after))
    return sorted(then.keys() ^ now.keys())


def _soonest_full(each: DirGrowth) -> tuple[float, int, str]:
    days = each.days_until_full
    return float("inf") if days is None else days, each.broker, each.path


def _listed(out: str, run_id: str) -> dict[str, LogDirRow]:
    rows = delta.read(out, "log_dirs", run_id=run_id).to_pylist()
    return {row["path"]: row for row in rows if row["partitions"] is not None}


def _taken(then: LogDirRow, now: LogDirRow, seconds: float) -> float | None:
    """What the disk loses of its free space a day; None where it is unknown, or another disk by now."""
    whole, before, after = then["disk_total_bytes"], then["disk_free_bytes"], now["disk_free_bytes"]
    if whole is None or before is None or after is None or whole != now["disk_total_bytes"]:
        return None
    return _change(after, before, seconds).per_day


def _change(before: int, now: int, seconds: float) -> ByteChange:
    rate = (now - before) * DAY_SECONDS / seconds if seconds >= LEAST_SECONDS else None
    return ByteChange(before=before, now=now, per_day=rate)


def topics(out: str, before: RunRow, after: RunRow) -> Iterator[TopicGrowth]:
    """Every topic of either audit, the one that gained most in front."""
    seconds = seconds_between(before, after)
    then, now = (_sums(out, row["run_id"]) for row in (before, after))
    keys = sorted(then.keys() | now.keys(), key=lambda key: (then.get(key, 0) - now.get(key, 0), str(key)))
    for cluster_id, topic in keys:
        key = cluster_id, topic
        logs = _change(then.get(key, 0), now.get(key, 0), seconds)
        yield TopicGrowth(cluster_id=cluster_id, topic=topic, logs=logs)


def _sums(out: str, run_id: str) -> Counter[tuple[str | None, str]]:
    totals: Counter[tuple[str | None, str]] = Counter()
    for rows in delta.parts(out, "partitions", run_id=run_id, columns=["cluster_id", "topic", "log_bytes"]):
        for row in rows.group_by(["cluster_id", "topic"]).aggregate([("log_bytes", "sum")]).to_pylist():
            totals[row["cluster_id"], row["topic"]] += row["log_bytes_sum"] or 0
    return totals
