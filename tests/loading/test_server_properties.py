"""What a server.properties of an odd shape says to a forecast, and what it leaves to others."""

import os
from pathlib import Path

import pytest
from tests.cli.run import run
from tests.faults.written import known_dirs, two_dirs
from tests.golden.unpack import unpack
from tests.lab.outages.base import HERE as BASES
from tests.lab.settings import KRAFT
from tests.lab.upgrade import ARCHIVES

from segmend.broker.server_odds import odd_settings, shut_out_by
from segmend.loading.values import Effect
from segmend.logdir.config import ServerConfig
from segmend.logdir.release import Release

LISTENING = {
    "broker": "PLAINTEXT://h:2",
    "controller": "CONTROLLER://h:3",
    "broker,controller": "PLAINTEXT://h:2,CONTROLLER://h:3",
}


@pytest.fixture
def dirs(tmp_path: Path) -> list[Path]:
    return known_dirs(tmp_path)


def test_a_log_dir_that_the_configuration_does_not_name(dirs: list[Path], tmp_path: Path) -> None:
    given = tmp_path / "server.properties"
    given.write_text(f"node.id=1\nlog.dirs={dirs[0]}\n")
    ran = run("forecast", *dirs, "--config", given, "--json", "--kafka", "4.3.1", code=4)
    assert any(f"{dirs[1]}: no log dir in" in each for each in ran.json[-1]["unknown"])
    given.write_text("node.id=1\nlog.dirs=/nowhere/of/another/machine\n")
    assert run("forecast", *dirs, "--config", given, "--json", "--kafka", "4.3.1").code == 0


@pytest.mark.parametrize(
    ("line", "kafka", "says"),
    [
        ("log.dirs=\nlog.dir={}", "4.1", "requirement failed: At least one log directory must be defined"),
        ("log.dirs=,", "3.9", "requirement failed: At least one log directory must be defined"),
        ("log.dirs=,", "4.3.1", "Configuration 'log.dirs' values must not be empty."),
        ("log.dirs={}\nany=\\u00zz", "4.3.1", "Malformed \\uxxxx encoding."),
        ("log.dirs={0},{1}\nmetadata.log.dir={0}/", "4.3.1", "Duplicate directory ID Optional["),
        ("log.dirs={0},{1}\ncordoned.log.dirs={0}/", "4.3.1", "Missing entries : "),
        ("log.dirs={},{}\nmetadata.log.dir=", "4.3.1", "(the configured metadata directory is )."),
    ],
)
def test_a_configuration_at_which_the_process_ends(
    dirs: list[Path], tmp_path: Path, line: str, kafka: str, says: str
) -> None:
    """As `KafkaConfig` of 1.1.0, 3.9.2, 4.1.1 and 4.3.1 said, and starts of 4.3.1 on the last four."""
    given = tmp_path / "server.properties"
    given.write_text(f"node.id=1\n{line.format(*dirs)}\n")
    ran = run("forecast", *dirs, "--config", given, "--json", "--kafka", kafka, code=4)
    assert says in ran.json[-1]["reason"]


def test_no_all_clear_where_a_config_provider_knows_what_the_answer_hangs_on(
    dirs: list[Path], tmp_path: Path
) -> None:
    given = tmp_path / "server.properties"
    given.write_text(
        "config.providers=env\nlog.dirs=${env:DIRS}\nlog.retention.hours=${env:HOURS}\n"
        "ssl.keystore.password=${env:A}\nadvertised.listeners=${env:B}\nmy.license=${env:C}\n"
    )
    ran = run("forecast", *dirs, "--config", given, "--json", "--kafka", "4.3.1", code=4)
    assert [each.partition(": ")[0] for each in ran.json[-1]["unknown"]] == [
        "what the config provider has for log.dirs, log.retention.hours"
    ]
    checked = run("check", *dirs, "--config", given, "--json", "--kafka", "4.3.1", code=4)
    assert checked.json[-1]["unknown"] == ran.json[-1]["unknown"]
    others = "what a config provider has fits: advertised.listeners, my.license, ssl.keystore.password"
    assert others in ran.json[-1]["assumed"]
    alone = run("forecast", "--config", given, "--kafka", "4.3.1")
    assert (alone.code, "config provider" in alone.err) == (16, True)
    told = run("explain", "retention", *dirs, "--config", given, "--kafka", "4.3.1", "--json")
    limits = [each["settings"]["retention.ms"]["known"] for each in told.of("partition")]
    assert limits
    assert not any(limits)
    given.write_text("config.providers=env\nssl.keystore.password=${env:A}\n")
    run("forecast", *dirs, "--config", given, "--json", "--kafka", "4.3.1", code=0)


