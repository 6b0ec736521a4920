"""Small files read and parsed at once: missing, unreadable, damaged and sound are told apart."""

import os
from pathlib import Path

from segmend.logdir.log_dir import LogDir, holds_partition


def test_missing_sound_damaged_and_unreadable(tmp_path: Path) -> None:
    for name in ("t-0", "t-1", "t-2", "t-3"):
        (tmp_path / name).mkdir()
    (tmp_path / "t-1" / "leader-epoch-checkpoint").write_text("0\n1\n3 100\n")
    (tmp_path / "t-2" / "leader-epoch-checkpoint").write_text("0\n2\n3 100\n")
    os.mkfifo(tmp_path / "t-3" / "leader-epoch-checkpoint")
    missing, sound, damaged, unreadable = (p.leader_epochs for p in LogDir.open(str(tmp_path)).partitions)
    assert (missing.missing, missing.healthy, missing.value) == (True, False, None)
    assert (sound.missing, sound.healthy) == (False, True)
    assert sound.value is not None
    assert [tuple(entry) for entry in sound.value.entries] == [(3, 100)]
    assert (damaged.healthy, damaged.damages[0].kind) == (False, "malformed")
    assert damaged.value is not None
    assert unreadable.unreadable is not None
    assert (unreadable.value, unreadable.healthy, unreadable.missing) == (None, False, False)


def test_checkpoints_by_partition(tmp_path: Path) -> None:
    (tmp_path / "replication-offset-checkpoint").write_text("0\n3\nt 0 5\nt 1 6\nt 0 7\n")
    log_dir = LogDir.open(str(tmp_path))
    assert log_dir.high_watermarks == {("t", 0): 7, ("t", 1): 6}
    assert log_dir.recovery_points == {}
    assert log_dir.offset_checkpoint("cleaner-offset-checkpoint").missing
    assert log_dir.meta_properties.missing


def test_an_identity_that_is_no_text_is_not_read(tmp_path: Path) -> None:
    with open(tmp_path / "meta.properties", "wb") as stream:
        stream.truncate(30 << 30)
    identity = LogDir.open(str(tmp_path)).meta_properties
    assert (identity.data, identity.value) == (None, None)
    assert identity.unreadable is not None
    assert "too large" in str(identity.unreadable)


def test_what_holds_a_partition_and_what_holds_many() -> None:
    log = f"{0:020d}.log"
    assert holds_partition("orders-0", {log: "file"})
    assert holds_partition("any name", {"partition.metadata": "file"})
    assert holds_partition("orders-0", {})
    assert not holds_partition("kafka-1", {"meta.properties": "file", log: "file"})
    assert not holds_partition("kafka-1", {"t-0": "dir"})
    assert not holds_partition("data", {})
