"""A finding: one thing that is wrong on a disk, where it is, and what to do about it.

Pure values. Findings are made by `segmend.checks`, counted and ordered by whoever shows
them, and travel as JSON lines (`--json`) and as rows of the fleet's `findings` table.
"""

from __future__ import annotations

import enum
from typing import NamedTuple

from segmend.formats.names import parse_file_name
from segmend.frozen import AsJson, field, frozen
from segmend.json_values import JsonObject


class Severity(enum.StrEnum):
    """How bad: what would be lost or would fail if nothing is done."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        """0 for the worst, so that sorting by it puts errors first."""
        return _RANKS[self]


_RANKS = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}


class Safety(enum.StrEnum):
    """How far the remedy can be trusted to lose nothing."""

    SAFE = "safe"
    LOSSY = "lossy"
    ADVICE = "advice"


class Where(NamedTuple):
    """The place of a finding: a file, a byte position in it, an offset of its log."""

    file: str | None = None
    position: int | None = None
    offset: int | None = None


NOWHERE = Where()
"""The whole directory."""


@frozen
class Remedy:
    """The exact next command, ready to paste, and how safe it is."""

    command: str
    safety: Safety


class Basis(enum.StrEnum):
    """Where a `BrokerEffect` comes from."""

    FORECAST = "forecast"
    MANUAL = "manual"


@frozen
class BrokerEffect(AsJson):
    """What the next start of the broker does about one finding, by the rules of its release: `broker_effect`.

    `effect` is the worst of it: a name of `segmend.loading.EFFECTS`, `broker-refuses` (it does not
    start), `dir-offline`, `none` (the start does nothing about it), or None where only the
    manual speaks. `offset` is where it happens. `records_lost` and `bytes_lost` are what readers
    lose by it; findings with one cause tell the same loss, so do not add them up.
    """

    effect: str | None = None
    offset: int | None = None
    records_lost: int = 0
    bytes_lost: int = 0
    text: str
    basis: Basis = Basis.FORECAST


@frozen
class Cause(AsJson):
    """The object `cause` of a finding."""

    code: str
    dir: str
    file: str | None


@frozen
class Finding:
    """One located fault.

    `dir` is the log dir as the user gave it, `file` is relative to it, `position` is a
    byte position in that file and `offset` a Kafka offset. `broker_says` quotes the words
    a broker logs for it, where it says anything at all, `broker_effect` is what it does
    (None where replicas were compared). `cause` is the finding that explains this one: then its
    `remedy` is the next command of both. `detail` holds further numbers.
    """

    code: str
    severity: Severity
    message: str
    dir: str
    topic: str | None = None
    partition: int | None = None
    file: str | None = None
    position: int | None = None
    offset: int | None = None
    broker_says: str | None = None
    broker_effect: BrokerEffect | None = None
    remedy: Remedy | None = None
    cause: Cause | None = None
    detail: JsonObject = field(default_factory=dict)

    @property
    def folder(self) -> str:
        """The directory in the log dir where it is, or the file at its top; "" for the log dir itself."""
        return (self.file or "").partition("/")[0]

    @property
    def name(self) -> str:
        return (self.file or "").rpartition("/")[2]

    @property
    def segment(self) -> int | None:
        return parse_file_name(self.name).base_offset

    def to_json(self) -> dict[str, object]:
        """The object of `check --json`; keys are never renamed, only added."""
        remedy = self.remedy
        return {
            "type": "finding",
            "code": self.code,
            "severity": self.severity.value,
            "dir": self.dir,
            "topic": self.topic,
            "partition": self.partition,
            "file": self.file,
            "position": self.position,
            "offset": self.offset,
            "message": self.message,
            "broker_says": self.broker_says,
            "broker_effect": self.broker_effect and self.broker_effect.to_json(),
            "remedy": remedy and {"command": remedy.command, "safety": remedy.safety.value},
            "cause": self.cause and self.cause.to_json(),
            "detail": self.detail,
        }
