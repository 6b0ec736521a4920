"""A plan that is right for each release that the disks may be of, or a question which one it is."""

from __future__ import annotations

import json
from collections.abc import Callable

from segmend.errors import SegmendError, UsageError
from segmend.frozen import replace
from segmend.node.broker_dirs import BrokerDirs
from segmend.node.candidates import each_release
from segmend.surgery.plan import Plan
from segmend.surgery.request import Request
from segmend.surgery.steps import step_to_json
from segmend.wording import plural


def plan_for_any(make: Callable[[Request[object]], Plan], request: Request[object]) -> Plan:
    """The plan; raises `UsageError` with the candidates where they would have other steps or losses."""
    broker = request.broker

    def attempt(other: BrokerDirs) -> Plan | SegmendError:
        try:
            return make(replace(request, broker=other))
        except SegmendError as error:
            return error

    plans = each_release(broker, attempt)
    _, taken = next(plans)
    others = [(candidate.release, plan) for candidate, plan in plans]
    if any(_deeds(plan) != _deeds(taken) for _, plan in others):
        each = [(broker.release, taken), *others]
        exact = any(release.numbers[:2] == broker.release.numbers for release, _ in others)
        said = ", ".join(f"{release.exact if exact else release}: {_words(plan)}" for release, plan in each)
        raise UsageError(
            f"these dirs may be of any Kafka of {broker.guess.words}, which would not have the same plan "
            f"({said}); say which it is: --kafka VERSION"
        )
    if isinstance(taken, SegmendError):
        raise taken
    return taken


def _deeds(plan: Plan | SegmendError) -> str:
    if isinstance(plan, SegmendError):
        return f"{plan.exit_code}"
    return json.dumps([[step_to_json(step) for step in plan.steps], [loss.to_json() for loss in plan.losses]])


def _words(plan: Plan | SegmendError) -> str:
    return "refused" if isinstance(plan, SegmendError) else plural(len(plan.steps), "step")
