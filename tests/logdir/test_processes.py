"""Who has files open for writing, as /proc tells; and reading files of /proc, which have no size."""

import os
from pathlib import Path

import pytest
from tests.beside import holding, waiting

from segmend.logdir import disk
from segmend.logdir.processes import brokers, max_map_count, writers


@pytest.mark.parametrize(("mode", "seen"), [("r", False), ("a", True), ("r+", True)])
def test_only_those_who_may_write_count(tmp_path: Path, mode: str, seen: bool) -> None:
    path = tmp_path / "00000000000000000000.log"
    path.touch()
    with holding(path, mode) as process:
        found = list(writers([str(tmp_path)]))
        assert [writer.pid for writer in found] == ([process] if seen else [])
        assert all(writer.path == str(path) and "\n" not in writer.command for writer in found)
        assert not list(writers([str(tmp_path / "elsewhere")]))


def test_this_process_does_not_count(tmp_path: Path) -> None:
    with open(tmp_path / "file", "w"):
        assert not list(writers([str(tmp_path)]))


def test_files_without_a_size_are_read() -> None:
    assert disk.read("/proc/self/cmdline") == b""
    assert b"python" in disk.read_stream("/proc/self/cmdline", 4096)
    assert len(disk.read_stream("/proc/self/status", 10)) == 10
    assert len(disk.read_stream("/proc/self/smaps", 5000)) == 5000  # more than is read at once
    assert disk.read_stream("/proc/self/smaps", 1 << 24).rstrip().rpartition(b"\n")[2].startswith(b"VmFlags")
    assert (max_map_count() or 0) > 1000
    assert os.path.basename(disk.link_target("/proc/self/exe") or "").startswith("python")
    assert disk.link_target("/proc/self") == str(os.getpid())
    assert disk.link_target("/nowhere") is None


@pytest.mark.parametrize(
    ("config", "options", "seen"),
    [
        ("log.dirs=/nowhere, {dir}\n", [], True),
        ("log.dirs=/nowhere\n", [], False),
        ("log.dirs=/nowhere\n", ["--override", "log.dirs={dir}"], True),
        ("log.dirs={dir}\n", ["--override", "log.dirs=/nowhere"], False),
        (None, [], False),
    ],
)
def test_a_broker_is_known_by_its_configuration(
    tmp_path: Path, config: str | None, options: list[str], seen: bool
) -> None:
    """Even if it has nothing open yet, or we may not see what; by a path of its own, relative or not."""
    home = tmp_path / "data"
    home.mkdir()
    (tmp_path / "link").symlink_to(home)
    if config is not None:
        (tmp_path / "server.properties").write_text(config.replace("{dir}", str(tmp_path / "link")))
    given = [option.replace("{dir}", str(home)) for option in options]
    for file in (str(tmp_path / "server.properties"), "server.properties"):
        with waiting("", "kafka.Kafka", file, *given, cwd=tmp_path) as process:
            found = list(brokers([str(home)]))
            assert [broker.pid for broker in found] == ([process] if seen else [])
            assert all(broker.path == str(home) for broker in found)
