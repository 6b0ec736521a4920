"""One Spark session for all tests here. In CI it must start; on a laptop its absence is a skip."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from segmend.errors import SegmendError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session as `segmend fleet` starts it, with one shuffle partition; its tables lie elsewhere."""
    if find_spec("pyspark") is None:
        pytest.skip("pyspark is not installed")
    from tests.spark.standalone import light

    from segmend.spark.session import session

    tables = str(tmp_path_factory.mktemp("warehouse"))
    conf = {"spark.sql.shuffle.partitions": "1", "spark.sql.warehouse.dir": tables}
    try:
        started = session("local[2]", conf=conf, java_options=light().split())
    except SegmendError as error:
        pytest.skip(str(error))
    yield started
    started.stop()