def test_check_knows_of_a_dir_that_is_no_log_dir_any_more(tmp_path: Path) -> None:
    """As the forecast does: of what lies in the one that was dropped the broker opens nothing."""
    dirs = sorted(unpack(ARCHIVES / "4.3.1.tar.xz", tmp_path).glob("b1/d*"))
    for dropped, kept in (dirs, dirs[::-1]):
        given = tmp_path / "server.properties"
        given.write_text(f"process.roles=broker,controller\nnode.id=1\nlog.dirs={kept}\n")
        for command in ("check", "forecast"):
            ran = run(command, *dirs, "--config", given, "--json", "--kafka", "4.3.1", code=4)
            assert (
                f"{dropped}: no log dir in server.properties, so the broker opens nothing of it"
                in (ran.json[-1]["unknown"])
            )


def test_what_no_broker_asks_for_is_named(dirs: list[Path], tmp_path: Path) -> None:
    lines = "logs.dirs=/elsewhere\nzookeeper.connection.timeout.ms=1\nlistener.name.x.ssl.key.password=x"
    ran = run("forecast", *dirs, "--config", configured(tmp_path, dirs, lines), "--json", "--kafka", "4.3.1")
    names = "logs.dirs, zookeeper.connection.timeout.ms"
    assert f"nothing hangs on what are no settings of Kafka 4.3.1: {names}" in ran.json[-1]["assumed"]


def test_settings_that_do_not_fit_one_another_refuse(dirs: list[Path], tmp_path: Path) -> None:
    """As `KafkaConfig` of 4.3.1 said; `tests.lab.settings` asked those of eleven releases."""
    given = tmp_path / "server.properties"
    rows = [
        f"log.dirs={','.join(map(str, dirs))}",
        *(each for each in KRAFT if not each.startswith("log.dirs")),
    ]
    answers = []
    for more in ("authorizer.class.name=mine", "advertised.listeners=PLAINTEXT://0.0.0.0:2"):
        given.write_text("\n".join([*rows, more, ""]))
        ran = run("forecast", *dirs, "--config", given, "--json", "--kafka", "4.3.1")
        answers.append((ran.code, ran.json[-1]))
    (code, sound), (refused, unsound) = answers
    assert (code, refused) == (0, 4)
    (named,) = [each for each in sound["assumed"] if "names is there, and fits:" in each]
    assert all(name in named for name in ("authorizer.class.name", "listeners", "controller.quorum.voters"))
    assert "cannot use the nonroutable meta-address 0.0.0.0" in unsound["reason"]


