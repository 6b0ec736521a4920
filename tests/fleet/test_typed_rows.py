"""What those who read rows by name take them for is what the schemas say."""

from datetime import datetime
from types import UnionType
from typing import Union, get_args, get_origin, get_type_hints, is_typeddict

import pyarrow as pa
import pytest

from segmend.fleet.schemas import REPLICAS, SCANS, STORED
from segmend.fleet.typed_rows import HeldReplica, LogDirRow, RunRow, ScanRow, StoredFinding
from segmend.report.html.columns import TableRow

MADE = {"cause", "effect", "lost", "rows", "name", "oldest", "newest"}
"""Columns of the report that no table has."""


def kind_of(column: pa.DataType) -> type:
    """What Arrow gives for a value of the column."""
    if pa.types.is_integer(column):
        return int
    if pa.types.is_floating(column):
        return float
    if pa.types.is_boolean(column):
        return bool
    if pa.types.is_string(column):
        return str
    if pa.types.is_timestamp(column):
        return datetime
    return dict if pa.types.is_struct(column) else list


def told(hint: object) -> set[object]:
    """The classes of a type, without None."""
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    plain = {dict if is_typeddict(each) else get_origin(each) or each for each in parts}
    return plain - {type(None)}


@pytest.mark.parametrize(
    ("row", "schema"),
    [
        (RunRow, STORED["runs"]), (LogDirRow, STORED["log_dirs"]), (StoredFinding, STORED["findings"]),
        (ScanRow, SCANS), (HeldReplica, REPLICAS),
    ],
)  # fmt: skip
def test_names_and_types_are_those_of_the_schema(row: type, schema: pa.Schema) -> None:
    hints = get_type_hints(row)
    columns = {field.name: kind_of(field.type) for field in schema}
    if row in (RunRow, LogDirRow, StoredFinding):
        assert hints.keys() == columns.keys()
    shared = hints.keys() & columns.keys()
    assert len(shared) > 5
    assert {name: told(hints[name]) for name in shared} == {name: {columns[name]} for name in shared}


def test_the_columns_of_the_report_are_those_of_tables() -> None:
    hints = get_type_hints(TableRow)
    columns: dict[str, set[type]] = {}
    for schema in STORED.values():
        for field in schema:
            columns.setdefault(field.name, set()).add(kind_of(field.type))
    assert hints.keys() - MADE <= columns.keys()
    # A broker may be called by its name and its cluster's.
    types = {name: told(hints[name]) for name in hints.keys() - MADE - {"broker"}}
    assert all(kinds <= columns[name] for name, kinds in types.items()), types
