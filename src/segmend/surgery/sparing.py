"""No start may lose more by a repair than without it: what would make it so is taken out of the plan.

A recovery cuts a log at its first damaged batch and deletes all segments behind it. Where the
index of a damaged segment is missing, or misleads, the loader comes to it in another way and
cuts less; a right index alone then makes it worse.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from segmend.loading import Options, forecast
from segmend.loading.values import PartitionOutcome
from segmend.logdir.release import Release
from segmend.logdir.tree import LogDir
from segmend.surgery.plan import Plan
from segmend.surgery.step import Step
from segmend.surgery.view import SCHEME

Place = tuple[str, str]
"""Log dir and name of a partition directory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """What a start would do: the last line of a forecast, and the records that each partition loses."""

    line: Mapping[str, Any]
    lost: Mapping[Place, int] = field(default_factory=dict)

    @classmethod
    def of(cls, dirs: Iterable[LogDir], release: Release) -> Start:
        """Of the dirs as they are; those of a view are named as on the disk."""
        run = forecast(list(dirs), Options(release=release, release_reason="as the plan"))
        lost = {
            (_real(line.dir), line.name): line.records_lost
            for line in run
            if isinstance(line, PartitionOutcome)
        }
        found = {} if run.broker is None else run.broker.to_json()
        reason = found.get("reason")
        return cls(line={**found, "reason": reason and _real(reason)}, lost=lost)

    def worse_than(self, other: Start) -> dict[Place, tuple[int, int]]:
        """Where more is lost than at the other start: (records, and at the other)."""
        return {
            place: (records, other.lost[place])
            for place, records in self.lost.items()
            if records > other.lost.get(place, records)
        }


def _real(text: str) -> str:
    return text.replace(f"{SCHEME}://", "")


def spared(plan: Plan, worse: Mapping[Place, tuple[int, int]]) -> Plan:
    """The plan without the steps for derived files of these partitions, which are then named as left."""
    kept, left = [], list(plan.left)
    for step in plan.steps:
        figures = next((each for place, each in worse.items() if _derived(step, place)), None)
        if figures is None:
            kept.append(step)
            continue
        left.append(
            f"{getattr(step, 'reason', '')} ({step.paths[0]}): made anew, the next start would lose "
            f"{figures[0]:,} records of the partition, as it is {figures[1]:,}; mend its log first "
            "(segmend plan repair --from REPLICA_DIR, or --blank), then plan again"
        )
    return replace(plan, steps=tuple(kept), left=tuple(left))


def _derived(step: Step, place: Place) -> bool:
    path = step.paths[0]
    return path.startswith("/".join((*place, ""))) and not path.endswith(".log")
