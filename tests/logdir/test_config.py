"""server.properties and Kafka's defaults."""

from collections.abc import ItemsView
from pathlib import Path

import pytest

from segmend.logdir.config import ServerConfig
from segmend.logdir.file_system import Unreadable
from segmend.logdir.release import Release


def config(text: str, tmp_path: Path, release: str | None = None) -> ServerConfig:
    path = tmp_path / "server.properties"
    path.write_text(text)
    return ServerConfig.load(str(path), Release.parse(release) if release else None)


def test_log_dirs(tmp_path: Path) -> None:
    assert config("log.dirs= /a , /b,\nlog.dir=/c", tmp_path).log_dirs == ("/a", "/b")
    assert config("log.dir=/c", tmp_path).log_dirs == ("/c",)
    assert config("", tmp_path).log_dirs == ("/tmp/kafka-logs",)
    assert config("log.dirs=/a,/b", tmp_path).metadata_log_dir == "/a"
    assert config("log.dirs=/a\nmetadata.log.dir=/m", tmp_path).metadata_log_dir == "/m"


@pytest.mark.parametrize(
    ("text", "node"), [("node.id=3", 3), ("broker.id= 4 ", 4), ("", None), ("node.id=x", None)]
)
def test_node_id(text: str, node: int | None, tmp_path: Path) -> None:
    assert config(text, tmp_path).node_id == node


@pytest.mark.parametrize(
    ("text", "name", "release", "value"),
    [
        ("", "log.segment.bytes", None, 1 << 30),
        ("log.segment.bytes=4096", "segment.bytes", None, 4096),
        ("log.retention.hours=2", "retention.ms", None, 7_200_000),
        ("log.retention.hours=2\nlog.retention.minutes=3", "retention.ms", None, 180_000),
        ("log.retention.ms=-1\nlog.retention.hours=2", "retention.ms", None, -1),
        ("log.retention.hours=-1", "retention.ms", None, -1),
        ("log.segment.bytes=lots", "segment.bytes", None, 1 << 30),
        ("", "num.recovery.threads.per.data.dir", "3.9", 1),
        ("", "num.recovery.threads.per.data.dir", "4.0", 2),
        ("num.recovery.threads.per.data.dir=8", "num.recovery.threads.per.data.dir", "4.0", 8),
    ],
)
def test_numbers(text: str, name: str, release: str | None, value: int, tmp_path: Path) -> None:
    assert config(text, tmp_path, release).number(name) == value


def test_a_missing_file_is_unreadable(tmp_path: Path) -> None:
    with pytest.raises(Unreadable):
        ServerConfig.load(f"{tmp_path}/gone")


def test_what_a_provider_tells_is_not_looked_for_where_there_is_none() -> None:
    """It is asked for each name: a file of very many was looked through as often."""
    looks = []

    class Counted(dict[str, str]):
        def items(self) -> ItemsView[str, str]:
            looks.append(1)
            return super().items()

    config = ServerConfig(given=Counted({f"x{number}": "${file:a:b}" for number in range(100)}))
    assert not any(config.is_provided(name) for name in config.given)
    assert not looks