@pytest.mark.parametrize(
    ("line", "kafka", "reason"),
    [
        ("authorizer.class.name=kafka.security.authorizer.AclAuthorizer", "4.3.1", "ClassNotFoundException"),
        ("authorizer.class.name=kafka.security.authorizer.AclAuthorizer", "3.9.2", "NullPointerException"),
        ("authorizer.class.name=kafka.security.authorizer.AclAuthorizer\nzookeeper.connect=h", "3.9.2", ""),
        ("authorizer.class.name=org.example.AclAuthorizer", "4.3.1", ""),
        ("authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer\nsuper.users=ANONYMOUS",
         "3.9.2", "expected a string in format principalType:principalName but got ANONYMOUS"),
        ("zookeeper.metadata.migration.enable=true\nzookeeper.connect=h", "4.3.1", ""),
        ("zookeeper.metadata.migration.enable=true\nzookeeper.connect=h", "3.9.2", "ZK migrations enabled"),
        ("metadata.log.segment.bytes=1024", "3.9.2", "Cannot set metadata.log.segment.bytes below"),
        ("metadata.log.segment.bytes=1024\nmetadata.log.segment.min.bytes=1024", "3.9.2", ""),
        ("controller.quorum.voters=\ncontroller.quorum.bootstrap.servers=h:3", "3.9.2", "log names none"),
        ("controller.quorum.voters=\ncontroller.quorum.bootstrap.servers=h:3", "4.3.1", "log names none"),
        ("controller.quorum.bootstrap.servers=h:3", "4.3.1", ""),
        ("controller.listener.names=CONTROLLER,", "3.9.2", ""),
        ("controller.quorum.bootstrap.servers=,h:3", "4.3.1", "Failed to parse host name from  for the"),
        ("controller.quorum.bootstrap.servers=h:3,", "3.9.2", "Failed to parse host name from  for the"),
        ("config.providers=env\nnum.io.threads=${{env:THREADS}}", "4.3.1", "Not a number of type INT"),
        ("config.providers=env\nnum.io.threads=${file:/a:b}", "4.3.1", "Not a number of type INT"),
        ("config.providers=env\nnum.io.threads=${env:THREADS}", "4.3.1", ""),
        ("listeners=SASL_PLAINTEXT://h:2,CONTROLLER://h:3\nsecurity.inter.broker.protocol=SASL_PLAINTEXT\n"
         "sasl.mechanism.inter.broker.protocol=PLAIN\nsasl.enabled.mechanisms=PLAIN\n"
         "listener.security.protocol.map=CONTROLLER:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT", "4.3.1", ""),
    ],
)  # fmt: skip
def test_what_upgrades_leave_in_a_configuration(tmp_path: Path, line: str, kafka: str, reason: str) -> None:
    """Releases were started with each, over dirs of 3.9.2; what is not here is assumed where they start."""
    dirs = sorted(unpack(ARCHIVES / "3.9.2.tar.xz", tmp_path).glob("b1/d*"))
    given = configured(tmp_path, dirs, line)
    ran = run("forecast", *dirs, "--config", given, "--json", "--kafka", kafka)
    assert (reason in (ran.json[-1]["reason"] or ""), ran.code) == (True, 4 if reason else 0)
    assumed = "\n".join(ran.json[-1]["assumed"])
    assert ("JAAS" in assumed) == ("SASL" in line)
    assert ("config provider" in assumed) == line.endswith("=${env:THREADS}")


SASL = (
    "listeners=SASL_PLAINTEXT://h:2,CONTROLLER://h:3\nsasl.enabled.mechanisms=PLAIN\n"
    "listener.security.protocol.map=CONTROLLER:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT\n"
    "security.inter.broker.protocol=SASL_PLAINTEXT\nsasl.mechanism.inter.broker.protocol=PLAIN\n"
)


def test_memory_for_large_buffers_is_assumed(tmp_path: Path) -> None:
    """4.3.1 and 3.9.2 ended on each of them, of 2 GiB and a heap of 256 MiB."""
    dirs = sorted(unpack(ARCHIVES / "4.3.1.tar.xz", tmp_path).glob("b1/d*"))
    told = {}
    for name in ("log.cleaner.io.buffer.size", "log.cleaner.dedupe.buffer.size", "queued.max.requests"):
        for value in ("524288000", "4194304"):
            given = configured(tmp_path, dirs, f"{name}={value}")
            ran = run("forecast", *dirs, "--config", given, "--json", "--kafka", "4.3.1")
            told[name, value] = f"the JVM has the memory (-Xmx) for {name}" in ran.json[-1]["assumed"]
    assert [*told.values()] == [True, False] * 3


OVERRIDDEN = "max.connections.per.ip.overrides=127.0.0.1:100"


