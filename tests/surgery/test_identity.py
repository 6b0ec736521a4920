"""`plan identity`: volumes that do not agree about cluster, node or directory id, mended or refused."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from tests.checks.build_partition import META_V1, seal
from tests.faults.on_disk import flip_at_share
from tests.golden.shared import golden
from tests.surgery.desk import Desk

from segmend.formats import meta_properties
from segmend.formats.kafka_uuid import parse_uuid
from segmend.formats.meta_properties import MetaProperties
from segmend.kernel.scan import iter_batches
from segmend.kernel.types import BytesReader


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Broker 1 of three, stopped cleanly, with the cluster's metadata."""
    return Desk(golden("4.3.1-fleet") / "b1", tmp_path)


@pytest.fixture
def shelf(tmp_path: Path) -> Desk:
    """The same, to be looked at only."""
    return Desk(golden("4.3.1-fleet") / "b1", tmp_path, copy=False)


def identity(log_dir: Path) -> MetaProperties:
    value, damages = meta_properties.parse((log_dir / "meta.properties").read_bytes())
    assert damages == ()
    return value


def rewrite(log_dir: Path, key: str, value: str) -> None:
    path = log_dir / "meta.properties"
    path.write_text(re.sub(rf"(?m)^{re.escape(key)}=.*$", f"{key}={value}", path.read_text()))


def test_says_so_if_nothing_is_wrong(shelf: Desk) -> None:
    ran = shelf.plan("identity")
    assert (ran.code, shelf.steps(ran)) == (0, [])
    assert ran.of("plan")[0]["left"] == []


def found(desk: Desk, *options: str) -> list[dict[str, Any]]:
    return desk.run("check", *desk.dirs, "--startup", *options, "--json").of("finding")


def command_of(desk: Desk, code: str, *options: str) -> list[str]:
    """The next command of the first such finding, as it is pasted."""
    command = next(row["remedy"]["command"] for row in found(desk, *options) if row["code"] == code)
    return shlex.split(command.replace("plan.json", shlex.quote(str(desk.plan_file))))[1:]


@pytest.mark.parametrize("how", ["version", "all but"])
def test_what_no_file_tells_is_in_the_printed_command(desk: Desk, how: str) -> None:
    """As the damaged ones have it; where they do not, what is in capitals is put in by hand."""
    cluster_id = str(identity(desk.dirs[0]).cluster_id)
    for log_dir in desk.dirs:
        rewrite(log_dir, "version", "q")
        if how == "all but":
            (log_dir / "meta.properties").write_bytes(b"version=q\n")
    words = command_of(desk, "K02")
    given = words.index("--cluster-id"), words.index("--node-id")
    told = [words[at + 1] for at in given]
    assert told == ([cluster_id, "1"] if how == "version" else ["CLUSTER_ID", "NODE_ID"])
    assert desk.run("plan", "identity", *desk.dirs, "-o", desk.plan_file).code == 16
    for at, value in zip(given, [cluster_id, "1"], strict=True):
        words[at + 1] = value
    assert desk.run(*words).code == 0
    desk.apply()
    assert {(identity(each).cluster_id, identity(each).node_id) for each in desk.dirs} == {(cluster_id, 1)}
    desk.undo()


@pytest.mark.slow
def test_a_clone_gets_the_id_back_that_the_metadata_knows(desk: Desk) -> None:
    first, clone = desk.dirs
    own = identity(clone).directory_id
    before_cloning = desk.tree()
    rewrite(clone, "directory.id", str(identity(first).directory_id))
    assert desk.forecast().of("broker")[0]["outcome"] == "refuses"
    check = ("check", *desk.dirs, "--startup", "--json")
    findings = {row["code"]: row["remedy"]["command"] for row in desk.run(*check).of("finding")}
    command = shlex.split(findings["K04"])
    assert command[1:5] == ["plan", "identity", *map(str, desk.dirs)]
    ran = desk.plan("identity")
    assert desk.steps(ran) == [("replace_file", "d1/meta.properties")]
    desk.apply()
    assert not desk.run(*check).of("finding")
    assert identity(clone).directory_id == own
    assert (clone / "meta.properties").read_bytes().startswith(b"#")
    assert desk.forecast().code == 0
    assert {k: v[5] for k, v in desk.tree().items()} == {k: v[5] for k, v in before_cloning.items()}
    desk.undo()


