"""The closed set of changes: one module a kind of step, found by `step_of`.

A module has `STEP`, a frozen dataclass with a `KIND` and the methods of `Step`. A step is
a value: what it touches, what it expects there before, what it leaves. It can be done from the
state before, undone from the state after, and both from any point at which a power cut, a kill
or a full disk stopped it.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

from segmend.discovery import modules_in
from segmend.errors import SegmendError
from segmend.surgery.step import Step


@functools.cache
def kinds() -> Mapping[str, type[Step]]:
    classes = [import_module(f"{__name__}.{name}").STEP for name in modules_in(__path__)]
    return MappingProxyType({step.KIND: step for step in classes})


def step_of(data: Mapping[str, object]) -> Step:
    """A step out of a plan; raises `SegmendError` for what is none."""
    kind = data.get("kind")
    step_class = kinds().get(str(kind))
    if step_class is None:
        raise SegmendError(f"this segmend knows no step '{kind}'; apply the plan with the one that made it")
    try:
        step = step_class.from_json({name: value for name, value in data.items() if name != "kind"})
        if not step.before.is_whole:
            raise ValueError("what it expects before does not say all that an undo brings back")
        return step
    except (TypeError, KeyError, ValueError, AttributeError, OverflowError) as error:
        raise SegmendError(f"a step '{kind}' of the plan cannot be read: {error}") from None


def step_to_json(step: Step) -> dict[str, object]:
    """The object in a plan; `step_of` reads it."""
    return {"kind": step.KIND, **step.to_json()}
