"""The faults segmend knows: one file a check, found by looking, run in one pass.

A check module has four names and a docstring, which is its manual page:

    CODES   {"E01": Severity.ERROR, ...}: the codes it may report
    SCOPE   what it looks at: the broker, a dir, a partition or a segment
    LEVEL   the lowest level it runs at: startup, default or deep
    run     (subject, context) -> Iterator[Finding]

A check of segments may have a fifth, `applies(context)`: false if no segment of this
partition needs the call, which counts where a partition has 100,000 of them. `FATAL`
names codes whose only harm is that the start ends over them: where the forecast shows that
this release does not mind, they are warnings.

Checks do not open files, do not import each other and do not know how to mend; they ask
the context and say what is wrong, where, in Kafka's words, and what command comes next.
"""

from __future__ import annotations

from .levels import Level, Scope
from .registry import Check, all_checks, by_code, severities
from .runner import CheckRun, Summary, Wanted

__all__ = [
    "Check",
    "CheckRun",
    "Level",
    "Scope",
    "Summary",
    "Wanted",
    "all_checks",
    "by_code",
    "severities",
]
