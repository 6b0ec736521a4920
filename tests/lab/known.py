"""Forecasts that are known to differ from the real broker, each with the reason; to become empty.

`test_verdicts` fails when one is listed that agrees, so the tables only ever get shorter.
"""

from __future__ import annotations

Table = dict[str, dict[str, str]]
"""By release and kind of stop, then by fault."""

KNOWN: Table = {
    "1.1.0-killed": {
        "log-offset-backwards-active": "1.1.0 dies of InvalidOffsetException; said: emptied",
        "log-size-huge-rolled": "1.1.0 ends with 'capacity < 0' for a size of 2^31-1; the forecast starts",
    },
}
"""Start, log dirs, offsets, files, strays."""

KNOWN_READS: Table = {}
"""What a consumer from the beginning gets."""

UNFINISHED = frozenset({"1.1.0-killed"})
"""Recordings that lack faults still: `python -m tests.lab.verdict` goes on with them."""
