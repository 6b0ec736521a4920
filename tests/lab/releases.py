"""The Kafka releases of the lab: which jars they need and how their brokers are run.

One row a release; nothing else in the lab knows a version's coordinates.
"""

from dataclasses import dataclass
from typing import Literal

from tests.lab.errors import LabError

Coordinate = tuple[str, str, str]
"""Organisation, module, revision."""


@dataclass(frozen=True)
class Release:
    """One Kafka release: `mode` is how its lab brokers keep metadata, `log4j` its logging library."""

    version: str
    scala: str
    mode: Literal["zookeeper", "kraft"]
    log4j: Literal[1, 2]
    tools_module: bool = False

    @property
    def number(self) -> tuple[int, ...]:
        """The version as numbers, for comparisons."""
        return tuple(int(part) for part in self.version.split("."))

    @property
    def coordinates(self) -> list[Coordinate]:
        """What to resolve: the server, its tools and a logging binding (Kafka's pom brings none)."""
        wanted: list[Coordinate] = [("org.apache.kafka", f"kafka_{self.scala}", self.version)]
        if self.tools_module:
            wanted.append(("org.apache.kafka", "kafka-tools", self.version))
        if (0, 9) <= self.number < (1, 0):  # they call javax.xml.bind, which left Java in 11
            wanted.append(("javax.xml.bind", "jaxb-api", "2.3.1"))
        if self.log4j == 2:
            wanted.append(("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.4"))
            wanted.append(("org.apache.logging.log4j", "log4j-core", "2.25.4"))
        elif self.number >= (
            3,
            6,
        ):  # they bring reload4j, which has log4j's classes with other fields
            wanted.append(("ch.qos.reload4j", "reload4j", "1.2.25"))
            wanted.append(("org.slf4j", "slf4j-reload4j", "1.7.36"))
        else:
            wanted.append(("log4j", "log4j", "1.2.17"))
            wanted.append(("org.slf4j", "slf4j-log4j12", "1.7.25"))
        return wanted


RELEASES = {
    release.version: release
    for release in (
        Release("0.8.2.2", "2.11", "zookeeper", 1),
        Release("0.10.2.2", "2.12", "zookeeper", 1),
        Release("0.11.0.3", "2.12", "zookeeper", 1),
        Release("1.0.2", "2.12", "zookeeper", 1),
        Release("1.1.0", "2.12", "zookeeper", 1),
        Release("2.5.1", "2.13", "zookeeper", 1),
        Release("2.8.2", "2.13", "zookeeper", 1),
        Release("3.3.2", "2.13", "kraft", 1),
        Release("3.6.2", "2.13", "kraft", 1, tools_module=True),
        Release("3.7.2", "2.13", "kraft", 1, tools_module=True),
        Release("3.8.1", "2.13", "kraft", 1, tools_module=True),
        Release("3.9.2", "2.13", "kraft", 1, tools_module=True),
        Release("4.0.0", "2.13", "kraft", 2, tools_module=True),
        Release("4.0.1", "2.13", "kraft", 2, tools_module=True),
        Release("4.1.1", "2.13", "kraft", 2, tools_module=True),
        Release("4.2.0", "2.13", "kraft", 2, tools_module=True),
        Release("4.3.1", "2.13", "kraft", 2, tools_module=True),
    )
}


def release(version: str) -> Release:
    """The release of that version; raises LabError naming the known ones."""
    if version not in RELEASES:
        raise LabError(f"the lab has no Kafka {version}; it has {', '.join(RELEASES)}")
    return RELEASES[version]
