"""What the tests of forecasts share."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def open_to_all() -> Iterator[Path]:
    """A directory that everybody may search, and all above it: not so pytest's."""
    with tempfile.TemporaryDirectory() as root:
        Path(root).chmod(0o777)
        yield Path(root)
