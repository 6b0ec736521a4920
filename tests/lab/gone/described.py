"""Record what Kafka's own tools print of topics' settings: `python -m tests.lab.gone.described 4.3.1 ...`."""

import re
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.golden.topics import Topic, create
from tests.lab.cluster import Cluster
from tests.lab.process import run_tool
from tests.memory import MEMORY, prefix

HERE = Path(__file__).parent / "described"
OUTPUT = re.compile(r"(Dynamic|All) configs|Configs for|\t?Topic ?:|  \S")
"""What the tool prints itself; the lab has its log on stdout as well."""
TOPICS = {"orders": {"retention.ms": "3600000", "cleanup.policy": "compact,delete"}, "plain": {}}


def printed(cluster: Cluster, root: Path) -> Iterator[tuple[str, str]]:
    """What each tool prints, by a name for it."""
    kind, number = cluster.release, cluster.release.number
    tools = root / "tool"
    zookeeper = ["--zookeeper", cluster.zookeeper.address] if cluster.zookeeper and number < (3, 0) else None
    bootstrap = ["--bootstrap-server", cluster.bootstrap]
    topics = "kafka.admin.TopicCommand" if number < (3, 5) else "org.apache.kafka.tools.TopicCommand"
    configs, entity = "kafka.admin.ConfigCommand", ["--describe", "--entity-type", "topics"]
    if zookeeper:
        yield "configs-zookeeper", run_tool(kind, tools, configs, *zookeeper, *entity)
    if number >= (2, 5):
        yield "configs", run_tool(kind, tools, configs, *bootstrap, *entity)
        one = ["--entity-name", "orders", "--all"]
        yield "configs-all", run_tool(kind, tools, configs, *bootstrap, *entity, *one)
    where = bootstrap if number >= (2, 2) else zookeeper or bootstrap
    yield "topics", run_tool(kind, tools, topics, *where, "--describe")


def record(version: str) -> None:
    """All of that release."""
    with (
        tempfile.TemporaryDirectory(prefix=prefix("gone"), dir=MEMORY) as folder,
        Cluster(version, Path(folder), log_dirs=1) as cluster,
    ):
        cluster.start()
        time.sleep(5)  # until there is a controller
        create(cluster.bootstrap, [Topic(name, settings) for name, settings in TOPICS.items()])
        for name, text in printed(cluster, Path(folder)):
            lines = [line for line in text.splitlines() if OUTPUT.match(line)]
            (HERE / f"{version}-{name}.txt").write_text("\n".join([*lines, ""]))


if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    for version in sys.argv[1:]:
        record(version)
