"""What a finding means for the broker that would be started on that disk.

The finding's own `broker_effect` says it, where the start was forecast. Else, and for what comes
only after the start, one table by finding code speaks, taken from the fault catalogue (columns
"(a) clean" and "(b) unclean"): what happens when the log dir carries `.kafka_cleanshutdown`, and
what happens when it does not.
"""

from __future__ import annotations

import enum
from typing import Final


class Consequence(enum.Enum):
    """What starting a broker would do, worst first; the value is how the report says it."""

    LOSES = "loses data"
    REFUSES = "refuses to start"
    OFFLINE = "takes the log dir offline"
    WRONG = "serves some reads wrong"
    SLOW = "starts slower"
    NONE = "starts as if nothing were wrong"

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return list(Consequence).index(self)


_LETTERS: Final = {
    "l": Consequence.LOSES,
    "r": Consequence.REFUSES,
    "o": Consequence.OFFLINE,
    "w": Consequence.WRONG,
    "s": Consequence.SLOW,
    "n": Consequence.NONE,
}

# Code and two letters: after a clean stop, after a kill.
_CATALOGUE: Final = """
L01 ln  L02 ln  L03 rn  L04 wl  L05 wl  L06 ll  L07 wl  L08 wl  L09 wl  L10 wl  L11 ww  L12 wl
L13 wr  L14 wl  L15 ww  L16 ww  L17 ww  L18 ww  L19 ww  L20 ww  L21 nn  L22 nn  L23 rr  L24 ww
L25 ln  L26 ll  L27 ww
I01 ss  I02 ss  I03 nn  I04 ln  I05 ln  I06 rn  I07 nn  I08 ww  I09 ww  I10 ww  I11 ww  I12 ss
I13 ll  I14 ll  I15 nn  I16 ww  I17 ww  I18 rr  I19 ss  I20 ww  I21 ww  I22 nn  I23 oo
P01 ss  P02 ws  P03 ss  P04 rr  P05 nn  P06 ww  P07 ww  P08 ww  P09 ww  P10 nr  P11 nr  P12 ww
E01 oo  E02 rr  E03 rr  E04 ww  E05 ww  E06 nn  E07 ww  E08 ww
M01 ll  M02 rr  M03 rr  M04 oo  M05 ll  M06 ww  M07 ll
C01 oo  C02 sl  C03 ns  C04 nw  C05 rr  C06 nn  C07 oo  C08 ll  C09 ll  C10 ww  C11 ss  C12 ln
C13 ns  C14 nn  C15 nn
N01 rr  N02 nn  N03 rr  N04 ll  N05 wr  N06 nn  N07 ww  N08 ww  N09 nn  N10 ll  N11 ll  N12 nn
N13 nn  N14 nn  N15 ll  N16 ww  N17 rr  N18 nn  N19 nn  N20 nn  N21 rr  N22 nn  N23 nn  N24 rr
N25 nn  N26 ll
K01 rr  K02 oo  K03 rr  K04 rr  K05 ww  K06 rr  K07 ll  K08 rr  K09 rr  K10 nn  K11 rr  K12 nn
K13 oo  K14 oo  K15 rr  K16 rr  K17 nn  K18 nn  K19 nn  K20 rr  K21 rr
"""

_TABLE: Final[dict[str, str]] = dict(zip(_CATALOGUE.split()[::2], _CATALOGUE.split()[1::2], strict=True))


# What `broker_effect.effect` comes to, where a start does anything at all.
_EFFECTS: Final = {
    "broker-refuses": Consequence.REFUSES,
    "dir-offline": Consequence.OFFLINE,
    "reads-fail": Consequence.WRONG,
    "index-rebuilt": Consequence.SLOW,
    "recovery-scan": Consequence.SLOW,
    **dict.fromkeys(
        ("tail-truncated", "segment-emptied", "segments-deleted", "segment-skipped", "directory-deleted",
         "stray-renamed", "log-recreated-empty", "log-start-moved"), Consequence.LOSES
    ),
}  # fmt: skip
_ENDING: Final = frozenset({Consequence.REFUSES, Consequence.OFFLINE})
# What the table may say of a start that was forecast to do nothing of the kind.
_NOT_AT_THE_START: Final = frozenset({Consequence.LOSES, Consequence.WRONG})


def of(
    code: str, severity: str, *, clean: bool, effect: str | None = None, records_lost: int = 0
) -> Consequence:
    """What the start of a broker would do about this finding.

    `clean` says whether the log dir has the marker of a clean stop; `effect` and `records_lost`
    are of its `broker_effect`. A finding of severity `info` changes nothing; an error whose
    code has no line here is taken as `WRONG`.
    """
    if severity == "info":
        return Consequence.NONE
    told = _EFFECTS.get(effect or "")
    if told is not None or records_lost:
        return Consequence.LOSES if records_lost and told not in _ENDING else told or Consequence.LOSES
    general = _by_code(code, severity, clean=clean)
    if effect is None or general in _NOT_AT_THE_START:
        return general
    return Consequence.NONE


def _by_code(code: str, severity: str, *, clean: bool) -> Consequence:
    letters = _letters(code)
    if letters is None:
        # Comparisons of replicas (R..) say nothing about one broker's start.
        return Consequence.WRONG if severity == "error" and not code.startswith("R") else Consequence.NONE
    return _LETTERS[letters[0 if clean else 1]]


def is_known(code: str) -> bool:
    """Has this code a line in the table?"""
    return _letters(code) is not None


def _letters(code: str) -> str | None:
    # C10b is a case of C10.
    return _TABLE.get(code) or _TABLE.get(code[:-1])
