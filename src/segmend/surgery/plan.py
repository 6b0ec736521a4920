"""A plan: the steps of an operation, what they expect and lose, as a JSON file with its own hash.

A plan is a value without clock or chance: the same dirs and the same command give the same
bytes. Nothing in it is done by making it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cached_property
from typing import Final, Literal, Self, TypedDict, cast

from segmend.errors import SegmendError, UsageError
from segmend.frozen import AsJson, as_dict, field, frozen
from segmend.json_values import JsonObject, member, objects, text, texts
from segmend.logdir import disk
from segmend.logdir.release import Release
from segmend.surgery.dir_fingerprint import DirFingerprint
from segmend.surgery.step import Step
from segmend.surgery.steps import step_of, step_to_json
from segmend.surgery.typed_json import fields_from_json, require_types

BACKUPS = "backups"
"""In `extra`: where the old bytes go (`dir`), and off which disk (`off`), where that matters."""
SIDE = "side"
"""In `extra`: a directory outside of the log dirs, where steps make new logs; a list, if composed."""
THROTTLE = "throttle"
"""In `extra`: bytes a second that steps may write; there if somebody asked for it."""
MADE_AGAIN: Final = "; make the plan again"
"""What helps where nothing was begun by it."""
VERSION: Final = 1
_LIMIT: Final = 1 << 30


@frozen
class Loss(AsJson):
    """What readers of one partition will not get any more; `last_offset` inclusive, None if not known.

    Without records, from a first offset to one that is not known: how much it is, if anything, nothing tells.
    """

    dir: str
    topic: str
    partition: int
    records: int
    bytes: int
    first_offset: int | None = None
    last_offset: int | None = None
    what: str = ""

    @classmethod
    def of_unknown_size(cls, dir: str, topic: str, partition: int, first_offset: int, what: str) -> Self:
        return cls(
            dir=dir, topic=topic, partition=partition, records=0, bytes=0, first_offset=first_offset,
            what=what,
        )  # fmt: skip

    @property
    def is_unknown(self) -> bool:
        return not self.records and self.first_offset is not None and self.last_offset is None


@frozen
class Left:
    """Something found and left as it is: `why`, and the command that is `next`.

    `code` and `path` are those of a finding, `position` a byte of the file; `wanted` what a step that is not
    in the plan was for. In the file of a plan it is one line of text, and its parts beside it.
    """

    why: str
    code: str | None = None
    path: str | None = None
    position: int | None = None
    wanted: str | None = None
    next: str | None = None

    def parts(self) -> JsonObject:
        """All that is not None."""
        return {name: value for name, value in as_dict(self).items() if value is not None}

    def __str__(self) -> str:
        place = " ".join(part for part in (self.code, self.path) if part is not None)
        if self.position is not None:
            place += f" at byte {self.position}"
        if self.wanted is not None:
            place = f"{self.wanted} ({place})"
        said = f"{place}: {self.why}" if place else self.why
        return said if self.next is None else f"{said}; next: {self.next}"


class ForecastLine(TypedDict, total=False):
    """The last line of a forecast, as far as it counts for a plan."""

    outcome: str
    reason: str | None
    records_lost: int
    lost: dict[str, int]
    unserved: int
    offline: int
    unknown: list[str]
    supposed: str | None
    metadata_is_lost: bool
    metadata_records_lost: int
    looked_at: int


class _Remembering:
    """Has room for what is computed once."""


@frozen
class Plan(_Remembering):
    """`arguments` are those of the command; `notes` what a person must know before saying yes.

    `left` says what the operation found and leaves as it is; `forecast` holds the `broker` lines of `segmend
    forecast` before and after; `extra` what the operation adds, such as JSON for Kafka's own tools.
    """

    operation: str
    arguments: JsonObject
    release: Release
    dirs: tuple[DirFingerprint, ...]
    steps: tuple[Step, ...] = ()
    losses: tuple[Loss, ...] = ()
    notes: tuple[str, ...] = ()
    left: tuple[Left, ...] = ()
    forecast: JsonObject = field(default_factory=dict)
    extra: JsonObject = field(default_factory=dict)

    @property
    def records_lost(self) -> int:
        """Over all partitions."""
        return sum(loss.records for loss in self.losses)

    def said(self, name: str) -> list[object]:
        """What `extra` has under the name, of each plan if this is composed; a file may say anything."""
        said: object = self.extra.get(name)
        return said if isinstance(said, list) else [said]

    def start(self, when: Literal["before", "after"]) -> ForecastLine:
        """What a broker does that is started then; nothing where that was not forecast."""
        return cast(ForecastLine, self.forecast.get(when) or {})

    @property
    def start_is_well(self) -> bool:
        """Whether nothing bad is said of the start after it; what is not known is named, and no more.

        So is what is told for the worst of what was not given: its words begin with an if.
        """
        start = self.start("after")
        if start.get("supposed"):
            return True
        bad = (
            start.get("outcome", "starts") != "starts", any(start.get("lost", {}).values()),
            start.get("records_lost"), start.get("metadata_is_lost"), start.get("unserved"),
            start.get("offline"),
        )  # fmt: skip
        return not any(bad)

    def space(self) -> dict[str, int]:
        """Bytes taken by directory; "" stands for the backups, wherever they go. No disk is asked."""
        taken_up: dict[str, int] = {}
        for need in (need for step in self.steps for need in step.needs("")):
            taken_up[need.where] = taken_up.get(need.where, 0) + need.bytes
        return taken_up

    def to_json(self) -> dict[str, object]:
        """The object of the file; `sha256` is that of all the rest."""
        body = self._body()
        self.__dict__.setdefault("sha256", _hash(body))  # or it would be put together twice
        return {**body, "sha256": self.sha256}

    def _body(self) -> dict[str, object]:
        data: dict[str, object] = {
            "type": "plan",
            "version": VERSION,
            "operation": self.operation,
            "arguments": dict(self.arguments),
            "kafka": str(self.release),
            "dirs": [each.to_json() for each in self.dirs],
            "steps": [step_to_json(step) for step in self.steps],
            "losses": [loss.to_json() for loss in self.losses],
            "notes": list(self.notes),
            "left": list(map(str, self.left)),
            "space": self.space(),
            "forecast": dict(self.forecast),
            "extra": dict(self.extra),
        }
        if any(left.path is not None for left in self.left):
            data["left_parts"] = [left.parts() for left in self.left]
        return data

    @cached_property
    def sha256(self) -> str:
        """What tells this plan from any other."""
        return _hash(self._body())

    def render(self) -> bytes:
        """The file: JSON that one can read, ASCII only; of a plan that was read, what was read."""
        return self._rendered

    @cached_property
    def _rendered(self) -> bytes:
        return json.dumps(self.to_json(), indent=1).encode("ascii") + b"\n"

    @classmethod
    def from_json(cls, data: JsonObject) -> Self:
        """The reverse; `KeyError`, `TypeError`, `ValueError` for what is none."""
        told = texts(data, "left")
        left = objects(data, "left_parts") if "left_parts" in data else [{"why": why} for why in told]
        plan = cls(
            operation=text(data, "operation"), arguments=member(data, "arguments"),
            release=Release.parse(text(data, "kafka")),
            dirs=tuple(map(DirFingerprint.from_json, objects(data, "dirs"))),
            steps=tuple(map(step_of, objects(data, "steps"))),
            losses=tuple(fields_from_json(Loss, each) for each in objects(data, "losses")),
            notes=tuple(texts(data, "notes")), left=tuple(fields_from_json(Left, each) for each in left),
            forecast=member(data, "forecast"), extra=member(data, "extra"),
        )  # fmt: skip
        require_types(plan)
        if list(map(str, plan.left)) != told:
            raise ValueError("what is left is told in two ways")
        for start in (plan.start("before"), plan.start("after")):
            if start and not (isinstance(start["outcome"], str) and isinstance(start["records_lost"], int)):
                raise ValueError("a forecast that is none")
        return plan

    @classmethod
    def parse(cls, data: bytes, path: str) -> Self:
        """The plan in a file; raises `UsageError` for no plan, `SegmendError` for an edited one."""
        try:
            parsed = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{path}: is no plan: {error}") from None
        if not isinstance(parsed, dict) or parsed.get("type") != "plan":
            raise UsageError(f"{path}: is no plan (see `segmend plan --help`)")
        if parsed.get("version") != VERSION:
            raise SegmendError(f"{path}: is a plan of version {parsed.get('version')}; this is for {VERSION}")
        said = parsed.pop("sha256", None)
        try:
            if said != _hash(parsed):
                raise SegmendError(f"{path}: was edited, or damaged, after it was made{MADE_AGAIN}")
            plan = cls.from_json(parsed)
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise SegmendError(f"{path}: cannot be read as a plan: {error!r}") from None
        # The file is proven to have this hash: none of it has to be put together again, some with megabytes.
        plan.__dict__.update(sha256=said, _rendered=data)
        return plan

    @classmethod
    def load(cls, path: str) -> Self:
        """Read a plan; raises `Unreadable` and what `parse` raises."""
        return cls.parse(disk.read(path, _LIMIT), path)


def _hash(data: Mapping[str, object]) -> str:
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()