@pytest.mark.parametrize(
    ("line", "kafka", "reason", "unknown"),
    [
        ("log.cleaner.io.buffer.load.factor=0", "3.9.2", "offset map is too small to fit", ""),
        ("log.cleaner.io.buffer.load.factor=0", "4.3.1", "", ""),
        ("log.cleaner.io.buffer.load.factor=0\nlog.cleaner.enable=false", "3.9.2", "", ""),
        ("log.cleaner.dedupe.buffer.size=9000000000", "4.3.1", "Requested array size exceeds VM limit", ""),
        ("log.cleaner.dedupe.buffer.size=9000000000\nlog.cleaner.enable=false", "4.3.1", "", ""),
        ("log.cleaner.io.buffer.size=2147483647", "4.3.1", "", "the JVM may not have the memory (-Xmx)"),
        ("advertised.listeners=PLAINTEXT://h:70000", "4.3.1", "Cannot serialize invalid port number", ""),
        ("listeners=PLAINTEXT://h:2,CONTROLLER://h:70000", "4.3.1", "port out of range:70000", ""),
        ("num.network.threads=100000", "4.3.1", "", "the machine may not have the threads"),
        ("num.recovery.threads.per.data.dir=100000", "4.3.1", "", "metrics of each thread"),
        ("num.recovery.threads.per.data.dir=100", "4.3.1", "", ""),
        ("max.connections=0", "4.3.1", "more connections to its own controller", ""),
        ("max.connections=1", "4.3.1", "more connections to its own controller", ""),
        ("max.connections=2", "4.3.1", "", "may get no connection"),
        ("max.connections.per.ip=1", "4.3.1", "more connections to its own controller", ""),
        (f"{OVERRIDDEN}\nmax.connections.per.ip=1", "4.3.1", "", "may get no connection"),
        ("metadata.log.segment.ms=0", "4.3.1", "Invalid value 0 for configuration segment.ms", ""),
        ("metadata.log.segment.ms=1", "4.3.1", "", ""),
        ("server.max.startup.time.ms=10", "4.3.1", "Timed out while waiting for controller", ""),
        ("server.max.startup.time.ms=30000", "4.3.1", "", "it ends if it takes longer to start"),
        ("broker.heartbeat.interval.ms=1", "4.3.1", "", "may not be done with one before the next"),
        ("broker.heartbeat.interval.ms=10", "4.3.1", "", ""),
        ("queued.max.requests=2147483646", "4.3.1", "Requested array size exceeds VM limit", ""),
        ("queued.max.requests=2147483645", "4.3.1", "", "the JVM may not have the memory (-Xmx)"),
        ("socket.request.max.bytes=80", "4.3.1", "its own controller refuses it", ""),
        ("socket.request.max.bytes=400", "4.3.1", "", "may be longer, and is refused then"),
        ("controller.socket.timeout.ms=1", "4.3.1", "does not answer in that time", ""),
        ("controller.socket.timeout.ms=2", "4.3.1", "", "may answer in that time"),
        ("controller.quorum.append.linger.ms=60000", "4.3.1", "waits as long to be written", ""),
        ("controller.quorum.append.linger.ms=20000", "4.3.1", "", "waits as long"),
        ("initial.broker.registration.timeout.ms=10", "4.3.1", "takes longer to let it in", ""),
        ("initial.broker.registration.timeout.ms=200", "4.3.1", "", "takes longer to let it in"),
        ("broker.session.timeout.ms=501", "4.3.1", "", "fence a broker between two heartbeats"),
        ("broker.session.timeout.ms=18000", "4.3.1", "", ""),
        ("broker.heartbeat.interval.ms=5000", "4.3.1", "", ""),
        ("broker.heartbeat.interval.ms=30000", "4.3.1", "", "fence a broker between two heartbeats"),
    ],
)  # fmt: skip
def test_numbers_that_a_configuration_takes_and_a_start_does_not(
    tmp_path: Path, line: str, kafka: str, reason: str, unknown: str
) -> None:
    """As releases were seen to end, to hang or to serve nobody; `told-odd` of the lab draws them."""
    dirs = sorted(unpack(ARCHIVES / "3.9.2.tar.xz", tmp_path).glob("b1/d*"))
    ran = run("forecast", *dirs, "--config", configured(tmp_path, dirs, line), "--json", "--kafka", kafka)
    last = ran.json[-1]
    assert reason in (last["reason"] or "")
    assert (bool(last["reason"]), [unknown in each for each in last["unknown"]]) == (
        bool(reason),
        [True] if unknown else [],
    )
    assert ran.code == (4 if reason or unknown else 0)


