"""Parquet: a file a partition."""

from __future__ import annotations

import pyarrow as pa

from segmend.frozen import replace
from segmend.rescue.arrow_rows import schema, write_parquet
from segmend.rescue.forms import finish as finish
from segmend.rescue.forms import prepare as prepare
from segmend.rescue.long_names import stem
from segmend.rescue.outlet import Folder
from segmend.rescue.request import Job, Written


def write(job: Job, outlet: Folder) -> Written:
    name = f"{stem(job.name)}.parquet"
    wanted = schema(pa.timestamp("ms", tz="UTC"), job.request.sides, salvage=job.request.salvage)
    written = write_parquet(job, outlet, wanted, name)
    return replace(written, facts={**written.facts, "held": outlet.wrote(name)})
