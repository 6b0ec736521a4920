"""A directory in the place of an index that is opened at the first look-up only.

2.8.2, 3.7.2 and 4.3.1 started, and their dir went offline once a consumer came to that segment, or asked for
an offset by time; 3.7.2 and 4.3.1 ended with it where it was that of the metadata.
"""

from pathlib import Path

import pytest
from tests.brokers import broker_of
from tests.faults.on_disk import put_folder
from tests.faults.written import known_and_formatted

from segmend.loading import BrokerOutcome, ForecastOptions, Later, forecast


@pytest.mark.parametrize("suffix", ["index", "timeindex"])
@pytest.mark.parametrize(("number", "topic"), [(0, "t"), (1, "v")])
def test_the_first_look_up_takes_the_dir_offline(
    number: int, topic: str, suffix: str, tmp_path: Path
) -> None:
    dirs = known_and_formatted(tmp_path)
    index = dirs[number] / f"{topic}-0" / f"{0:020d}.{suffix}"
    put_folder(index)
    *lines, broker = forecast(broker_of(dirs, "4.3"), ForecastOptions())
    assert isinstance(broker, BrokerOutcome)
    assert broker.starts
    assert any(f"{index.name} (Is a directory)" in each for each in broker.unknown)
    (gone,) = [line for line in lines if isinstance(line, Later) and line.fails]
    assert (gone.dir, gone.what) == (str(dirs[number]), "log dir offline")
    assert ("The broker ends with it" in gone.why) == (number == 0)