@pytest.mark.parametrize(
    ("kafka", "setting", "ends"),
    [
        ("3.6.2", "max.connections=1", False),
        ("3.7.2", "max.connections=1", True),
        ("3.6.2", "max.connections.per.ip=1", False),
        ("3.7.2", "max.connections.per.ip=1", True),
        ("3.3.2", "max.connections=0", True),
        ("3.3.2", "controller.socket.timeout.ms=1", True),
        ("3.3.2", "socket.request.max.bytes=80", True),
        ("3.3.2", "num.io.threads=100000", False),
    ],
)
def test_what_a_broker_needs_of_its_own_controller(kafka: str, setting: str, ends: bool) -> None:
    """As each release was started with it, a node that is all: since 3.7 it needs two connections."""
    name, value = setting.split("=")
    config = ServerConfig(given={"process.roles": "broker,controller", name: value})
    release = Release.parse(kafka)
    assert len([*shut_out_by(config, release)]) == ends
    assert [*odd_settings(config, release)]


@pytest.mark.parametrize("line", ["broker.session.timeout.ms=500", "broker.heartbeat.interval.ms=36000"])
def test_a_broker_that_is_fenced_most_of_the_time_serves_nothing(tmp_path: Path, line: str) -> None:
    """4.3.1 led its partitions at 205 of 2,066 looks: a session of 100 ms, and a heartbeat each second."""
    dirs = sorted(unpack(ARCHIVES / "3.9.2.tar.xz", tmp_path).glob("b1/d*"))
    ran = run(
        "forecast", *dirs, "--config", configured(tmp_path, dirs, line), "--json", "--kafka", "4.3.1", code=4
    )
    served = [each for each in ran.of("partition") if each["outcome"] in ("served", "empty")]
    assert (served, ran.json[-1]["outcome"]) == ([], "starts")
    assert ran.json[-1]["unserved"] == len(ran.of("partition")) > 0
    assert {each["reason"].partition(":")[0] for each in ran.of("partition")} == {
        "Fencing broker 1 because its session has timed out"
    }


def test_a_log_dir_that_is_made_in_another_one(tmp_path: Path) -> None:
    """2.8.2 makes it first, and finds a directory there that is no partition."""
    dirs = sorted(unpack(ARCHIVES / "2.8.2.tar.xz", tmp_path).glob("b1/d*"))
    given = tmp_path / "server.properties"
    given.write_text(f"broker.id=1\nlog.dirs={dirs[0]},{dirs[1]},{dirs[1]}/more/kafka\n")
    ran = run("forecast", *dirs, "--config", given, "--json", "--kafka", "2.8.2", code=4)
    assert f"Found directory {dirs[1]}/more" in ran.json[-1]["reason"]


def test_a_replica_on_its_way_that_is_alone(tmp_path: Path) -> None:
    """2.8.2 made an empty log beside it, and emptied it then."""
    root = unpack(ARCHIVES / "2.8.2.tar.xz", tmp_path)
    (found,) = root.glob("b1/d*/plain-0")
    found.rename(found.with_name(f"plain-0.{'7' * 32}-future"))
    ran = run("forecast", *root.glob("b1/d*"), "--json", "--kafka", "2.8.2", code=4)
    assert any("whether ZooKeeper has plain-0 here" in each for each in ran.json[-1]["unknown"])


def test_a_replica_on_its_way_beside_one_that_is_made_anew(tmp_path: Path) -> None:
    """3.6.2 emptied it, and let it take the place of the empty log that it had made."""
    root = unpack(ARCHIVES / "3.3.2.tar.xz", tmp_path)
    (found,) = root.glob("b1/d*/plain-0")
    other = next(path for path in sorted(root.glob("b1/d*")) if path != found.parent)
    future = found.rename(other / f"plain-0.{'7' * 32}-future")
    ran = run("forecast", *sorted(root.glob("b1/d*")), "--json", "--kafka", "3.6.2", code=4)
    told = [each["why"] for each in ran.of("later") if each["file"] == "plain-0"]
    assert told == [f"a move goes on: {future} is emptied, and takes its place"]
    (mine,) = (each for each in ran.of("partition") if each["file"] == "plain-0")
    assert (mine["outcome"], mine["effects"][-1]["records_lost"]) == ("empty", 25)


