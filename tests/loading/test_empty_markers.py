"""A control batch without a record, as a cleaner leaves one of a transaction that is gone (KAFKA-7467)."""

from pathlib import Path

import pytest
from tests.cli.run import run

from segmend.formats.build import BatchProducer, NewRecord, build_batch

PRODUCER = BatchProducer(9, 0, -1, True)


def log_dir(root: Path, *, stopped: bool) -> Path:
    """One of a broker with ZooKeeper; a marker was cleaned, and a record came behind it."""
    (root / "t-0").mkdir(parents=True)
    batches = (
        build_batch([], base_offset=4, is_control=True, producer=PRODUCER),
        build_batch([NewRecord(b"v", b"k", 1_700_000_000_000)], base_offset=5),
    )
    (root / "t-0" / f"{4:020d}.log").write_bytes(b"".join(batches))
    for suffix in ("index", "timeindex"):
        (root / "t-0" / f"{4:020d}.{suffix}").touch()
    (root / "meta.properties").write_text("version=0\nbroker.id=1\n")
    (root / "recovery-point-offset-checkpoint").write_text(f"0\n1\nt 0 {6 if stopped else 4}\n")
    if stopped:
        (root / ".kafka_cleanshutdown").touch()
        (root / "t-0" / f"{6:020d}.snapshot").write_bytes(bytes.fromhex("0001 48674bc7 00000000"))
    return root


@pytest.mark.parametrize(
    ("release", "starts"), [("0.11.0.3", False), ("1.1.0", False), ("2.0.0", False), ("2.0.1", True)]
)
def test_old_releases_end_on_it_in_a_recovery(release: str, starts: bool, tmp_path: Path) -> None:
    """Seen on 1.1.0 after a kill; of 0.11.0.3, 2.0.0 and 2.0.1 `ProducerAppendInfo.append` was read."""
    killed = run("forecast", log_dir(tmp_path / "killed", stopped=False), "--kafka", release, "--json")
    (broker,) = killed.of("broker")
    assert (broker["outcome"], killed.code) == (("starts", 0) if starts else ("refuses", 4))
    assert ("NoSuchElementException" in (broker["reason"] or "")) is not starts


def test_a_start_that_recovers_nothing_does_not_look(tmp_path: Path) -> None:
    ran = run("forecast", log_dir(tmp_path / "stopped", stopped=True), "--kafka", "1.1.0", "--json")
    assert [line["outcome"] for line in ran.of("broker")] == ["starts"]
