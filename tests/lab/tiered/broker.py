"""A broker with Kafka's own `LocalTieredStorage`: remote storage in a folder, from its test jars."""

import fcntl
from pathlib import Path

from tests.lab.broker import Broker
from tests.lab.errors import LabError
from tests.lab.jars import cache_dir, resolve
from tests.lab.process import java_command
from tests.lab.releases import Release

OFTEN = {
    "offsets.topic.num.partitions": "1",
    "log.retention.check.interval.ms": "1000",
    "log.initial.task.delay.ms": "1000",
    "log.flush.start.offset.checkpoint.interval.ms": "1000",
    "log.flush.offset.checkpoint.interval.ms": "1000",
}
"""Settings that let what takes minutes happen in seconds."""


def remote(folder: Path) -> dict[str, str]:
    """The settings of a broker that keeps remote segments below `folder`."""
    return {
        "remote.log.storage.system.enable": "true",
        "remote.log.storage.manager.class.name": (
            "org.apache.kafka.server.log.remote.storage.LocalTieredStorage"
        ),
        "remote.log.storage.manager.impl.prefix": "rsm.config.",
        "rsm.config.dir": str(folder),
        "remote.log.metadata.manager.listener.name": "PLAINTEXT",
        "rlmm.config.remote.log.metadata.topic.replication.factor": "1",
        "rlmm.config.remote.log.metadata.topic.num.partitions": "1",
        "remote.log.manager.task.interval.ms": "1000",
    }


class TieredBroker(Broker):
    """A broker that has the classes of `LocalTieredStorage`."""

    def command(self) -> list[str]:
        """Its own jars, and those of its release's tests."""
        return java_command(
            self.release,
            self.log.parent,
            self.main,
            self.config,
            more=jars_of_tests(self.release),
            jvm=self.jvm,
        )


def jars_of_tests(release: Release) -> Path:
    """The folder of the jars of its tests, fetched if need be; raises LabError where that cannot be done."""
    into = cache_dir() / f"kafka-{release.version}-tests"
    with open(cache_dir() / "fetch.lock", "w") as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX)
        if not list(into.glob("*.jar")):
            done = resolve(_ivy_file(release), into)
            if done.returncode:
                raise LabError(
                    f"could not fetch the test jars of Kafka {release.version}: {done.stdout[-300:]}"
                )
    return into


def _ivy_file(release: Release) -> str:
    rows = "".join(
        f'<dependency org="org.apache.kafka" name="{name}" rev="{release.version}" conf="default->default" '
        f'transitive="false"><artifact name="{name}" type="jar" ext="jar" m:classifier="test"/></dependency>'
        for name in ("kafka-storage", "kafka-clients")
    )
    return (
        '<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">'
        '<info organisation="segmend" module="tiered"/>'
        '<configurations><conf name="default"/></configurations>'
        f"<dependencies>{rows}</dependencies></ivy-module>"
    )
