"""`segmend forecast` as a user runs it: lines, words and exit codes."""

from pathlib import Path

import pytest
from tests.cli.run import run
from tests.copies import copy_tree
from tests.faults.hands import flipped, positions
from tests.faults.on_disk import lengthen
from tests.faults.patient import RECOVERY
from tests.faults.written import ACTIVE, END, known_dirs, removed, two_dirs, with_zookeeper, written
from tests.golden.shared import golden

from segmend.loading import EFFECTS

STATES = {"log_start_offset", "log_end_offset", "segments", "bytes"}


@pytest.fixture
def dirs(tmp_path: Path) -> list[Path]:
    return known_dirs(tmp_path)


@pytest.fixture
def without_metadata(tmp_path: Path) -> list[Path]:
    """The same as of a node whose metadata log lies elsewhere, or nowhere."""
    return two_dirs(tmp_path)


def test_a_healthy_broker_starts_and_loses_nothing(dirs: list[Path]) -> None:
    ran = run("forecast", *dirs, "--kafka", "4.3.1", code=0)
    assert "3 partitions lose nothing" in ran.out
    assert "the broker starts, nothing lost" in ran.out
    assert "rules of Kafka 4.3.1 (as given)" in ran.out


def test_the_lines_of_json(dirs: list[Path]) -> None:
    ran = run("forecast", *dirs, "--json", "--kafka", "4.3.1")
    partitions = ran.of("partition")
    assert sorted(line["topic"] for line in partitions) == ["t", "u", "v"]
    assert {line["dir"] for line in partitions} == set(map(str, dirs))
    for line in partitions:
        assert line["before"].keys() == line["after"].keys() == STATES
        assert {effect["effect"] for effect in line["effects"]} <= EFFECTS.keys()
    assert [line["outcome"] for line in ran.of("dir")] == ["online", "online"]
    assert {(line["outcome"], line["reason"]) for line in partitions} == {("served", None)}
    last = ran.json[-1]
    assert (last["type"], last["outcome"], last["reason"]) == ("broker", "starts", None)
    assert last["lost"] == {"partitions": 0, "records": 0, "bytes": 0}
    assert (last["unserved"], last["unknown"]) == (0, [])
    assert "server.properties" in last["assumed"][0]
    assert last["seconds"] > 0


def test_a_dir_that_is_offline_is_part_of_the_summary(dirs: list[Path], tmp_path: Path) -> None:
    """Also one that has nothing: the exit code was 4 beside "nothing lost"."""
    (tmp_path / "loop").symlink_to("loop")
    ran = run("forecast", *dirs, tmp_path / "loop", "--kafka", "4.3.1", code=4)
    assert "the broker starts, 1 log dir offline; nothing lost of the others; " in ran.out


def test_what_the_broker_s_refusal_keeps_from_all_is_told_once(dirs: list[Path]) -> None:
    (dirs[1] / "meta.properties").unlink()
    ran = run("forecast", *dirs, "--kafka", "4.3.1", code=4)
    assert "3 partitions not served: the broker refuses to start" in ran.out
    assert ran.out.count("No `meta.properties` found in") == 1
    assert f"segmend check {dirs[0]} {dirs[1]}" in ran.out
    assert ran.out.count("next:") == 1


def test_what_takes_many_partitions_whole_is_told_once() -> None:
    """One dir of two, without that of the metadata: every partition is a stray, for one reason."""
    alone = golden("4.3.1-killed") / "b1" / "d1"
    lines = run("forecast", alone, "--json")
    strays = [line for line in lines.of("partition") if line["outcome"] == "stray"]
    assert len(strays) > 10
    ran = run("forecast", alone)
    assert ran.out.startswith(f"{len(strays)} partitions: stray\n")
    assert ran.out.count("stray-renamed:") == ran.out.count("topicId") == ran.out.count("next:") == 1
    lost = sum(effect["records_lost"] for line in strays for effect in line["effects"])
    assert f"lost: {lost:,} records" in ran.out
    assert f"... and {len(strays) - 8} more" in ran.out
    assert run("forecast", alone, "--all").out.count("next:") == len(strays)


