"""The start of one broker over all its log dirs.

Follows `KafkaRaftServer.initializeLogDirs` and `LogManager.loadLogs`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from segmend.broker.failures import (
    ALL_DIRS_FAILED,
    ALREADY_OFFLINE,
    CANNOT_RENAME,
    DIR_FAILED,
    DUPLICATE,
    METADATA_DIR_FAILED,
    OFFLINE_STOPS_READS,
    Fate,
    LoadFailure,
)
from segmend.broker.strays import PROMOTES_FUTURE
from segmend.formats.names import CLUSTER_METADATA, REMOTE_INDEX_CACHE
from segmend.frozen import replace
from segmend.loading import places
from segmend.loading.coordinator_state import concerned
from segmend.loading.dirs import DirState, is_needed
from segmend.loading.expected import is_missing, made_again, made_as_followers, missing_replicas
from segmend.loading.futures import replaced
from segmend.loading.led import (
    aside,
    key_of,
    unasked,
    without_the_fenced,
    without_the_renamed,
    without_the_unelected,
    without_the_unled,
)
from segmend.loading.left_open import LeftOpen
from segmend.loading.prelude import ForecastOptions, Prelude
from segmend.loading.reads import Budget
from segmend.loading.remote import assumed, untold
from segmend.loading.replicas import Loaded, Situation, unless_cleaner_dies, unseen
from segmend.loading.side_by_side import load_directories
from segmend.loading.timing.estimate import estimate
from segmend.loading.unmarked import spare_the_unasked, without_the_unmarked
from segmend.loading.values import (
    ONCE_LOADED,
    BrokerOutcome,
    DirectoryOutcome,
    DirOutcome,
    Extent,
    Later,
    Losses,
    PartitionOutcome,
    Service,
)
from segmend.logdir.as_user import AsUser
from segmend.logdir.log_dir import LogDir
from segmend.logdir.partition_dir import PartitionDir
from segmend.node.broker_dirs import BrokerDirs
from segmend.node.gates import refused_metadata, refused_server, shut_out

Line = PartitionOutcome | DirectoryOutcome | DirOutcome | Later | BrokerOutcome
"""What a forecast gives, in this order of kinds, the broker last."""


class Forecast:
    """Iterate for the lines; `broker` is the last of them, once all were taken."""

    def __init__(
        self,
        broker: BrokerDirs,
        options: ForecastOptions,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self._broker = broker
        self._options = options
        self._progress = on_progress
        self.broker: BrokerOutcome | None = None

    def __iter__(self) -> Iterator[Line]:
        run = _Run(self._broker, self._options, self._progress)
        for line in run.lines():
            if isinstance(line, BrokerOutcome):
                self.broker = line
            yield line


def forecast(
    broker: BrokerDirs, options: ForecastOptions, on_progress: Callable[[int, int], None] | None = None
) -> Forecast:
    """What the broker would do to these dirs, which are all of its `log.dirs`; nothing is touched."""
    return Forecast(broker, options, on_progress)


class _Run:
    """One start, from the identities to the last log."""

    def __init__(
        self, broker: BrokerDirs, options: ForecastOptions, progress: Callable[[int, int], None] | None
    ) -> None:
        self._view = None if options.user is None else AsUser(options.user)
        if self._view is not None:
            broker = broker.seen_by(self._view)
        self._options = options
        self._progress = progress
        self._budget = Budget(unlimited=options.deep)
        self._prelude = Prelude(broker, options, self._budget)
        self._broker = broker
        self._loaded: list[Loaded] = []
        self._others: list[DirectoryOutcome] = []
        self._refusal: str | None = None
        self._untouched = False
        self._unsure: list[str] = []

    def lines(self) -> Iterator[Line]:
        prelude, broker = self._prelude, self._broker
        states = prelude.states
        self._refusal = refused_server(broker) or prelude.verdict.refusal or prelude.failed
        gate = None if self._refusal else refused_metadata(broker)
        self._others.extend(prelude.read_metadata_logs(self._refuse))
        self._refuse(gate)
        if broker.kraft:  # before a log is looked at
            self._rewrite_identities(states)
        self._untouched = self._refusal is not None
        self._load_all(states, prelude.situation())
        for state in states:
            self._refuse(state.fatal)
        if broker.serves:
            self._serve(states)
        else:
            self._loaded = [unasked(one) for one in self._loaded]
        if states and all(state.offline for state in states):
            self._refuse(ALL_DIRS_FAILED.format(", ".join(state.path for state in states)))
        self._refuse(shut_out(broker))
        yield from self._lines(states)

    def _serve(self, states: Sequence[DirState]) -> None:
        """What becomes of the logs once they are loaded."""
        broker, image = self._broker, self._prelude.metadata.image
        self._loaded.extend(missing_replicas(broker, image, list(self._loaded), states))
        self._loaded = made_as_followers(self._loaded, states, broker)
        spare_the_unasked(self._loaded, states)
        self._loaded = without_the_unled(self._loaded, image, broker.node_id, broker.release)
        self._loaded = without_the_renamed(self._loaded, image, broker)
        self._loaded = without_the_unelected(self._loaded, image, broker)
        self._loaded = without_the_fenced(without_the_unmarked(self._loaded, image), image, broker)
        self._duplicates()
        self._refuse(places.set_aside(self._loaded, states, broker.release))
        self._futures()
        if not broker.kraft:
            self._rewrite_identities(states)
        for state in states:
            places.leave(state, broker.release)
            self._refuse(state.fatal)
            if state.never_live:
                continue
            if state.offline and is_needed(state, broker):
                self._refuse(METADATA_DIR_FAILED.format(state.path, state.offline))
        self._loaded = [made_again(one, states, broker, image) for one in self._loaded]
        self._loaded = replaced(aside(self._loaded, states, broker), self._budget)

    def _rewrite_identities(self, states: Sequence[DirState]) -> None:
        for state in states:
            self._refuse(places.rewrite_identity(state, self._broker))

    def _refuse(self, reason: str | None) -> None:
        self._refusal = self._refusal or reason

    def _load_all(self, states: Sequence[DirState], situation: Situation) -> None:
        kinds = (each.kind for state in states for each in state.log_dir.partitions)
        total = sum(kind != "cluster-metadata" for kind in kinds)
        done = 0
        for state in states:
            outcomes = []
            partitions = [each for each in _as_listed(state.log_dir) if each.kind != "cluster-metadata"]
            wanted = [each for each in partitions if not self._is_passed_over(each)]
            loads = load_directories(state, wanted, situation, self._view, self._options.workers)
            for partition in partitions:
                loaded = unseen(state, partition) if self._is_passed_over(partition) else next(loads)
                done += 1
                if self._progress is not None:
                    self._progress(done, total)
                outcomes.append(self._loaded_one(state, partition, loaded))
            next(loads, None)  # It comes to its end, and so do the processes it began.
            for loaded in sorted(outcomes, key=_place):
                self._loaded.append(loaded)
                if isinstance(loaded.outcome, DirectoryOutcome):
                    self._others.append(loaded.outcome)
            for name in state.foreign:
                outcome = "kept" if state.unread else "fatal"
                self._others.append(
                    DirectoryOutcome(dir=state.path, name=name, kind="foreign", outcome=outcome)
                )
            if REMOTE_INDEX_CACHE in state.log_dir.entries:
                self._others.append(
                    DirectoryOutcome(
                        dir=state.path, name=REMOTE_INDEX_CACHE, kind="remote-index-cache", outcome="kept"
                    )
                )

    def _is_passed_over(self, partition: PartitionDir) -> bool:
        only = self._options.only
        return only is not None and partition.kind == "current" and partition.name not in only

    def _loaded_one(self, state: DirState, partition: PartitionDir, loaded: Loaded) -> Loaded:
        if state.unread:
            loaded = _left_alone(loaded)
        if loaded.open_transactions and OFFLINE_STOPS_READS.of(self._broker.release):
            if state.doubtful:
                self._refuse(ALREADY_OFFLINE.format(state.path))
            elif loaded.failure is None:
                state.open_transactions.append(partition.name)
        if loaded.failure is not None:
            self._fail(state, loaded.failure)
        return loaded

    def _fail(self, state: DirState, failure: LoadFailure) -> None:
        if failure.fate == Fate.BROKER:
            state.fatal = state.fatal or str(failure)
            return
        state.fail(f"{DIR_FAILED.format(state.path)}: {failure}")
        if failure.marks_dir and not state.doubtful:
            state.doubtful = state.offline
            self._beside(state)

    def _beside(self, state: DirState) -> None:
        """Logs with an open transaction that are perhaps being loaded while another one marks their dir."""
        threads = self._broker.config.number("num.recovery.threads.per.data.dir")
        names = state.open_transactions[-(threads - 1) :] if threads > 1 else []
        if names:
            self._refuse(ALREADY_OFFLINE.format(state.path))
            words = f"{threads} threads load {state.path}: the broker starts if {', '.join(names)}"
            self._unsure.append(
                f"{words} {'was' if len(names) == 1 else 'were'} loaded before the dir failed"
            )

    def _duplicates(self) -> None:
        seen: dict[tuple[str, str, int], str] = {}
        release = self._broker.release
        for loaded in self._loaded:
            key = loaded.loads_as
            if key is None:
                continue
            if key in seen:
                self._refuse(DUPLICATE.of(release).format(f"{key[1]}-{key[2]}", seen[key], loaded.path))
            seen[key] = loaded.path

    def _futures(self) -> None:
        """A future replica that takes its current one's place finds it there, if both lie in one dir."""
        here = {
            (one.dir_state.path, one.key[1:]) for one in self._loaded if one.key and one.key[0] == "current"
        }
        made = {(one.dir_state.path, key_of(one.outcome)) for one in self._loaded if is_missing(one)}
        taken = here | made
        for one in self._loaded:
            place = (one.dir_state.path, one.key[1:]) if one.key and one.key[0] == "future" else None
            if one.key is None or place not in taken:
                continue
            state, name = one.dir_state, f"{one.key[1]}-{one.key[2]}"
            says = CANNOT_RENAME.format(name, state.path)
            if place in made:
                self._unsure.append(f"{state.path}: how long it serves anything: {says}")
            elif PROMOTES_FUTURE.of(self._broker.release):
                self._refuse(says)
            else:
                state.offline = state.offline or says

    def _lines(self, states: Sequence[DirState]) -> Iterator[Line]:
        lines = ((loaded, self._told(loaded)) for loaded in self._loaded)
        partitions = [
            self._concerned(loaded, line) for loaded, line in lines if isinstance(line, PartitionOutcome)
        ]
        yield from partitions
        yield from self._others
        if self._refusal is None:
            online = [loaded for loaded in self._loaded if not loaded.dir_state.offline]
            yield from unless_cleaner_dies(online, self._prelude.situation())
        for state in states:
            yield DirOutcome(
                dir=state.path, online=state.offline is None, clean_shutdown=state.clean,
                reason=state.offline or state.fatal, effects=tuple(state.effects),
                metadata_alone=state.log_dir.is_metadata_apart,
            )  # fmt: skip
        yield self._outcome(states, partitions)

    def _outcome(self, states: Sequence[DirState], partitions: Sequence[PartitionOutcome]) -> BrokerOutcome:
        broker = self._broker
        left_open = LeftOpen(
            self._prelude,
            self._loaded,
            refused=self._refusal is not None,
            view=self._view,
            unsure=self._unsure,
        )
        told: list[PartitionOutcome | DirectoryOutcome] = [*partitions, *self._others]
        remote = [one.outcome.name for one in self._loaded if one.in_remote]
        served = {(each.topic, each.partition) for each in partitions if not each.unserved}
        settled = broker.settled  # a release that only takes longer is not compared
        threads = settled.config.number("num.recovery.threads.per.data.dir")
        time = estimate([state.work for state in states], settled.release, threads, self._options.machine)
        return BrokerOutcome(
            starts=self._refusal is None, reason=self._refusal, partitions=len(partitions),
            joined=self._refusal is not None and not self._untouched,
            offline=sum(state.offline is not None for state in states),
            seconds=time.seconds, time=time,
            release=str(broker.release), release_reason=broker.release_reason,
            lost=Losses(
                partitions=sum(each.loses for each in told if each.name != CLUSTER_METADATA),
                records=sum(each.records_lost for each in partitions),
                bytes=sum(each.bytes_lost for each in partitions),
            ),
            unserved=sum(each.unserved and (each.topic, each.partition) not in served for each in partitions),
            unknown=tuple(self._with_refused([*left_open.unknown(), *untold(partitions, remote)])),
            assumed=(*left_open.assumed(), *assumed(remote)),
            supposed=self._prelude.metadata.supposed,
            metadata_lost=_of_metadata(self._others),
        )  # fmt: skip

    def _with_refused(self, unknown: list[str]) -> list[str]:
        """With all that this process may not read, whoever asked for it, and took what in its place."""
        refused = {} if self._view is None else self._view.refused
        return unknown + [each for each in refused.values() if not any(each in words for words in unknown)]

    def _concerned(self, loaded: Loaded, line: PartitionOutcome) -> PartitionOutcome:
        """With the groups or transactional ids that it concerns, if that is asked."""
        partition = loaded.dir_state.log_dir.partition(line.name) if self._options.whose else None
        return line if partition is None else replace(line, concerns=concerned(partition, line))

    def _told(self, loaded: Loaded) -> PartitionOutcome | DirectoryOutcome:
        """The line, without an `after` where nothing is served, without effects where nothing is touched."""
        outcome, offline = loaded.outcome, loaded.dir_state.offline
        if self._refusal is not None:
            kept = (each for each in outcome.effects if each.effect not in ONCE_LOADED)
            outcome = replace(outcome, effects=tuple(kept))
        if isinstance(outcome, DirectoryOutcome) or (
            self._refusal is None and (offline is None or loaded.again)
        ):
            return outcome
        return replace(
            outcome, after=Extent(), effects=() if self._untouched else outcome.effects,
            outcome=Service.OFFLINE if self._refusal is None else Service.UNSERVED,
            reason=self._refusal or offline,
        )  # fmt: skip


