"""The counts of an audit as a monitor reads them: Prometheus' text format, or the same samples as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final, Literal

from segmend.fleet.audit import AuditOutcome
from segmend.fleet.typed_rows import LogDirRow
from segmend.frozen import frozen

_HELP: Final = {
    "segmend_audit_started_timestamp_seconds": "When the audit began.",
    "segmend_audit_duration_seconds": "How long it took.",
    "segmend_audit_exit_code": "As the command ended: 0 nothing wrong, 4 findings, 8 something unreadable.",
    "segmend_audit_findings": "Findings by severity.",
    "segmend_audit_findings_by_code": "Findings by code (segmend explain CODE).",
    "segmend_audit_new_findings": "Findings that the audit before did not have.",
    "segmend_audit_unreadable": "Paths that could not be looked at.",
    "segmend_audit_partitions": "Partition directories that were looked at.",
    "segmend_audit_bytes": "Bytes of the logs that were looked at.",
    "segmend_audit_carried_bytes": "Bytes of logs that were taken over from an earlier audit, unread.",
    "segmend_log_dir_bytes": "Bytes of the logs of a log dir.",
    "segmend_log_dir_disk_free_bytes": "Free bytes of its disk.",
    "segmend_log_dir_disk_total_bytes": "Size of its disk.",
}
_DIR_BYTES: Final[Sequence[Literal["bytes", "disk_free_bytes", "disk_total_bytes"]]] = (
    "bytes", "disk_free_bytes", "disk_total_bytes",
)  # fmt: skip


@frozen
class Metric:
    name: str
    value: float
    labels: Mapping[str, str]


def samples(outcome: AuditOutcome, dirs: Iterable[LogDirRow]) -> list[Metric]:
    """Every number that is known, sorted by name; `dirs` are the audit's rows of `log_dirs`."""
    row = outcome.row
    known = [
        _sample("audit_started_timestamp_seconds", row["started"].timestamp()),
        _sample("audit_duration_seconds", row["seconds"]),
        _sample("audit_exit_code", row["exit_code"]),
        _sample("audit_partitions", row["partitions"]),
        _sample("audit_carried_bytes", row["carried_bytes"]),
        _sample("audit_bytes", row["bytes"] - row["carried_bytes"]),
        _sample("audit_findings", row["errors"], severity="error"),
        _sample("audit_findings", row["warnings"], severity="warning"),
        _sample("audit_findings", row["infos"], severity="info"),
        *(_sample("audit_findings_by_code", count, code=code) for code, count in outcome.codes.items()),
        _sample("audit_unreadable", len(outcome.unreadable)),
        *_of_dirs(dirs),
    ]
    new = row["new_findings"]
    if new is not None:
        known.append(_sample("audit_new_findings", new))
    return sorted(known, key=lambda sample: (sample.name, sorted(sample.labels.items())))


def _of_dirs(dirs: Iterable[LogDirRow]) -> Iterator[Metric]:
    for each in dirs:
        cluster = {"cluster": each["cluster_id"]} if each["cluster_id"] else {}
        labels = cluster | {"broker": str(each["broker"]), "dir": each["path"]}
        for name in _DIR_BYTES:
            value = each[name]
            if value is not None:
                yield _sample(f"log_dir_{name}", value, **labels)


def _sample(name: str, value: float, **labels: str) -> Metric:
    return Metric(name=f"segmend_{name}", value=value, labels=labels)


def prometheus(given: Iterable[Metric]) -> str:
    """The text format of a node exporter's textfile directory."""
    lines = []
    for name, same in groupby(given, lambda sample: sample.name):
        lines += [f"# HELP {name} {_HELP[name]}", f"# TYPE {name} gauge"]
        for each in same:
            labels = ",".join(f'{key}="{_escaped(value)}"' for key, value in each.labels.items())
            value = repr(each.value) if isinstance(each.value, float) else str(each.value)
            lines.append(f"{name}{{{labels}}} {value}" if labels else f"{name} {value}")
    return "".join(f"{line}\n" for line in lines)


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def as_json(given: Iterable[Metric]) -> str:
    """A list of objects."""
    rows = [{"name": each.name, "labels": dict(each.labels), "value": each.value} for each in given]
    return json.dumps(rows, indent=2) + "\n"


FORMATS: Final[dict[str, Callable[[Iterable[Metric]], str]]] = {"prom": prometheus, "json": as_json}
"""By the ending of the file's name."""