def test_a_missing_file_is_written_with_what_the_others_say(desk: Desk) -> None:
    first, second = desk.dirs
    was = identity(second)
    (second / "meta.properties").unlink()
    desk.plan("identity")
    desk.apply()
    now = identity(second)
    assert (now.version, now.cluster_id, now.node_id) == (1, was.cluster_id, was.node_id)
    assert now.directory_id == was.directory_id
    assert (second / "meta.properties").stat().st_mode == (first / "meta.properties").stat().st_mode
    assert desk.forecast().code == 0


@pytest.mark.slow
@pytest.mark.parametrize("content", [b"", b"version=9\nnode.id=1\n", b"\\u00zz=1\n"])
def test_a_file_that_cannot_be_read_is_written_anew(desk: Desk, content: bytes) -> None:
    second = desk.dirs[1]
    was = identity(second)
    (second / "meta.properties").write_bytes(content)
    desk.plan("identity")
    desk.apply()
    assert identity(second).directory_id == was.directory_id
    assert desk.forecast().code == 0
    desk.undo()


@pytest.mark.slow
@pytest.mark.parametrize("kept", ["node.id", "directory.id", "cluster.id"])
def test_a_file_of_kraft_s_that_lost_lines_is_none_of_zookeeper_s(kept: str, desk: Desk) -> None:
    """Cut behind its first lines, it has no version, which without any is 0."""
    was = identity(desk.dirs[1])
    lines = (desk.dirs[1] / "meta.properties").read_text().splitlines(keepends=True)
    (desk.dirs[1] / "meta.properties").write_text("".join(line for line in lines if line.startswith(kept)))
    assert desk.plan("identity").code == 0
    desk.apply()
    now = identity(desk.dirs[1])
    assert (now.version, now.node_id, now.cluster_id) == (1, was.node_id, was.cluster_id)


def test_a_node_id_without_a_version_counts(desk: Desk) -> None:
    (desk.dirs[1] / "meta.properties").write_text("node.id=7\n")
    ran = desk.plan("identity")
    assert ran.code == 16
    assert "node id 7, but" in ran.err


def test_no_plain_file_is_left_and_the_others_are_written(desk: Desk) -> None:
    for log_dir in desk.dirs:
        (log_dir / "meta.properties").unlink()
    (desk.dirs[1] / "meta.properties").symlink_to("nowhere")
    ran = desk.plan("identity", "--cluster-id", "mAb5pZ9vTWWx4JmKu0o3Ng", "--node-id", "1")
    assert ran.code == 4
    assert len(desk.steps(ran)) == len(desk.dirs) - 1
    assert "it is no plain file: move it out of the way first" in str(ran.of("plan")[0]["left"])


def test_a_reserved_directory_id_gives_way(desk: Desk) -> None:
    second = desk.dirs[1]
    own = identity(second).directory_id
    rewrite(second, "directory.id", "AAAAAAAAAAAAAAAAAAAAAQ")
    desk.plan("identity")
    desk.apply()
    assert identity(second).directory_id == own
    assert desk.forecast().code == 0


