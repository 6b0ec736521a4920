"""Partitions that a broker does not get to because of one before them that it cannot lead.

Only those whose single replica is here are certain to be led by this node.
"""

from __future__ import annotations

from collections.abc import Sequence

from segmend.broker.election import RESTARTED, UNCLEAN_ELECTION, UNCLEAN_UNSET, Leaves
from segmend.broker.failures import UNASSIGNED
from segmend.broker.leading import (
    ENDS_AT_OFFLINE,
    MADE_ASIDE,
    NO_BROKER,
    NOBODY_IN_SYNC,
    NOT_APPLIED,
    NOT_AVAILABLE,
    leading_order,
)
from segmend.broker.server_odds import fenced_by
from segmend.broker.strays import NO_DIR_IDS, UNLED_HERE
from segmend.formats.config_values import boolean
from segmend.formats.offset_checkpoint import HIGH_WATERMARK
from segmend.frozen import replace
from segmend.loading.dirs import DirState
from segmend.loading.replicas import Loaded
from segmend.loading.values import Effect, Extent, PartitionOutcome, Service
from segmend.logdir.release import Release
from segmend.node.broker_dirs import BrokerDirs
from segmend.node.metadata_image import MetadataImage


def without_the_unled(
    loaded: Sequence[Loaded], image: MetadataImage | None, node_id: int | None, release: Release
) -> list[Loaded]:
    """The same, without service for all that comes after the first partition with a wrong topic id.

    A dir that goes offline on the way hides the wrong ones behind that place, or is not reached at all. But a
    broker that leads nothing when it starts follows first; nothing ends `applyLocalFollowersDelta`.
    """
    wrong = {key_of(one.outcome) for one in loaded if image is not None and is_wrong(one, image, node_id)}
    if image is None or not wrong:
        return list(loaded)
    mine: dict[str, list[int]] = {}
    for one in loaded:
        outcome = one.outcome
        if isinstance(outcome, PartitionOutcome) and image.alone(outcome.topic, outcome.partition):
            mine.setdefault(outcome.topic, []).append(outcome.partition)
    order = leading_order(mine, image.ids)
    late = {one.dir_state.path: one.dir_state for one in loaded if one.dir_state.late}
    dirs = {
        key_of(one.outcome): one.dir_state.path for one in loaded if isinstance(one.outcome, PartitionOutcome)
    }
    killed = not all(one.dir_state.clean for one in loaded)
    leads = killed and RESTARTED.of(release) != Leaves.ANYBODY
    places = [(key, dirs[key]) for key in order]
    fails = {path: _place(places, state) if leads else -1 for path, state in late.items()}
    met = [n for n, key in enumerate(order) if key in wrong and n < fails.get(dirs[key], len(order))]
    if not met:
        return list(loaded)
    first = met[0]
    for path, place in fails.items():
        if first < place:
            late[path].offline = late[path].late = None
    behind = {
        key: order[first]
        for key in order[first + 1 :]
        if image.directory(image.ids[key[0]], key[1], node_id) != UNASSIGNED
    }
    behind |= {key_of(one.outcome): order[first] for one in loaded if is_wrong(one, image, node_id)}
    homes = {one.dir_state.log_dir.directory_id for one in loaded} | NO_DIR_IDS | {None}
    for key in order[:first] if killed else ():  # made anew, and the controller is not told where
        if image.directory(image.ids[key[0]], key[1], node_id) not in homes:
            behind[key] = order[first]
    return [_unled(one, behind) for one in loaded]


