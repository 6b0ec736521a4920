"""A session that reads what it is asked to, line by line, and answers with what came: rows, errors, warnings.

python -m tests.spark.asked MASTER CACHE
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from segmend.errors import SegmendError
from segmend.fleet.damaged import LOG
from segmend.spark import left_out, merge, rescue, runs, scan, summarize
from segmend.spark.session import plain_session

_OURS = re.compile(r"segmend\.errors\.\w+: (.*)")
"""How an error of ours ends, wherever it was raised."""


def frame_of(spark: SparkSession, asked: dict[str, Any]) -> DataFrame:
    """The DataFrame that a line asks for."""
    paths, options, how = asked["paths"], asked["options"], asked["how"]
    if how == "summarize":
        return summarize(spark, paths, by=asked["by"], **options)
    if how in ("runs", "merge"):
        found = runs(spark, paths, **options)
        return merge(found) if how == "merge" else found.drop("replica")  # pickled
    if how == "rescue":
        return rescue(spark, paths, **options)
    source = spark.read.format("kafka-log")
    if how == "scan":
        segments = source.option("table", "segments").load(paths).where(asked["where"])
        return scan(spark, segments, paths, **options)
    frame = source.options(**options).load(paths)
    if how == "grouped":
        return frame.groupBy(*asked["by"]).count()
    return frame.where(asked["where"]) if how == "filtered" else frame


def answer(spark: SparkSession, asked: dict[str, Any]) -> dict[str, Any]:
    """Rows in an order of their own; of an error what segmend says of it."""
    try:
        frame = frame_of(spark, asked)
        if asked["how"] == "count":
            return {"rows": frame.count()}
        if asked["how"] == "limit":
            return {"rows": len(frame.limit(3).collect())}
        found = sorted(map(repr, frame.toArrow().to_pylist()))
    except (PySparkException, Py4JJavaError, SegmendError, ValueError, TypeError) as error:
        told = _OURS.findall(f"{type(error).__module__}.{type(error).__name__}: {error}")
        return {"error": told[-1] if told else str(error).partition("\n")[0]}
    digest = hashlib.sha256("\n".join(found).encode(errors="surrogatepass")).hexdigest()
    return {"rows": len(found), "digest": digest, "columns": frame.columns, "first": found[:1]}


class Heard(logging.Handler):
    """What was logged since it was asked last."""

    def __init__(self) -> None:
        super().__init__()
        self._words = Counter[str]()

    def emit(self, record: logging.LogRecord) -> None:
        self._words[record.getMessage()] += 1

    def since(self) -> list[str]:
        words, self._words = self._words, Counter()
        return sorted(words.elements())


def main(master: str, cache: str) -> None:
    spark = plain_session(master, cache=Path(cache))
    tellers: list[Callable[[], None]] = []
    with pytest.MonkeyPatch.context() as patch:  # what it would be told at the end, it is told at once
        patch.setattr(left_out, "atexit", SimpleNamespace(register=tellers.append))
        left_out.watch(spark)
    left_out._QUIET_SECONDS = 1e6  # type: ignore[misc]  # not in the middle of the next one
    heard = Heard()
    LOG.addHandler(heard)
    print("ready", flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            told = answer(spark, asked)
        except Exception:
            told = {"error": f"a traceback: {traceback.format_exc()[-1500:]}"}
        for tell in tellers:
            tell()
        print(json.dumps(told | {"told": heard.since()}), flush=True)
    spark.stop()


def of(master: str, cache: Path) -> Sequence[str]:
    """The command line of one."""
    return [sys.executable, "-m", "tests.spark.asked", master, str(cache)]


if __name__ == "__main__":
    main(*sys.argv[1:])
