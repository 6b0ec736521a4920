"""What people and programs get of a run: its findings as objects, the report, summary.json."""

from __future__ import annotations

import json
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from segmend.errors import SegmendError
from segmend.fleet import alerts, delta, folder, history
from segmend.fleet.audit import AuditOutcome
from segmend.fleet.schemas import AUDIT_TABLES, STORED, SUMMARY_KEYS
from segmend.fleet.typed_rows import FindingObject, StoredFinding

_ORDER = ("error", "warning", "info")
_ORDERED_BY = ("code", "broker", "dir", "file")
_KEYS = ("severity", *_ORDERED_BY)
_AT_ONCE = 2000
_ROWS_AT_ONCE = 20_000


def finding_objects(out: str, run_id: str, kept: history.Kept | None = None) -> Iterator[FindingObject]:
    """The findings of a run, the worst first, as `segmend check --json` writes them, and whose they are.

    Where `kept` says of each row whether it is, those alone. They are in memory only some at a time.
    """

    def read(columns: Sequence[str]) -> Iterator[pa.Table]:
        at = 0
        parts = delta.parts(out, "findings", run_id=run_id, columns=columns, at_once=_ROWS_AT_ONCE)
        for part in parts:
            at += len(part)
            yield part if kept is None else part.filter(pa.array(kept[at - len(part) : at]))

    keys = pa.concat_tables([_keys(STORED["findings"].empty_table()), *map(_keys, read(_KEYS))])
    for part in in_order(read(STORED["findings"].names), _sorted(keys).to_numpy(), _ROWS_AT_ONCE):
        for at in range(0, len(part), _AT_ONCE):
            yield from map(_finding_object, part.slice(at, _AT_ONCE).to_pylist())


def _keys(findings: pa.Table) -> pa.Table:
    ranks = pc.index_in(findings["severity"], pa.array(_ORDER))
    keys = pa.table({"rank": ranks, **{name: findings[name] for name in _ORDERED_BY}})
    return keys.set_column(len(_ORDERED_BY), "file", pc.fill_null(keys["file"], ""))


def _sorted(keys: pa.Table) -> pa.Array:
    return pc.sort_indices(keys, [(name, "ascending") for name in keys.column_names])


def leading(out: str, run_id: str) -> list[tuple[FindingObject, int]]:
    """Of each severity and code the first finding, if possible one that nothing explains; and how many."""
    first: dict[tuple[int, str], tuple[tuple[object, ...], FindingObject]] = {}
    counts: Counter[tuple[int, str]] = Counter()
    names = STORED["findings"].names
    for part in delta.parts(out, "findings", run_id=run_id, columns=names, at_once=_ROWS_AT_ONCE):
        explained = pc.is_valid(pc.map_lookup(part["detail"].combine_chunks(), pa.scalar("cause"), "first"))
        keys = _keys(part).add_column(2, "explained", explained)
        order = _sorted(keys)
        groups = keys.select(["rank", "code"]).append_column("at", pa.array(range(len(keys)), pa.int64()))
        grouped = groups.take(order).group_by(["rank", "code"], use_threads=False)
        firsts = grouped.aggregate([("at", "first"), ("at", "count")])
        places = keys.take(firsts["at_first"]).to_pylist()
        rows = part.take(firsts["at_first"]).to_pylist()
        for place, row, number in zip(places, rows, firsts["at_count"].to_pylist(), strict=True):
            key, place = (place["rank"], place["code"]), tuple(place.values())
            counts[key] += number
            if key not in first or place < first[key][0]:
                first[key] = place, _finding_object(row)
    return [(first[key][1], counts[key]) for key in sorted(first)]


def _finding_object(row: StoredFinding) -> FindingObject:
    command, detail = row["remedy_command"], dict(row["detail"] or ())
    cause = detail.pop("cause", None)
    return {
        "type": "finding", "code": row["code"], "severity": row["severity"], "dir": row["dir"],
        "topic": row["topic"], "partition": row["partition"], "file": row["file"],
        "position": row["position"], "offset": row["offset"], "message": row["message"],
        "broker_says": row["broker_says"], "broker_effect": row["broker_effect"],
        "remedy": {"command": command, "safety": row["remedy_safety"]} if command else None,
        "cause": None if cause is None else json.loads(cause), "detail": detail,
        "cluster_id": row["cluster_id"], "broker": row["broker"], "source": row["source"],
        "carried_from": row["carried_from"], "fingerprint": row["fingerprint"],
    }  # fmt: skip


