"""`__share_group_state` and `__remote_log_metadata`: records that Kafka 4.3.1's own classes wrote are
read as its own classes read them (`make_vectors.py` asked them)."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.cli.run import run

from segmend.formats.build import NewRecord, build_batch
from segmend.topics import decoder_for

VECTORS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "vectors.json").read_text())
SHARE, REMOTE = "__share_group_state", "__remote_log_metadata"


def part(vector: dict[str, Any], name: str) -> bytes | None:
    return bytes.fromhex(vector[name]) if vector[name] is not None else None


def decoded(vector: dict[str, Any]) -> dict[str, Any]:
    decoder = decoder_for(vector["topic"])
    assert decoder is not None
    return dict(decoder(part(vector, "key"), part(vector, "value")))


@pytest.mark.parametrize("number", range(len(VECTORS)))
def test_each_field_is_as_kafkas_json_converter_has_it(number: int) -> None:
    vector = VECTORS[number]
    answer = decoded(vector)
    for name in ("key", "value"):
        ours = answer[name] and {k: v for k, v in answer[name]["data"].items() if k != "state"}
        assert ours == vector[f"{name}_says"]


@pytest.mark.parametrize("vector", [v for v in VECTORS if v["topic"] == SHARE])
def test_share_groups_are_shown_as_kafkas_dump_prints_them(vector: dict[str, Any]) -> None:
    found = re.search(r" key: (\{.*\}) payload: (.*)$", vector["dump_log"])
    assert found
    answer = decoded(vector)
    assert answer["key"] == json.loads(found[1])
    assert answer["value"] == (None if found[2] == "<DELETE>" else json.loads(found[2]))


@pytest.mark.parametrize("vector", [v for v in VECTORS if v["topic"] == REMOTE])
def test_states_of_remote_segments_have_kafkas_names(vector: dict[str, Any]) -> None:
    answer = decoded(vector)["value"]
    assert f"state={answer['data']['state']}," in vector["dump_log"]
    shown = re.search(r"payload: (\w+)\{", vector["dump_log"])
    assert shown
    assert answer["type"] == f"{shown[1]}Record"


def test_a_state_of_a_later_release_has_a_number_alone() -> None:
    decoder = decoder_for(REMOTE)
    assert decoder is not None
    deleted = part(VECTORS[-1], "value")
    assert deleted is not None
    answer = decoder(None, deleted[:-2] + b"\x7f\0")["value"]["data"]
    assert answer["remotePartitionDeleteState"] == 127
    assert "state" not in answer


@pytest.mark.parametrize("topic", [SHARE, REMOTE])
def test_show_decodes_them_by_itself(topic: str, tmp_path: Path) -> None:
    chosen = [v for v in VECTORS if v["topic"] == topic]
    log = tmp_path / f"{topic}-0" / f"{0:020d}.log"
    log.parent.mkdir()
    log.write_bytes(build_batch([NewRecord(part(v, "value"), key=part(v, "key")) for v in chosen]))
    rows = run("show", log, "--records", "--json").of("record")
    assert [row["decoded"] for row in rows] == [decoded(v) for v in chosen]
    text = run("show", log, "--records", "--full").out
    assert ("deliveryCompleteCount" if topic == SHARE else "RemotePartitionDeleteMetadataRecord") in text
