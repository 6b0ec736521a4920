"""Which directory id a log dir is to have: its own, one it had before, or a new one.

Follows KIP-858: an id belongs to one disk for good. `__cluster_metadata` knows the ids that this
node registered, and for each of its replicas the id of the dir that should hold it; so the
replicas that lie in a dir tell which id was its own. The dir of the metadata log itself is known by the
id under which the node votes (KIP-853).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from segmend.errors import UsageError
from segmend.formats.kafka_uuid import is_reserved, parse_uuid, uuid_text
from segmend.frozen import dataclass, field, frozen
from segmend.logdir import disk
from segmend.logdir.log_dir import LogDir
from segmend.node.broker_dirs import BrokerDirs

NEW: Final = "new"
FORMER: Final = "former"


@frozen
class Evidence:
    """What the metadata tells of a node's dirs; nothing where there is none.

    `node_id` is that of the node whose they are to be.
    """

    broker: BrokerDirs
    node_id: int | None

    @property
    def registered(self) -> tuple[str, ...]:
        """The ids that this node registered last."""
        metadata = self.broker.metadata
        if metadata is None or self.node_id is None:
            return ()
        return metadata.log_dirs.get(self.node_id, ())

    def votes_as(self, log_dir: LogDir) -> str | None:
        """The id that a dir with the metadata log must have for this node to vote (KIP-853).

        `VotersRecord` names voters by node id and the directory id of `metadata.log.dir`: a node whose dir
        has another id is no voter, and a lone one then never gets a leader. None for a node that does not
        vote, or votes by its node id only.
        """
        log = self.broker.metadata_log(log_dir)
        return None if log is None or self.node_id is None else log.image.voters.get(self.node_id)

    def replicas_by_id(self, log_dir: LogDir) -> Counter[str]:
        """How many of the replicas in a dir the metadata assigns to each directory id of this node."""
        counts: Counter[str] = Counter()
        metadata = self.broker.metadata
        if metadata is None:
            return counts
        for partition in log_dir.partitions:
            file = partition.partition_metadata.value if partition.kind == "current" else None
            if file is not None and file.topic_id is not None:
                own = metadata.directory(file.topic_id, partition.partition, self.node_id)
                counts.update([own] if own is not None else [])
        return counts


@dataclass(slots=True, kw_only=True)
class Decision:
    """The id of each dir by path, None where none is written, and why where it is another one."""

    ids: dict[str, str | None] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)


def decide(
    own: Mapping[str, str | None], needy: Sequence[str], asked: Mapping[str, str], evidence: Evidence
) -> Decision:  # fmt: skip
    """An id for every dir. `own` has what is in the files (None: nothing that counts), by path.

    `needy` are dirs that must get one, `asked` what the user wants for some: new, former or an id.
    Raises `UsageError`.
    """
    decision = Decision(ids=dict(own))
    for path, reason in _clones(own, evidence).items():
        decision.ids[path], decision.why[path] = None, reason
    for path in {*needy, *asked}:
        decision.ids[path] = None
    for log_dir in evidence.broker.dirs:
        if log_dir.path in asked:
            _as_asked(decision, log_dir, own, asked[log_dir.path], evidence)
    for log_dir in evidence.broker.dirs:
        path = log_dir.path
        if path not in asked and (path in needy or path in decision.why):
            _mend(decision, log_dir, own, evidence)
    return decision


def _clones(own: Mapping[str, str | None], evidence: Evidence) -> dict[str, str]:
    """The dirs whose id another one has a better right to: votes with it, has more of its replicas, else
    was given first."""
    holders: dict[str, list[LogDir]] = {}
    for log_dir in evidence.broker.dirs:
        directory_id = own[log_dir.path]
        if directory_id is not None:
            holders.setdefault(directory_id, []).append(log_dir)
    clones = {}
    for directory_id, same in holders.items():
        right = max(same, key=lambda d: _right(d, directory_id, evidence)) if len(same) > 1 else same[0]
        for log_dir in same:
            if log_dir is not right:
                clones[log_dir.path] = f"{directory_id} is that of {right.path} too"
    return clones


def _right(log_dir: LogDir, directory_id: str, evidence: Evidence) -> tuple[bool, int]:
    votes = evidence.votes_as(log_dir) == directory_id
    return votes, evidence.replicas_by_id(log_dir)[directory_id]


def _as_asked(
    decision: Decision, log_dir: LogDir, own: Mapping[str, str | None], wish: str, evidence: Evidence
) -> None:
    path = log_dir.path
    if wish == NEW:
        decision.ids[path], decision.why[path] = _new(log_dir, own, evidence), "a new id, as asked"
        return
    if wish == FORMER:
        former = _former(decision, log_dir, evidence)
        if former is None:
            raise UsageError(
                f"--directory-id {path}={FORMER}: the metadata on these disks does not tell which one it had"
            )
        decision.ids[path], decision.why[path] = former, _why_former(log_dir, former, evidence)
        return
    holder = next((p for p, each in decision.ids.items() if each == wish and p != path), None)
    if holder is not None:
        raise UsageError(f"--directory-id {wish}: is that of {holder}; a broker refuses two of them")
    decision.ids[path], decision.why[path] = wish, "as asked"


def _mend(decision: Decision, log_dir: LogDir, own: Mapping[str, str | None], evidence: Evidence) -> None:
    path = log_dir.path
    former = _former(decision, log_dir, evidence)
    before = f"{decision.why[path]}; " if path in decision.why else ""
    if former is not None:
        decision.ids[path] = former
        decision.why[path] = f"{before}{former} is {_why_former(log_dir, former, evidence)}"
    else:
        decision.ids[path] = _new(log_dir, own, evidence)
        decision.why[path] = f"{before}nothing tells of an id that it had before, so it gets a new one"


def _former(decision: Decision, log_dir: LogDir, evidence: Evidence) -> str | None:
    """An id that no dir has now: the one that votes, else a registered one, of most replicas here."""
    votes = evidence.votes_as(log_dir)
    if votes is not None and votes not in decision.ids.values():
        return votes
    free = [each for each in evidence.registered if each not in decision.ids.values()]
    counts = evidence.replicas_by_id(log_dir)
    best = max(free, key=lambda each: counts[each], default=None)
    return best if best is not None and counts[best] > 0 else None


def _why_former(log_dir: LogDir, former: str, evidence: Evidence) -> str:
    if evidence.votes_as(log_dir) == former:
        return "the id under which the node votes, by the metadata log in this dir"
    return "the id that the metadata assigns its replicas to"


def _new(log_dir: LogDir, own: Mapping[str, str | None], evidence: Evidence) -> str:
    """An id that nobody has: computed from the dir and its state, so that a plan is the same each time."""
    status = disk.file_stat(log_dir.path)
    seed = f"{log_dir.path}\0{own[log_dir.path]}\0{evidence.node_id}\0{status.inode}\0{status.mtime_ns}"
    taken = {*own.values(), *evidence.registered}
    return next(each for each in _candidates(seed) if each not in taken)


def _candidates(seed: str) -> Iterator[str]:
    """Ids of the shape of `Uuid.randomUuid`: version 4, and none that begins with a dash."""
    number = 0
    while True:
        raw = bytearray(hashlib.sha256(f"{seed}\0{number}".encode("utf-8", "surrogateescape")).digest()[:16])
        raw[6], raw[8] = raw[6] & 0x0F | 0x40, raw[8] & 0x3F | 0x80
        text = uuid_text(bytes(raw))
        if not text.startswith("-") and not is_reserved(bytes(raw)):
            yield text
        number += 1


def wished(text: str) -> str:
    """The wish in `--directory-id`: new, former, or an id; raises `UsageError` for anything else."""
    if text in (NEW, FORMER):
        return text
    try:
        raw = parse_uuid(text)
    except ValueError as error:
        raise UsageError(f"--directory-id {text}: {error}; give new, former, or an id") from None
    if is_reserved(raw):
        raise UsageError(f"--directory-id {text}: is one of Kafka's reserved ids; a broker refuses it")
    return uuid_text(raw)
