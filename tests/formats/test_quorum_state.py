"""`quorum-state`, both versions."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import examples

from segmend.formats.quorum_state import QuorumState, parse, render

V0 = (
    b'{"clusterId":"","leaderId":1,"leaderEpoch":7,"votedId":-1,"appliedOffset":0,'
    b'"currentVoters":[{"voterId":1},{"voterId":2}],"data_version":0}'
)
V1 = (
    b'{"leaderId":1,"leaderEpoch":7,"votedId":-1,'
    b'"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}'
)


def test_version_0() -> None:
    state, damages = parse(V0)
    assert damages == ()
    assert state == QuorumState(
        data_version=0,
        leader_id=1,
        leader_epoch=7,
        voted_id=-1,
        cluster_id="",
        applied_offset=0,
        current_voters=(1, 2),
    )
    assert render(state) == V0


def test_version_1() -> None:
    state, damages = parse(V1)
    assert damages == ()
    assert state == QuorumState(
        data_version=1, leader_id=1, leader_epoch=7, voted_id=-1, voted_directory_id="A" * 22
    )
    assert render(state) == V1


def test_the_version_is_read_as_jackson_reads_a_short() -> None:
    for odd in (b"65537", b"1.9"):
        assert parse(V1.replace(b'"data_version":1', b'"data_version":' + odd)) == parse(V1)
    for odd in (b"1e999", b"-32769", b"9" * 400):
        assert parse(V1.replace(b'"data_version":1', b'"data_version":' + odd))[1][0].kind == "bad-version"
    for odd in (b"true", b"null", b'"7"', b"65536"):
        assert parse(V0.replace(b'"data_version":0', b'"data_version":' + odd)) == parse(V0)


def test_only_the_first_line_counts() -> None:
    assert parse(V1 + b"\nanything") == parse(V1)


def test_voters_may_be_null() -> None:
    data = V0.replace(b'[{"voterId":1},{"voterId":2}]', b"null")
    state, damages = parse(data)
    assert state is not None
    assert (state.current_voters, damages, render(state)) == (None, (), data)


@pytest.mark.parametrize(
    ("data", "kind", "words"),
    [
        (b"", "empty", "File ended prematurely."),
        (b"{", "malformed", "not JSON"),
        (b"[]", "malformed", "not a JSON object"),
        (b"\x00" * 80, "malformed", "not JSON"),
        (b"{}", "malformed", "does not have data_version field"),
        (b'{"data_version":2}', "bad-version", "data_version (2) is not within the min (0) and max (1)"),
        (b'{"data_version":-1}', "bad-version", "is not within"),
        (b'{"data_version":"1"}', "missing-field", "mandatory in version 0"),
        (V1.replace(b'"leaderId":1,', b""), "missing-field", "unable to locate field 'leaderId'"),
        (V0.replace(b'"appliedOffset":0,', b""), "missing-field", "'appliedOffset'"),
        (V1.replace(b":7", b":7.5"), "bad-field", "leaderEpoch"),
        (V1.replace(b":7", b":2147483648"), "bad-field", "leaderEpoch"),
        (V1.replace(b":7", b":null"), "bad-field", "leaderEpoch"),
        (V1.replace(b'"AAAA', b'"zz'), "bad-field", "votedDirectoryId"),
        (V1.replace(b'"AAAAAAAAAAAAAAAAAAAAAA"', b"5"), "bad-field", "votedDirectoryId"),
        (V0.replace(b'""', b"0"), "bad-field", "clusterId"),
        (V0.replace(b'[{"voterId":1}', b'[{"voterId":"1"}'), "bad-field", "currentVoters"),
        (V0.replace(b'[{"voterId":1}', b"[1"), "bad-field", "currentVoters"),
    ],
)
def test_damage(data: bytes, kind: str, words: str) -> None:
    _, damages = parse(data)
    assert damages[0].kind == kind
    assert words in damages[0].reason


@pytest.mark.parametrize("data", [V0, V1])
def test_every_truncation_is_noticed(data: bytes) -> None:
    for size in range(len(data)):
        state, damages = parse(data[:size])
        assert state is None
        assert len(damages) == 1


@given(
    st.dictionaries(
        st.sampled_from(list(json.loads(V0)) + list(json.loads(V1))), st.none() | st.integers() | st.text()
    )
)
@examples(60)
def test_any_object_is_answered(found: dict[str, object]) -> None:
    state, damages = parse(json.dumps(found).encode())
    assert state is not None or damages