def without_the_renamed(
    loaded: Sequence[Loaded], image: MetadataImage | None, broker: BrokerDirs
) -> list[Loaded]:
    """The same, without service for what lies in a log dir that got another id.

    The controller elects nobody whose log dir is none of those that its broker has registered.
    """
    says = UNLED_HERE.of(broker.release)
    registered = () if image is None else image.log_dirs.get(broker.node_id or 0, ())
    if image is None or says is None or not registered:
        return list(loaded)
    homes = {each.directory_id for each in broker.dirs} | NO_DIR_IDS | {None}

    def told(one: Loaded) -> Loaded:
        outcome = one.outcome
        new = one.dir_state.log_dir.directory_id not in registered
        if not new or not isinstance(outcome, PartitionOutcome) or outcome.unserved:
            return one
        home = image.directory(image.ids.get(outcome.topic, ""), outcome.partition, broker.node_id)
        waits = home not in homes and image.alone(outcome.topic, outcome.partition)
        return unserved(one, says.format(home)) if waits else one

    return [told(one) for one in loaded]


def without_the_fenced(
    loaded: Sequence[Loaded], image: MetadataImage | None, broker: BrokerDirs
) -> list[Loaded]:
    """The same, without service where its own controller, the only one, fences the broker all the time."""
    says = fenced_by(broker.config, broker.node_id) if broker.others == () else None
    if image is None or says is None:
        return list(loaded)

    def told(one: Loaded) -> Loaded:
        outcome = one.outcome
        if not isinstance(outcome, PartitionOutcome) or outcome.unserved:
            return one
        return unserved(one, says) if image.alone(outcome.topic, outcome.partition) else one

    return [told(one) for one in loaded]


def without_the_unelected(
    loaded: Sequence[Loaded], image: MetadataImage | None, broker: BrokerDirs
) -> list[Loaded]:
    """The same, without service for what nobody may lead, whoever is up.

    Its own server.properties tells that only of a node that is the only controller.
    """
    if image is None or not broker.kraft:
        return list(loaded)
    usual = {**broker.config.given, **image.dynamic(broker.node_id)}

    def told(one: Loaded) -> Loaded:
        outcome = one.outcome
        if not isinstance(outcome, PartitionOutcome) or outcome.unserved:
            return one
        led = image.leaders.get((image.ids.get(outcome.topic, ""), outcome.partition))
        if led is None or led.isr or led.elr or led.last_known:
            return one
        own = image.configs.get(outcome.topic, {}).get(UNCLEAN_ELECTION)
        anybody = boolean(own or usual.get(UNCLEAN_ELECTION) or str(UNCLEAN_UNSET.of(broker.release)))
        says = NOBODY_IN_SYNC.format(outcome.name)
        if anybody or broker.others == ():
            return one if anybody else unserved(one, says)
        return replace(one, unknown=one.unknown or f"whether {outcome.name} is served: {says}")

    return [told(one) for one in loaded]


def _place(order: Sequence[tuple[tuple[str, int], str]], state: DirState) -> int:
    """Where the partition comes over which it fails; behind all others if it is none that is led."""
    asked = state.late == HIGH_WATERMARK
    met = (path == state.path if asked else f"{key[0]}-{key[1]}" == state.late for key, path in order)
    return next((number for number, is_it in enumerate(met) if is_it), len(order))


def aside(loaded: Sequence[Loaded], states: Sequence[DirState], broker: BrokerDirs) -> list[Loaded]:
    """What becomes of partitions of an offline dir that this node leads, by the metadata: it was killed.

    The first of them ends the broker's way through all that it leads. Those behind it are then taken for
    new: an empty log is made in a dir that is online. Where nobody is elected anew, all behind it is not led.
    """
    image, release = broker.image, broker.release
    home = next((state for state in states if not state.offline), None)
    if image is None or home is None or not broker.kraft or not ENDS_AT_OFFLINE.of(release):
        return list(loaded)
    away = {key_of(one.outcome) for one in loaded if _is_away(one)}
    order = led_by(image, broker.node_id)
    first = next((number for number, key in enumerate(order) if key in away), None)
    if first is None:
        return list(loaded)
    again = RESTARTED.of(release) == Leaves.ANYBODY  # 3.9 elects nobody anew as one registers again
    behind, name = set(order[first + 1 :]), f"{order[first][0]}-{order[first][1]}"
    return [_behind_offline(one, name, home, again=again) if _in(one, behind) else one for one in loaded]


