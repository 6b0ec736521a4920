"""Without server.properties the order in which the dirs of a broker are given changes no answer.

But for one: whether metadata.log.dir, by default the first of log.dirs, is where the metadata lies.
"""

import itertools
import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from tests.brokers import broker_of
from tests.conftest import golden_params, one_in
from tests.faults.table import Case, all_cases
from tests.golden.shared import golden
from tests.lab.disasters.bases import RELEASES
from tests.lab.disasters.draw import Disaster
from tests.lab.disasters.run import hurt_copy, record, rows_of, scratch
from tests.seeds import some_of

from segmend.loading import ForecastOptions, forecast
from segmend.logdir.log_dir import LogDir

HOME = "metadata.log.dir is "


def said(dirs: Sequence[LogDir], release: str) -> tuple[object, ...]:
    """All but the words of a refusal, which name the dir that is looked at first."""
    *lines, last = (line.to_json() for line in forecast(broker_of(dirs, release), ForecastOptions(now_ms=0)))
    told = [last[key] for key in ("outcome", "lost", "unserved", "metadata_records_lost")]
    words = [sorted(word for word in last[key] if HOME not in word) for key in ("unknown", "assumed")]
    return *told, *words, sorted(_told(lines))


def _told(lines: Sequence[dict[str, object]]) -> Iterator[str]:
    for line in lines:
        effects = line.get("effects", ())
        assert isinstance(effects, Sequence)
        kept = {key: line.get(key) for key in ("type", "dir", "file", "outcome", "after", "what")}
        yield json.dumps([kept, [each["effect"] for each in effects]])


def assert_same(dirs: Sequence[Path], release: str) -> None:
    opened = [LogDir.attempt(str(path)) for path in dirs]  # none of them knows of the others
    first, *others = (said(given, release) for given in itertools.permutations(opened))
    for each in others:
        assert each == first


@pytest.mark.parametrize("name", golden_params())
def test_of_healthy_dirs(name: str) -> None:
    assert_same(sorted((golden(name) / "b1").glob("d*")), name.partition("-")[0])


@pytest.mark.parametrize("case", one_in(3, some_of(list(all_cases()), 3)), ids=str)
def test_of_hurt_dirs(case: Case, tmp_path: Path) -> None:
    assert_same(case.hurt(tmp_path).dirs, case.scene.release)


@pytest.mark.slow
@pytest.mark.parametrize("version", RELEASES)
def test_of_disasters(version: str) -> None:
    root = scratch("order")
    for row in rows_of(record(version))[7::24]:
        assert_same(hurt_copy(Disaster.from_json(version, row), root).dirs, version)
    shutil.rmtree(root, ignore_errors=True)