class Stored:
    """A table of one run as far as a report asks for it: a million segments are read by the column."""

    def __init__(self, out: str, name: str, run_id: str) -> None:
        self._of = out, name, run_id
        self.column_names = [each for each in STORED[name].names if each != delta.RUN]

    @property
    def num_rows(self) -> int:
        return len(self.select(self.column_names[:1]))

    def select(self, columns: Sequence[str]) -> pa.Table:
        """These columns of all its rows."""
        out, name, run_id = self._of
        return delta.read(out, name, run_id=run_id, columns=columns)

    def parts(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """The same, some rows at a time."""
        out, name, run_id = self._of
        return delta.parts(out, name, run_id=run_id, columns=columns)


def tables_of(out: str, run_id: str) -> dict[str, Stored]:
    """Every table of a run, for the report; those that no report shows are left out."""
    names = (name for name in AUDIT_TABLES if name not in ("digests", "checkpoints"))
    return {name: Stored(out, name, run_id) for name in names}


def summary(outcome: AuditOutcome, out: str, report: str | None) -> dict[str, object]:
    """The object of OUT/summary.json, and the last line of `--json`."""
    values = dict(outcome.row) | {
        "type": "summary",
        "run_id": outcome.run.run_id,
        "started": outcome.row["started"].isoformat(),
        "codes": dict(outcome.codes),
        "out": out,
        "report": report,
        "tables": list(AUDIT_TABLES),
        "unreadable": list(outcome.unreadable),
    }
    return {name: values[name] for name in (*SUMMARY_KEYS, "unreadable")}


def write_text(out: str, name: str, text: str) -> str:
    """Write a file into OUT, whole or not at all; its path."""
    path = os.path.join(out, name)
    folder.save(path, text)
    return path


def write_report(out: str, page: str) -> str:
    """Write OUT/report.html; its path."""
    return write_text(out, "report.html", page)


def write_summary(outcome: AuditOutcome, out: str, report: str | None) -> str:
    """Write OUT/summary.json; its path."""
    return write_text(out, "summary.json", json.dumps(summary(outcome, out, report), indent=2) + "\n")


def write_alerts(outcome: AuditOutcome, out: str, path: str) -> None:
    """Write the counts of an audit for a monitor, whole or not at all; SegmendError when that cannot be."""
    dirs = delta.read(out, "log_dirs", run_id=outcome.run.run_id).to_pylist()
    counts = alerts.samples(outcome, dirs)
    try:
        write_text(*os.path.split(path), alerts.FORMATS[path.rpartition(".")[2]](counts))
    except SegmendError as error:
        raise SegmendError(f"--alerts {error}") from error


_PLACE = "its place"


def in_order(parts: Iterable[pa.Table], order: npt.NDArray[np.integer], at_once: int) -> Iterator[pa.Table]:
    """The rows of `parts` in the order of their numbers in `order`, `at_once` of them at a time."""
    if not len(order):
        return
    if len(order) <= at_once:
        yield pa.concat_tables(parts).take(pa.array(order))
        return
    with tempfile.TemporaryDirectory(prefix="segmend-") as folder:
        for file in _sorted_in(folder, parts, order, at_once):
            with pa.ipc.open_stream(file) as stream:
                yield stream.read_all().sort_by(_PLACE).drop_columns(_PLACE)


def _sorted_in(
    folder: str, parts: Iterable[pa.Table], order: npt.NDArray[np.integer], at_once: int
) -> list[str]:
    """Files, each with the rows of so many places, one behind the other."""
    places: npt.NDArray[np.int64] = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    files = [f"{folder}/{number}" for number in range(-(-len(order) // at_once))]
    writers: dict[int, pa.RecordBatchStreamWriter] = {}
    with ExitStack() as closed:
        at = 0
        for part in parts:
            mine = places[at : at + len(part)]
            at += len(part)
            for number in np.unique(mine // at_once).tolist():
                if number not in writers:
                    writers[number] = closed.enter_context(
                        pa.ipc.new_stream(files[number], _placed(part, mine).schema)
                    )
                there = np.flatnonzero(mine // at_once == number)
                writers[number].write_table(_placed(part, mine).take(pa.array(there)))
    return files


def _placed(part: pa.Table, places: npt.NDArray[np.int64]) -> pa.Table:
    return part.append_column(_PLACE, pa.array(places))