@pytest.mark.parametrize(
    ("line", "jaas", "named"),
    [
        ("listener.name.sasl_plaintext.plain.sasl.jaas.config=x y;", False, "plain.sasl.jaas.config"),
        ("listener.name.sasl_plaintext.scram-sha-256.sasl.jaas.config=x y;", True, "sasl.jaas.config"),
        ("sasl.jaas.config=x y;", True, "sasl.jaas.config"),
        ("ssl.truststore.type=PEM\nssl.truststore.certificates=garbage", True, "ssl.truststore.certificates"),
        ("security.providers=org.example.Missing", True, "security.providers"),
        ("max.connections.per.ip.overrides=no.such.host:5", True, "max.connections.per.ip.overrides"),
    ],
)
def test_who_may_log_in_is_asked_by_listener_and_mechanism(
    line: str, jaas: bool, named: str, tmp_path: Path
) -> None:
    """4.3.1 ended on the second and third, and on a certificate that is none, and nothing of it was said."""
    dirs = sorted(unpack(ARCHIVES / "4.3.1.tar.xz", tmp_path).glob("b1/d*"))
    ran = run(
        "forecast", *dirs, "--config", configured(tmp_path, dirs, SASL + line), "--json", "--kafka", "4.3.1"
    )
    assumed = ran.json[-1]["assumed"]
    assert any("JAAS" in each for each in assumed) == jaas
    assert any("is there, and fits" in each and named in each for each in assumed)


def configured(root: Path, dirs: list[Path], line: str) -> Path:
    """The server.properties of a node that is all, with more lines."""
    given = root / "server.properties"
    rows = [f"log.dirs={','.join(map(str, dirs))}", *(row for row in KRAFT if not row.startswith("log.dirs"))]
    given.write_text("\n".join([*rows, line, ""]))
    return given


@pytest.mark.parametrize(("roles", "code"), [("broker", 4), ("broker,controller", 0), ("controller", 4)])
def test_the_only_voter_is_no_controller_any_more(tmp_path: Path, roles: str, code: int) -> None:
    """4.3.1 was started with each: as a broker it ended, nobody answered it; a controller serves no log."""
    dirs = sorted(unpack(ARCHIVES / "4.3.1.tar.xz", tmp_path).glob("b1/d*"))
    given = tmp_path / "server.properties"
    given.write_text(
        f"process.roles={roles}\nnode.id=1\nlisteners={LISTENING[roles]}\nlog.dirs={dirs[0]},{dirs[1]}\n"
        "controller.quorum.bootstrap.servers=h:3\ncontroller.listener.names=CONTROLLER\n"
    )
    ran = run("forecast", "--config", given, "--json", "--kafka", "4.3.1")
    assert ran.code == code
    assert ("is no controller" in (ran.json[-1]["reason"] or "")) == (roles == "broker")


def test_a_migration_that_is_none_ends_who_leads_the_metadata(tmp_path: Path) -> None:
    """Where others may be elected, nobody knows whether it comes to that."""
    dirs = sorted(unpack(BASES / "3.9.2-stagger.tar.xz", tmp_path).glob("b1/d*"))
    line = (
        "zookeeper.metadata.migration.enable=true\nzookeeper.connect=h\ncontroller.quorum.voters=1@h:3,2@i:3"
    )
    ran = run("forecast", *dirs, "--config", configured(tmp_path, dirs, line), "--json")
    assert any("Should not have ZK migrations enabled" in each for each in ran.json[-1]["unknown"])
    assert ran.code == 4


def test_a_node_is_known_by_its_old_broker_id(dirs: list[Path], tmp_path: Path) -> None:
    """4.3.1 started without node.id (`KafkaConfig.populateSynonyms`)."""
    given, codes = configured(tmp_path, dirs, ""), []
    for name in ("broker.id", "other.id"):
        given.write_text(given.read_text().replace("node.id", name).replace("broker.id", name))
        codes.append(run("forecast", *dirs, "--config", given, "--json", "--kafka", "4.3.1").code)
    assert codes == [0, 4]


