"""The faults segmend knows: one file a check, found by looking, run in one pass.

A check module has a docstring of one line, which says what is wrong, and five names:

    CODES   Code("E01", ERROR, "a wrong version", OFFLINE), ...: what it may report
    PAGE    its page in the manual, shared by its codes
    SCOPE   what it looks at: the broker, a dir, a partition or a segment
    LEVEL   the lowest level it runs at: startup, default or deep
    run     (subject, context) -> Iterator[Finding]

A check of segments may have a sixth, `applies(context)`: false if no segment of this
partition needs the call, which counts where a partition has 100,000 of them.

Checks do not open files, do not import each other and do not know how to mend; they ask
the context and say what is wrong, where, in Kafka's words, and what command comes next.
"""

from __future__ import annotations

from .any_release import CheckOfAny
from .manual import Code, Consequence, Entry, Level, Page, Scope
from .registry import Check, all_checks, known_codes
from .runner import CheckRun, Summary, Wanted

__all__ = [
    "Check",
    "CheckOfAny",
    "CheckRun",
    "Code",
    "Consequence",
    "Entry",
    "Level",
    "Page",
    "Scope",
    "Summary",
    "Wanted",
    "all_checks",
    "known_codes",
]
