"""Replicas that the metadata expects on this broker and that no current directory holds.

A `-future` directory in the assigned log dir takes the place (3.8+, KAFKA-16082,
`LogManager.recoverAbandonedFutureLogs`); otherwise the broker creates an empty log in the assigned log
dir, or in another unless one is offline and might hold it ("Skipping creation of log because there are
potentially offline log directories"). Nobody is sure to lead one whose log dir is gone from
`log.dirs` before 4.2.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from segmend.broker.election import RESTARTED, Leaves
from segmend.broker.failures import NAME_TAKEN, POTENTIALLY_OFFLINE, RECREATES_OFFLINE, UNASSIGNED
from segmend.broker.strays import NO_DIR_IDS, PROMOTES_FUTURE, UNLED
from segmend.formats.offset_checkpoint import HIGH_WATERMARK
from segmend.frozen import replace
from segmend.loading.beside_a_broker import arriving
from segmend.loading.dirs import DirState
from segmend.loading.led import is_wrong, key_of, led_by, unserved
from segmend.loading.replicas import EMPTY, Loaded
from segmend.loading.values import ONCE_LOADED, Effect, Extent, PartitionOutcome, Service
from segmend.loading.vanished import missed
from segmend.node.broker_dirs import BrokerDirs
from segmend.node.metadata_image import MetadataImage

_NOTHING = Extent(log_start_offset=0, log_end_offset=0, segments=0, bytes=0)


def missing_replicas(
    broker: BrokerDirs, image: MetadataImage | None, loaded: Sequence[Loaded], states: Sequence[DirState]
) -> Iterator[Loaded]:
    """A line for each expected replica without a directory, as the broker then serves it."""
    node_id = broker.node_id
    if image is None:
        if not broker.kraft:
            _fail_over_taken_names(loaded, states)
        return
    online = [state for state in states if not state.offline or state.late]
    known = {
        (one.outcome.topic, one.outcome.partition)
        for one in loaded
        if isinstance(one.outcome, PartitionOutcome)
    }
    futures = {one.key[1:]: one for one in loaded if one.key is not None and one.key[0] == "future"}
    homes = {state.log_dir.directory_id: state for state in states}
    wanted_here = [
        (topic_id, image.names[topic_id], partition)
        for (topic_id, partition), replicas in sorted(image.replicas.items())
        if node_id in replicas and topic_id in image.names and (image.names[topic_id], partition) not in known
    ]
    others = len(wanted_here) - 1 + sum(one.service == Service.EMPTY for one in loaded)
    for topic_id, topic, partition in wanted_here:
        comes = arriving(online, f"{topic}-{partition}")
        if comes is not None:
            yield comes
            continue
        directory = image.directory(topic_id, partition, node_id)
        assigned = None if directory is None else homes.get(directory)
        future = futures.get((topic, partition))
        if future is not None and assigned is future.dir_state and PROMOTES_FUTURE.of(broker.release):
            yield _promoted(future, topic, partition)
        elif online and (
            len(online) == len(states) or assigned in online or _recreates(broker, image, topic, partition)
        ):
            wanted = [assigned] if assigned in online else _emptiest(online, loaded)
            home = _home(wanted, f"{topic}-{partition}")
            if home is None:
                yield _awaited(assigned or online[0], topic, partition)
                continue
            _doubt(wanted[wanted.index(home) + 1 :], home, f"{topic}-{partition}", others, loaded)
            created = _created(home, topic, partition)
            dropped = directory is not None and directory not in homes and directory not in NO_DIR_IDS
            unled = UNLED.of(broker.release) if dropped and len(online) == len(states) else None
            outcome = missed(created, loaded, states)
            if unled:  # the controller waits for the log dir that it knows
                outcome = replace(unserved(outcome, unled.format(directory)), after=None)
            yield outcome
        elif online:
            yield _awaited(assigned or next(each for each in states if each.offline), topic, partition)


def made_as_followers(
    loaded: Sequence[Loaded], states: Sequence[DirState], broker: BrokerDirs
) -> list[Loaded]:
    """The missing ones that come after a wrong topic id, which ended the way through all that is led.

    The controller then takes the killed broker for gone, and it gets to them as a follower. `localChanges`
    names the log dirs that changed, and none did: they are made in the emptiest one in which they can be.
    """
    image, node_id = broker.image, broker.node_id
    if image is None or RESTARTED.of(broker.release) != Leaves.ANYBODY:
        return list(loaded)
    ones = {key_of(one.outcome): one for one in loaded if isinstance(one.outcome, PartitionOutcome)}
    order, failed = [key for key in led_by(image, node_id) if key in ones], set()
    for number, key in enumerate(order):
        state = ones[key].dir_state
        if state.late == f"{key[0]}-{key[1]}":
            failed.add(state.path)
        elif is_wrong(ones[key], image, node_id) and state.path not in failed:
            behind = [each for each in order[number + 1 :] if is_missing(ones[each])]
            return _made_behind(loaded, states, behind, order[:number])
    return list(loaded)


def _made_behind(
    loaded: Sequence[Loaded],
    states: Sequence[DirState],
    behind: Sequence[tuple[str, int]],
    before: Sequence[tuple[str, int]],
) -> list[Loaded]:
    names = {f"{topic}-{partition}" for topic, partition in behind}
    for state in states:
        if state.late in names:
            state.offline = state.late = None  # not by this one: only where the emptiest is tried
    there = [
        one for one in loaded if one.key is not None or (is_missing(one) and key_of(one.outcome) in before)
    ]
    made: dict[tuple[str, int], Loaded] = {}
    for topic, partition in behind:
        online = [state for state in states if not state.offline or state.late == HIGH_WATERMARK]
        home = _home(_emptiest(online, [*there, *made.values()]), f"{topic}-{partition}")
        if home is not None:
            made[topic, partition] = missed(_created(home, topic, partition), loaded, states)
    return [made.get(key_of(one.outcome), one) if is_missing(one) else one for one in loaded]


def made_again(
    one: Loaded, states: Sequence[DirState], broker: BrokerDirs, image: MetadataImage | None
) -> Loaded:
    """A replica in an offline dir, in whose place the broker makes an empty one on another dir.

    What the load did to the old one's files before its dir failed stays done.
    """
    outcome = one.outcome
    if _waits(one, states, broker, image):
        return _unmade(one)
    if not isinstance(outcome, PartitionOutcome) or not one.dir_state.offline or one.dir_state.late:
        return one
    if image is None or not image.assigned(outcome.topic, outcome.partition, broker.node_id):
        return one
    home = _other_home(outcome, states, broker, image)
    if home is None:
        return one
    made, before = _created(home, outcome.topic, outcome.partition).outcome, outcome.before
    done = [each for each in outcome.effects if each.effect not in (*ONCE_LOADED, "reads-fail")]
    lost = (before.log_end_offset or 0) - (before.log_start_offset or 0)
    effect = replace(
        made.effects[0],
        records_lost=max(0, lost - sum(each.records_lost for each in done)),
        bytes_lost=max(0, (before.bytes or 0) - sum(each.bytes_lost for each in done)),
    )
    told = replace(
        outcome, after=EMPTY, effects=(*done, effect), outcome=Service.EMPTY, failure=None,
        reason=f"{one.dir_state.offline}. {effect.broker_says}",
    )  # fmt: skip
    return replace(one, outcome=told, again=True)


def _waits(one: Loaded, states: Sequence[DirState], broker: BrokerDirs, image: MetadataImage | None) -> bool:
    """Whether no log is made in the place of this stray, since an offline dir is to have it."""
    outcome, online = one.outcome, [state for state in states if not state.offline or state.late]
    if image is None or one.dir_state not in online or len(online) == len(states):
        return False
    if not isinstance(outcome, PartitionOutcome) or not any(
        e.effect == "stray-renamed" for e in outcome.effects
    ):
        return False
    if outcome.outcome != Service.EMPTY or _recreates(broker, image, outcome.topic, outcome.partition):
        return False
    known = image.directory(image.ids[outcome.topic], outcome.partition, broker.node_id)
    return all(state.log_dir.directory_id != known for state in online)


def _unmade(one: Loaded) -> Loaded:
    """The stray is set aside, and nobody serves the partition."""
    outcome = one.outcome
    assert isinstance(outcome, PartitionOutcome)
    says = POTENTIALLY_OFFLINE.format(f"{outcome.topic}-{outcome.partition}")
    done = (each for each in outcome.effects if each.effect not in ONCE_LOADED)
    told = unserved(replace(one, outcome=replace(outcome, effects=tuple(done))), says)
    return replace(told, after=one.after)


def _other_home(
    outcome: PartitionOutcome, states: Sequence[DirState], broker: BrokerDirs, image: MetadataImage
) -> DirState | None:
    """The dir in which it is made anew: the one where the metadata has it, else any, if any."""
    topic, number = outcome.topic, outcome.partition
    online = [state for state in states if not state.offline]
    known = image.directory(image.ids[topic], number, broker.node_id)
    mine = next((state for state in online if known and state.log_dir.directory_id == known), None)
    return mine or (next(iter(online), None) if _recreates(broker, image, topic, number) else None)


def _recreates(broker: BrokerDirs, image: MetadataImage, topic: str, partition: int) -> bool:
    """Whether the broker makes a log anew although an offline dir may have it."""
    assigned = image.directory(image.ids[topic], partition, broker.node_id)
    return broker.kraft and (RECREATES_OFFLINE.of(broker.release) or assigned == UNASSIGNED)


def _emptiest(states: Sequence[DirState], loaded: Sequence[Loaded]) -> list[DirState]:
    """The dirs in the order in which one without a dir is given to them (`LogManager.nextLogDirs`)."""
    logs = _logs(loaded)
    return sorted(states, key=lambda state: logs[state.path])


def _logs(loaded: Sequence[Loaded]) -> Counter[str]:
    return Counter(one.dir_state.path for one in loaded if one.key is not None)


def _doubt(
    states: Iterable[DirState | None], home: DirState, name: str, others: int, loaded: Sequence[Loaded]
) -> None:
    """Dirs that the name is taken in, and that are the emptiest if some of the `others` are made before."""
    logs = _logs(loaded)
    for state in filter(None, states):
        if _is_taken(state, name) and logs[state.path] - logs[home.path] <= others:
            says = NAME_TAKEN.format(name, state.path)
            state.unknown.append(f"{says}, if enough of the other new logs are made before it")


def is_missing(one: Loaded) -> bool:
    """Whether there is no directory of it where it is told of, in a dir that was loaded."""
    outcome, state = one.outcome, one.dir_state
    there = state.log_dir.entries.get(outcome.name) in ("dir", "link-dir") or one.key is not None
    return isinstance(outcome, PartitionOutcome) and not there and not (state.offline and not state.late)


def _is_taken(state: DirState, name: str) -> bool:
    """Whether something else than a directory has the name."""
    return state.log_dir.entries.get(name) not in (None, "dir", "link-dir")


def _home(states: Iterable[DirState | None], name: str) -> DirState | None:
    """The first in which a directory of that name can be made; those before it fail, once all is loaded."""
    for state in filter(None, states):
        if not _is_taken(state, name):
            return state
        state.offline, state.late = state.offline or NAME_TAKEN.format(name, state.path), name
    return None


def _fail_over_taken_names(loaded: Sequence[Loaded], states: Sequence[DirState]) -> None:
    """Dirs that go offline where something else than a directory has the name of a replica of theirs.

    ZooKeeper has the replicas, so only those of which a dir's checkpoint has a line are seen to have been
    here. Once a dir failed, no other log is made that is not new (`LogManager.getOrCreateLog`).
    """
    there = {one.key[1:] for one in loaded if one.key is not None and one.key[0] == "current"}
    lines = {key for state in states for offsets in state.offsets.values() for key in offsets}
    for topic, partition in sorted(lines - there):
        if any(state.offline and not state.late for state in states):
            return
        name = f"{topic}-{partition}"
        if any(_is_taken(state, name) for state in states):
            _home(_emptiest(states, loaded), name)
            if any(state.late == name for state in states):
                return


def _promoted(future: Loaded, topic: str, partition: int) -> Loaded:
    outcome = PartitionOutcome(
        dir=future.dir_state.path, name=future.outcome.name, topic=topic, partition=partition,
        before=future.before, after=future.after or Extent(), effects=future.outcome.effects,
    )  # fmt: skip
    return _loaded(outcome, future.dir_state)


def _created(state: DirState, topic: str, partition: int) -> Loaded:
    name = f"{topic}-{partition}"
    says = f"Created log for partition {name} in {state.path}/{name}"
    effect = Effect(effect="log-recreated-empty", file=name, offset=0, broker_says=says)
    outcome = PartitionOutcome(
        dir=state.path, name=name, topic=topic, partition=partition, before=_NOTHING, after=EMPTY,
        effects=(effect,), outcome=Service.EMPTY, reason=says,
    )  # fmt: skip
    return _loaded(outcome, state)


def _awaited(state: DirState, topic: str, partition: int) -> Loaded:
    """A replica that an offline dir may have: nothing is made in its place, and nobody serves it."""
    says = POTENTIALLY_OFFLINE.format(f"{topic}-{partition}")
    name = f"{topic}-{partition}"
    outcome = PartitionOutcome(
        dir=state.path, name=name, topic=topic, partition=partition, before=_NOTHING, after=Extent(),
        effects=(Effect(effect="partition-unserved", file=name, broker_says=says),), outcome=Service.OFFLINE,
        reason=says,
    )  # fmt: skip
    return replace(_loaded(outcome, state), after=None)


def _loaded(outcome: PartitionOutcome, state: DirState) -> Loaded:
    path = f"{state.path}/{outcome.name}"
    return Loaded(outcome=outcome, dir_state=state, path=path, before=outcome.before, after=outcome.after)
