"""What many tests do to files: look at all of them, turn a bit over."""

from pathlib import Path


def contents(root: Path) -> dict[str, bytes]:
    """Every file below a directory, by its path in it."""
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def flip(path: Path, at: int, bits: int = 1) -> None:
    """Turn bits of one byte over; it is counted from the end if it is negative."""
    data = bytearray(path.read_bytes())
    data[at] ^= bits
    path.write_bytes(data)


def flip_at_share(path: Path, share: float, bits: int = 1) -> None:
    """Those of the byte at that share of the file."""
    flip(path, int(path.stat().st_size * share), bits)
