"""What each release says of settings, by its own classes: `python -m tests.lab.settings`.

Writes `broker/topic_definitions.py` and `broker/server_definitions.py` out of the `ConfigDef`s of all minor
releases from 0.11 on, and what the releases of the lab say to a list of settings to `settings_said.json`.
Needs a JDK, and the jars of each minor release once (Ivy gets them).
"""

import functools
import json
import subprocess
import tempfile
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

import segmend.broker
from tests.lab.errors import LabError
from tests.lab.jars import jars
from tests.lab.java import find_java, find_javac
from tests.lab.releases import RELEASES, Release, release

HERE = Path(__file__).parent
RECORD = HERE / "settings_said.json"
SOURCES = HERE / "settings_java"
MINORS = (
    *("0.11.0.3", "1.0.2", "1.1.0", "2.0.1", "2.1.1", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.3", "2.7.2"),
    *("2.8.2", "3.0.2", "3.1.2", "3.2.3", "3.3.2", "3.4.1", "3.5.2", "3.6.2", "3.7.2", "3.8.1", "3.9.2"),
    *("4.0.1", "4.1.1", "4.2.0", "4.3.1"),
)
ASKED = (
    *("1.1.0", "2.5.1", "2.8.2", "3.3.2", "3.6.2", "3.7.2", "3.9.2", "4.0.1", "4.1.1", "4.2.0", "4.3.1"),
)
"""The releases whose answers are recorded."""
ANY_TEXT = frozenset({"STRING", "PASSWORD", "CLASS", "LIST", "-"})
OF_VERSIONS = ("inter.broker.protocol.version", "log.message.format.version", "message.format.version")
"""Up to 2.0 they have no validator, and are parsed all the same."""
SEPARATOR = "\t"


def of(version: str) -> Release:
    """Any release, one of the lab or not."""
    scala = "2.13" if tuple(map(int, version.split(".")[:2])) >= (2, 4) else "2.12"
    return RELEASES.get(version) or Release(version, scala, "zookeeper", 1)


@functools.cache
def classes() -> tempfile.TemporaryDirectory[str]:
    """Where the two programs are compiled to."""
    javac = find_javac()
    if javac is None:
        raise LabError("the settings are read by programs of our own: it needs a JDK with javac")
    into = tempfile.TemporaryDirectory(prefix="settings-")
    sources = [str(SOURCES / f"{name}.java") for name in ("Definitions", "Answers")]
    command = [str(javac), "-nowarn", "-cp", f"{jars(release('2.8.2'))}/*", "-d", into.name, *sources]
    subprocess.run(command, check=True)
    return into


def run(version: str, program: str, lines: Iterable[str] = ()) -> list[str]:
    """What the program prints with the jars of the release."""
    path = f"{classes().name}:{jars(of(version))}/*"
    done = subprocess.run(
        [str(find_java()), "-cp", path, program],
        input="".join(f"{line}\n" for line in lines), capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.splitlines()


def defined(version: str) -> dict[tuple[str, str], str]:
    """By topic or server, and name: the definition as the tables of `broker/` write it."""
    found = {}
    for line in run(version, "Definitions"):
        kind, name, type_, valid, flags = line.split(SEPARATOR)
        found[kind, name] = " ".join(filter(None, (type_, written(name, type_, valid), flags)))
    return found


def written(name: str, type_: str, valid: str) -> str:
    """A validator as Kafka prints it, but for those that say nothing, or too much."""
    if name in OF_VERSIONS:
        return "versions"
    if type_ == "LIST" and "Id]" in valid:
        return "replicas"
    return "" if valid in ("null", "non-null string") or valid.startswith("The default") else valid


def tables() -> dict[str, str]:
    """The two tables: settings of the same definitions share a line."""
    versions = {".".join(version.split(".")[:2]): defined(version) for version in MINORS}
    names = sorted({name for found in versions.values() for name in found})
    lines: dict[str, dict[str, list[str]]] = {"topic": {}, "server": {}}
    for kind, name in names:
        steps, last = [], "-"
        for minor, found in versions.items():
            now = found.get((kind, name), "-")
            if now != last:
                steps.append((minor, now))
            last = now
        if len(steps) > 1 or steps[0][1] not in ANY_TEXT:
            text = "; ".join(f"{minor} {definition}" for minor, definition in steps)
            lines[kind].setdefault(text, []).append(name)
    return {
        kind: "\n".join(
            line
            for steps, sharing in found.items()
            for line in textwrap.wrap(
                f"{' '.join(sharing)}: {steps}", 104, subsequent_indent="    ",
                break_long_words=False, break_on_hyphens=False,
            )
        )
        for kind, found in lines.items()
    }  # fmt: skip


NUMBERS = ("-3", "-2", "-1", "0", "1", "3", "4", "13", "14", "1048575", "1048576", "2147483648", "1k", " 7 ")
TEXTS = {
    "INT": NUMBERS, "LONG": (*NUMBERS, "9223372036854775808"), "DOUBLE": ("-0.1", "0", "1", "1.1", "x"),
    "BOOLEAN": ("true", "FALSE", "yes", ""), "STRING": ("", "bogus"), "LIST": (),
}  # fmt: skip
VERSIONS = ("0.8.2", "0.11.0", "1.1", "2.0", "2.8-IV1", "3.0", "3.3-IV3", "3.6", "3.8", "3.9", "4.0", "4.3")
ZOOKEEPER = ("zookeeper.connect=h:1", "broker.id=1", "listeners=PLAINTEXT://h:2", "log.dirs=/d")
KRAFT = (
    "process.roles=broker,controller", "node.id=1", "controller.quorum.voters=1@h:3", "log.dirs=/d",
    "listeners=PLAINTEXT://h:2,CONTROLLER://h:3", "controller.listener.names=CONTROLLER",
    "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
)  # fmt: skip
SERVER_SETTINGS = (
    "log.segment.bytes=65536", "log.segment.bytes=1048575", "metadata.log.segment.bytes=1048576",
    "compression.type=none", "num.replica.fetchers=0", "log.roll.hours=0", "log.cleanup.policy=delete,",
    "log.cleanup.policy=", "log.cleanup.policy=delete,delete", "group.coordinator.new.enable=maybe",
    "log.message.timestamp.difference.max.ms=-1", "log.cleaner.min.compaction.lag.ms=-1",
    "security.inter.broker.protocol=BOGUS", "group.coordinator.rebalance.protocols=classic,consumer,share",
    "group.share.max.size=2000", "num.partitions=0", "min.insync.replicas=0", "log.index.size.max.bytes=1",
    "quota.producer.default=0", "host.name=h", "port=x", "metric.reporters=,", "zookeeper.set.acl=maybe",
    "leader.imbalance.check.interval.seconds=0", "share.coordinator.append.linger.ms=-1", "unheard.of=1",
    "offsets.commit.required.acks=x", "delegation.token.master.key=x", "log.message.format.version=bogus",
    "broker.id=2", "log.flush.interval.messages=0",
)  # fmt: skip

FITTING = """
    remote.log.storage.system.enable=true|remote.log.storage.manager.class.name=x|log.dirs=/d,/e
    log.cleaner.dedupe.buffer.size=1048576 log.cleaner.dedupe.buffer.size=8388608|log.cleaner.threads=8
    log.cleaner.dedupe.buffer.size=8388616|log.cleaner.threads=8 log.cleaner.threads=0
    replica.fetch.wait.max.ms=40000 replica.fetch.wait.max.ms=20000 replica.lag.time.max.ms=400
    offsets.commit.required.acks=4 offsets.topic.replication.factor=1|offsets.commit.required.acks=2
    advertised.listeners=PLAINTEXT://0.0.0.0:2 listeners=PLAINTEXT://0.0.0.0:2 listeners=h:2 listeners=
    listeners=plaintext://:2 listeners=PLAINTEXT://h:2, listeners=PLAINTEXT://h listeners=INTERNAL://h:2
    listeners=PLAINTEXT://h:2,PLAINTEXT://h:4 listeners=PLAINTEXT://h:2,SSL://h:2 listeners=SSL://h:2
    listeners=PLAINTEXT://127.0.0.1:2,SSL://127.0.0.2:2 listeners=PLAINTEXT://[::1]:2,SSL://127.0.0.1:2
    listeners=PLAINTEXT://h:0,SSL://h:0
    listeners=INTERNAL://h:2|listener.security.protocol.map=INTERNAL:PLAINTEXT
    listeners=INTERNAL://h:2|listener.security.protocol.map=INTERNAL:PLAINTEXT|inter.broker.listener.name=INTERNAL
    listeners=INTERNAL://h:2|listener.security.protocol.map=INTERNAL:BOGUS|inter.broker.listener.name=INTERNAL
    listener.security.protocol.map=PLAINTEXT listener.security.protocol.map= advertised.listeners=
    advertised.listeners=OTHER://h:2 advertised.listeners=SSL://h:2
    advertised.listeners=PLAINTEXT://h:2,SSL://h:4 advertised.listeners=PLAINTEXT://x:9,PLAINTEXT://y:9
    advertised.listeners=PLAINTEXT://:2 advertised.host.name=0.0.0.0
    listeners=PLAINTEXT://h:2,SSL://h:4|advertised.listeners=PLAINTEXT://h:2,SSL://h:2
    inter.broker.listener.name=INTERNAL inter.broker.listener.name=plaintext inter.broker.listener.name=
    inter.broker.listener.name=PLAINTEXT|security.inter.broker.protocol=PLAINTEXT
    security.inter.broker.protocol=SSL
    listeners=SASL_PLAINTEXT://h:2|security.inter.broker.protocol=SASL_PLAINTEXT|sasl.enabled.mechanisms=PLAIN
    queued.max.request.bytes=1000 queued.max.request.bytes=0 max.connections.per.ip=0
    max.connections.per.ip=0|max.connections.per.ip.overrides=127.0.0.1:5
    max.connections.per.ip.overrides=h:x connections.max.idle.ms=50 connections.max.idle.ms=-1
    max.connections.per.ip.overrides=x control.plane.listener.name=PLAINTEXT
    control.plane.listener.name=CTRL early.start.listeners=X broker.id=-1 broker.id=1001
    broker.id=1001|broker.id.generation.enable=false reserved.broker.max.id=0 log.roll.ms=0
    log.roll.jitter.ms=-1 log.retention.minutes=0 log.retention.hours=-7 node.id=2
    offsets.topic.compression.codec=4 offsets.topic.compression.codec=9 process.roles=controller,broker
    process.roles=broker process.roles=controller process.roles=broker|controller.quorum.voters=2@h:3
    process.roles=broker|controller.quorum.voters=2@h:3|listeners=PLAINTEXT://h:2
    process.roles=broker|controller.quorum.voters=2@h:3|listeners=PLAINTEXT://h:2|listener.security.protocol.map=PLAINTEXT:PLAINTEXT
    process.roles=controller|listeners=CONTROLLER://h:3 controller.quorum.voters=1@h
    controller.quorum.voters=h:3 controller.quorum.voters=2@h:3 controller.quorum.voters=x@h:3
    controller.quorum.voters=1@h:3,2@h:4 controller.quorum.voters=1@h:3,
    controller.quorum.voters=|controller.quorum.bootstrap.servers=h controller.listener.names=OTHER
    controller.listener.names=PLAINTEXT controller.listener.names=CONTROLLER,OTHER
    controller.listener.names=controller controller.listener.names= listeners=PLAINTEXT://h:2
    advertised.listeners=PLAINTEXT://h:2,CONTROLLER://h:3 advertised.listeners=CONTROLLER://h:3
    inter.broker.listener.name=CONTROLLER listeners=PLAINTEXT://h:2,CONTROLLER://0.0.0.0:3
    zookeeper.metadata.migration.enable=true group.consumer.heartbeat.interval.ms=60000
    group.consumer.min.session.timeout.ms=50000 group.share.session.timeout.ms=70000
    group.coordinator.rebalance.protocols=share cordoned.log.dirs=/elsewhere cordoned.log.dirs=*
    cordoned.log.dirs=*,/d cordoned.log.dirs=/d cordoned.log.dirs=/d,/e,/f cordoned.log.dirs=
    cordoned.log.dirs=/d, cordoned.log.dirs=/d/
"""
"""Settings that must fit one another, each of these put over a file that is sound."""


def put_over(base: Iterable[str], settings: str) -> str:
    """The question with these settings in place of those of the file."""
    rows = dict(each.split("=", 1) for each in (*base, *settings.split("|")))
    return SEPARATOR.join(("server", *(f"{key}={value}" for key, value in rows.items())))


def questions() -> Iterator[str]:
    """The lines that the releases are asked."""
    kinds = {
        name: text.split()[0] for v in ASKED for (kind, name), text in defined(v).items() if kind == "topic"
    }
    for name, kind in sorted(kinds.items()):
        yield from (f"topic\t{name}={text}" for text in TEXTS[kind])
    for text in ("compact", "delete,compact", "delete,delete", "none", "delete,", "", " delete "):
        yield f"topic\tcleanup.policy={text}"
    yield from (f"topic\tcompression.type={text}" for text in ("zstd", "GZIP", "uncompressed"))
    yield from (f"topic\tmessage.timestamp.type={text}" for text in ("CreateTime", "LogAppendTime"))
    yield from (f"topic\tmessage.format.version={text}" for text in VERSIONS)
    yield "topic\tretention.ms=1000\tlocal.retention.ms=2000"
    yield "topic\tretention.bytes=1000\tlocal.retention.bytes=1000"
    yield "topic\tunheard.of=1"
    for base in (ZOOKEEPER, KRAFT):
        yield SEPARATOR.join(("server", *base))
        for left_out in base:
            if not left_out.startswith(("listener", "log.dirs")):
                yield SEPARATOR.join(("server", *(each for each in base if each != left_out)))
        for each in SERVER_SETTINGS:
            yield SEPARATOR.join(("server", *base, each))
        for text in VERSIONS:
            yield SEPARATOR.join(("server", *base, f"inter.broker.protocol.version={text}"))
            yield SEPARATOR.join(("server", *base, f"log.message.format.version={text}"))
        yield from (put_over(base, each) for each in FITTING.split())
    yield SEPARATOR.join(("server", *(each.replace("node.id", "broker.id") for each in KRAFT)))
    yield SEPARATOR.join(("server", *KRAFT, "config.providers=env", "num.io.threads=${file:x}"))
    unmapped = [each for each in KRAFT if "protocol.map" not in each]
    yield SEPARATOR.join(("server", *unmapped))
    yield put_over(unmapped, "listeners=SSL://h:2,CONTROLLER://h:3")
    yield SEPARATOR.join(("server", *KRAFT, "zookeeper.connect=h:1"))
    both = "inter.broker.protocol.version={}", "log.message.format.version={}"
    for pair in (
        ("2.0", "2.5"),
        ("0.10.2", "0.11.0"),
        ("1.0", "0.10.0"),
        ("0.9.0", "0.10.0"),
        ("2.8", "3.0"),
    ):
        yield SEPARATOR.join(
            ("server", *ZOOKEEPER, *(key.format(text) for key, text in zip(both, pair, strict=True)))
        )


def record() -> None:
    """Write the answers, each from the first release that gives it."""
    asked = list(dict.fromkeys(questions()))
    answers = {version: run(version, "Answers", asked) for version in ASKED}
    rows = []
    for number, question in enumerate(asked):
        steps, last = [], None
        for version in ASKED:
            said = answers[version][number]
            if said != last:
                steps.append([version, said])
            last = said
        rows.append(json.dumps([question, steps]))
    RECORD.write_text("[\n" + ",\n".join(rows) + "\n]\n")


def main() -> None:
    """Both."""
    home = Path(segmend.broker.__file__).parent
    made = tables()
    for kind, what in (("topic", "topics can be told"), ("server", "server.properties can say")):
        follows = {"topic": "LogConfig", "server": "KafkaConfig"}[kind]
        note = "\n\nSettings that take any text in every release are left out.\n" if kind == "server" else ""
        text = (
            f'"""What {what}, by release: `{follows}`, written by `python -m tests.lab.settings`.{note}"""\n'
        )
        (home / f"{kind}_definitions.py").write_text(f'{text}\n{kind.upper()} = """\n{made[kind]}\n"""\n')
    record()


if __name__ == "__main__":
    main()
