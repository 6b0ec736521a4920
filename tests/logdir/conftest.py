"""What the tests of log dirs share."""

import pytest

from segmend.logdir.disk import FileReader


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The bytes of every read of the disk from now on."""
    found: list[int] = []
    read_into = FileReader.read_into

    def counted(self: FileReader, buffer: memoryview, position: int) -> int:
        found.append(read_into(self, buffer, position))
        return found[-1]

    monkeypatch.setattr(FileReader, "read_into", counted)
    return found
