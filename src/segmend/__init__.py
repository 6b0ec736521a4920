"""segmend: fsck, forecast, surgery and rescue for Apache Kafka log directories.

    import segmend

    log_dir = segmend.open("/var/lib/kafka/data")
    for partition in log_dir.partitions:
        print(partition.topic, partition.partition, partition.size, segmend.log_end_offset(partition))
        for batch in segmend.records(partition, columns=["offset", "key", "value"]):
            print(batch)  # a pyarrow.RecordBatch: pip install '.[arrow]' in a clone
    for finding in segmend.check(log_dir):
        print(finding.severity, finding.message)
    for line in segmend.forecast(log_dir, kafka="4.3"):
        print(line.to_json())
    segmend.plan("repair", log_dir).render()  # what `segmend apply` takes

Everything is lazy: a directory is listed when first asked for, a file opened when it is read,
and the names below are imported at their first use (PEP 562), because every import of a part
of segmend passes through here.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than all of this

if TYPE_CHECKING:
    from segmend.api import batches as batches
    from segmend.api import check as check
    from segmend.api import forecast as forecast
    from segmend.api import forecast_cluster as forecast_cluster
    from segmend.api import open as open
    from segmend.api import plan as plan
    from segmend.api import records as records
    from segmend.checks import CheckRun as CheckRun
    from segmend.checks import Level as Level
    from segmend.errors import SegmendError as SegmendError
    from segmend.errors import UsageError as UsageError
    from segmend.findings import Finding as Finding
    from segmend.findings import Severity as Severity
    from segmend.loading import Forecast as Forecast
    from segmend.logdir.log_dir import LogDir as LogDir
    from segmend.logdir.log_segment import LogSegment as LogSegment
    from segmend.logdir.overview import log_end_offset as log_end_offset
    from segmend.logdir.partition_dir import PartitionDir as PartitionDir
    from segmend.surgery.plan import Plan as Plan

__version__ = "0.1.0"

_HOMES = {
    "CheckRun": "segmend.checks",
    "Finding": "segmend.findings",
    "Forecast": "segmend.loading",
    "Level": "segmend.checks",
    "LogDir": "segmend.logdir.log_dir",
    "LogSegment": "segmend.logdir.log_segment",
    "PartitionDir": "segmend.logdir.partition_dir",
    "Plan": "segmend.surgery.plan",
    "SegmendError": "segmend.errors",
    "Severity": "segmend.findings",
    "UsageError": "segmend.errors",
    "batches": "segmend.api",
    "check": "segmend.api",
    "forecast": "segmend.api",
    "forecast_cluster": "segmend.api",
    "log_end_offset": "segmend.logdir.overview",
    "open": "segmend.api",
    "plan": "segmend.api",
    "records": "segmend.api",
}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'segmend' has no attribute '{name}'")
    __import__(_HOMES[name])  # `importlib` brings `warnings` along: the longer Ctrl-C is Python's
    return getattr(sys.modules[_HOMES[name]], name)


def __dir__() -> list[str]:
    return [*globals(), *_HOMES]
