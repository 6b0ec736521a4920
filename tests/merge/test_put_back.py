"""A batch whose epoch has flipped, which no checksum covers: it is had where the epoch is proven."""

import json
from pathlib import Path

import pytest
from tests.cli.run import run
from tests.merge.test_diff import PLAIN, batch, broker

LATER = [batch(first, 1) for first in range(100, 150, 10)]
LINES = "0 0, 1 100"


def flipped(whole: bytes, to: int = 0x1000) -> bytes:
    return whole[:12] + to.to_bytes(4, "big") + whole[16:]


def hurt(whole: bytes) -> bytes:
    return whole[:-3] + bytes([whole[-3] ^ 0x10]) + whole[-2:]


def changed(batches: list[bytes], at: int, new: bytes) -> list[bytes]:
    return [*batches[:at], new, *batches[at + 1 :]]


def rescued(tmp_path: Path, *dirs: Path) -> tuple[int, bytes, list[tuple[int, int]]]:
    """The exit code, the bytes of the new log, and offset and epoch of each record."""
    codes = []
    for form in ("log-dir", "jsonl"):
        ran = run("rescue", *dirs, "--out", tmp_path / form, "--as", form, "--kafka", "4.3")
        codes.append(ran.code)
    assert len(set(codes)) == 1, codes
    logs = sorted((tmp_path / "log-dir").rglob("t-0/*.log"))
    lines = [json.loads(line) for path in (tmp_path / "jsonl").rglob("*.jsonl") for line in path.open()]
    rows = [(line["offset"], line["leader_epoch"]) for line in lines if "offset" in line]
    return codes[0], b"".join(log.read_bytes() for log in logs), rows


@pytest.mark.parametrize(
    "at",
    [4, 10, 9, 0],
    ids=["both neighbours", "the first of its epoch", "the last of its epoch", "the first"],
)
def test_what_lies_beside_proves_the_epoch(at: int, tmp_path: Path) -> None:
    truth = [*PLAIN, *LATER]
    one = broker(tmp_path, 1, changed(truth, at, flipped(truth[at])), epochs=LINES, mark=150)
    code, log, rows = rescued(tmp_path, one)
    assert (code, log == b"".join(truth)) == (0, True)
    assert rows == [(offset, int(offset >= 100)) for offset in range(150)]


def test_the_last_one_of_a_log_that_was_longer(tmp_path: Path) -> None:
    one = broker(tmp_path, 1, changed(PLAIN[:5], 4, flipped(PLAIN[4])), epochs=LINES, mark=50)
    code, log, _ = rescued(tmp_path, one)
    assert (code, log == b"".join(PLAIN[:5])) == (0, True)


def test_nothing_is_put_back_that_nothing_proves(tmp_path: Path) -> None:
    """The first batch of an epoch, or the last one of that before: without a checkpoint it may be both."""
    truth = [*PLAIN, *LATER]
    one = broker(tmp_path, 1, changed(truth, 10, flipped(truth[10])), mark=150)
    code, log, _ = rescued(tmp_path, one)
    assert (code, log) == (4, b"".join([*truth[:10], *truth[11:]]))


def test_a_merge_puts_the_epoch_right_where_nobody_else_has_the_batch(tmp_path: Path) -> None:
    truth = [*PLAIN, *LATER]
    one = broker(tmp_path, 1, changed(truth, 4, flipped(truth[4])), epochs=LINES, mark=150)
    two = broker(tmp_path, 2, changed(truth, 4, hurt(truth[4])), epochs=LINES, mark=150)
    found = run("diff", one, two, "--json")
    assert [line["damaged"] for line in found.of("replica")] == [
        [{"first_offset": 40, "last_offset": 49, "sound_on": []}],
        [{"first_offset": 40, "last_offset": 49, "sound_on": [1]}],
    ]
    assert (found.code, found.of("partition")[0]["missing"]) == (4, [])
    for home, other in ((one, two), (two, one)):
        out = tmp_path / f"{home.name}.json"
        where = ("--partition", "t-0", "--from", other, "-o", out, "--kafka", "4.3")
        run("plan", "merge", home, *where, code=0)
        assert run("apply", out, "--yes", "--state-dir", tmp_path / "state").code == 1
        assert (home / "t-0" / f"{0:020d}.log").read_bytes() == b"".join(truth)
    assert run("diff", one, two).code == 0


def test_two_side_by_side_cost_no_more_than_themselves(tmp_path: Path) -> None:
    """Neither shows that the other is wrong; the many behind them do."""
    odd = [*PLAIN[:4], flipped(PLAIN[4], 4), flipped(PLAIN[5], 64), *PLAIN[6:]]
    one, two = broker(tmp_path, 1, odd, mark=100), broker(tmp_path, 2, PLAIN, mark=100)
    code, log, _ = rescued(tmp_path, one, two)
    assert (code, log == b"".join(PLAIN)) == (0, True)
    found = run("diff", one, two, "--json").of("replica")[0]
    assert (found["relation"], found["damaged"]) == (
        "damaged", [{"first_offset": 40, "last_offset": 59, "sound_on": [2]}]
    )  # fmt: skip


ODD = {
    "up to the end": {13: 2, 14: 64},
    "three": {14: 64, 13: 9, 12: 2},
    "to one epoch": {8: 9, 9: 9},
    "down at the end": {12: 2, 13: 3, 14: 0},
    "to the next epoch": {9: 1},
}


@pytest.mark.parametrize(
    ("what", "lines"), [*((each, True) for each in ODD), *((each, False) for each in [*ODD][:4])]
)
def test_a_flipped_epoch_is_no_leader_where_another_replica_has_the_batch_as_it_was(
    what: str, lines: bool, tmp_path: Path
) -> None:
    truth = [*PLAIN, *LATER]
    odd = [flipped(each, ODD[what][at]) if at in ODD[what] else each for at, each in enumerate(truth)]
    one = broker(tmp_path, 1, odd, epochs=LINES, mark=150)
    if not lines:
        (one / "t-0" / "leader-epoch-checkpoint").unlink()
    two = broker(tmp_path, 2, truth, epochs=LINES, mark=150)
    code, log, rows = rescued(tmp_path, one, two)
    assert (code, log == b"".join(truth)) == (0, True)
    assert rows == [(offset, int(offset >= 100)) for offset in range(150)]


def test_a_new_epoch_of_few_batches_stays_though_an_old_leader_wrote_the_same(tmp_path: Path) -> None:
    """A producer's second try after an unclean election, at the same offset by chance."""
    again = [*PLAIN, flipped(LATER[0], 2)]
    one = broker(tmp_path, 1, [*PLAIN, LATER[0]], epochs=LINES, mark=100)
    two = broker(tmp_path, 2, again, epochs="0 0, 2 100", mark=110)
    _, log, rows = rescued(tmp_path, one, two)
    assert log == b"".join(again)
    assert rows[-1] == (109, 2)