def led_by(image: MetadataImage, node_id: int | None) -> list[tuple[str, int]]:
    """What the node leads by the metadata, as if nobody had noticed that it stopped; in its order."""
    mine: dict[str, list[int]] = {}
    for (topic_id, number), led in image.leaders.items():
        if led.leader == node_id and topic_id in image.names:
            mine.setdefault(image.names[topic_id], []).append(number)
    return leading_order(mine, image.ids)


def _is_away(loaded: Loaded) -> bool:
    state = loaded.dir_state
    return isinstance(loaded.outcome, PartitionOutcome) and bool(state.offline) and not state.late


def _in(loaded: Loaded, keys: set[tuple[str, int]]) -> bool:
    return isinstance(loaded.outcome, PartitionOutcome) and key_of(loaded.outcome) in keys


def _behind_offline(one: Loaded, first: str, home: DirState, *, again: bool) -> Loaded:
    outcome = one.outcome
    assert isinstance(outcome, PartitionOutcome)
    if _is_away(one):
        says = MADE_ASIDE.format(outcome.name, home.path)
        effect = Effect(effect="log-recreated-empty", file=outcome.name, offset=0, broker_says=says)
        return replace(one, outcome=replace(outcome, effects=(*outcome.effects, effect)))
    if again or outcome.outcome not in (Service.SERVED, Service.EMPTY):
        return one
    late = replace(one, outcome=replace(outcome, not_reached=True))
    return unserved(late, NOT_AVAILABLE.format(first, outcome.name))


def unserved(one: Loaded, reason: str) -> Loaded:
    """The same, loaded as it is, without a leader."""
    outcome = one.outcome
    assert isinstance(outcome, PartitionOutcome)
    effect = Effect(effect="partition-unserved", file=outcome.name, broker_says=reason)
    told = replace(
        outcome, after=Extent(), effects=(*outcome.effects, effect), outcome=Service.UNSERVED, reason=reason
    )
    return replace(one, outcome=told, later=())


def unasked(one: Loaded) -> Loaded:
    """The same on a node that is no broker."""
    return unserved(one, NO_BROKER) if isinstance(one.outcome, PartitionOutcome) else one


def key_of(outcome: object) -> tuple[str, int]:
    assert isinstance(outcome, PartitionOutcome)
    return outcome.topic, outcome.partition


def is_wrong(loaded: Loaded, image: MetadataImage, node_id: int | None) -> bool:
    """Whether it ends the broker's way through the partitions that it leads."""
    outcome = loaded.outcome
    if not isinstance(outcome, PartitionOutcome) or not image.alone(outcome.topic, outcome.partition):
        return False
    if loaded.dir_state.offline and not loaded.dir_state.late:
        return False
    return loaded.other_id or _goes_too_late(outcome, image, node_id)


def _goes_too_late(outcome: PartitionOutcome, image: MetadataImage, node_id: int | None) -> bool:
    """A stray that is deleted only once the broker has come upon it: after a kill it leads it still."""
    led = image.leaders.get((image.ids.get(outcome.topic, ""), outcome.partition))
    deleted = any(each.effect == "directory-deleted" for each in outcome.effects)
    return deleted and led is not None and led.leader == node_id


def _unled(loaded: Loaded, behind: dict[tuple[str, int], tuple[str, int]]) -> Loaded:
    outcome = loaded.outcome
    if not isinstance(outcome, PartitionOutcome) or key_of(outcome) not in behind:
        return loaded
    if outcome.outcome not in (Service.SERVED, Service.EMPTY):
        return loaded
    topic, number = behind[key_of(outcome)]
    return unserved(loaded, NOT_APPLIED.format(outcome.name, f"{topic}-{number}"))
