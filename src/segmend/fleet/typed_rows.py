"""Rows of the fleet's tables, and of its joins, as those have them who read them by name.

Names and types are those of `schemas`, a test says so; who asks for some columns only gets no others.
"""

from __future__ import annotations

from datetime import datetime
from typing import TypedDict


class RunRow(TypedDict, total=False):
    """A row of `runs`."""

    run_id: str
    started: datetime
    seconds: float
    version: str | None
    driver: str
    level: str
    paths: list[str]
    brokers: int
    log_dirs: int
    partitions: int
    segments: int
    batches: int
    records: int
    bytes: int
    errors: int
    warnings: int
    infos: int
    new_findings: int | None
    gone_findings: int | None
    since_run: str | None
    carried_segments: int
    carried_bytes: int
    skipped: list[str]
    exit_code: int


class LogDirRow(TypedDict, total=False):
    """A row of `log_dirs`."""

    run_id: str
    cluster_id: str | None
    broker: int
    log_dir_id: int
    path: str
    directory_id: str | None
    meta_version: int | None
    release: str
    clean_shutdown: bool | None
    partitions: int | None
    bytes: int
    disk_total_bytes: int | None
    disk_free_bytes: int | None


class ScanRow(TypedDict):
    """What `carried` reads of a row of `scans`."""

    segment: int
    dir: str
    dir_name: str
    level: str
    mark: str
    read_by: str
    scan: str
    has_holes: bool
    buckets: list[list[int]]


class EffectRow(TypedDict):
    """What a start does to what a finding is about."""

    effect: str
    offset: int | None
    records_lost: int | None
    bytes_lost: int | None
    text: str
    basis: str


class StoredFinding(TypedDict, total=False):
    """A row of `findings`."""

    run_id: str
    code: str
    severity: str
    cluster_id: str | None
    broker: int
    log_dir_id: int
    topic: str | None
    partition: int | None
    segment: int | None
    dir: str
    file: str | None
    position: int | None
    offset: int | None
    message: str
    broker_says: str | None
    broker_effect: EffectRow | None
    remedy_command: str | None
    remedy_safety: str | None
    detail: list[tuple[str, str]] | None
    source: str
    fingerprint: str
    carried_from: str | None


class RemedyObject(TypedDict):
    """How a finding is mended."""

    command: str
    safety: str | None


class CauseObject(TypedDict):
    """The finding that explains another one."""

    code: str
    file: str | None


class FindingObject(TypedDict):
    """A finding as a line of `--json`."""

    type: str
    code: str
    severity: str
    dir: str
    topic: str | None
    partition: int | None
    file: str | None
    position: int | None
    offset: int | None
    message: str
    broker_says: str | None
    broker_effect: EffectRow | None
    remedy: RemedyObject | None
    cause: CauseObject | None
    detail: dict[str, str]
    cluster_id: str | None
    broker: int
    source: str
    carried_from: str | None
    fingerprint: str


class HeldReplica(TypedDict):
    """A row of the view `replicas` (`sql.REPLICAS`)."""

    cluster: str
    cluster_id: str | None
    broker: int
    log_dir_id: int
    topic: str
    partition: int
    dir_name: str
    topic_id: str | None
    replicas: int
    expected_replicas: int
    log_start_offset: int | None
    high_watermark: int | None
    log_end_offset: int | None
    last_epoch: int
    max_high_watermark: int | None
    max_log_end_offset: int | None
    behind: int | None
    bytes: int
    max_timestamp_ms: int
    seniority: int
    topic_compacted: int
    max_cleaned_offset: int | None


class SuspectRow(TypedDict):
    """What counts of a row of `sql.SUSPECTS`."""

    topic: str
    partition: int
    dir_name: str
    log_dir_id: int
    reference_dir_id: int
    reference: int
    comparable_from: int
    bucket: int