def test_a_loss_is_told_with_records_and_offsets(dirs: list[Path]) -> None:
    removed("t-0/partition.metadata")(dirs)
    ran = run("forecast", *dirs, "--kafka", "4.3.1", code=4)
    assert f"offsets 0 to {END}" in ran.out
    assert "after the start 0 to 0" in ran.out
    assert "stray-renamed" in ran.out
    assert "lost: " in ran.out
    assert "broker: The topicId does not exist in" in ran.out
    assert "2 partitions lose nothing" in ran.out


def test_a_refusal_says_why(dirs: list[Path]) -> None:
    (dirs[0] / "lost+found").mkdir()
    ran = run("forecast", *dirs, "--json", "--kafka", "4.3.1", code=4)
    assert ran.json[-1]["outcome"] == "refuses"
    assert "'lost+found' is not in the form of topic-partition" in ran.json[-1]["reason"]
    assert [line["kind"] for line in ran.of("directory")] == ["cluster-metadata", "foreign"]
    assert all(value is None for line in ran.of("partition") for value in line["after"].values())


def test_the_marker_can_be_imagined_away(dirs: list[Path]) -> None:
    zeros = dirs[0] / f"{ACTIVE}.log"
    lengthen(zeros, bytes(4096))
    assert run("forecast", *dirs, "--kafka", "4.3.1", "--json").json[-1]["outcome"] == "refuses"
    ran = run("forecast", *dirs, "--kafka", "4.3.1", "--json", "--unclean")
    assert ran.json[-1]["outcome"] == "starts"
    assert [line["clean_shutdown"] for line in ran.of("dir")] == [False, False]
    cut = [e for line in ran.of("partition") for e in line["effects"] if e["effect"] == "tail-truncated"]
    assert [(each["offset"], each["records_lost"], each["bytes_lost"]) for each in cut] == [(END, 0, 4096)]


def test_all_tells_of_every_partition(dirs: list[Path]) -> None:
    ran = run("forecast", *dirs, "--all", "--kafka", "4.3.1")
    assert all(name in ran.out for name in ("t-0", "u-0", "v-0"))


def test_server_properties_tell_the_node(dirs: list[Path], tmp_path: Path) -> None:
    config = tmp_path / "server.properties"
    config.write_text(f"node.id=7\nlog.dirs={dirs[0]},{dirs[1]}\n")
    ran = run("forecast", *dirs, "--kafka", "4.3.1", "--json", "--config", config)
    assert "Stored node id 1 doesn't match previous node id 7" in ran.json[-1]["reason"]


def test_a_log_dir_that_is_not_there_stops_a_kraft_broker(dirs: list[Path]) -> None:
    ran = run("forecast", *dirs, dirs[0].parent / "c", "--kafka", "4.3.1", "--json")
    assert "have you run" in ran.json[-1]["reason"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(("/nowhere/at/all",), 8), ((".", "--kafka", "9"), 16), ((".", "--clean", "--unclean"), 16)],
    ids=["missing", "release", "both"],
)
def test_exit_codes_of_trouble(arguments: tuple[str, ...], code: int) -> None:
    assert run("forecast", *arguments).code == code


def test_retention_comes_later(dirs: list[Path]) -> None:
    """The story is of 2023: after a week its segments expire, all but what is above the high watermark."""
    ran = run("forecast", *dirs, "--kafka", "4.3.1", "--json")
    later = ran.of("later")
    assert {line["why"].partition(" of ")[0] for line in later} == {"retention.ms"}
    assert {line["when_seconds"] for line in later} == {30}
    assert ran.code == 0


def test_a_reset_checkpoint_is_told_of_the_dir(dirs: list[Path]) -> None:
    written(RECOVERY, "0\n1\nt 0 x\n")(dirs)
    ran = run("forecast", *dirs, "--kafka", "4.3.1", "--json")
    assert [effect["effect"] for effect in ran.of("dir")[0]["effects"]] == ["checkpoint-reset"]


def test_nothing_lost_is_not_said_where_the_metadata_cannot_be_read(without_metadata: list[Path]) -> None:
    ran = run("forecast", *without_metadata, "--kafka", "4.3.1", code=4)
    assert "nothing lost" not in ran.out
    assert "not known: " in ran.out


