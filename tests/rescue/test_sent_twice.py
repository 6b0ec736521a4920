"""A repeated request that a broker took a second time is told; what others wrote there meanwhile is none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.cli.run import run
from tests.fleet.build import plain, write_broker

from segmend.errors import SegmendError
from segmend.rescue.forms import kafka
from segmend.rescue.live import LiveTopic


class Stored(NamedTuple):
    """A record as a consumer gets it."""

    content: tuple[Any, ...]

    def key(self) -> Any:
        return self.content[0]

    def value(self) -> Any:
        return self.content[1]

    def headers(self) -> Any:
        return self.content[3] or None

    def timestamp(self) -> Any:
        return 1, self.content[2]


class OneBroker:
    """A cluster and its producer in one; `between` is what comes into the log before the 41st record."""

    bootstrap = "nowhere:1"
    first = 0
    partitions = 1

    def __init__(self, between: Callable[[list[Stored]], list[Stored]]) -> None:
        self.log: list[Stored] = []
        self._between = between

    def id(self) -> str:
        return "one"

    def topic(self, name: str, *, was_there: bool = False) -> LiveTopic | None:
        del was_there
        if not self.partitions:
            return None
        return LiveTopic(
            partitions=self.partitions, append_time=False, largest=1 << 20, policies=("delete",),
            retention_ms=-1,
        )  # fmt: skip

    def ends(self, topic: str, partition: int) -> tuple[int, int]:
        return self.first, len(self.log)

    def records(self, topic: str, partition: int, first: int) -> Iterator[Stored]:
        yield from self.log[first:]

    def sender(self, topic: str, partition: int, largest: int, done: Callable[[int, int], None]) -> OneBroker:
        self._done, self._waiting = done, list[tuple[int, Stored]]()
        return self

    def send(self, offset: int, key: Any, value: Any, *, timestamp: int, headers: Any) -> None:
        self._waiting.append((offset, Stored((key, value, timestamp, headers))))
        if len(self._waiting) == 10:
            self.finish()

    def finish(self) -> None:
        if len(self.log) == 40:
            self.log += self._between([stored for _, stored in self._waiting])
        for offset, stored in self._waiting:
            self.log.append(stored)
            # Of a request that was repeated and found to be there the offset is not told.
            self._done(offset, -1 if 70 <= offset < 80 else len(self.log) - 1)
        self._waiting = []

    def give_up(self) -> None:
        pass


@pytest.mark.parametrize(
    ("between", "words"),
    [
        (lambda waiting: waiting[:7], "offsets 40 to 46 there hold the same records as those beside them"),
        (lambda waiting: [Stored((b"other", None, 1, []))] * 7, None),
        (lambda waiting: [], None),
    ],
)
def test_it_is_told(
    between: Callable[[list[Stored]], list[Stored]], words: str | None,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    home, there = write_broker(tmp_path, 1, [plain("t", 0)]), OneBroker(between)
    monkeypatch.setattr(kafka, "_cluster", lambda _: there)
    ran = run("rescue", home, "--out", tmp_path / "out", "--as", "kafka", "--bootstrap", "x:1", "--json")
    (line,) = ran.of("partition")
    assert [each[: len(words or "")] for each in line["doubts"]] == ([words] if words else []), ran.err
    assert ran.code == (4 if words else 0)
    assert line["form"]["next_target_offset"] == len(there.log)


def test_it_is_told_by_who_goes_on_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Dies(OneBroker):
        """After a request that came twice, once."""

        died = False

        def finish(self) -> None:
            super().finish()
            if len(self.log) > 60 and not self.died:
                self.died = True
                raise SegmendError("no broker answers there")

    home, there = write_broker(tmp_path, 1, [plain("t", 0)]), Dies(lambda waiting: waiting[:7])
    monkeypatch.setattr(kafka, "_cluster", lambda _: there)
    asked = ("rescue", home, "--out", tmp_path / "out", "--as", "kafka", "--bootstrap", "x:1", "--json")
    assert run(*asked).code == 8
    ran = run(*asked)
    assert (ran.code, len(ran.of("partition")[0]["doubts"])) == (4, 1), ran.err


@pytest.mark.parametrize(
    ("first", "left", "partitions", "words"),
    [
        (0, 120, 0, "t-0, which was sent, is gone"),
        (0, 0, 1, "t-0 ends at offset 0 there"),
        (120, 120, 1, "t-0: offsets 0 to 119 there, which were sent, are deleted"),
        (7, 130, 1, "t-0: offsets 0 to 6 there, which were sent, are deleted"),
        (0, 130, 2, None),
    ],
)
def test_what_was_sent_and_is_gone_since_is_told_by_who_is_asked_again(
    first: int, left: int, partitions: int, words: str | None,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    home, there = write_broker(tmp_path, 1, [plain("t", 0)]), OneBroker(lambda _: [])
    monkeypatch.setattr(kafka, "_cluster", lambda _: there)
    asked = ("rescue", home, "--out", tmp_path / "out", "--as", "kafka", "--bootstrap", "x:1")
    assert run(*asked).code == 0
    assert len(there.log) == 120
    there.log = (there.log * 2)[:left]
    there.first, there.partitions = first, partitions
    for more in ((), ("--create-topics",)):
        ran = run(*asked, *more)
        assert (ran.code, (words or "") in ran.err) == (8 if words else 0, True), ran.err
        assert not words or ran.err.count("\n") == 1


def test_what_is_deleted_while_it_is_sent_is_a_doubt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, there = write_broker(tmp_path, 1, [plain("t", 0)]), OneBroker(lambda _: [])
    there.first = 20
    monkeypatch.setattr(kafka, "_cluster", lambda _: there)
    ran = run(
        "rescue", home, "--out", tmp_path / "out", "--as", "kafka", "--bootstrap", "x:1", "--json", code=4
    )
    assert ran.of("partition")[0]["doubts"][0].startswith(
        "offsets 0 to 19 there, which were sent, are deleted"
    )
