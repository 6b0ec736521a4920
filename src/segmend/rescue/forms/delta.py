"""A Delta table: a Parquet file a partition, and one commit when all are there.

Its instants are microseconds, which is what Delta has.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from typing import Final

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction
from deltalake.transaction import AddAction

from segmend.cluster.cluster_dirs import Home
from segmend.logdir import disk
from segmend.node.metadata_image import MetadataImage
from segmend.rescue.additions import Additions
from segmend.rescue.arrow_rows import schema, write_parquet
from segmend.rescue.committed import Committed, refuse_lost_files
from segmend.rescue.delta_log import delta_in_words
from segmend.rescue.lines import FormFacts, PartitionLine
from segmend.rescue.long_names import stem
from segmend.rescue.outlet import Folder
from segmend.rescue.request import Due, Job, RescueRequest, Written

BEGINS: Final = frozenset({"_delta_log"})
_INSTANT: Final = pa.timestamp("us", tz="UTC")


def grow(
    request: RescueRequest, outlet: Folder, due: Sequence[Due], known: Callable[[], MetadataImage | None]
) -> Additions:
    """The table in OUT; raises `SegmendError`."""
    del due, known
    return Additions(outlet, request.sides)


def prepare(request: RescueRequest, outlet: Folder, due: Sequence[Due], known: MetadataImage | None) -> None:
    """Of a table that is there, others may have merged the files; all that it has now are in OUT."""
    del request, due, known
    if BEGINS & {*disk.names(outlet.path)}:
        with delta_in_words(outlet.path):
            refuse_lost_files(DeltaTable(outlet.path), outlet.path)


def write(job: Job, outlet: Folder) -> Written:
    name = f"{stem(job.name)}.parquet"
    wanted = schema(_INSTANT, job.request.sides, salvage=job.request.salvage)
    written = write_parquet(job, outlet, wanted, name)
    outlet.wrote(name)  # not kept: see `prepare`
    return written


def finish(home: Home | None, outlet: Folder, lines: Sequence[PartitionLine]) -> None:
    """Commit what is not in the table yet. Raises `SegmendError`."""
    del home
    committed = Committed(outlet)
    with delta_in_words(outlet.path):
        sides = {side: None for line in lines for side in line.get("decoded", ())}
        wanted = schema(_INSTANT, sides, salvage=any("salvaged" in line for line in lines))
        _commit(outlet, committed, wanted, [line["form"] for line in lines if line["form"]["rows"]])


def _commit(outlet: Folder, committed: Committed, wanted: pa.Schema, files: Sequence[FormFacts]) -> None:
    table = DeltaTable.create(outlet.path, wanted, mode="ignore")
    files = [each for each in files if table.transaction_version(_transaction(each)) is None]
    if not files:
        return
    for each in files:
        outlet.require({"name": each["file"], "files": 1, "bytes": each["size"]})
    now = time.time_ns() // 1_000_000
    actions = [
        AddAction(each["file"], each["size"], {}, now, True, json.dumps({"numRecords": each["rows"]}))
        for each in files
    ]
    transactions = [Transaction(_transaction(each), 1) for each in files]
    properties = CommitProperties(app_transactions=transactions)
    with committed.adding(actions, transactions):
        table.create_write_transaction(actions, "append", wanted, commit_properties=properties)


def _transaction(file: FormFacts) -> str:
    """By its name, which a table that was compacted since then has no more among its files."""
    return f"segmend-rescue/{file['file']}"
