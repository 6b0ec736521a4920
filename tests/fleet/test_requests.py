"""How often an object store is asked: each request costs tens of milliseconds, and money."""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.checks.build_partition import PartitionWriter
from tests.fleet.bucket import Asked, asked_of
from tests.fleet.build import write_broker

from segmend.checks import Level
from segmend.fleet.audit import AuditRequest, audit
from segmend.fleet.driver import LocalDriver
from segmend.fleet.object_store import SMALL
from segmend.fleet.options import parse_options
from segmend.fleet.tables import open_table, read
from segmend.frozen import frozen

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("bucket"), pytest.mark.flaky(reruns=1)]

A_SEGMENT = 4
"""Goal: so many requests at most, with the share of what is asked once."""


@frozen
class Logs:
    """What each of two brokers has: so many segments of records of that size, no two of them the same."""

    segments: int
    size: int
    batches: int = 3
    other: int = 0
    """So much larger are the records of the second broker; else it has what the first has."""
    preallocated: bool = False
    """Whether the indexes of the active segment are as a broker has them that runs, or was killed."""

    def written(self, home: Path) -> None:
        for broker in (1, 2):
            more = self.other if broker == 2 else 0
            write_broker(home, broker, [self._grown(f"t{broker}", self.size + more)])
        for name in ("*.index", "*.timeindex") if self.preallocated else ():
            for partition in home.glob("b*/data/t*"):
                os.truncate(max(partition.glob(name)), (10 << 20) // 24 * 24)

    def _grown(self, topic: str, size: int) -> PartitionWriter:
        writer = PartitionWriter(topic, 0)
        for number in range(self.segments):
            if number:
                writer.roll()
            for count in range(self.batches + number % 5):
                writer.append(2 + count, size=size + number)
        return writer


FLEETS = {
    "small": Logs(segments=20, size=30, other=100),
    "few and large": Logs(segments=4, size=SMALL // 8),
    "streamed": Logs(segments=8, size=SMALL // 8, batches=12, other=100),
    "batches of 800 KB": Logs(segments=8, size=30_000, batches=24, other=100),
    "running": Logs(segments=20, size=30, other=100, preallocated=True),
}


@pytest.fixture(scope="module", params=FLEETS)
def asked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    """The requests that something makes of a fleet, and how many segments that has."""
    home, logs = tmp_path_factory.mktemp("asked"), FLEETS[request.param]
    logs.written(home)
    sizes = [log.stat().st_size for log in home.rglob("*.log")]
    assert len(sizes) == 2 * logs.segments
    assert all((size > SMALL) == (logs.size > 1000) for size in sizes)
    with asked_of(home) as requests:
        requests.segments = len(sizes)  # type: ignore[attr-defined]
        yield requests


def _held(asked: Asked, name: str, requests: list[str]) -> None:
    told = len(requests) / asked.segments  # type: ignore[attr-defined]
    print(f"{name}: {told:.2f} requests a segment")
    assert 0.3 < told < A_SEGMENT
    assert not [line for line in requests if "HEAD" in line]


@pytest.mark.parametrize("level", Level)
def test_an_audit_asks_little(asked: Asked, level: Level, tmp_path: Path) -> None:
    def audited(url: str) -> None:
        audit(AuditRequest(paths=(url,), out=str(tmp_path), level=level), LocalDriver(1))

    _held(asked, level.name.lower(), asked(audited))


WITHIN = "2020-01-01T00:00:00Z"


@pytest.mark.parametrize(
    "options",
    [
        {"table": "records"},
        {"table": "records", "isolation": "read_committed"},
        {"table": "records", "since": WITHIN},
        {"table": "records", "offsets": "5..20"},
        *({"table": name} for name in ("segments", "batches", "damage", "index_entries")),
    ],
    ids=lambda options: " ".join(options.values()),
)
def test_a_table_asks_little(asked: Asked, options: dict[str, str]) -> None:
    def rows(url: str) -> None:
        works = open_table([url], parse_options(options), cores=1)
        assert sum(len(batch) for work in works for batch in read(work)) or options["table"] == "damage"

    _held(asked, " ".join(options.values()), asked(rows))


def test_headers_are_looked_at_in_one_request_more(asked: Asked) -> None:
    """Of committed records; the last batch, of which the checksum is computed, lies behind by then."""

    def read_as(isolation: str) -> Callable[[str], object]:
        options = parse_options({"table": "records", "isolation": isolation})
        return lambda url: [len(some) for work in open_table([url], options, cores=1) for some in read(work)]

    plain, committed = (len(asked(read_as(f"read_{each}"))) for each in ("uncommitted", "committed"))
    assert committed - plain < 1.5 * asked.segments  # type: ignore[attr-defined]


@pytest.mark.parametrize("table", ["records", "segments"])
def test_a_plan_lists_a_directory_once(asked: Asked, table: str) -> None:
    """Of few segments, what is asked of a broker is most of all."""
    requests = asked(lambda url: open_table([url], parse_options({"table": table}), cores=1))
    lists = Counter(found[1] for line in requests if (found := re.search(r"prefix=([^&\s]+)", line)))
    assert lists
    assert set(lists.values()) == {1}
