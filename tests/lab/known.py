"""Forecasts that are known to differ from the real broker, each with the reason; to become empty.

`test_verdicts` fails when one is listed that agrees, so the tables only ever get shorter.
"""

from __future__ import annotations

Table = dict[str, dict[str, str]]
"""By release and kind of stop, then by fault."""

KNOWN: Table = {}
"""Start, log dirs, offsets, files, strays."""

KNOWN_READS: Table = {}
"""What a consumer from the beginning gets."""

UNFINISHED: frozenset[str] = frozenset()
"""Recordings that lack faults still: `python -m tests.lab.verdict` goes on with them."""
