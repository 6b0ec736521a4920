"""meta.properties of a set of volumes: checked against each other, and stamped anew where that is asked.

A broker does not start if its log dirs disagree about the cluster, the node, or who has which
directory id (`MetaPropertiesEnsemble.verify`); volumes that were restored or cloned do.

By itself the plan mends what has one right answer: a file that is missing or cannot be read gets
the ids on which all other dirs agree, and of two dirs with one directory id the clone gets its
former id, which the metadata knows, or a new one. Whose disk it is, a person must say: dirs that
disagree about cluster or node are refused until `--cluster-id` or `--node-id` names the right one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from segmend.broker.identity import DIRECTORY_IDS, GENERATED_ID, TO_BE_GIVEN, verify
from segmend.broker.strays import STRAYS, StrayHandling, stray_reason
from segmend.errors import UsageError
from segmend.formats import meta_properties
from segmend.frozen import frozen, replace
from segmend.logdir import disk
from segmend.logdir.config import ServerConfig
from segmend.node.broker_dirs import BrokerDirs
from segmend.node.metadata_image import MetadataImage
from segmend.surgery.fingerprint import Fingerprint, look
from segmend.surgery.ops.identity.directory_ids import FORMER, Decision, Evidence, decide, wished
from segmend.surgery.ops.identity.volumes import (
    NewProperties,
    Volume,
    agreed_cluster,
    agreed_node,
    new_properties,
    volumes,
)
from segmend.surgery.options import given_in, option
from segmend.surgery.plan import Left, Plan
from segmend.surgery.planning import amounts, assembly
from segmend.surgery.planning.assembly import Draft
from segmend.surgery.request import Request
from segmend.surgery.steps.replace_file import ReplaceFile

NAME = "identity"
TAKES_BLANK = True
EXAMPLES = """\
examples:
  segmend plan identity /data/a /data/b -o plan.json                         mend what has one right answer
  segmend plan identity /data/a /data/b --config server.properties -o plan.json
  segmend plan identity /data/a /data/b --node-id 3 -o plan.json             these disks are node 3's now
  segmend plan identity /data/a /data/b --directory-id /data/b=new -o plan.json"""


@frozen
class Options:
    """What `plan identity` may be asked."""

    config: str | None = option("the broker's server.properties", "FILE")
    cluster_id: str | None = option("the cluster that these disks belong to from now on", "ID")
    node_id: int | None = option("the node (broker.id) they belong to", "N", amounts.node_id)
    directory_id: tuple[str, ...] = option(
        "new, former (as the metadata knows it), or an id, for a log dir; repeatable",
        "[DIR=]WHICH",
        default=(),
    )


def plan(request: Request[Options]) -> Plan:
    """The plan; without steps if nothing is wrong. Raises `UsageError` where a person must say more."""
    options = request.options
    config = None if options.config is None else ServerConfig.load(options.config)
    broker = request.broker.configured(config)
    all_volumes = volumes(broker)
    cluster_id = _text(options.cluster_id) or agreed_cluster(all_volumes)
    node_id = agreed_node(all_volumes, broker) if options.node_id is None else options.node_id
    evidence = Evidence(broker=broker, node_id=node_id)
    decision = _directory_ids(request, all_volumes, evidence)
    properties = [
        new_properties(
            volume, cluster_id, node_id, decision.ids[volume.path], asked=options.node_id is not None
        )
        for volume in all_volumes
    ]
    changed = [new for new in properties if new.data is not None]
    steps = [
        ReplaceFile.with_bytes(new.path, new.data, new.reason, like=_model(request.broker))
        for new in changed
        if new.data is not None
    ]
    notes = [
        *(f"{each.volume.path}: {decision.why[each.volume.path]}" for each in changed
          if each.volume.path in decision.why),
        *(_verdicts(properties, broker) if config is not None else ()),
        *(f"{each.volume.path}: has no {meta_properties.FILE_NAME}; a broker with ZooKeeper writes it itself"
          for each in properties if each.volume.is_written_by_broker and GENERATED_ID.of(broker.release)),
        *_another_cluster(changed),
        *_consequences(changed, evidence),
        *_no_vote(properties, evidence),
    ]  # fmt: skip
    draft = Draft(steps=steps, notes=notes, left=list(_left(request, properties, config)))
    return assembly.make(NAME, dict(given_in(options)), replace(request, broker=broker), draft)


def _text(cluster_id: str | None) -> str | None:
    if cluster_id is not None and (cluster_id != cluster_id.strip() or cluster_id in ("", TO_BE_GIVEN)):
        raise UsageError(f"--cluster-id '{cluster_id}': is no cluster id; give it as kafka-cluster prints it")
    return cluster_id


def _directory_ids(request: Request[Options], all_volumes: Sequence[Volume], evidence: Evidence) -> Decision:
    own = {volume.path: volume.directory_id for volume in all_volumes}
    if not DIRECTORY_IDS.of(request.release):
        if request.options.directory_id:
            raise UsageError(f"--directory-id: Kafka {request.release} knows none; they came with 3.7")
        return Decision(ids=own)
    needy = [volume.path for volume in all_volumes if volume.wants_directory_id]
    return decide(own, needy, _wishes(request, needy), evidence)


def _wishes(request: Request[Options], needy: Sequence[str]) -> dict[str, str]:
    """The `--directory-id` options by the path of the dir that each is for."""
    wishes: dict[str, str] = {}
    for text in request.options.directory_id:
        place, equals, which = text.rpartition("=")
        if equals and disk.path_type(place) == "dir":
            path = request.dir_called(place, "--directory-id").path
        else:
            which, path = text, _only(request.broker, needy, text)
        if path in wishes:
            raise UsageError(f"--directory-id {text}: the second one for {path}")
        wishes[path] = wished(which)
    return wishes


def _only(broker: BrokerDirs, needy: Sequence[str], text: str) -> str:
    paths = needy if len(needy) == 1 else [each.path for each in broker.dirs]
    if len(paths) != 1:
        raise UsageError(f"--directory-id {text}: say for which log dir: --directory-id DIR={text}")
    return paths[0]


def _model(broker: BrokerDirs) -> Fingerprint | None:
    """Owner and mode for a new file: those of a sister's."""
    fingerprints = (look(f"{each.path}/{meta_properties.FILE_NAME}", content=False) for each in broker.dirs)
    return next((each for each in fingerprints if each.kind == "file"), None)


