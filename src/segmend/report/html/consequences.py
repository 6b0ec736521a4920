"""What a finding means for the broker that would be started on that disk.

The finding's own `broker_effect` says it, where the start was forecast. Else, and for what comes
only after the start, the code itself says what it comes to in general.
"""

from __future__ import annotations

from typing import Final

from segmend.checks.manual import Consequence
from segmend.fleet.cross import whole_manual

# What `broker_effect.effect` comes to, where a start does anything at all.
_EFFECTS: Final = {
    "broker-refuses": Consequence.REFUSES,
    "dir-offline": Consequence.OFFLINE,
    "reads-fail": Consequence.WRONG,
    "partition-unserved": Consequence.WRONG,
    "metadata-lost": Consequence.LOSES,
    "index-rebuilt": Consequence.SLOW,
    "recovery-scan": Consequence.SLOW,
    **dict.fromkeys(
        ("tail-truncated", "segment-emptied", "segments-deleted", "segment-skipped", "directory-deleted",
         "stray-renamed", "log-recreated-empty", "log-start-moved"), Consequence.LOSES
    ),
}  # fmt: skip
# Of a directory that is gone nobody knows what was in it, and metadata is no record of a topic.
_NOT_COUNTED: Final = frozenset({"log-recreated-empty", "metadata-lost"})
_ENDING: Final = frozenset({Consequence.REFUSES, Consequence.OFFLINE})
# What the table may say of a start that was forecast to do nothing of the kind.
_NOT_AT_THE_START: Final = frozenset({Consequence.LOSES, Consequence.WRONG, Consequence.FAILING})


def of(
    code: str, severity: str, *, clean: bool, effect: str | None = None, records_lost: int = 0
) -> Consequence:
    """What the start of a broker would do about this finding.

    `clean` says whether the log dir has the marker of a clean stop; `effect` and `records_lost`
    are of its `broker_effect`. A finding of severity `info` changes nothing.
    """
    if severity == "info":
        return Consequence.NONE
    told = _EFFECTS.get(effect or "")
    if told is Consequence.LOSES and not records_lost and effect not in _NOT_COUNTED:
        told = None
    if told is not None or records_lost:
        return Consequence.LOSES if records_lost and told not in _ENDING else told or Consequence.LOSES
    general = _by_code(code, severity, clean=clean)
    if effect is None or general in _NOT_AT_THE_START:
        at_the_start = effect in _EFFECTS and general is Consequence.LOSES
        return Consequence.NONE if at_the_start else general
    return Consequence.NONE


def _by_code(code: str, severity: str, *, clean: bool) -> Consequence:
    known = whole_manual().get(code)
    if known is None:
        # A newer release wrote this table.
        return Consequence.WRONG if severity == "error" else Consequence.NONE
    return known.code.consequence(clean=clean)