@pytest.mark.slow
def test_new_ids_are_new_and_the_same_each_time(desk: Desk) -> None:
    first, second = desk.dirs
    old = {identity(first).directory_id, identity(second).directory_id}
    desk.plan("identity", "--directory-id", f"{second}=new")
    plan = desk.plan_file.read_bytes()
    ran = desk.plan("identity", "--directory-id", f"{second}=new")
    assert desk.plan_file.read_bytes() == plan
    assert any("takes them for offline" in note for note in ran.of("plan")[0]["notes"])
    desk.apply()
    assert identity(second).directory_id not in old
    assert identity(first).directory_id in old
    assert desk.forecast().of("broker")[0]["outcome"] == "starts"
    desk.plan("identity", "--directory-id", f"{second}=former")
    desk.apply()
    assert identity(second).directory_id in old


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "value", "option"),
    [("cluster.id", "another-cluster-000000", "--cluster-id"), ("node.id", "7", "--node-id")],
)
def test_whose_disk_it_is_a_person_must_say(desk: Desk, key: str, value: str, option: str) -> None:
    second = desk.dirs[1]
    was = identity(second).properties.get(key)
    rewrite(second, key, value)
    ran = desk.plan("identity")
    assert ran.code == 16
    assert ran.err.count("\n") == 1
    assert f"{option} " in ran.err
    assert value in ran.err
    asked = desk.plan("identity", option, was)
    said = [note for note in asked.of("plan")[0]["notes"] if "does not take this one in any more" in note]
    assert bool(said) == (option == "--cluster-id")
    desk.apply()
    assert identity(second).properties.get(key) == was
    assert desk.forecast().code == 0


@pytest.mark.slow
def test_all_dirs_can_be_made_those_of_another_node(desk: Desk) -> None:
    ran = desk.plan("identity", "--node-id", 2)
    assert [kind for kind, _ in desk.steps(ran)] == ["replace_file", "replace_file"]
    assert any("not on node 2" in note and "-stray" in note for note in ran.of("plan")[0]["notes"])
    desk.apply()
    assert {identity(log_dir).node_id for log_dir in desk.dirs} == {2}


def test_server_properties_count(shelf: Desk) -> None:
    config = shelf.root / "server.properties"
    config.write_text(f"node.id=5\nlog.dirs={shelf.dirs[0]},{shelf.dirs[1]},/nowhere/d2\n")
    ran = shelf.plan("identity", "--config", config)
    assert ran.code == 16
    assert "server.properties has 5" in ran.err
    ran = shelf.plan("identity", "--config", config, "--node-id", 5)
    assert ran.code == 4
    assert "/nowhere/d2" in ran.of("plan")[0]["left"][0]
    notes = ran.of("plan")[0]["notes"]
    assert any(n.startswith("as they are, Kafka") and "refuses to start" in n for n in notes)
    assert any(n.startswith("after this plan, Kafka") and "one broker" in n for n in notes)


@pytest.mark.parametrize(
    "wish", ["AAAAAAAAAAAAAAAAAAAAAQ", "nonsense!", "sDssRmJfnyxxlQ_91RzrVg=", "", "old"]
)
def test_odd_directory_ids_are_refused_in_one_line(shelf: Desk, wish: str) -> None:
    ran = shelf.plan("identity", "--directory-id", f"{shelf.dirs[1]}={wish}")
    assert (ran.code, ran.out) == (16, "")
    assert ran.err.startswith("segmend: --directory-id")
    assert ran.err.count("\n") == 1


def test_an_id_of_another_dir_is_refused(shelf: Desk) -> None:
    taken = identity(shelf.dirs[0]).directory_id
    ran = shelf.plan("identity", "--directory-id", f"{shelf.dirs[1]}={taken}")
    assert ran.code == 16
    assert "a broker refuses two of them" in ran.err


@pytest.mark.parametrize(
    ("option", "value", "code"),
    [
        ("--directory-id", "new", 16),
        ("--node-id", "-1", 16),
        ("--node-id", "x", 16),
        ("--cluster-id", " ", 16),
        ("--cluster-id", "", 16),
        ("--cluster-id", "CLUSTER_ID", 16),  # as it stands in what K03 suggests
        ("--config", "/nowhere", 8),
    ],
)
def test_bad_input_is_told_in_one_line(shelf: Desk, option: str, value: str, code: int) -> None:
    ran = shelf.plan("identity", option, value)
    assert ran.code == code, ran.err
    assert ran.out == ""
    assert ran.err.count("\n") == 1


