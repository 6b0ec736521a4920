"""README's lines for Spark run as they are written."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.fleet.build import three_brokers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
README = Path(__file__).parents[2] / "README.md"


def test_from_spark(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    three_brokers(tmp_path / "brokers")
    section = README.read_text().partition("### From Spark")[2]
    match = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    assert match
    exec(compile(match[1].replace("/brokers/", f"{tmp_path}/brokers/"), "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert spark.getActiveSession() is not None
    assert "only showing top 20 rows" in printed
    assert re.search(r"\|\s*orders\|", printed)
