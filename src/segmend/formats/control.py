"""Control records: transaction markers, and what KRaft writes about itself.

Follows `ControlRecordType`, `EndTransactionMarker` and `ControlRecordUtils`; the KRaft values
are generated messages in the flexible encoding. Damage kinds: `bad-key`, `bad-value`.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple, TypedDict, cast

from segmend.formats.cursor import Cursor, Malformed, write_uvarint
from segmend.formats.damage import Damage
from segmend.formats.kafka_uuid import parse_uuid
from segmend.formats.schema import Message, read
from segmend.frozen import frozen

ABORT, COMMIT, LEADER_CHANGE, SNAPSHOT_HEADER, SNAPSHOT_FOOTER, KRAFT_VERSION, KRAFT_VOTERS = range(7)
TYPE_NAMES = (
    "ABORT",
    "COMMIT",
    "LEADER_CHANGE",
    "SNAPSHOT_HEADER",
    "SNAPSHOT_FOOTER",
    "KRAFT_VERSION",
    "KRAFT_VOTERS",
)
MAX_VALUE_SIZE = 1 << 20
_KEY = Struct(">hh")
_VOTER = "{id:i32 directory:uuid@1+}"
_MESSAGES = {
    kind: Message(name=TYPE_NAMES[kind], table=table, flexible=0, highest=2**15 - 1)
    for kind, table in {
        LEADER_CHANGE: f"leader:i32 voters:[]{_VOTER}? granting:[]{_VOTER}?",
        SNAPSHOT_HEADER: "timestamp:i64",
        SNAPSHOT_FOOTER: "",
        KRAFT_VERSION: "level:i16",
        KRAFT_VOTERS: "voters:[]{id:i32 directory:uuid endpoints:[]{name:string host:string port:u16}? "
        "supported:{min:i16 max:i16}}?",
    }.items()
}
"""What follows the version; unlike other messages, these have it as their first field."""


class _VersionSpan(TypedDict):
    min: int
    max: int


class _EndpointFields(TypedDict):
    name: str
    host: str
    port: int


class _VoterFields(TypedDict, total=False):
    id: int
    directory: str
    endpoints: list[_EndpointFields] | None
    supported: _VersionSpan


class _ControlFields(TypedDict, total=False):
    """Those of all of them."""

    leader: int
    voters: list[_VoterFields] | None
    granting: list[_VoterFields] | None
    timestamp: int
    level: int


class EndTxnMarker(NamedTuple):
    """Value of ABORT and COMMIT."""

    version: int
    coordinator_epoch: int


class Voter(NamedTuple):
    """A voter named in LEADER_CHANGE; the directory id is there since version 1."""

    voter_id: int
    directory_id: str | None = None


class LeaderChange(NamedTuple):
    """`LeaderChangeMessage`, the first record of every KRaft epoch."""

    version: int
    leader_id: int
    voters: tuple[Voter, ...] = ()
    granting_voters: tuple[Voter, ...] = ()


class SnapshotHeader(NamedTuple):
    """First record of a KRaft snapshot; the timestamp is in milliseconds."""

    version: int
    last_contained_log_timestamp: int


class SnapshotFooter(NamedTuple):
    """Last record of a KRaft snapshot; a snapshot without it is cut off."""

    version: int


class KRaftVersion(NamedTuple):
    version: int
    kraft_version: int


class Endpoint(NamedTuple):
    """Where a voter listens."""

    name: str
    host: str
    port: int


class VoterSetEntry(NamedTuple):
    """One voter of the voter set, with the range of `kraft.version` it supports."""

    voter_id: int
    directory_id: str
    endpoints: tuple[Endpoint, ...]
    min_kraft_version: int
    max_kraft_version: int


class Voters(NamedTuple):
    """`VotersRecord`: the voter set from here on (KIP-853)."""

    version: int
    voters: tuple[VoterSetEntry, ...]


ControlValue = EndTxnMarker | LeaderChange | SnapshotHeader | SnapshotFooter | KRaftVersion | Voters


@frozen
class ControlRecord:
    """`type` is -1 where the key is broken; `value` None where it cannot be read."""

    type: int
    key_version: int = 0
    value: ControlValue | None = None

    @property
    def type_name(self) -> str:
        """Kafka's name of the type, `UNKNOWN` for any other number."""
        return TYPE_NAMES[self.type] if 0 <= self.type < len(TYPE_NAMES) else "UNKNOWN"


