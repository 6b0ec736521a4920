"""Parquet: a file a partition."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from segmend.node.metadata_image import MetadataImage
from segmend.rescue.arrow_rows import schema, write_parquet
from segmend.rescue.long_names import stem
from segmend.rescue.outlet import Folder, Line
from segmend.rescue.request import Due, Home, Job, Request, Written


def prepare(request: Request, outlet: Folder, due: Sequence[Due], known: MetadataImage | None) -> None:
    """How much room is needed, nobody knows before it is compressed."""
    del request, outlet, due, known


def write(job: Job, outlet: Folder) -> Written:
    return write_parquet(
        job, outlet,
        schema(pa.timestamp("ms", tz="UTC"), job.request.sides, salvage=job.request.salvage),
        f"{stem(job.name)}.parquet",
    )  # fmt: skip


def finish(home: Home, outlet: Folder, lines: Sequence[Line]) -> None:
    del home, outlet, lines