def test_zookeeper_s_files_keep_their_version(tmp_path: Path) -> None:
    desk = Desk(golden("1.1.0-clean") / "b1", tmp_path)
    assert desk.plan("identity", "--kafka", "1.1").of("step") == []
    desk.plan("identity", "--kafka", "1.1", "--node-id", 4)
    desk.apply()
    found = [identity(log_dir) for log_dir in desk.dirs]
    assert {(each.version, each.node_id, each.cluster_id) for each in found} == {(0, 4, None)}
    ran = desk.plan("identity", "--kafka", "1.1", "--directory-id", f"{desk.dirs[0]}=new")
    assert ran.code == 16
    assert "they came with 3.7" in ran.err


@pytest.mark.slow
@pytest.mark.parametrize("content", ["broker.id=1\n-7\n", "version=0\nbroker.id=-1\n"])
def test_what_an_old_broker_requires_is_put_in(tmp_path: Path, content: str) -> None:
    """The command that K02 names for a file without a version had no steps, for an id below 0 it failed."""
    desk = Desk(golden("1.1.0-clean") / "b1", tmp_path)
    (desk.dirs[0] / "meta.properties").write_text(content)
    words = [*command_of(desk, "K02", "--kafka", "1.1.0"), "--json"]
    assert desk.run(*words).code == 0
    desk.apply()
    assert not {"K02", "K03"} & {row["code"] for row in found(desk, "--kafka", "1.1.0")}


def test_zookeeper_s_file_among_kraft_s_needs_a_word(desk: Desk) -> None:
    second = desk.dirs[1]
    cluster_id = identity(second).cluster_id
    (second / "meta.properties").write_text(f"version=0\nbroker.id=1\ncluster.id={cluster_id}\n")
    ran = desk.plan("identity")
    assert ran.code == 4
    assert "--node-id N" in ran.of("plan")[0]["left"][0]
    desk.plan("identity", "--node-id", 1)
    desk.apply()
    now = identity(second)
    assert (now.version, now.node_id, now.properties.get("broker.id")) == (1, 1, None)
    assert desk.forecast().of("broker")[0]["outcome"] == "starts"


VOTER = "aqh5UNpOSCCbXzxCfpr97A"


@pytest.fixture
def apart(tmp_path: Path) -> Desk:
    """A lone node that votes by directory id (KIP-853); its metadata lies in `m`, a `metadata.log.dir`."""
    desk = Desk(golden("4.3.1-clean") / "b1", tmp_path)
    first = desk.dirs[0]
    own = identity(first)
    meta = desk.home / "m"
    meta.mkdir()
    (meta / "meta.properties").write_text(META_V1.format(VOTER))
    rewrite(meta, "cluster.id", str(own.cluster_id))
    (first / "__cluster_metadata-0").rename(meta / "__cluster_metadata-0")
    for path in [*meta.glob("*/*.log"), *meta.glob("*/*.checkpoint")]:
        path.chmod(0o600)
        path.write_bytes(vote_as(path.read_bytes(), parse_uuid(str(own.directory_id)), parse_uuid(VOTER)))
    desk.dirs = [*desk.dirs, meta]
    return desk


def vote_as(data: bytes, old: bytes, new: bytes) -> bytes:
    """The same log, with another directory id in its control batches."""
    made = bytearray(data)
    for batch in iter_batches(BytesReader(data)):
        if batch.is_control:
            whole = data[batch.position : batch.end]
            made[batch.position : batch.end] = seal(whole.replace(old, new))
    return bytes(made)


