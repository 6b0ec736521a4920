"""What a read of records by `kafka-log` complains of with the mode that lets nothing pass."""

from collections.abc import Sequence
from pathlib import Path

from segmend.errors import SegmendError
from segmend.fleet.options import parse_options
from segmend.fleet.tables import open_table, read


def complaint(dirs: Sequence[Path], **options: str) -> str:
    """Its words, empty where nothing is lost and nothing in doubt."""
    told = parse_options({"table": "records", "mode": "FAILFAST", "columns": "offset", **options})
    try:
        for work in open_table([*map(str, dirs)], told, cores=2):
            for _ in read(work):
                pass
    except SegmendError as error:
        return str(error)
    return ""
