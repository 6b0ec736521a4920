"""Forecasts that are known to differ from the real broker, each with the reason; to become empty.

`test_verdicts` fails when one is listed that agrees, so the tables only ever get shorter.
"""

from __future__ import annotations

Table = dict[str, dict[str, str]]
"""By release and kind of stop, then by fault."""
TWICE = "the broker serves the offsets of a repeated or rewound batch twice; reads-fail is not said of it"

KNOWN: Table = {
    "1.1.0-killed": {
        "log-offset-backwards-active": "1.1.0 dies of InvalidOffsetException; said: emptied",
        "log-size-huge-rolled": "1.1.0 ends with 'capacity < 0' for a size of 2^31-1; the forecast starts",
    },
}
"""Start, log dirs, offsets, files, strays."""

KNOWN_READS: Table = {
    "4.3.1-clean": {
        "log-batch-twice-active-last": TWICE,
        "log-offset-backwards-rolled": TWICE,
        "segment-unpadded": "offsets 220 to 224 do not exist: a librdkafka consumer waits at 220 for ever",
    },
}
"""What a consumer from the beginning gets."""

UNFINISHED = frozenset({"1.1.0-killed"})
"""Recordings that lack faults still: `python -m tests.lab.verdict` goes on with them."""
