"""`segmend forecast`: what will the broker do to these log dirs when it starts."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from segmend.cli.cluster import chosen_nodes, tell_cluster
from segmend.cli.options import (
    add_only_option,
    add_output_options,
    add_read_speed_option,
    add_release_option,
    add_user_option,
    add_zookeeper_option,
)
from segmend.cli.output import emit, emit_json, style
from segmend.cli.stopped_surgery import stopped_surgery
from segmend.cli.targets import broker_of, open_or_note, open_typed
from segmend.cli.topic_config import add_topic_config, told_settings
from segmend.cluster import ClusterDirs, ClusterForecast, Nodes, with_zookeeper
from segmend.errors import ExitCode, UsageError
from segmend.explain.startup import measured
from segmend.loading import (
    BrokerOutcome,
    DirectoryOutcome,
    DirOutcome,
    Forecast,
    ForecastOptions,
    Later,
    PartitionOutcome,
    forecast_any,
)
from segmend.loading.timing.estimate import Machine
from segmend.loading.values import COMPACTED
from segmend.logdir.as_user import user_of
from segmend.logdir.config import ServerConfig
from segmend.logdir.processes import max_map_count
from segmend.logdir.release import Release
from segmend.report.forecast import broker_lines, dir_lines, directory_lines, later_lines, partition_lines
from segmend.report.progress import Progress, telling
from segmend.report.style import Style

EXAMPLES = """\
examples:
  segmend forecast /data/kafka-a /data/kafka-b       all log dirs of one broker together
  segmend forecast /data/kafka-a --kafka 4.3         by the rules of Kafka 4.3
  segmend forecast --config server.properties        the log dirs that it names
  segmend forecast /data/kafka-a --as-user kafka     what this user may not read or write
  segmend forecast /data/kafka-a --unclean           as if the clean shutdown marker were removed
  segmend forecast /data/kafka-a --topic-config topics.txt   topics' settings, where ZooKeeper has them
  segmend forecast /data/kafka-a --deep              also: which records consumers will not get
  segmend forecast --cluster /brokers/*/data         several brokers: the quorum, and who can lead what
  segmend forecast --cluster /brokers/*/data --only 1,2    if only these nodes come up
  segmend forecast --cluster /brokers/*/data --zookeeper /zookeeper/data    who is in sync, by its files
  segmend forecast --cluster /b1 /b2 --config b1.properties --config 2=b2.properties    as they are set

exit codes: 0 it starts, nothing is lost, all that matters here could be read; 4 otherwise (`unknown`
in --json names what could not be read), or if retention would then delete records too early (`undue`);
8 none of the dirs is there, or the forecast stopped, 16 usage"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths", nargs="*", metavar="DIR", help="all log dirs of one broker; without any, those of --config"
    )
    add_release_option(parser)
    parser.add_argument(
        "--config", metavar="[NODE=]FILE", action="append", default=[],
        help="the broker's server.properties; with --cluster one a node, known by its node.id or by NODE=",
    )  # fmt: skip
    add_user_option(parser, "the owner of most files")
    marker = parser.add_mutually_exclusive_group()
    marker.add_argument("--clean", action="store_true", help="as if the dirs had the clean shutdown marker")
    marker.add_argument("--unclean", action="store_true", help="as if they had not")
    parser.add_argument("--deep", action="store_true", help="read every batch: what consumers will meet")
    add_read_speed_option(parser)
    add_topic_config(parser)
    parser.add_argument(
        "--cluster", action="store_true", help="the dirs are those of several brokers of a cluster"
    )
    add_only_option(parser)
    add_zookeeper_option(parser, "with --cluster: ")
    parser.add_argument("--all", action="store_true", help="tell of every partition, not only of losses")
    add_output_options(parser)


def run(args: argparse.Namespace) -> int:
    """Compute the start, tell it, and say by the exit code whether it is a good one."""
    if args.cluster:
        return run_cluster(args)
    if args.only is not None:
        raise UsageError("--only goes with --cluster")
    if args.zookeeper:
        raise UsageError("--zookeeper goes with --cluster")
    if len(args.config) > 1:
        raise UsageError("--config more than once goes with --cluster: each node has its own")
    args.config = next(iter(args.config), None)
    # What server.properties names twice is for the broker to judge.
    dirs = open_typed(args.paths, once=True) if args.paths else None
    broker = broker_of(args, dirs or open_or_note(_configured(args.config, args.kafka)))
    user, assumed = user_of(args.as_user, broker.dirs)
    surgery = stopped_surgery(broker.dirs)
    clean = True if args.clean else False if args.unclean else None
    cores = len(os.sched_getaffinity(0))
    machine = Machine(cores=cores, read_speed=args.read_speed)
    options = ForecastOptions(
        clean=clean,
        deep=args.deep,
        now_ms=time.time_ns() // 1_000_000,
        machine=measured(machine, broker, clean=clean),
        user=user,
        user_assumed=assumed,
        topics=told_settings(args.topic_config),
        workers=cores,
        unknown=tuple(surgery.open),
        unseen=tuple(surgery.unseen),
        whose=True,
        max_map_count=max_map_count(),
    )
    progress = Progress(sys.stderr, sizes=False)
    shown = (lambda done, total: progress.update(done, total, "")) if progress.shown else None
    forecast = forecast_any(broker, options, shown)
    try:
        return _tell_json(forecast) if args.json else _tell(forecast, style(args), progress, every=args.all)
    finally:
        progress.done()


def _configured(config: str | None, release: Release | None) -> Sequence[str]:
    """The log dirs of server.properties."""
    if config is None:
        raise UsageError("give all log dirs of one broker, or its server.properties (--config)")
    named = ServerConfig.load(config, release)
    if not named.log_dirs:
        why = "a config provider knows the log dirs" if named.provided else "it names no log dir"
        raise UsageError(f"{config}: {why}; give all log dirs of the broker")
    if named.given.keys().isdisjoint(("log.dirs", "log.dir")) and not Path(named.log_dirs[0]).is_dir():
        raise UsageError(
            f"{config}: it sets no log.dirs, and Kafka's default, {named.log_dirs[0]}, is not here; give all "
            "log dirs of the broker"
        )
    return named.all_dirs


def _tell_json(forecast: Forecast) -> ExitCode:
    bad = False
    for line in forecast:
        bad |= _is_bad(line)
        emit_json([line.to_json()])
    return _code(bad)


def _tell(forecast: Forecast, look: Style, progress: Progress, *, every: bool) -> ExitCode:
    lines = list(forecast)
    progress.done()
    partitions = [x for x in lines if isinstance(x, PartitionOutcome)]
    emit(partition_lines(partitions, look, broker=forecast.broker, every=every))
    emit(directory_lines((x for x in lines if isinstance(x, DirectoryOutcome)), look, every=every))
    emit(dir_lines((x for x in lines if isinstance(x, DirOutcome)), look))
    emit(later_lines((x for x in lines if isinstance(x, Later)), look, every=every))
    if forecast.broker is not None:
        later = [line for line in lines if isinstance(line, Later)]
        deleted, undue = (sum(x.records_lost for x in some) for some in (later, filter(_is_bad, later)))
        compacted = sum(line.what == COMPACTED for line in later)
        emit(broker_lines(forecast.broker, deleted, look, undue=undue, compacted=compacted))
    return _code(any(map(_is_bad, lines)))


def _code(bad: bool) -> ExitCode:
    return ExitCode.FINDINGS if bad else ExitCode.NOTHING_WRONG


def _is_bad(line: PartitionOutcome | DirectoryOutcome | DirOutcome | Later | BrokerOutcome) -> bool:
    """Whether a line tells of a loss, a refusal or a gap; most of what is deleted later is lawful."""
    if isinstance(line, PartitionOutcome | DirectoryOutcome):
        return line.matters
    if isinstance(line, DirOutcome):
        return not line.online
    if isinstance(line, Later):
        return line.undue
    return isinstance(line, BrokerOutcome) and not line.nothing_lost


def run_cluster(args: argparse.Namespace) -> ExitCode:
    """Play the starts of all nodes, or of those of `--only`."""
    cluster = ClusterDirs(open_typed(args.paths), args.kafka, _configs(args.config), strangers=True)
    brokers, zookeeper = with_zookeeper(cluster.brokers, args.zookeeper)
    only = chosen_nodes(args.only, brokers)
    clean = True if args.clean else False if args.unclean else None
    topics = told_settings(args.topic_config)
    options = ForecastOptions(
        clean=clean, deep=args.deep, now_ms=time.time_ns() // 1_000_000, topics=topics, whose=True
    )
    with telling() as tell:
        nodes = Nodes(brokers, options, args.as_user, tell)
        lines = [*ClusterForecast(nodes, only, cluster.unplaced, zookeeper)]
    good = tell_cluster(lines, args)
    return ExitCode.NOTHING_WRONG if good else ExitCode.FINDINGS


def _configs(given: Sequence[str]) -> dict[int, ServerConfig]:
    """The server.properties by node: that of NODE=FILE, or the node that the file names."""
    by_node: dict[int, ServerConfig] = {}
    for each in given:
        node, told, path = each.partition("=")
        named = bool(told) and node.isdecimal()
        config = ServerConfig.load(path if named else each)
        node_id = int(node) if named else config.node_id
        if node_id is None:
            raise UsageError(f"--config {each}: it names no node.id; give NODE=FILE")
        if node_id in by_node:
            raise UsageError(f"--config: two files for node {node_id}")
        by_node[node_id] = config
    return by_node
