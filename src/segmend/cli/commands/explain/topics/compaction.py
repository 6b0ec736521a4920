"""What the log cleaner rewrites, and when.

A topic with cleanup.policy=compact keeps the last record of each key. The cleaner looks every
log.cleaner.backoff.ms (15 seconds), takes the dirtiest log there is, and rewrites whole segments
from the oldest on (`LogCleanerManager.grabFilthiestCompactedLog`, `Cleaner.doClean`).

What is dirty
    From the offset in cleaner-offset-checkpoint (the log start offset without one, or where it lies outside
    the log; up to 2.3.0 the first segment) up to the base of the first segment that holds: the end of what is
    sealed (the active segment is never cleaned); an open transaction; since 3.1, the high watermark; from the
    first dirty segment on, one younger than min.compaction.lag.ms. Whole segments count, never parts.

When a log is cleaned
    When dirty bytes are more than min.cleanable.dirty.ratio (0.5) of clean and dirty ones together, or
    (since 2.3) when the first batch of a dirty segment is older than max.compaction.lag.ms. The highest
    ratio goes first. An active segment that is never rolled is never cleaned: segment.ms (7 days) decides
    for slow topics. Each key takes 24 bytes of log.cleaner.dedupe.buffer.size; what does not fit waits.

What is left in the end
    The last record of each key; tombstones (a key without a value) and transaction markers for
    delete.retention.ms (1 day) more, from the cleaning that met them first on (up to 3.0: from the mtime
    of the last clean segment); the last batch of each producer, even if it is empty.
    Offsets stay as they are, so gaps are no damage. Records without a key are dropped.

When it stops
    An error in a log marks the partition as uncleanable until the next start ("Unexpected
    exception thrown when cleaning log ..."), and it grows without end; up to 2.0 the thread dies, and
    nothing is compacted any more. A hanging transaction holds a log from there on. The cleaner computes no
    CRC of what it reads, and writes new ones over what it keeps: run `segmend check --deep` before you
    trust a disk that lost bits.
    retention.ms and retention.bytes delete nothing unless cleanup.policy has delete, too; the cleaner's own
    thread does it then, at the start and every 15 s. With log.cleaner.enable=false nobody does.

Left behind by a crash
    .cleaned files are deleted at the start; .swap files complete the rewrite that had finished.

For your directories: segmend explain compaction DIR... [--topic T]
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from segmend.cli.output import emit_asked, style
from segmend.cli.selection import asked, is_wanted
from segmend.cli.topic_config import told_settings
from segmend.errors import ExitCode
from segmend.explain.compaction import compactions
from segmend.explain.timestamp_units import now_ms
from segmend.loading import ForecastOptions
from segmend.report.compaction import json_lines, lines

NAME = "compaction"
SUMMARY = "what the log cleaner rewrites, when, and what holds it"
OPTIONS = ("topic", "partition", "at", "topic_config")


def run(args: argparse.Namespace, paths: Sequence[str]) -> int:
    """Say of each compacted partition how dirty it is and what becomes of it."""
    options = ForecastOptions(
        now_ms=now_ms() if args.at is None else args.at, topics=told_settings(args.topic_config)
    )
    broker = asked(args, paths)
    studied = compactions(broker, options, lambda partition: is_wanted(args, partition))
    emit_asked(args, json_lines(studied), lines(studied, style(args)))
    failed = any(each.failure is not None for each in studied)
    return ExitCode.FINDINGS if failed else ExitCode.NOTHING_WRONG
