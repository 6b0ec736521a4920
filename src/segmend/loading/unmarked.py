"""Partitions that a broker does not get to because the high watermarks of a log dir cannot be read.

A file that throws more than an IOException ends the broker's way through all that it leads, at the first
partition of that dir, and comes before all that it follows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from segmend.broker.leading import NO_MARK, NOT_APPLIED_WITHOUT_MARK, leading_order
from segmend.formats.offset_checkpoint import HIGH_WATERMARK
from segmend.frozen import replace
from segmend.loading.dirs import DirState
from segmend.loading.led import key_of, unserved
from segmend.loading.replicas import Loaded
from segmend.loading.values import Service
from segmend.node.metadata_image import MetadataImage


def without_the_unmarked(loaded: Sequence[Loaded], image: MetadataImage | None) -> list[Loaded]:
    """The same, without service for those.

    Where other replicas may lead, or there is no image (ZooKeeper), the order is not known: those of the dir
    are not served for certain, what comes before them is told as not known.
    """
    asking = [one for one in loaded if _is_up(one)]
    hurt = {key_of(one.outcome): one.dir_state for one in asking if one.dir_state.unmarked}
    if not hurt:
        return list(loaded)
    mine: dict[str, list[int]] = {}
    for one in asking:
        topic, number = key_of(one.outcome)
        if image is not None and image.alone(topic, number):
            mine.setdefault(topic, []).append(number)
    order = leading_order(mine, image.ids) if image is not None else []
    first = next((number for number, key in enumerate(order) if key in hurt), None)
    before, behind = (set(), set()) if first is None else (set(order[:first]), set(order[first:]))
    state = next(iter(hurt.values())) if first is None else hurt[order[first]]
    says = NO_MARK.format(state.unmarked, f"{state.path}/{HIGH_WATERMARK}")
    outcomes = []
    for one in loaded:
        if not _is_up(one) or key_of(one.outcome) in before:
            outcomes.append(one)
        elif key_of(one.outcome) in hurt or key_of(one.outcome) in behind:
            outcomes.append(unserved(one, NOT_APPLIED_WITHOUT_MARK.format(says, one.outcome.name)))
        else:
            outcomes.append(replace(one, unknown=one.unknown or says))
    return outcomes


def spare_the_unasked(loaded: Sequence[Loaded], states: Iterable[DirState]) -> None:
    """A dir whose high watermarks no partition asks for stays online: nobody reads them."""
    asked = {id(one.dir_state) for one in loaded if one.service not in (None, Service.STRAY)}
    for state in states:
        if state.late == HIGH_WATERMARK and id(state) not in asked:
            state.offline = state.late = None
            state.effects = [each for each in state.effects if each.file != HIGH_WATERMARK]


def _is_up(one: Loaded) -> bool:
    """Whether it is loaded, and asks for its high watermark as it gets a leader."""
    return one.service in (Service.SERVED, Service.EMPTY) and not one.dir_state.offline
