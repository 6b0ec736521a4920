"""`segmend explain upgrade`: a pair of releases, and what it means for log dirs."""

import re
from pathlib import Path

import pytest
from tests.cli.run import run
from tests.golden.unpack import unpack
from tests.lab.test_upgrades import RECORD as ROWS
from tests.lab.upgrade import ARCHIVES, VARIANTS, named

from segmend.broker.upgrades import Topic
from segmend.explain.upgrade import upgrade
from segmend.logdir.release import Release

QUOTED = re.compile(r'"([^"]+)"')


def pair(written: str, started: str) -> dict[Topic, list[str]]:
    """The page's lines on what another release makes of what a release wrote."""
    releases = (Release.parse(each.partition("-")[0]) for each in (written, started))
    found = upgrade(*releases)
    return {topic: [line.text for line in found.of(topic)] for topic in Topic}


PAIRS = [(old, new) for old, rows in ROWS.items() if old not in VARIANTS for new in rows]


@pytest.mark.parametrize(("written", "started"), PAIRS)
def test_each_refusal_that_was_seen_is_on_the_page(written: str, started: str) -> None:
    row, page = ROWS[written][started], pair(written, started)
    words = [word for text in page[Topic.REFUSES] for word in QUOTED.findall(text)]
    if row["outcome"] == "refuses" and named(written).number != named(started).number:
        assert any(word in row["says"] for word in words), (row["says"], words)
    if row.get("strays") or row.get("gone"):
        assert any("empty metadata" in text for text in page[Topic.ONE_WAY])


def test_the_pair_of_two_releases() -> None:
    told = run("explain", "upgrade", "--from", "3.9", "--to", "4.1", code=0)
    assert "topic segment.bytes: INT [14,...] becomes INT [1048576,...]" in told.out
    assert "inter.broker.protocol.version" in told.out
    back = run("explain", "upgrade", "--from", "4.1", "--to", "3.9")
    assert "topic segment.bytes:" not in back.out  # limits that are wider refuse nothing


def test_a_pair_as_json() -> None:
    told = run("explain", "upgrade", "--from", "4.3", "--to", "3.9", "--json").json[0]
    assert (told["type"], told["direction"]) == ("upgrade", "down")
    assert any("3.9-IV0 (21)" in line["text"] for line in told["refuses"])


def test_settings_that_were_not_looked_at_are_not_called_ignored() -> None:
    told = run("explain", "upgrade", "--from", "2.8", "--to", "0.10", "--json").json[0]
    assert told["removed"] == []
    for one, other in (("2.8", "0.10"), ("0.10", "2.8")):
        assert "was not looked at" in run("explain", "upgrade", "--from", one, "--to", other).out


def test_these_dirs_name_the_topics_that_are_refused(tmp_path: Path) -> None:
    root = Path(unpack(ARCHIVES / "3.9.2+segment-bytes.tar.xz", tmp_path / "x")) / "b1"
    told = run("explain", "upgrade", root / "d0", root / "d1", "--kafka", "4.1", "--json", code=4)
    assert [each["topic"] for each in told.json[1]["refused_topics"]] == ["plain"]
    assert told.json[2]["outcome"] == "refuses"
    run("explain", "upgrade", root / "d0", root / "d1", "--kafka", "4.0", code=0)


def test_server_properties_of_another_release(tmp_path: Path) -> None:
    root = Path(unpack(ARCHIVES / "3.9.2.tar.xz", tmp_path / "x")) / "b1"
    config = tmp_path / "server.properties"
    config.write_text(
        "zookeeper.connect=h:1\nlog.segment.bytes=65536\nlog.message.format.version=2.8\n"
        f"log.dirs={root / 'd0'},{root / 'd1'}\n"
    )
    dirs = root / "d0", root / "d1"
    told = run("explain", "upgrade", *dirs, "--kafka", "4.0", "--config", config, "--json", code=4)
    assert told.json[1]["ignored"] == ["log.message.format.version", "zookeeper.connect"]
    assert len(told.json[1]["refused_server"]) == 3  # the size, and no process.roles, and no node.id


def test_options_of_two_targets_are_refused() -> None:
    assert run("explain", "retention", "--from", "3.9").code == 16