def test_a_broker_without_an_id_has_nothing(tmp_path: Path) -> None:
    """2.8.2 took the id 1001, and nobody led a partition; with broker.id=-1 it took the stored one."""
    dirs = sorted(unpack(ARCHIVES / "2.8.2.tar.xz", tmp_path).glob("b1/d*"))
    given, answers = tmp_path / "server.properties", {}
    for stored in (True, False):
        for line in ("broker.id=1", "broker.id=-1", ""):
            given.write_text(f"zookeeper.connect=h:1\nlisteners=PLAINTEXT://h:2\n{line}\n")
            ran = run("forecast", *dirs, "--config", given, "--kafka", "2.8.2", "--json")
            answers[stored, line] = (ran.code, ran.json[-1]["unserved"])
        for path in dirs:
            (path / "meta.properties").unlink(missing_ok=True)
    assert [*answers.values()] == [(0, 0), (0, 0), (0, 0), (4, 0), (4, 7), (4, 7)]
    ran = run("forecast", *dirs, "--kafka", "2.8.2", "--json")
    assert any(each.startswith("a broker.id in server.properties") for each in ran.json[-1]["assumed"])


def test_leader_epochs_go_with_an_old_message_format(tmp_path: Path) -> None:
    """2.8.2 deleted all of them at its start, KAFKA-7897; it took no producers from its snapshots either."""
    root, given = unpack(ARCHIVES / "2.8.2.tar.xz", tmp_path), tmp_path / "server.properties"
    gone, forgotten = {}, []
    for kafka, rows in (
        ("2.8.2", "log.message.format.version=0.10.2"),
        ("2.8.2", "log.message.format.version=0.11.0"),
        ("2.0.1", "log.message.format.version=0.10.2"),
        ("3.9.2", "log.message.format.version=0.10.2"),
        ("3.9.2", "log.message.format.version=0.10.2\ninter.broker.protocol.version=2.8"),
    ):
        given.write_text(f"broker.id=1\n{rows}\n")
        ran = run("forecast", *root.glob("b1/d*"), "--config", given, "--json", "--kafka", kafka)
        effects = [each for line in ran.of("partition") for each in line["effects"]]
        deleted = [each for each in effects if each["effect"] == "file-deleted"]
        gone[kafka, rows] = len(deleted)
        forgotten.append(any(each["effect"] == "snapshot-rebuilt" for each in effects))
        assert len({each["broker_says"] for each in deleted}) <= 2  # nothing is said of a file without epochs
    assert list(gone.values()) == [7, 0, 0, 0, 7]
    assert forgotten == [True, False, False, False, True]


def test_what_zookeeper_and_leaders_have_is_named(tmp_path: Path) -> None:
    """What each of it changes was seen: another cluster in ZooKeeper ended a start of 2.8.2."""
    root = unpack(ARCHIVES / "2.8.2.tar.xz", tmp_path / "old")
    told = {}
    for kafka in ("2.3.1", "2.5.1", "2.8.2"):
        ran = run("forecast", *root.glob("b1/d*"), "--kafka", kafka, "--json")
        told[kafka] = "\n".join(ran.json[-1]["assumed"])
    assert all(
        "a topic go as a whole" in each and "cuts off what its leader" in each for each in told.values()
    )
    assert ["InconsistentClusterIdException" in each for each in told.values()] == [False, True, True]
    assert ["partition.metadata" in each for each in told.values()] == [False, False, True]
    nodes = unpack(BASES / "4.3.1-stagger.tar.xz", tmp_path / "new")
    alone = run("forecast", *nodes.glob("b2/d*"), "--json").json[-1]["assumed"]
    together = run("forecast", "--cluster", *nodes.glob("b*/d*"), "--json").json[-1]["assumed"]
    assert any("cuts off what its leader" in each for each in alone)
    assert not any("cuts off what its leader" in each for each in together)  # there it is looked at


