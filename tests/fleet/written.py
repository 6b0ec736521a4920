"""What an audit wrote, to be compared."""

from pathlib import Path

from segmend.fleet import delta


def table_rows(out: str | Path, name: str) -> list[str]:
    """The rows of a table of an OUT, but for the name of their run."""
    return sorted(map(repr, delta.read(str(out), name).drop_columns("run_id").to_pylist()))
