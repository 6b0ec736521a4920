"""How often an object store is asked: each request costs tens of milliseconds, and money."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.checks.build_partition import PartitionWriter
from tests.fleet.bucket import s3_server, upload
from tests.fleet.build import write_broker

from segmend.checks import Level
from segmend.fleet import remote
from segmend.fleet.audit import AuditRequest, audit
from segmend.fleet.driver import LocalDriver
from segmend.fleet.object_store import SMALL
from segmend.fleet.options import parse_options
from segmend.fleet.tables import open_table, read

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("bucket"), pytest.mark.flaky(reruns=1)]

SEGMENTS = 20
A_SEGMENT = 4
"""Goal: so many requests at most, with the share of what is asked once."""

Asked = Callable[[Callable[[str], object]], list[str]]


def grown(topic: str, size: int) -> PartitionWriter:
    """No two of its files are the same, or the second would be read by its MD5 without a request."""
    writer = PartitionWriter(topic, 0)
    for number in range(SEGMENTS):
        if number:
            writer.roll()
        for count in range(3 + number % 5):
            writer.append(2 + count, size=size + number)
    return writer


@pytest.fixture(scope="module", params=[30, SMALL // 8], ids=["small", "large"])
def asked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    """The requests that something makes of a fleet whose logs are read in one, or in ranges."""
    home = tmp_path_factory.mktemp("asked")
    for broker in (1, 2):
        write_broker(home, broker, [grown(f"t{broker}", request.param)])
    logs = [log.stat().st_size for log in home.rglob("*.log")]
    assert len(logs) == 2 * SEGMENTS
    assert all((size > SMALL) == (request.param > 30) for size in logs)
    with open(home / "told", "wb") as told, s3_server(told) as client:
        upload(client, home / "b1", "fleet/b1")
        upload(client, home / "b2", "fleet/b2")

        def requests(what: Callable[[str], object]) -> list[str]:
            before = len((home / "told").read_bytes())
            remote.forget()
            what("s3://snap/fleet")
            lines = (home / "told").read_bytes()[before:].decode().splitlines()
            return [line for line in lines if " HTTP/1.1" in line]

        yield requests


@pytest.mark.parametrize("level", Level)
def test_an_audit_asks_little(asked: Asked, level: Level, tmp_path: Path) -> None:
    requests = asked(
        lambda url: audit(AuditRequest(paths=(url,), out=str(tmp_path), level=level), LocalDriver(1))
    )
    told = len(requests) / (2 * SEGMENTS)
    print(f"{level.name.lower()}: {told:.2f} requests a segment")
    assert 0.5 < told <= A_SEGMENT


@pytest.mark.parametrize("table", ["records", "segments", "batches"])
def test_a_table_asks_little(asked: Asked, table: str) -> None:
    def rows(url: str) -> None:
        works = open_table([url], parse_options({"table": table}), cores=1)
        assert sum(len(batch) for work in works for batch in read(work))

    requests = asked(rows)
    told = len(requests) / (2 * SEGMENTS)
    print(f"{table}: {told:.2f} requests a segment")
    assert 0.5 < told <= A_SEGMENT


@pytest.mark.parametrize("table", ["records", "segments"])
def test_a_plan_lists_a_directory_once(asked: Asked, table: str) -> None:
    """Of few segments, what is asked of a broker is most of all."""
    requests = asked(lambda url: open_table([url], parse_options({"table": table}), cores=1))
    lists = Counter(found[1] for line in requests if (found := re.search(r"prefix=([^&\s]+)", line)))
    assert len(lists) >= 6
    assert set(lists.values()) == {1}