def test_nor_where_records_of_the_metadata_are_cut_off(tmp_path: Path) -> None:
    """No topic may hang on them, and a dynamic setting may."""
    copy_tree(golden("4.3.1-killed"), tmp_path / "data")
    dirs = sorted(path.parent for path in tmp_path.rglob("meta.properties"))
    (log,) = tmp_path.rglob("__cluster_metadata-0/*.log")
    data = log.read_bytes()
    log.write_bytes(flipped(len(positions(data)) - 2)(data))
    ran = run("forecast", *dirs, code=4)
    assert "2 records of the cluster's metadata lost; nothing lost of topics; " in ran.out
    assert run("forecast", *dirs, "--json").json[-1]["metadata_records_lost"] == 2
    ran = run("explain", "upgrade", *dirs, "--to", "4.3.1", code=4)
    assert "2 records of the cluster's metadata lost; nothing lost of topics; " in ran.out
    delete = ("--partition", "trimmed-0", "--accept-loss", "96-records", "-o", tmp_path / "plan.json")
    ran = run("plan", "delete", *dirs, *delete)
    assert "started after it starts and has 2 records of the cluster's metadata lost" in ran.out


def test_a_plan_says_what_its_worst_start_supposes(tmp_path: Path) -> None:
    """4.3.1 as the only voter took all 14 for strays; with voters in the log it waited, and lost nothing."""
    copy_tree(golden("4.3.1-killed") / "b1/d1", tmp_path / "data")
    log = max((tmp_path / "data/codec-gzip-0").glob("*.log"))
    log.write_bytes(log.read_bytes()[:-10])
    ran = run("plan", "trim", tmp_path / "data", "-o", tmp_path / "plan.json")
    assert ran.out.count("it starts; if its copy of the cluster's metadata is gone, not in a dir") == 2
    assert "it starts and " not in ran.out


def test_what_a_dir_that_fails_holds_is_not_served(dirs: list[Path]) -> None:
    (dirs[1] / "v-0" / "leader-epoch-checkpoint").write_text("1\n1\n0 0\n")
    ran = run("forecast", *dirs, "--json", "--kafka", "4.3.1")
    offline = [line for line in ran.of("partition") if line["dir"] == str(dirs[1])]
    assert [(line["topic"], line["outcome"]) for line in offline] == [("v", "offline")]
    assert offline[0]["reason"] == ran.of("dir")[1]["reason"]
    assert not [line for line in ran.of("later") if line["dir"] == str(dirs[1])]
    assert (ran.code, ran.json[-1]["outcome"], ran.json[-1]["unserved"]) == (4, "starts", 1)
    assert "nothing lost;" not in run("forecast", *dirs, "--kafka", "4.3.1").out


def test_what_retention_deletes_is_part_of_the_verdict(dirs: list[Path]) -> None:
    ran = run("forecast", *dirs, "--json", "--kafka", "4.3.1")
    deleted = sum(line["records_lost"] for line in ran.of("later"))
    words = run("forecast", *dirs, "--kafka", "4.3.1").out
    assert deleted
    assert f"nothing lost by the start; {deleted:,} records deleted within minutes after it" in words


def test_retention_by_a_damaged_time_index_is_no_good_start(dirs: list[Path], tmp_path: Path) -> None:
    """Zeros at its end are the year 1970: the records are younger than the 45 years that they are to stay."""
    config = tmp_path / "server.properties"
    config.write_text(f"log.dirs={','.join(map(str, dirs))}\nlog.retention.hours=400000\nnode.id=1\n")
    command = ("forecast", "--config", config, *dirs, "--kafka", "4.3.1")
    assert not run(*command, "--json", code=0).of("later")
    for index in (dirs[0] / "t-0").glob("*.timeindex"):
        lengthen(index, bytes(24))
    ran = run(*command, "--json", code=4)
    (line,) = ran.of("later")
    assert (line["topic"], line["undue"], ran.json[-1]["lost"]["records"]) == ("t", True, 0)
    told = run(*command, code=4).out
    assert "too early: by their own timestamps records of it are younger than that" in told
    assert f"{line['records_lost']:,} records deleted within minutes after it, " in told
    cluster = run("forecast", "--cluster", "--config", config, *dirs, "--kafka", "4.3.1", "--json", code=4)
    assert [each for each in cluster.json[-1]["unknown"] if "t-0: whether its records stay" in each]


