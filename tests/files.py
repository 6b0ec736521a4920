"""What many tests look at: all files of a directory."""

from pathlib import Path


def contents(root: Path) -> dict[str, bytes]:
    """Every file below a directory, by its path in it."""
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}
