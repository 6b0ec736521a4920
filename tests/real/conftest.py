"""Real brokers for the tests: there they are started, or the machine has no Java and the test is skipped.

In CI (`CI=true`) nothing is skipped: a missing Java or missing jars fail the test.
"""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.lab.cluster import Cluster, share_classes
from tests.lab.errors import LabError
from tests.lab.jars import jars
from tests.lab.java import find_java
from tests.lab.releases import release
from tests.memory import MEMORY, prefix
from tests.removal import remove


def need_kafka(version: str) -> None:
    """Fetch what that release needs; skip with one line where that cannot be had."""
    try:
        find_java()
        jars(release(version))
        share_classes(version)
    except LabError as missing:
        pytest.skip(str(missing))


@pytest.fixture
def tmp_path(tmp_path: Path) -> Iterator[Path]:
    """On a disk, as the logs of brokers are; the files of all other tests lie in memory."""
    if MEMORY not in tmp_path.parents:
        yield tmp_path
        return
    place = Path(tempfile.mkdtemp(prefix=prefix("real"), dir="/var/tmp"))
    yield place
    remove(place)


Start = Callable[..., Cluster]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """`start(version, **settings)`: a lone broker with two log dirs, running; killed after the test."""
    begun: list[Cluster] = []

    def started(version: str, **settings: str) -> Cluster:
        need_kafka(version)
        wanted = {name.replace("_", "."): value for name, value in settings.items()}
        cluster = Cluster(version, tmp_path / "live", settings=wanted)
        begun.append(cluster)
        cluster.start()
        return cluster

    yield started
    for cluster in begun:
        cluster.kill()