@pytest.mark.parametrize(
    ("rows", "seconds"),
    [((), {15}), (("log.cleaner.backoff.ms=4000",), {4}), (("log.cleaner.enable=false",), set())],
    ids=["usual", "backoff", "off"],
)
def test_the_cleaner_deletes_where_the_policy_has_both(
    rows: tuple[str, ...], seconds: set[int], dirs: list[Path]
) -> None:
    config = dirs[0].parent / "server.properties"
    config.write_text("\n".join(["log.cleanup.policy=compact,delete", *rows]))
    ran = run("forecast", *dirs, "--kafka", "4.3.1", "--config", config, "--json")
    assert {line["when_seconds"] for line in ran.of("later")} == seconds
    assert not [line for line in ran.of("later") if "unless the log cleaner" in line["why"]]


def test_the_cleaner_may_make_a_log_young_again_before_it_is_deleted(dirs: list[Path]) -> None:
    for path in (dirs[0] / "u-0").glob("*.timeindex"):
        path.write_bytes(bytes(12))
    config = dirs[0].parent / "server.properties"
    config.write_text("log.cleanup.policy=compact,delete\n")
    ran = run("forecast", *dirs, "--kafka", "4.3.1", "--config", config, "--json")
    (line,) = (line for line in ran.of("later") if line["topic"] == "u")
    assert "unless the log cleaner rewrites it before" in line["why"]


@pytest.mark.parametrize(("kafka", "fatal"), [("2.0.0", True), ("2.1.0", False)])
def test_before_2_1_a_log_over_which_the_cleaner_throws_keeps_all_others(
    kafka: str, fatal: bool, without_metadata: list[Path]
) -> None:
    dirs = without_metadata
    with_zookeeper(dirs)
    log = min((dirs[0] / "t-0").glob("*.log"))
    data = bytearray(log.read_bytes())
    data[8:12] = bytes(4)
    log.write_bytes(data)
    config = dirs[0].parent / "server.properties"
    config.write_text("log.cleanup.policy=compact,delete\n")
    ran = run("forecast", *dirs, "--kafka", kafka, "--config", config, "--json")
    (said,) = [each for each in ran.json[-1]["assumed"] if "ZooKeeper has them" in each]
    assert "retention may delete more or less" in said
    assert "a topic go as a whole" in said  # seen on 2.8.2: a deletion was asked for while it was down
    assert (
        "where ZooKeeper is empty, nobody serves them" in said
    )  # seen on 1.1.0; 2.8.2 refuses, by its cluster
    whys = [line["why"] for line in ran.of("later")]
    assert len(whys) == 3
    assert {
        f"takes {dirs[0] / 't-0'} before: it throws over {log.name} at byte 0" in why for why in whys
    } == {fatal}


@pytest.mark.parametrize(("batch", "said"), [(0, None), (1, "unless the log cleaner takes the log before")])
def test_retention_stops_where_the_cleaner_throws(batch: int, said: str | None, dirs: list[Path]) -> None:
    """Over a first batch without a size before it deletes anything; over another once it takes the log."""
    log = min((dirs[0] / "u-0").glob("*.log"))
    data = bytearray(log.read_bytes())
    at = batch * (12 + int.from_bytes(data[8:12], "big"))
    data[at + 8 : at + 12] = bytes(4)
    log.write_bytes(data)
    config = dirs[0].parent / "server.properties"
    config.write_text("log.cleanup.policy=compact,delete\n")
    given = ("--kafka", "4.3.1", "--config", config, "--json")
    whys = [x["why"] for x in run("forecast", *dirs, *given).of("later") if x["topic"] == "u"]
    assert [said in why for why in whys] == ([True] if said else [])
    told = run("explain", "retention", dirs[0], "--topic", "u", *given).of("segment")
    assert (told[0]["outcome"], told[0]["reason"]) == (
        ("deleted", "retention.ms") if said else ("stays", "set-aside")
    )


def test_many_directories_of_one_fate_are_counted(dirs: list[Path]) -> None:
    for number in range(9):
        (dirs[0] / f"gone-{number}.{'0' * 31}{number}-delete").mkdir()
    told = run("forecast", *dirs, "--kafka", "4.3.1").out
    assert told.count("-delete: delete, ") == 3
    assert "... and 6 more directories: delete, " in told
    every = run("forecast", *dirs, "--kafka", "4.3.1", "--all").out
    assert every.count("-delete: delete, ") == 9
    assert "more directories" not in every


def test_what_may_go_later_is_counted() -> None:
    """Once the high watermark is known; nothing of it is in remote storage."""
    lines = run("forecast", golden("1.1.0-killed") / "b1" / "d1", "--json").of("later")
    unsure = [(each["segments"], each["records_lost"]) for each in lines if each["when_seconds"] is None]
    assert unsure == [(1, 5)]


