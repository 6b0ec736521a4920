"""`quorum-state`: a KRaft voter's last vote and the leader it knows.

Follows `org.apache.kafka.raft.FileQuorumStateStore` and `QuorumStateData.json`, versions 0
and 1. Any damage stops the process; the kinds are `empty`, `malformed`, `bad-version`,
`missing-field` and `bad-field`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from segmend.formats import json_text
from segmend.formats.checkpoint_file import lines
from segmend.formats.cursor import Malformed
from segmend.formats.damage import Damage
from segmend.formats.java_number import INT_MAX, INT_MIN
from segmend.formats.kafka_uuid import parse_uuid
from segmend.frozen import frozen

FILE_NAME = "quorum-state"

# (JSON name, attribute, bits; 0 for other types), in the order in which Kafka writes them.
_FIELDS: dict[int, tuple[tuple[str, str, int], ...]] = {
    0: (
        ("clusterId", "cluster_id", 0),
        ("leaderId", "leader_id", 32),
        ("leaderEpoch", "leader_epoch", 32),
        ("votedId", "voted_id", 32),
        ("appliedOffset", "applied_offset", 64),
        ("currentVoters", "current_voters", 0),
    ),
    1: (
        ("leaderId", "leader_id", 32),
        ("leaderEpoch", "leader_epoch", 32),
        ("votedId", "voted_id", 32),
        ("votedDirectoryId", "voted_directory_id", 0),
    ),
}


@frozen
class QuorumState:
    """The fields of the version at hand; -1 stands for no leader and no vote, None for absent."""

    data_version: int = 0
    leader_id: int | None = -1
    leader_epoch: int | None = -1
    voted_id: int | None = -1
    voted_directory_id: str | None = None
    cluster_id: str | None = None
    applied_offset: int | None = None
    current_voters: tuple[int, ...] | None = None


def parse(data: bytes) -> tuple[QuorumState | None, tuple[Damage, ...]]:
    """The state on the first line; None where there is no object of a known version."""
    line = next((line for _, line in lines(data)), None)
    if line is None:
        return None, (Damage("empty", 0, "File ended prematurely."),)
    try:
        state = json_text.parse_object(line)
    except Malformed as error:
        return None, (Damage("malformed", error.position, error.reason),)
    if "data_version" not in state:
        return None, (Damage("malformed", 0, "Deserialized node does not have data_version field"),)
    version = _data_version(state["data_version"])
    if version not in _FIELDS:
        reason = f"data_version ({version}) is not within the min (0) and max (1) supported version"
        return None, (Damage("bad-version", 0, reason),)
    return _read(state, version)


def _data_version(value: object) -> int:
    """`JsonNode.shortValue`: the low 16 bits of a number, 0 for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    if isinstance(value, float):
        value = min(max(value, INT_MIN), INT_MAX)
    return (int(value) + 0x8000 & 0xFFFF) - 0x8000


def _read(state: Mapping[str, object], version: int) -> tuple[QuorumState, tuple[Damage, ...]]:
    damages = []
    values: dict[str, Any] = {}
    for name, attribute, bits in _FIELDS[version]:
        if name not in state:
            reason = f"unable to locate field '{name}', which is mandatory in version {version}"
            damages.append(Damage("missing-field", 0, f"QuorumStateData: {reason}"))
            values[attribute] = None
            continue
        try:
            values[attribute] = json_text.integer(state, name, bits) if bits else _READERS[name](state[name])
        except ValueError:
            values[attribute] = None
        if values[attribute] is None and not (name == "currentVoters" and state[name] is None):
            damages.append(Damage("bad-field", 0, f"QuorumStateData: unexpected value of '{name}'"))
    return QuorumState(data_version=version, **values), tuple(damages)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _uuid(value: object) -> str | None:
    if not isinstance(value, str):
        return None
    parse_uuid(value)
    return value


def _voters(value: object) -> tuple[int, ...] | None:
    if not isinstance(value, list) or not all(isinstance(voter, dict) for voter in value):
        return None
    ids = [json_text.integer(voter, "voterId", 32) for voter in value]
    known = tuple(voter for voter in ids if voter is not None)
    return known if len(known) == len(ids) else None


_READERS = {"clusterId": _text, "votedDirectoryId": _uuid, "currentVoters": _voters}


def render(state: QuorumState) -> bytes:
    """The file as Kafka writes it: one line of JSON without a newline."""
    pairs: dict[str, object] = {
        name: getattr(state, attribute) for name, attribute, _ in _FIELDS[state.data_version]
    }
    if state.data_version == 0 and state.current_voters is not None:
        pairs["currentVoters"] = [{"voterId": voter} for voter in state.current_voters]
    return json_text.compact({**pairs, "data_version": state.data_version})
