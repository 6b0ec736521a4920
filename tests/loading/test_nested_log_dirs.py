"""A log dir in another one, called like a partition: 3.9.2 and 4.3.1 set it aside, and end over it."""

from pathlib import Path

import pytest
from tests.brokers import broker_of
from tests.copies import copy_tree
from tests.golden.shared import golden

from segmend.loading import BrokerOutcome, ForecastOptions, forecast


@pytest.mark.parametrize(("name", "starts"), [("foo-0", False), ("foo", None)])
@pytest.mark.parametrize("release", ["3.9.2", "4.3.1"])
def test_a_log_dir_that_is_taken_for_a_stray(
    tmp_path: Path, release: str, name: str, starts: bool | None
) -> None:
    copy_tree(golden(f"{release}-clean") / "b1", tmp_path / "b1")
    nested = tmp_path / "b1/d1" / name
    nested.mkdir()
    text = (tmp_path / "b1/d1/meta.properties").read_text()
    kept = (line for line in text.splitlines() if not line.startswith("directory.id"))
    (nested / "meta.properties").write_text("\n".join([*kept, "directory.id=lAb5pZ9vTWWx4JmKu0o3Ng", ""]))
    *_, last = forecast(
        broker_of([tmp_path / "b1/d0", tmp_path / "b1/d1", nested], release), ForecastOptions(now_ms=0)
    )
    assert isinstance(last, BrokerOutcome)
    assert not last.starts
    missed = f"NoSuchFileException: {nested}/cleaner-offset-checkpoint"
    assert (last.reason == missed) is (starts is False), last.reason