def test_a_voter_gets_the_id_back_under_which_it_votes(apart: Desk) -> None:
    first, second, meta = apart.dirs
    ids = [identity(each).directory_id for each in apart.dirs]
    rewrite(meta, "directory.id", str(identity(first).directory_id))
    (second / "meta.properties").unlink()
    why = str(apart.plan("identity").of("plan"))
    assert f"{ids[2]} is the id under which the node votes" in why
    assert f"{ids[1]} is the id that the metadata assigns its replicas to" in why
    apart.apply()
    assert [identity(each).directory_id for each in apart.dirs] == ids


def test_who_would_lose_its_vote_is_told_so(apart: Desk) -> None:
    meta = apart.dirs[2]
    ran = apart.plan("identity", "--directory-id", f"{meta}=new")
    assert f"votes in the KRaft quorum as directory id {VOTER}" in str(ran.of("plan"))
    apart.apply()
    assert f"{meta}=former" in str(apart.plan("identity").of("plan"))
    apart.plan("identity", "--directory-id", f"{meta}=former")
    apart.apply()
    assert identity(meta).directory_id == VOTER


def test_zookeeper_s_file_is_written_where_no_dir_has_one(tmp_path: Path) -> None:
    """Then the command that `check` names has to do something; where another dir has it, the broker does."""
    desk = Desk(golden("1.1.0-clean") / "b1", tmp_path)
    usual = (desk.dirs[0] / "meta.properties").read_bytes()
    (desk.dirs[1] / "meta.properties").unlink()
    ran = desk.plan("identity", "--kafka", "1.1.0")
    assert (ran.code, ran.of("step")) == (0, [])
    assert ran.of("plan")[0]["notes"] == [
        f"{desk.dirs[1]}: has no meta.properties; a broker with ZooKeeper writes it itself"
    ]
    (desk.dirs[0] / "meta.properties").unlink()
    ran = desk.plan("identity", "--kafka", "1.1.0")
    assert (ran.code, "no meta.properties tells the node; give --node-id N" in ran.err) == (16, True)
    words = [word.replace("NODE_ID", "1") for word in command_of(desk, "K01", "--kafka", "1.1.0")]
    assert desk.run(*words[:-1], desk.plan_file).code == 0
    desk.apply()
    for log_dir in desk.dirs:
        written = (log_dir / "meta.properties").read_bytes()
        assert {*written.splitlines()} >= {line for line in usual.splitlines() if not line.startswith(b"#")}
    assert "K01" not in {row["code"] for row in found(desk, "--kafka", "1.1.0")}
    desk.undo()


def test_a_broker_of_0_8_has_no_such_file(tmp_path: Path) -> None:
    desk = Desk(golden("0.8.2.2-clean") / "b1", tmp_path)
    ran = desk.plan("identity", "--kafka", "0.8.2.2")
    assert (ran.code, ran.of("step"), ran.of("plan")[0]["notes"]) == (0, [], [])


@pytest.mark.parametrize("operation", ["identity", "quorum", "free"])
def test_a_configuration_that_was_given_is_known_to_the_forecast(operation: str, desk: Desk) -> None:
    config = desk.root / "server.properties"
    dirs = ",".join(map(str, desk.dirs))
    config.write_text(f"process.roles=broker,controller\nnode.id=1\nlog.dirs={dirs}\n")
    if operation == "quorum":
        flip_at_share(max(desk.dirs[0].glob("__cluster_metadata-0/*.checkpoint")), 0.5)
    elif operation == "free":
        (desk.dirs[0] / f"gone-0.{'0' * 32}-delete").mkdir()
        (desk.dirs[0] / f"gone-0.{'0' * 32}-delete" / f"{0:020d}.log").write_bytes(bytes(9000))
    else:
        (desk.dirs[1] / "meta.properties").unlink()
    asked = ("free", "--bytes", "1", "--discard") if operation == "free" else (operation,)
    ran = desk.plan(*asked, "--config", config)
    assert ran.of("step")
    assert "server.properties was not given" not in ran.out + desk.plan_file.read_text()
    assert "server.properties was not given" in desk.plan(*asked).out + desk.plan_file.read_text()