def _of_metadata(others: Sequence[DirectoryOutcome]) -> Losses:
    """What goes of the metadata log; whether it held anything but NoOpRecord its damage hides."""
    lossy = [each for each in others if each.name == CLUSTER_METADATA and each.loses]
    effects = [effect for each in lossy for effect in each.effects]
    return Losses(
        partitions=len(lossy),
        records=sum(effect.records_lost for effect in effects),
        bytes=sum(effect.bytes_lost for effect in effects),
    )


def _as_listed(log_dir: LogDir) -> list[PartitionDir]:
    """Its partitions in the order in which the broker lists and loads them."""
    order = {name: number for number, name in enumerate(log_dir.entries)}
    return sorted(log_dir.partitions, key=lambda each: order[each.name])


def _place(loaded: Loaded) -> tuple[str, int, str]:
    outcome = loaded.outcome
    return outcome.topic or "", outcome.partition or 0, outcome.name


def _left_alone(loaded: Loaded) -> Loaded:
    """Of what would have been done to a directory, only how it is now."""
    outcome = replace(loaded.outcome, effects=(), failure=None)
    if isinstance(outcome, DirectoryOutcome):
        outcome = replace(outcome, outcome="kept")
    return replace(
        loaded, outcome=outcome, key=None, loads_as=None, failure=None, open_transactions=False, later=(),
        other_id=False,
    )  # fmt: skip
