"""No start may do more harm by a repair than without it: what would make it so is taken out of the plan.

A recovery cuts a log at its first damaged batch and deletes all segments behind it. Where the
index of a damaged segment is missing, or misleads, the loader comes to it in another way and
cuts less; a right index alone then makes it worse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from segmend.formats.names import parse_dir_name
from segmend.frozen import field, frozen, replace
from segmend.json_values import JsonObject
from segmend.loading import ForecastOptions, forecast
from segmend.loading.values import WHOLE, PartitionOutcome
from segmend.node.broker_dirs import BrokerDirs
from segmend.surgery.plan import Left, Plan
from segmend.surgery.step import Step
from segmend.wording import plural

_GONE_BEFORE = "high-watermark-reset"
"""No start takes these records: they are in no file, one that can load the log just says so."""
Place = tuple[str, str]
"""Log dir and name of a partition directory."""


@frozen
class Harm:
    """What a start does to a partition: whether its load fails, and the records that are lost.

    `whole` of these go with a directory that is taken away as the cluster's metadata has it, or has not.
    """

    fails: bool
    records: int
    whole: int = 0

    def exceeds(self, other: Harm) -> bool:
        """A load that fails where the other does not, or more records; one that fails loses none yet.

        It hides what the cluster says of the directory, which no mended file changes.
        """
        lost = self.records - self.whole if other.fails else self.records
        return lost > other.records or (self.fails and not other.fails)

    def __str__(self) -> str:
        return "fail" if self.fails else f"lose {self.records:,} records of the partition"


@frozen
class HarmOfStart:
    """What a start would do: the last line of a forecast, and the harm to each partition."""

    line: JsonObject
    harm: Mapping[Place, Harm] = field(default_factory=dict)

    @classmethod
    def of(
        cls, broker: BrokerDirs, on_progress: Callable[[int, int], None] | None = None,
        only: frozenset[str] | None = None,
    ) -> HarmOfStart:  # fmt: skip
        """Of the dirs as they are, or only of some partitions by their names: then the line says so."""
        run = forecast(broker, ForecastOptions(only=only), on_progress)
        harm = {
            (line.dir, line.name): Harm(
                fails=line.failure is not None,
                records=sum(each.records_lost for each in line.effects if each.effect != _GONE_BEFORE),
                whole=sum(effect.records_lost for effect in line.effects if effect.effect in WHOLE),
            )
            for line in run
            if isinstance(line, PartitionOutcome)
        }
        line = {} if run.broker is None else {**run.broker.to_json(), "kafka_because": "as the plan"}
        names = (each.name for each in broker.current)
        others = 0 if only is None else sum(name not in only for name in names)
        if run.broker is not None and only is not None and others:
            unknown = [*run.broker.unknown, f"{plural(others, 'partition')} that the plan does not touch"]
            line |= {"looked_at": len(only), "unknown": unknown, "seconds": None, "breakdown": None}
        return cls(line=line, harm=harm)

    def worse_than(self, other: HarmOfStart) -> dict[Place, tuple[Harm, Harm]]:
        """Where it does more harm than the other start: (this harm, that harm)."""
        return {
            place: (harm, other.harm[place])
            for place, harm in self.harm.items()
            if harm.exceeds(other.harm.get(place, harm))
        }


def without_harmful(plan: Plan, worse: Mapping[Place, tuple[Harm, Harm]]) -> Plan:
    """The plan without the steps for derived files of these partitions, which are then named as left."""
    kept, left = [], list(plan.left)
    for step in plan.steps:
        harm = next((each for place, each in worse.items() if _derived(step, place)), None)
        if harm is None:
            kept.append(step)
            continue
        why = (
            f"made anew, the next start would {harm[0]}, as it is it would {harm[1]}; mend the log first "
            "(segmend plan repair --from REPLICA_DIR, or --blank; segmend plan trim), then plan again"
        )
        left.append(left_by(step, why))
    return replace(plan, steps=tuple(kept), left=tuple(left))


def left_by(step: Step, why: str) -> Left:
    """What a step that is not taken leaves as it is."""
    return Left(why=why, path=step.paths[0], wanted=getattr(step, "reason", step.KIND))


def still_harmful(worse: Mapping[Place, tuple[Harm, Harm]]) -> Iterator[str]:
    """Where the plan still makes the start lose more: mended batches bring it to what it cuts off."""
    for (log_dir, name), (harm, was) in worse.items():
        more = f"{harm.records - was.records:,} records"
        if was.fails:
            what = f"cannot be loaded now; after this plan it can, and the next start cuts {more} off"
        else:
            what = f"{more} that no reader gets now can be read after this plan"
            what += ", and the next start cuts them off again"
        yield (
            f"{log_dir}/{name}: {what}; mend the rest of the log first "
            "(segmend plan repair --from REPLICA_DIR, or --blank), then start the broker"
        )


def _derived(step: Step, place: Place) -> bool:
    """Whether it makes a derived file of that partition, or of the future replica that takes its place."""
    folder, _, file = step.paths[0].rpartition("/")
    if file.endswith(".log"):
        return False
    log_dir, _, name = folder.rpartition("/")
    of = parse_dir_name(name)
    return (log_dir, name) == place or (of.kind == "future" and f"{of.topic}-{of.partition}" == place[1])
