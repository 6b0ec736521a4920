"""What a broker knows before it loads its first log: identities, marks, checkpoints, metadata.

Follows `KafkaRaftServer.initializeLogDirs` and the beginning of `LogManager.loadLogs`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

from segmend.broker.failures import IO_ERROR, NO_READABLE_DIR, Fate
from segmend.broker.identity import UNEXPECTED_METADATA, Identity, IdentityVerdict, verify
from segmend.broker.server_names import MIGRATION
from segmend.broker.server_rules import ZOOKEEPER
from segmend.formats.config_values import boolean
from segmend.formats.names import BOOTSTRAP_CHECKPOINT, CLUSTER_METADATA
from segmend.frozen import field, frozen
from segmend.loading import places
from segmend.loading.dirs import DirState, identity_of, read_dir, refuse_foreign, untouched
from segmend.loading.limits import TopicSettings
from segmend.loading.metadata import Metadata, metadata_of
from segmend.loading.metadata_log import UNKNOWN, look_at_home, look_at_metadata
from segmend.loading.reads import Budget
from segmend.loading.replicas import Situation, searched
from segmend.loading.timing.estimate import Machine
from segmend.loading.values import DirectoryOutcome
from segmend.logdir.file_system import READ
from segmend.logdir.log_dir import LogDir
from segmend.logdir.user import User
from segmend.node.broker_dirs import BrokerDirs
from segmend.node.listed import absent, made_in
from segmend.node.only_zookeeper import not_given, only_zookeeper_knows, taken_over


@frozen
class ForecastOptions:
    """`clean` overrides the marker; `now_ms` is for retention; `deep` reads every batch of any disk.

    `whole`: these are all log dirs of the node. A check may be shown one of several.
    `user` is whom the broker runs as, None where nobody asks what he may do; `user_assumed` tells how
    he is known. `topics` are settings of topics where the log dirs do not tell them (ZooKeeper). `workers` is
    how many processes may load what is large; `unknown` stands against an all-clear, whatever the start, and
    `unseen` is told beside one.
    `only` names the current partitions to load; the others are taken to stay as they are. `whose` asks for
    the groups and transactional ids that losses of internal topics concern. `max_map_count` is the broker's
    machine's, where it is known.
    """

    clean: bool | None = None
    whole: bool = True
    deep: bool = False
    now_ms: int = 0
    machine: Machine = field(default_factory=Machine)
    user: User | None = None
    user_assumed: str | None = None
    topics: TopicSettings | None = None
    workers: int = 1
    unknown: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    only: frozenset[str] | None = None
    whose: bool = False
    max_map_count: int | None = None


class Prelude:
    """One broker before the load; each part is looked at when first asked for."""

    def __init__(self, broker: BrokerDirs, options: ForecastOptions, budget: Budget) -> None:
        self.broker = broker
        self.options = options
        self.budget = budget

    @cached_property
    def states(self) -> list[DirState]:
        """What the broker has read of each dir; its identity counts already."""
        broker, clean = self.broker, self.options.clean
        cleaner = broker.config.cleaner_runs
        states = []
        for log_dir in broker.dirs:
            if broker.serves:
                state = read_dir(log_dir, broker.release, clean=clean, cleaner=cleaner)
                state.foreign += made_in(broker, log_dir)
                refuse_foreign(state, broker.release, apart=broker.is_apart(log_dir))
            else:
                state = untouched(log_dir)
            if broker.serves or log_dir is broker.metadata_dir:
                places.enter(state, broker.release)
            if state.path in self.verdict.offline:
                state.leave_out(self.verdict.offline[state.path])
            unreadable = state.log_dir.meta_properties.unreadable
            if unreadable is not None and unreadable.forbidden:
                state.unknown.append(str(unreadable))
            states.append(state)
        return states

    @property
    def failed(self) -> str | None:
        """Why a broker of before 1.0 ends (`LogManager.createAndValidateLogDirs`): it has no dir to spare."""
        if IO_ERROR.of(self.broker.release) is not Fate.BROKER:
            return None
        failed = (state for state in self.states if state.unread)
        words = (NO_READABLE_DIR.format(x.path) if x.log_dir.unreadable else x.offline for x in failed)
        return next(words, None)

    @cached_property
    def verdict(self) -> IdentityVerdict:
        """What the meta.properties of all dirs together say."""
        broker = self.broker
        home = broker.metadata_dir
        known = (each for each in broker.dirs if not _hides_identity(each))
        identities = [identity_of(each, broker.release, is_metadata_dir=each is home) for each in known]
        identities += [Identity(path=path, missing=True, value=None) for path in self.absent]
        config = broker.config
        return verify(
            identities, kraft=broker.kraft, node_id=config.node_id, release=broker.release,
            migrating=boolean(config.given.get(MIGRATION)) is True,
        )  # fmt: skip

    @property
    def absent(self) -> list[str]:
        """Log dirs of the configuration that are not there, if any of the others is among those given."""
        return absent(self.broker)

    def only_zookeeper_knows(self) -> Iterator[str]:
        """What only ZooKeeper knows of these dirs, and of those that are not there or were not given."""
        offline = {state.path for state in self.states if state.offline}
        yield from only_zookeeper_knows(self.broker, self.absent, offline)
        yield from not_given(self.broker, self.absent)
        given = self.broker.config.given
        if ZOOKEEPER in given and not boolean(given.get(MIGRATION)):
            yield from taken_over(self.broker)

    @cached_property
    def metadata(self) -> Metadata:
        """What the node goes by."""
        return metadata_of(self.broker, whole=self.options.whole)

    def read_metadata_logs(self, refuse: Callable[[str | None], None]) -> list[DirectoryOutcome]:
        """Read the metadata log of each dir that has one; `refuse` is told why the process ends."""
        outcomes, home = [], self.broker.metadata_dir
        if self.broker.kraft and home is not None:
            refuse(look_at_home(home, self.broker))
        for state in self.states if self.broker.kraft else ():
            partition = state.log_dir.cluster_metadata
            if state.log_dir is not home and state.log_dir.has_metadata_name:
                place = f"{state.path}/{CLUSTER_METADATA}"
                refuse(UNEXPECTED_METADATA.format(place, home.path if home else ""))
            if partition is None:
                continue
            outcome, work, refusal = look_at_metadata(partition, self.broker)
            if refusal is None and outcome.outcome == UNKNOWN:
                state.unknown.append(f"{partition.path}: {outcome.failure}")
            state.metadata += work
            refuse(_closed_bootstrap(state.log_dir))
            refuse(refusal)
            outcomes.append(self.metadata.on(outcome) if state.log_dir is home else outcome)
        refuse(self.metadata.waits)
        return [*outcomes, *filter(None, [self.metadata.line()])]

    def situation(self) -> Situation:
        """What is the same for all replicas."""
        image = self.metadata.image
        now = self.options.now_ms
        told = self.options.topics
        return searched(Situation(broker=self.broker, now_ms=now, budget=self.budget, image=image, told=told))


def _hides_identity(log_dir: LogDir) -> bool:
    """Whether this process may not see whose dir it is, so that nothing is to be said of it."""
    unreadable = log_dir.unreadable or log_dir.meta_properties.unreadable
    return unreadable is not None and unreadable.forbidden


def _closed_bootstrap(log_dir: LogDir) -> str | None:
    """The reason, where the broker's user may not read `bootstrap.checkpoint`."""
    if BOOTSTRAP_CHECKPOINT not in log_dir.entries:
        return None
    path = f"{log_dir.path}/{BOOTSTRAP_CHECKPOINT}"
    denied = log_dir.files.denial(path, READ)
    return None if denied is None else f"{path} ({denied})"
