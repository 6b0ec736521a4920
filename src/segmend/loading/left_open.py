"""What a forecast leaves open: what could change it and was not to be read, and what it took for granted."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import Final

from segmend.broker.identity import NEITHER
from segmend.broker.server_listeners import wants_jaas
from segmend.broker.server_odds import much_memory, odd_settings, untold_settings
from segmend.broker.server_rules import ELSEWHERE, PLACES, is_whole
from segmend.broker.server_texts import unheard
from segmend.broker.serving import MAP_FAILED
from segmend.formats.names import CONSUMER_OFFSETS
from segmend.loading.metadata import ANOTHER_HOME, FOLLOWS, IN_ITS_HOME, NOBODYS, in_zookeeper
from segmend.loading.prelude import Prelude
from segmend.loading.replicas import Loaded
from segmend.loading.topic_ids import doubtful_ids
from segmend.loading.values import PartitionOutcome, Service
from segmend.loading.vanished import never_seen
from segmend.logdir.as_user import AsUser
from segmend.logdir.config import ServerConfig
from segmend.logdir.release import Release
from segmend.node.dir_times import MINUTE, time_of
from segmend.node.gates import ends_elected, perhaps_shut_out
from segmend.node.listed import left_out, missing_files, unlisted
from segmend.node.metadata_misfits import passed_over
from segmend.node.older import IDS, OWN, UNTOLD, ahead, given_again, told
from segmend.node.process_limits import LOADED, MAX_MAP_COUNT, OPEN_FILES, loaded_segments, maps_needed
from segmend.wording import few

ONE_MOMENT: Final = f"its log dirs are of one moment: {UNTOLD}"

_TOO_FEW_MAPS: Final = (
    "whether it starts, or how long it serves: {:,} segments need up to {:,} memory maps, and "
    "vm.max_map_count is {:,} here: {}"
)
_MORE_MAPS: Final = (
    "vm.max_map_count is higher than usual: {:,} segments need up to {:,} memory maps, not {:,} ({})"
)

_OFFSETS: Final = (
    "nobody needs what groups without members have committed: nothing was written to __consumer_offsets for "
    "{:,} hours, and their offsets go within minutes of the start ({}={:,})"
)
_KEPT: Final = "offsets.retention.minutes"


class LeftOpen:
    """Of one start, once all is loaded; `unsure` is what came up on the way."""

    def __init__(
        self,
        prelude: Prelude,
        loaded: Sequence[Loaded],
        *,
        refused: bool,
        view: AsUser | None,
        unsure: Sequence[str],
    ) -> None:
        self._prelude, self._broker = prelude, prelude.broker
        self._loaded, self._refused, self._view, self._unsure = loaded, refused, view, unsure

    def unknown(self) -> Iterator[str]:
        """What could change the answer and was not to be read."""
        yield from self._prelude.options.unknown
        for state in self._prelude.states:
            yield from state.unknown
        yield from (each.unknown for each in self._loaded if each.unknown)
        yield from self._places()
        yield from (f"{path}: what it should have: {why}" for path, why in self._broker.older_dirs.items())
        yield from self._unsure
        yield from ends_elected(self._broker)
        yield from perhaps_shut_out(self._broker)
        if not self._refused:
            yield from self._in_service()
            yield from odd_settings(self._broker.config, self._broker.release)
            yield from self._maps(known=True)
            yield from missing_files(self._broker).values()
        yield from self._older()
        metadata = self._prelude.metadata
        if metadata.unknown is not None:
            yield metadata.unknown
        elif self._broker.kraft and metadata.image is None:
            yield "replicas that the metadata does not expect (no readable __cluster_metadata here)"
        elif metadata.assumed is not None and any(one.service == Service.STRAY for one in self._loaded):
            yield "whether this copy of the cluster's metadata is behind, and what is a stray by it is none"
        elif metadata.image is None:
            yield from self._prelude.only_zookeeper_knows()
            if not self._refused:
                yield from doubtful_ids(self._loaded, self._broker.release)
        gone = never_seen(self._loaded, metadata.image, self._prelude.states, self._broker)
        if gone and not self._refused:
            more = f" and {len(gone) - 5} more" if len(gone) > 5 else ""
            yield f"whether {', '.join(gone[:5])}{more} had records here: there is no such directory"
        if any(log_dir.broker_running() for log_dir in self._broker.dirs):
            yield "what the broker that runs here has not written yet"

    def _in_service(self) -> Iterator[str]:
        """What a broker meets once it is up."""
        passed = passed_over(self._broker)
        yield from () if passed is None else (passed,)
        asked = (each.in_service for each in self._loaded if each.in_service and not each.unknown)
        yield from dict.fromkeys(asked)
        failing = (each for one in self._loaded for each in one.later if each.fails)
        yield from dict.fromkeys(f"{each.dir}: how long it serves: {each.why}" for each in failing)

    def _places(self) -> Iterator[str]:
        """Dirs that server.properties has otherwise, or may have, or of which nobody knows whose they are."""
        if self._broker.is_nobodys:
            yield NOBODYS
        yield from left_out(self._broker)
        yield from unlisted(self._broker)
        if not self._refused and self._broker.home_is_doubtful:
            yield ANOTHER_HOME.format(self._broker.metadata_dir)

    def _older(self) -> Iterator[str]:
        """What its logs had of metadata that is not there any more: in its own copy, or where it asks."""
        log, image = self._broker.own_metadata_log, self._prelude.metadata.image
        if log is not None and log.has_unread:
            return  # what it lacks may be there: that is told of the start
        served = {one.key[1:]: one for one in self._loaded if one.service == Service.SERVED and one.key}
        if log is not None and log.whole:
            epochs = {name: one.epoch for name, one in served.items()}
            yield from told(OWN, ahead(epochs, log.image))
        if image is not None and self._broker.kraft:
            producers = {name: one.producer for name, one in served.items()}
            yield from told(IDS, given_again(producers, image))

    def _follows(self) -> bool:
        """Whether another broker may lead a partition of which it has a replica."""
        image, me = self._prelude.metadata.image, self._broker.node_id
        served = (one.key for one in self._loaded if one.service == Service.SERVED and one.key)
        return image is not None and any(
            not image.leads_alone(topic, number, me) for _, topic, number in served
        )

    @cached_property
    def _segments(self) -> int:
        """How many it loads, if it loads all; those of current partitions were counted on the way."""
        if self._prelude.options.only is not None:
            return 0
        lines = (one.outcome for one in self._loaded)
        current = sum(line.segments for line in lines if isinstance(line, PartitionOutcome))
        return current + loaded_segments(self._broker, kinds=LOADED - {"current"})

    def _maps(self, *, known: bool) -> Iterator[str]:
        """That its machine, `known` or not, allows fewer memory maps than all indexes need."""
        here = self._prelude.options.max_map_count
        most, needed = here or MAX_MAP_COUNT, maps_needed(self._segments)
        if known == (here is not None) and needed > most:
            words = _TOO_FEW_MAPS if known else _MORE_MAPS
            yield words.format(self._segments, needed, most, MAP_FAILED)

    def _of_process(self) -> Iterator[str]:
        """What it must be allowed, which stands on no disk."""
        yield from self._maps(known=False)
        if self._segments > OPEN_FILES:
            yield f"its process may have {self._segments:,} files open and more (LimitNOFILE, ulimit -Hn)"

    def _of_groups(self) -> Iterator[str]:
        """That what groups have committed may go, where all of it is older than it is kept.

        A group that had members when the broker ended has some time from now on.
        """
        now, kept = self._prelude.options.now_ms, self._broker.config.number(_KEPT)
        names = [
            one.path
            for one in self._loaded
            if isinstance(one.outcome, PartitionOutcome)
            and (one.outcome.topic, one.service) == (CONSUMER_OFFSETS, Service.SERVED)
            and one.outcome.after.log_end_offset
        ]
        logs = (each.segments[-1].log for each in self._broker.current if each.path in names)
        newest = max((time for log in logs if (time := time_of(log)) is not None), default=None)
        if now and newest is not None and (idle := now // 60_000 - newest // MINUTE) > kept:
            yield _OFFSETS.format(idle // 60, _KEPT, kept)

    def _of_dirs(self) -> Iterator[str]:
        """That dirs which were away, or have not their marker, are as the broker left them."""
        yield from self._broker.complete_dirs
        used = [each for each in self._broker.dirs if each.current or each.cluster_metadata]
        known = self._broker.earlier_dirs
        if len(used) > 1 and any(not each.is_clean and each.path not in known for each in used):
            yield ONE_MOMENT

    def assumed(self) -> Iterator[str]:
        """What was taken for granted, as it ordinarily is."""
        if refused := self._prelude.budget.refused:
            yield f"no damage inside {refused:,} segments that the start does not read (--deep)"
        if self._prelude.metadata.assumed is not None:
            yield self._prelude.metadata.assumed
        if not self._broker.kraft and self._prelude.metadata.image is None:
            yield in_zookeeper(self._broker.release)
        elif self._follows():
            yield FOLLOWS
        if self._broker.gets_new_id is None:
            yield f"a broker.id in server.properties; if {NEITHER}"
        if self._broker.given is None:
            yield "Kafka's defaults, and no other log dirs: server.properties was not given (--config)"
            if self._broker.home_is_assumed:
                yield IN_ITS_HOME.format(self._broker.metadata_dir)
        else:
            gone = missing_files(self._broker)
            yield from _told_elsewhere(self._broker.config, self._broker.release, gone)
        yield from self._of_dirs()
        yield from self._of_process()
        yield from self._of_groups()
        if self._prelude.options.user_assumed is not None:
            yield self._prelude.options.user_assumed
        unseen = self._prelude.options.unseen
        yield from (f"no surgery that was stopped over these dirs: {words}" for words in unseen)
        if self._view is not None and self._view.unasked:
            yield f"no attribute i (chattr) on {self._view.unasked:,} of the files"


def _told_elsewhere(given: ServerConfig, release: Release, gone: Collection[str]) -> Iterator[str]:
    """What server.properties alone does not tell; of the settings in `gone` it is known to be missing."""
    if given.given and not is_whole(given.given):
        yield "server.properties has more lines than these: with them alone no broker starts"
    if unknown := unheard(given.given, release):
        yield f"nothing hangs on what are no settings of Kafka {release}: {few(unknown)}"
    if provided := given.provided.keys() - {*untold_settings(given, release), *gone}:
        yield f"what a config provider has fits: {few(sorted(provided))}"
    names = (name for name in given.given if name not in gone)
    named = [name for name in names if name.endswith(ELSEWHERE) or name in PLACES]
    if named:
        yield f"what server.properties names is there, and fits: {few(named)}"
    if held := much_memory(given):
        yield f"the JVM has the memory (-Xmx) for {', '.join(held)}"
    if wants_jaas(given.given):
        yield "the JVM is given a JAAS configuration (java.security.auth.login.config) for listeners of SASL"
    relative = [path for path in given.log_dirs if not path.startswith("/")]
    if relative:
        yield f"the broker is started in this directory, where server.properties finds {', '.join(relative)}"