def test_a_release_without_config_providers_takes_their_names_for_values(
    dirs: list[Path], tmp_path: Path
) -> None:
    given = tmp_path / "server.properties"
    given.write_text("config.providers=env\nlog.retention.hours=${env:HOURS}\n")
    told = {
        release: run("forecast", *dirs, "--config", given, "--json", "--kafka", release).json[-1]
        for release in ("2.2", "2.3")
    }
    assert "Invalid value ${env:HOURS} for configuration log.retention.hours" in told["2.2"]["reason"]
    assert "log.retention.hours" not in (told["2.3"]["reason"] or "")


def test_a_release_without_config_providers_looks_for_a_dir_of_that_name(
    dirs: list[Path], tmp_path: Path
) -> None:
    odd = dirs[0].rename(dirs[0].parent / "${env:DIR}")
    given = tmp_path / "server.properties"
    given.write_text(f"config.providers=env\nlog.dirs={odd},{dirs[1]}\n")
    assert run("forecast", "--config", given, "--kafka", "2.3").code == 16
    ran = run("forecast", "--config", given, "--json", "--kafka", "2.2")
    assert [each["dir"] for each in ran.of("dir")] == [str(odd), str(dirs[1])]
    ran = run("forecast", dirs[1], "--config", given, "--json", "--kafka", "2.2")
    assert any(f"{odd}: a log dir in server.properties" in each for each in ran.json[-1]["unknown"])


def test_relative_log_dirs_are_those_of_a_directory(
    dirs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = tmp_path / "server.properties"
    given.write_text(f"node.id=1\nlog.dirs={','.join(each.name for each in dirs)}\n")
    monkeypatch.chdir(dirs[0].parent)
    ran = run("forecast", "--config", given, "--json", "--kafka", "4.3.1", code=0)
    assert any("is started in this directory" in each for each in ran.json[-1]["assumed"])


def test_relative_log_dirs_where_the_working_directory_is_gone(
    dirs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = tmp_path / "server.properties"
    given.write_text(f"node.id=1\nlog.dirs={','.join(each.name for each in dirs)}\n")
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    ran = run("forecast", "--config", given, "--kafka", "4.3.1")
    assert (ran.code, ran.err.count("\n")) == (8, 1)
    monkeypatch.chdir(tmp_path)


def test_a_configuration_without_log_dirs_is_told_so(tmp_path: Path) -> None:
    """A byte order mark is a part of the first name, to Java as well."""
    given = tmp_path / "server.properties"
    given.write_bytes(f"\ufefflog.dirs={tmp_path}\n".encode())
    ran = run("forecast", "--config", given)
    assert (ran.code, "sets no log.dirs" in ran.err) == (16, not Path("/tmp/kafka-logs").is_dir())


def test_a_log_dir_with_a_nul_is_no_path(tmp_path: Path) -> None:
    given = tmp_path / "server.properties"
    given.write_text(r"log.dirs=/x\u0000y")
    ran = run("forecast", "--config", given)
    assert (ran.code, ran.err) == (8, "segmend: /x\\0y: not a path\n")


def test_zeros_of_a_preallocated_log_are_nothing_lost(tmp_path: Path) -> None:
    """`log.preallocate`: after a kill the active log is as long as a segment may be.

    4.3.1, 2.8.2 and 1.1.0 then served all of it. Other zeros are of bytes that did not reach the disk.
    """
    dirs = two_dirs(tmp_path, clean=False)
    active = max(dirs[0].glob("*-*/*.log"))
    given, length = tmp_path / "server.properties", active.stat().st_size + 5000
    os.truncate(active, length)
    given.write_text(f"broker.id=1\nlog.dirs={dirs[0]},{dirs[1]}\nlog.preallocate=true\n")
    asked = ("--config", given, "--json", "--kafka", "3.9.2", *dirs)
    seen = []
    for more in ("", f"log.segment.bytes={length}\n"):
        given.write_text(given.read_text() + more)
        effects = [each for line in run("forecast", *asked).of("partition") for each in line["effects"]]
        cut = [each["bytes_lost"] for each in effects if each["effect"] == "tail-truncated"]
        found = run("check", *asked).of("finding")
        seen.append((cut, [each["severity"] for each in found if each["code"] == "L03"]))
    assert seen == [([5000], ["warning"]), ([0], ["info"])]
    assert not Effect(effect="tail-truncated", file="t-0/0.log").loses