def _verdicts(properties: Sequence[NewProperties], broker: BrokerDirs) -> Iterator[str]:
    """What a broker with this configuration would say of the files, as they are and as they will be."""
    kraft, node_id, release = broker.kraft, broker.config.node_id, broker.release
    for when, identities in (
        ("as they are", [new.volume.identity for new in properties]),
        ("after this plan", [new.identity for new in properties]),
    ):
        verdict = verify(identities, kraft=kraft, node_id=node_id, release=release)
        if verdict.refusal is not None:
            yield f"{when}, Kafka {release} refuses to start: {verdict.refusal}"
        elif verdict.offline:
            paths = ", ".join(verdict.offline)
            yield f"{when}, Kafka {release} starts without {paths}"
        else:
            yield f"{when}, Kafka {release} takes the log dirs for those of one broker"


def _another_cluster(changed: Sequence[NewProperties]) -> Iterator[str]:
    """A forecast sees these files alone, and by them any cluster id will do."""
    for new in changed:
        was = None if new.volume.value is None else new.volume.value.cluster_id
        now = None if new.identity.value is None else new.identity.value.cluster_id
        if was is not None and was != now:
            yield (
                f"{new.volume.path}: cluster.id {now} in place of {was}: a cluster that goes by {was} (its "
                "ZooKeeper, its other nodes) does not take this one in any more, which no forecast sees"
            )


def _consequences(changed: Sequence[NewProperties], evidence: Evidence) -> Iterator[str]:
    if evidence.broker.metadata is None:
        return
    for new in changed:
        old = new.volume.directory_id
        if old is not None and old != new.directory_id:
            count = evidence.replicas_by_id(new.volume.log_dir)[old]
            if count:
                yield (
                    f"{new.volume.path}: the metadata has {count} of its replicas in directory id {old}; "
                    "under another id the controller takes them for offline, and one that has no other "
                    "replica may have no leader until the node has started once more (seen on 4.3.1)"
                )
    if any(new.new_owner for new in changed):
        yield from _strays(evidence.broker, evidence.broker.metadata, evidence.node_id)


def _no_vote(properties: Sequence[NewProperties], evidence: Evidence) -> Iterator[str]:
    for new in properties:
        voter = evidence.votes_as(new.volume.log_dir)
        if voter is not None and new.directory_id is not None and voter != new.directory_id:
            yield (
                f"{new.volume.path}: node {evidence.node_id} votes in the KRaft quorum as directory id "
                f"{voter}; as {new.directory_id} it does not, and a lone one does not come up "
                f"(seen on 4.3.1); its own again: --directory-id {new.volume.path}={FORMER}"
            )


def _strays(broker: BrokerDirs, metadata: MetadataImage, node_id: int | None) -> Iterator[str]:
    handling = STRAYS.of(broker.release)
    count = 0
    for partition in broker.current:
        file = partition.partition_metadata.value
        topic_id = None if file is None else file.topic_id
        count += bool(stray_reason(
            metadata, topic_id=topic_id, partition=partition.partition, node_id=node_id,
            path=partition.path,
        ))  # fmt: skip
    if count and handling is not StrayHandling.NONE:
        does = "DELETES them" if handling is StrayHandling.DELETE else "renames them to -stray"
        yield (
            f"the metadata here expects {count} of the replicas not on node {node_id}: the start {does}; "
            "copy the disks first, or restore the metadata that belongs to them"
        )


def _left(
    request: Request[Options], properties: Sequence[NewProperties], config: ServerConfig | None
) -> Iterator[Left]:
    yield from (new.left for new in properties if new.left is not None)
    given = {log_dir.path for log_dir in request.dirs}
    for path in () if config is None else config.log_dirs:
        if disk.real_path(path) not in given:
            said = f"{path} is in log.dirs of {request.options.config} and was not given"
            yield Left(why=f"{said}: it was not looked at")
