"""Forecasts that are known to differ from the real broker, each with the reason; to become empty.

`test_verdicts` fails when one is listed that agrees, so the tables only ever get shorter.
"""

Table = dict[str, dict[str, str]]
"""By release and kind of stop, then by fault."""

FUTURE = (
    "the leader makes a new log in the dir with the fewest logs; where that is the dir of the future log, "
    "the rename after the copy takes it offline. The packed base lacks most logs: nothing tells which it is"
)

KNOWN: Table = {
    "1.1.0-clean": {"partition-future-only": FUTURE},
    "2.8.2-clean": {"partition-future-only": FUTURE},
}
"""Start, log dirs, offsets, files, strays."""

KNOWN_READS: Table = {}
"""What a consumer from the beginning gets."""

UNFINISHED: frozenset[str] = frozenset()
"""Recordings that lack faults still: `python -m tests.lab.verdict` goes on with them."""
