"""One node, its own copy of the metadata, those that were given, and which of them is the best."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from functools import cached_property
from typing import Final

from segmend.errors import UsageError
from segmend.formats.names import CLUSTER_METADATA
from segmend.formats.quorum_state import QuorumState
from segmend.frozen import frozen
from segmend.logdir.config import ServerConfig
from segmend.logdir.log_dir import LogDir
from segmend.logdir.partition_dir import PartitionDir
from segmend.logdir.release import AS_GIVEN
from segmend.node.broker_dirs import BrokerDirs
from segmend.node.metadata_copy import MetadataCopy, MetadataStanding, Position
from segmend.node.metadata_version import registered_metadata_version
from segmend.node.voter_files import VoterFiles, sound_state
from segmend.surgery.ops.quorum.sources import Source, sources
from segmend.surgery.options import flag, option
from segmend.surgery.planning import accepted_loss, amounts
from segmend.surgery.request import Request


@frozen
class Options:
    """What `plan quorum` may be asked."""

    from_: tuple[str, ...] = option(
        "another node's metadata dir, or its __cluster_metadata-0; repeatable", "DIR", default=()
    )
    restored: bool = flag("the node's own files are of an older copy of it: its votes since are lost")
    standalone: bool = flag("the other voters are lost for good: this node becomes the only one")
    config: str | None = option("the node's server.properties", "FILE")
    gone: tuple[int, ...] = option(
        "a voter whose disks are gone for good; repeatable", "N", amounts.node_id, default=()
    )
    live_source: bool = flag("a node runs on a copy given by --from: read it as it is now")
    accept_loss: int | None = option(
        "give up N records of the metadata that no whole copy has", "N-records", accepted_loss.records
    )


RESTORED: Final = "--restored says so"


@frozen
class ChosenCopy:
    """The copy that is taken: a source, or None for the node's own, and what of it."""

    standing: MetadataStanding
    source: Source | None = None


class QuorumCase:
    """What there is; raises `UsageError`, `BrokerRunning`, `Unreadable`."""

    def __init__(self, request: Request[Options]) -> None:
        self.request, self.options = request, request.options
        self.config = None if self.options.config is None else ServerConfig.load(self.options.config)
        self.broker = request.broker.configured(self.config)
        if not self.broker.kraft:
            raise UsageError(f"{request.given[0]}: runs with ZooKeeper, which has the metadata")
        self.home = _home(self.broker)
        self.partition = self.home.cluster_metadata
        self.own = None if self.partition is None else MetadataCopy.of(self.partition)
        if self.broker.node_id is None:
            raise UsageError(
                f"{self.home.path}: no meta.properties tells which node this is; mend it first: "
                f"segmend plan identity {shlex.quote(self.home.path)}"
            )
        self.node_id = self.broker.node_id
        self.sources = sources(self.options.from_, self.broker, self.path, live=self.options.live_source)

    @property
    def registered(self) -> BrokerDirs | None:
        """By the rules of the release that copies of others tell; None where its own, or somebody, does."""
        broker = self.request.broker
        own = [] if self.partition is None else [self.partition]
        if broker.release_reason == AS_GIVEN or self._level(own) is not None:
            return None
        level = self._level([source.copy.partition for source in self.sources])
        return None if level is None else broker.registered_with(level)

    def _level(self, copies: Sequence[PartitionDir]) -> int | None:
        levels = (registered_metadata_version(each, self.node_id) for each in copies)
        return max((level for level in levels if level is not None), default=None)

    @property
    def path(self) -> str:
        """Where the node's copy is to be."""
        return f"{self.home.path}/{CLUSTER_METADATA}"

    @cached_property
    def state(self) -> QuorumState | None:
        """The node's own quorum-state, None if it is lost, or is older than its last vote."""
        return None if self.older_votes else self._found_state

    @property
    def _found_state(self) -> QuorumState | None:
        return None if self.partition is None else sound_state(self.partition)

    @cached_property
    def older_votes(self) -> str | None:
        """Why its quorum-state does not have its last vote; None where nothing tells that."""
        if self.options.restored and self._found_state is not None:
            return RESTORED
        return next(self._own.votes_in(self._theirs), None)

    @cached_property
    def older(self) -> str | None:
        """Why its own files are of an older copy than the one that ran last; None where nothing tells."""
        return self.older_votes or next(self._own.records_in(self._theirs), None)

    @property
    def _own(self) -> VoterFiles:
        return VoterFiles.of("its own", self.node_id, self.home.directory_id, self.own, self._found_state)

    @property
    def _theirs(self) -> list[VoterFiles]:
        return [source.files for source in self.sources]

    @property
    def ends_unknown(self) -> bool:
        """Whether nothing of its own tells how far its log went."""
        return self.own is None or self.own.is_empty or self.own.cut_short or self.older is not None

    @property
    def copies(self) -> list[MetadataCopy]:
        """Its own, and all that were given."""
        return [*([] if self.own is None else [self.own]), *(source.copy for source in self.sources)]

    @cached_property
    def choice(self) -> ChosenCopy | None:
        """The newest; of equals the node's own. Others count only where its own is not all that it had."""
        best = None if self.own is None or self.own.is_empty else self.own.best
        offered = [] if best is None else [ChosenCopy(standing=best)]
        if self._others_count:
            theirs = ((source, source.copy.best) for source in self.sources)
            offered += [
                ChosenCopy(source=source, standing=best) for source, best in theirs if best is not None
            ]
        return max(offered, key=lambda each: each.standing.position, default=None)

    @property
    def _others_count(self) -> bool:
        if self.options.standalone or self.own is None or self.own.is_empty or not self.own.has_all:
            return True
        return self.older is not None

    @cached_property
    def reached(self) -> Position:
        """The furthest that any copy that counts went, by what can be read of it."""
        own = [] if self.own is None else [self.own]
        return max((each.reached for each in (self.copies if self._others_count else own)), default=(0, 0))

    @property
    def lost(self) -> int:
        """Offsets that some copy once had and the chosen one has not."""
        if self.choice is None or self.choice.standing.position >= self.reached:
            return 0
        return max(self.reached[1] - self.choice.standing.position[1], 1)


def _home(broker: BrokerDirs) -> LogDir:
    if broker.metadata_elsewhere is not None:
        raise UsageError(f"{broker.config.metadata_log_dir}: is where the metadata is; give that dir, too")
    having = [each for each in broker.dirs if each.cluster_metadata is not None]
    if broker.metadata_dir is None or (not having and not broker.home_is_known and len(broker.dirs) > 1):
        none, named = f"none of these dirs has a {CLUSTER_METADATA}", broker.config.metadata_log_dir
        if broker.given is not None and named:
            raise UsageError(
                f"{none}; {named}, of server.properties, is none of them: give only what it is here"
            )
        raise UsageError(f"{none}: where is it to be? give --config server.properties")
    return broker.metadata_dir