def parse(key: bytes | None, value: bytes | None) -> tuple[ControlRecord, tuple[Damage, ...]]:
    """The control record; `bad-key` also for a type no release knows, which kills a recovering broker."""
    if key is None or len(key) < _KEY.size:
        size = 0 if key is None else len(key)
        reason = f"Invalid value size found for end control record key: at least 4 bytes, not {size}"
        return ControlRecord(type=-1), (Damage("bad-key", 0, reason),)
    version, kind = _KEY.unpack_from(key)
    if version < 0:
        reason = f"Invalid version found for control record: {version}. May indicate data corruption"
        return ControlRecord(type=kind, key_version=version), (Damage("bad-key", 0, reason),)
    if not 0 <= kind < len(TYPE_NAMES):
        record = ControlRecord(type=kind, key_version=version)
        return record, (Damage("bad-key", 2, f"Unknown control record type {kind}"),)
    try:
        if value is None:
            raise Malformed(0, "null value")
        if len(value) > MAX_VALUE_SIZE:
            raise Malformed(0, f"{len(value)} bytes are more than Kafka ever writes")
        read_value = _read(kind, Cursor(value))
    except Malformed as error:
        reason = f"{TYPE_NAMES[kind]}: {error.reason}"
        return ControlRecord(type=kind, key_version=version), (Damage("bad-value", error.position, reason),)
    return ControlRecord(type=kind, key_version=version, value=read_value), ()


def _read(kind: int, cursor: Cursor) -> ControlValue:
    """The value of that type; a version above those that are known has the fields that are known."""
    version = cursor.i16()
    if kind in (ABORT, COMMIT):
        if version < 0:
            raise Malformed(0, f"Invalid version found for end transaction marker: {version}")
        return EndTxnMarker(version, cursor.i32())
    data = cast(_ControlFields, read(_MESSAGES[kind], cursor, max(version, 0)))
    if kind == LEADER_CHANGE:
        groups = (data["voters"] or (), data["granting"] or ())
        voters, granting = (tuple(Voter(v["id"], v.get("directory")) for v in group) for group in groups)
        return LeaderChange(version, data["leader"], voters, granting)
    if kind == SNAPSHOT_HEADER:
        return SnapshotHeader(version, data["timestamp"])
    if kind == SNAPSHOT_FOOTER:
        return SnapshotFooter(version)
    if kind == KRAFT_VERSION:
        return KRaftVersion(version, data["level"])
    return Voters(version, tuple(map(_voter_set_entry, data["voters"] or ())))


def _voter_set_entry(data: _VoterFields) -> VoterSetEntry:
    endpoints = tuple(Endpoint(e["name"], e["host"], e["port"]) for e in data["endpoints"] or ())
    supported = data["supported"]
    return VoterSetEntry(data["id"], data["directory"], endpoints, supported["min"], supported["max"])


def render_voters(voters: Voters) -> tuple[bytes, bytes]:
    """(key, value) as Kafka writes them."""
    entries = _array([_render_voter_set_entry(voter) for voter in voters.voters])
    return _KEY.pack(0, KRAFT_VOTERS), _i(2, voters.version) + entries + b"\0"


def _i(size: int, number: int) -> bytes:
    return number.to_bytes(size, "big", signed=True)


def _array(items: list[bytes]) -> bytes:
    return write_uvarint(len(items) + 1) + b"".join(items)


def _string(text: str) -> bytes:
    raw = text.encode()
    return write_uvarint(len(raw) + 1) + raw


def _render_voter_set_entry(voter: VoterSetEntry) -> bytes:
    endpoints = _array(
        [
            _string(name) + _string(host) + port.to_bytes(2, "big") + b"\0"
            for name, host, port in voter.endpoints
        ]
    )
    versions = _i(2, voter.min_kraft_version) + _i(2, voter.max_kraft_version) + b"\0"
    return _i(4, voter.voter_id) + parse_uuid(voter.directory_id) + endpoints + versions + b"\0"