@pytest.mark.parametrize("linked", [False, True])
def test_a_dir_given_twice_is_no_broker(dirs: list[Path], tmp_path: Path, linked: bool) -> None:
    """As `check` has it: a broker with both in log.dirs refuses to start, and nobody asked about one."""
    again = tmp_path / "again" if linked else dirs[0]
    if linked:
        again.symlink_to(dirs[0])
    for command in ("forecast", "check"):
        told = run(command, *map(str, (*dirs, again)))
        assert (told.code, told.out) == (16, "")
        assert f"{again}: the same directory as {dirs[0]}" in told.err
    given = tmp_path / "server.properties"
    given.write_text(f"node.id=1\nlog.dirs={','.join(map(str, (*dirs, again)))}\n")
    told = run("forecast", "--config", str(given), "--kafka", "4.1")
    assert (told.code, "Duplicate" in told.out) == (4, True)
    told = run("check", *map(str, dirs), "--config", str(given), "--kafka", "4.1")
    assert (told.code, "Duplicate" in told.out) == (4, True)


@pytest.mark.parametrize("more", [(), ("--cluster",)])
def test_the_directory_of_a_partition_is_no_log_dir(dirs: list[Path], more: tuple[str, ...]) -> None:
    """Of one the forecast was that no broker starts, with exit 4: true, and not what was asked for."""
    part = next(dirs[0].glob("*-0"))
    told = run("forecast", *more, dirs[1], part)
    assert (told.code, told.out) == (16, "")
    assert f"{part}: the directory of a partition" in told.err
    assert f"give all of them, {dirs[0]} among them" in told.err


@pytest.mark.parametrize(
    ("protocol", "setting", "told"),
    [
        ("SSL", "listener.name.s.ssl.keystore.location", True),
        ("SASL_SSL", "ssl.truststore.location", True),
        ("SASL_PLAINTEXT", "ssl.keystore.location", False),
    ],
)
def test_a_store_that_is_not_here_is_no_all_clear(
    protocol: str, setting: str, told: bool, dirs: list[Path], tmp_path: Path
) -> None:
    """4.3.1 ended over it ("Modification time of key store could not be obtained"); 0 was the exit code."""
    store, config = tmp_path / "store.jks", tmp_path / "server.properties"
    plain = "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT"
    config.write_text(f"""
log.dirs={dirs[0]},{dirs[1]}
node.id=1
process.roles=broker,controller
controller.quorum.voters=1@localhost:9093
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://:9092,CONTROLLER://:9093,S://:9094
listener.security.protocol.map={plain},S:{protocol}
{setting}={store}
""")

    def is_told(command: str) -> bool:
        ran = run(command, *dirs, "--config", config, "--kafka", "4.3.1", "--json")
        last = ran.json[-1]
        gone = any(f"{setting} names {store}, which is not here" in each for each in last["unknown"])
        assert not (gone and setting in str(last.get("assumed")))
        return gone

    assert [is_told("check"), is_told("forecast")] == [told, told]
    store.touch()
    assert [is_told("check"), is_told("forecast")] == [False, False]


@pytest.mark.parametrize(
    ("provider", "told"), [("FileConfigProvider", True), ("EnvVarConfigProvider", False)]
)
def test_a_file_of_a_config_provider_that_is_not_here_is_no_all_clear(
    provider: str, told: bool, dirs: list[Path], tmp_path: Path
) -> None:
    """4.3.1 ended over it ("Could not read properties from file"), whatever was to be read."""
    secrets, config = tmp_path / "secrets", tmp_path / "server.properties"
    config.write_text(f"""
log.dirs={dirs[0]},{dirs[1]}
config.providers=p
config.providers.p.class=org.apache.kafka.common.config.provider.{provider}
ssl.key.password=${{p:{secrets}:key}}
ssl.keystore.password=${{p:key}}
""")

    def unknown() -> list[str]:
        ran = run("forecast", *dirs, "--config", config, "--kafka", "4.3.1", "--json")
        return [each for each in ran.json[-1]["unknown"] if each.endswith(f"{secrets}, which is not here")]

    assert bool(unknown()) == told
    secrets.write_text("key=secret")
    assert not unknown()
