"""Damages of the catalogue on built directories, with the outcomes that were reproduced on real classes.

The partition `t-0` has segments 0, 54, 109 and 164 and ends at 222 (see `story`); `u-0` is healthy.
"""

from __future__ import annotations

import shutil
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.brokers import broker_of
from tests.checks import build_partition as build
from tests.checks.damages import all_of, in_place, plain, removed, renamed, written
from tests.checks.surgery import ACTIVE, ROLLED, entry, flipped, positions, txn_entry, with_field, zeroed
from tests.loading.outcomes import Hurt, Row

from segmend.loading import DirOutcome, Options, PartitionOutcome, forecast
from segmend.logdir.config import ServerConfig

STORY = build.story("t")
BASES = [segment.base for segment in STORY.segments]
END = STORY.next_offset
FIRST, SECOND, THIRD, LAST = (f"t-0/{base:020d}" for base in BASES)
RECOVERY, START, HIGH, CLEANER = (
    "recovery-point-offset-checkpoint",
    "log-start-offset-checkpoint",
    "replication-offset-checkpoint",
    "cleaner-offset-checkpoint",
)
TORN = build.batch(END, [build.record(0, b"k", b"v" * 40)])[:50]
assert (ROLLED, ACTIVE) == (SECOND, LAST)


def offset_of(segment: int, number: int) -> int:
    """The base offset of a batch by its number in a segment."""
    log = bytes(STORY.segments[segment].log)
    return int(struct.unpack_from(">q", log, positions(log)[number])[0])


def appended(name: str, data: bytes) -> Hurt:
    return in_place(name, lambda old: old + data)


def emptied(name: str) -> Hurt:
    return in_place(name, lambda _: b"")


def checkpoint(name: str, *lines: str) -> Hurt:
    return written(name, "\n".join(["0", str(len(lines)), *lines, ""]))


def every(pattern: str) -> Hurt:
    def hurt(dirs: Sequence[Path]) -> None:
        for path in dirs[0].glob(pattern):
            path.unlink()

    return hurt


def made(name: str) -> Hurt:
    return lambda dirs: (dirs[0] / name).mkdir()


def copied(old: str, new: str) -> Hurt:
    def hurt(dirs: Sequence[Path]) -> None:
        source, target = dirs[0] / old, dirs[0] / new
        (shutil.copytree if source.is_dir() else shutil.copy)(source, target)

    return hurt


def low_recovery_point() -> Hurt:
    return checkpoint(RECOVERY, "t 0 0", "u 0 54")


def row(
    name: str, hurt: Hurt, effects: str = "", *, refuses: bool = False, offline: bool = False, **more: Any
) -> Row:
    more.setdefault("after", None if refuses or offline else (0, END))
    return Row(
        name=name,
        hurt=hurt,
        effects=frozenset(effects.split()),
        starts=not refuses,
        online=not offline,
        **more,
    )


SAFE: dict[str, Any] = {"lost": False}
KILLED: dict[str, Any] = {"clean": False}
SMALL = "smaller than minimum record overhead (14)"
BAD_INDEX = entry(-1, ">i", 0, lambda offset: offset + 500)
HUGE = with_field(1, "size", lambda _: 2**31 - 1)
BEHIND = all_of(low_recovery_point(), checkpoint(START, f"t 0 {BASES[2]}"))
ONLY_SWAP = all_of(*(renamed(f"{THIRD}{s}", f"{THIRD}{s}.swap") for s in (".log", ".index", ".timeindex")))
SWAP_LOG = build.batch(BASES[1] + 900, [build.record(0, b"k", b"v")])

ROWS = [
    # 6.1 bytes of the log
    row("L01-torn", appended(f"{LAST}.log", TORN), "reads-fail"),
    row("L01-torn-killed", appended(f"{LAST}.log", TORN), "tail-truncated recovery-scan", **KILLED),
    row("L02-fragment", appended(f"{LAST}.log", b"\0" * 16), "reads-fail"),
    row("L02-fragment-killed", appended(f"{LAST}.log", b"\0" * 16), "tail-truncated", **KILLED),
    row("L03-zeros", appended(f"{LAST}.log", bytes(4096)), refuses=True, says=SMALL),
    row(
        "L03-zeros-killed",
        appended(f"{LAST}.log", bytes(4096)),
        "tail-truncated",
        says="Found invalid messages",
        **KILLED,
    ),
    row("L04-hole", in_place(f"{SECOND}.log", zeroed(6, 9)), **SAFE),
    row("L04-hole-above-rp", in_place(f"{SECOND}.log", zeroed(6, 9)), **SAFE, **KILLED),
    row(
        "L04-hole-below-rp",
        all_of(in_place(f"{SECOND}.log", zeroed(6, 9)), low_recovery_point()),
        "tail-truncated segments-deleted",
        after=(0, offset_of(1, 6)),
        says="Corruption found in segment 54",
        **KILLED,
    ),
    row("L05-crc", in_place(f"{SECOND}.log", flipped(8)), **SAFE),
    row(
        "L05-crc-killed",
        all_of(in_place(f"{SECOND}.log", flipped(8)), low_recovery_point()),
        "tail-truncated segments-deleted",
        after=(0, offset_of(1, 8)),
        **KILLED,
    ),
    row(
        "L06-crc-no-index",
        all_of(in_place(f"{SECOND}.log", flipped(8)), removed(f"{SECOND}.index")),
        "index-rebuilt tail-truncated",
        lost=True,
    ),
    row("L07-crc-active", in_place(f"{LAST}.log", flipped(8)), **SAFE),
    row(
        "L07-crc-active-killed",
        in_place(f"{LAST}.log", flipped(8)),
        "tail-truncated",
        after=(0, offset_of(3, 8)),
        **KILLED,
    ),
    row(
        "L08-size-large",
        all_of(in_place(f"{SECOND}.log", with_field(6, "size", lambda _: 0xFFFFFF)), low_recovery_point()),
        "tail-truncated segments-deleted",
        after=(0, offset_of(1, 6)),
        says="truncating to offset",
        **KILLED,
    ),
    row(
        "L09-size-small",
        all_of(in_place(f"{SECOND}.log", with_field(6, "size", lambda _: 5)), low_recovery_point()),
        "tail-truncated segments-deleted",
        after=(0, offset_of(1, 6)),
        says="Found invalid messages",
        **KILLED,
    ),
    row(
        "L11-magic-3",
        all_of(in_place(f"{SECOND}.log", with_field(6, "magic", lambda _: 3)), low_recovery_point()),
        **SAFE,
        **KILLED,
    ),
    row(
        "L12-magic-1",
        all_of(in_place(f"{SECOND}.log", with_field(6, "magic", lambda _: 1)), low_recovery_point()),
        "tail-truncated segments-deleted",
        after=(0, offset_of(1, 6)),
        **KILLED,
    ),
    row(
        "L13-base-low",
        all_of(in_place(f"{SECOND}.log", with_field(6, "offset", lambda _: 3)), low_recovery_point()),
        refuses=True,
        says="Split operation is only permitted",
        **KILLED,
    ),
    row(
        "L13-high-bit",
        all_of(in_place(f"{SECOND}.log", with_field(6, "offset", lambda o: o - 2**63)), low_recovery_point()),
        refuses=True,
        says="Split operation is only permitted",
        **KILLED,
    ),
    row(
        "L17-epoch",
        all_of(
            in_place(f"{SECOND}.log", with_field(6, "epoch", lambda e: e | 1 << 28)), low_recovery_point()
        ),
        "epochs-rewritten",
        **SAFE,
        **KILLED,
    ),
    row("L24-empty-rolled", emptied(f"{SECOND}.log"), **SAFE),
    row("L25-active-empty", emptied(f"{LAST}.log"), after=(0, BASES[3])),
    row(
        "L25-active-cut",
        in_place(f"{LAST}.log", lambda d: d[:-10]),
        "reads-fail",
        after=(0, offset_of(3, -1)),
    ),
    row(
        "L25-active-cut-below-index",
        in_place(f"{LAST}.log", lambda d: d[: positions(d)[10]]),
        "tail-truncated",
        after=(0, BASES[3]),
        lost=True,
    ),
    row(
        "L26-stale-tail",
        in_place(f"{LAST}.log", lambda d: d + d[positions(d)[6] : positions(d)[7]]),
        "tail-truncated",
        after=(0, offset_of(3, 7)),
        lost=True,
    ),
    row(
        "L26-stale-tail-killed",
        in_place(f"{LAST}.log", lambda d: d + d[positions(d)[6] : positions(d)[7]]),
        "segment-emptied",  # its entries lie closer than 4096 bytes: the topic's interval is smaller
        after=(0, BASES[-1]),
        lost=True,
        **KILLED,
    ),
    row(
        "L25-active-cut-killed",
        in_place(f"{LAST}.log", lambda d: d[:-10]),
        "tail-truncated",
        after=(0, offset_of(3, -1)),
        **KILLED,
    ),
    row(
        "L08-huge-1.1.0-killed",
        in_place(f"{LAST}.log", HUGE),
        refuses=True,
        says="capacity < 0: (-2147483637 < 0)",
        release="1.1.0",
        **KILLED,
    ),
    row(
        "L08-huge-1.1.1-killed",
        in_place(f"{LAST}.log", HUGE),
        "tail-truncated",
        after=(0, offset_of(3, 1)),
        release="1.1.1",
        **KILLED,
    ),
    # 6.2 indexes
    row(
        "I01-index",
        removed(f"{SECOND}.index"),
        "index-rebuilt",
        says="Could not find offset index file",
        **SAFE,
    ),
    row("I01-active-index", removed(f"{LAST}.index"), "index-rebuilt", **SAFE),
    row("I02-empty-index", emptied(f"{SECOND}.index"), **SAFE),
    row("I03-odd-length", appended(f"{SECOND}.index", b"abc"), **SAFE),
    row("I01-index-1.1", removed(f"{SECOND}.index"), "index-created", release="1.1.0", **SAFE),
    row("I01-index-1.0", removed(f"{SECOND}.index"), "index-rebuilt", release="1.0.2", **SAFE),
    row("I03-odd-length-2.2", appended(f"{SECOND}.index", b"abc"), "index-rebuilt", release="2.2", **SAFE),
    row(
        "I04-offset-high",
        in_place(f"{LAST}.index", BAD_INDEX),
        "tail-truncated",
        after=(0, BASES[3]),
        lost=True,
    ),
    row("I04-offset-high-killed", in_place(f"{LAST}.index", BAD_INDEX), **SAFE, **KILLED),
    row(
        "I05-position-past-end",
        in_place(f"{LAST}.index", entry(-1, ">i", 4, lambda _: 1 << 20)),
        "tail-truncated",
        after=(0, BASES[3]),
        lost=True,
    ),
    row(
        "I06-position-inside",
        in_place(f"{LAST}.index", entry(-1, ">i", 4, lambda p: p + 16)),
        refuses=True,
        says=SMALL,
    ),
    row("I07-position-negative", in_place(f"{LAST}.index", entry(-1, ">i", 4, lambda p: -p)), **SAFE),
    row("I12-zero-tail", appended(f"{LAST}.index", bytes(1 << 20)), **SAFE),
    row("I13-timeindex", removed(f"{SECOND}.timeindex"), "index-created", **SAFE),
    row(
        "I18-txn-version",
        in_place(f"{SECOND}.txnindex", txn_entry(0, ">h", 0, lambda _: 257)),
        refuses=True,
        says="Unexpected aborted transaction version 1",
    ),
    row(
        "I18-txn-version-killed",
        in_place(f"{SECOND}.txnindex", txn_entry(0, ">h", 0, lambda _: 257)),
        refuses=True,
        **KILLED,
    ),
    row("I18-low-byte", in_place(f"{SECOND}.txnindex", txn_entry(0, ">h", 0, lambda _: 1)), **SAFE),
    row(
        "I18-low-byte-4.4",
        in_place(f"{SECOND}.txnindex", txn_entry(0, ">h", 0, lambda _: 1)),
        refuses=True,
        release="4.4",
        says="Unexpected aborted transaction version 1",
    ),
    row(
        "I18-but-rebuilt",
        all_of(
            in_place(f"{SECOND}.txnindex", txn_entry(0, ">h", 0, lambda _: 257)), removed(f"{SECOND}.index")
        ),
        "index-rebuilt",
        **SAFE,
    ),
    row(
        "I19-txn-low",
        in_place(f"{SECOND}.txnindex", txn_entry(0, ">q", 18, lambda _: 1)),
        "index-rebuilt",
        says="is less than start offset",
        **SAFE,
    ),
    row("I20-txn-partial", appended(f"{SECOND}.txnindex", b"abc"), **SAFE),
    row("I22-orphan", removed(f"{SECOND}.log"), "file-deleted", says="orphaned index file"),
    row("I23-log-directory", all_of(removed(f"{SECOND}.log"), made(f"{SECOND}.log")), **SAFE),
    row("I23-active-index-directory", all_of(removed(f"{LAST}.index"), made(f"{LAST}.index")), offline=True),
    # 6.3 producers
    row(
        "P01-newest-corrupt",
        in_place(f"t-0/{END:020d}.snapshot", lambda d: d[:-1] + b"\xff"),
        "snapshot-deleted",
        says="CRC is no longer valid",
        **SAFE,
    ),
    row("P02-none", every("t-0/*.snapshot"), "snapshot-rebuilt", **SAFE),
    row("P02-none-killed", every("t-0/*.snapshot"), "recovery-scan", **SAFE, **KILLED),
    row("P03-newest-missing", removed(f"t-0/{END:020d}.snapshot"), **SAFE),
    row("P04-name", written("t-0/foo.snapshot", ""), refuses=True, says='For input string: "foo"'),
    row(
        "P05-above-end",
        copied(f"t-0/{END:020d}.snapshot", f"t-0/{END + 50:020d}.snapshot"),
        "snapshot-deleted",
        **SAFE,
    ),
    # 6.4 epochs and topic ids
    row(
        "E01-count",
        written("t-0/leader-epoch-checkpoint", "0\n5\n0 0\n2 54\n"),
        offline=True,
        says="Expected [5]",
    ),
    row(
        "E02-token",
        written("t-0/leader-epoch-checkpoint", "0\n1\nx 0\n"),
        refuses=True,
        says="NumberFormatException",
    ),
    row(
        "E03-negative",
        written("t-0/leader-epoch-checkpoint", "0\n1\n-3 0\n"),
        refuses=True,
        says="Received invalid",
    ),
    row("E04-empty", emptied("t-0/leader-epoch-checkpoint"), **SAFE),
    row(
        "E05-order",
        written("t-0/leader-epoch-checkpoint", "0\n3\n3 0\n5 105\n4 150\n"),
        "epochs-rewritten",
        **SAFE,
    ),
    row("E06-above-end", appended("t-0/leader-epoch-checkpoint", b""), **SAFE),
    row(
        "M01-missing",
        removed("t-0/partition.metadata"),
        "stray-renamed log-recreated-empty",
        after=(0, 0),
        lost=True,
        says="treat it as a stray log",
    ),
    row(
        "M01-missing-3.6",
        removed("t-0/partition.metadata"),
        refuses=True,
        release="3.6",
        says="does not have a topic ID",
    ),
    row("M02-empty", emptied("t-0/partition.metadata"), refuses=True, says="this.text"),
    row(
        "M03-base64", written("t-0/partition.metadata", "version: 0\ntopic_id: zzz"), refuses=True, says="zzz"
    ),
    row(
        "M04-line",
        written("t-0/partition.metadata", "version: 0\nnonsense"),
        offline=True,
        says="Malformed line",
    ),
    # 6.5 checkpoints
    row("C01-count", written(RECOVERY, "0\n7\nt 0 1\n"), refuses=True, offline=True, says="already offline"),
    row("C02-token", written(RECOVERY, "0\n1\nt 0 x\n"), **SAFE),
    row("C02-token-killed", written(RECOVERY, "0\n1\nt 0 x\n"), "recovery-scan", **SAFE, **KILLED),
    row("C03-missing", removed(RECOVERY), **SAFE),
    row("C05-huge", written(RECOVERY, "0\n2147483647\n"), refuses=True, says="array size"),
    row("C06-crlf", in_place(RECOVERY, lambda d: d.replace(b"\n", b"\r\n")), **SAFE),
    row(
        "C08-start-above",
        checkpoint(START, "t 0 100000"),
        "segments-deleted log-start-moved",
        after=(100000, 100000),
        lost=True,
        says="Deleting all segments because",
    ),
    row(
        "C08-start-above-2.2",
        checkpoint(START, "t 0 100000"),
        "reads-fail",
        after=(100000, END),
        release="2.2",
    ),
    row(
        "C08-start-above-killed",
        checkpoint(START, "t 0 100000"),
        "segments-deleted",
        after=(100000, 100000),
        lost=True,
        **KILLED,
    ),
    row("C09-start-inside", checkpoint(START, "t 0 60"), after=(60, END), **SAFE),
    row(
        "C09-start-behind-1.1-killed",
        BEHIND,
        refuses=True,
        says="inconsistent range",
        release="1.1",
        **KILLED,
    ),
    row("C09-start-behind-2.0-killed", BEHIND, after=(BASES[2], END), release="2.0", **KILLED),
    row("C10-high-watermark", checkpoint(HIGH, "t 0 99999"), "high-watermark-reset", **SAFE),
    # 6.6 names and the segment set
    row("N01-foreign", made("lost+found"), refuses=True, says="is not in the form of topic-partition"),
    row("N03-log", written("t-0/foo.log", ""), refuses=True, says='For input string: "foo"'),
    row("N03-cleaned", written("t-0/x.cleaned", ""), refuses=True, says='For input string: "x"'),
    row(
        "N04-unpadded",
        copied(f"{SECOND}.log", "t-0/688.log"),
        "segment-skipped index-rebuilt",
        after=(0, 688),
    ),
    row("N08-gap", every(f"{SECOND}.*"), **SAFE),
    row("N09-head", every(f"{FIRST}.*"), after=(BASES[1], END)),
    row("N10-active", removed(f"{LAST}.log"), "file-deleted", after=(0, BASES[3])),
    row("N11-empty", every("t-0/0*"), after=(0, 0)),
    row("N12-deleted", copied(f"{SECOND}.log", f"{SECOND}.log.deleted"), "file-deleted", **SAFE),
    row("N13-cleaned", copied(f"{SECOND}.log", f"{SECOND}.log.cleaned"), "file-deleted", **SAFE),
    row(
        "N14-swap",
        all_of(*(copied(f"{SECOND}{s}", f"{SECOND}{s}.swap") for s in (".log", ".index", ".timeindex"))),
        "swap-completed",
        **SAFE,
    ),
    row("N14-only-swap", ONLY_SWAP, "swap-completed", **SAFE),
    row("N14-only-swap-2.7", ONLY_SWAP, "swap-completed index-rebuilt", release="2.7", **SAFE),
    row(
        "N14-only-swap-1.1",  # the segment below it goes with those that it replaces
        ONLY_SWAP,
        "swap-completed segments-deleted",
        lost=True,
        release="1.1",
    ),
    row(
        "N15-far-swap",
        written(f"{SECOND}.log.swap", SWAP_LOG),
        "swap-completed segments-deleted",
        after=(0, BASES[1] + 901),
        lost=True,
    ),
    row(
        "N17-duplicate",
        lambda dirs: shutil.copytree(dirs[0] / "t-0", dirs[1] / "t-0"),
        refuses=True,
        says="Duplicate log directories",
    ),
    row("N22-notes", written("t-0/notes.txt", "hello"), **SAFE),
    # 6.7 identity
    row("K01-missing", removed("meta.properties"), refuses=True, says="have you run"),
    row(
        "K03-cluster",
        in_place("meta.properties", lambda d: d.replace(b"lAb5", b"mAb5")),
        refuses=True,
        says="Invalid cluster.id",
    ),
    row(
        "K03-node",
        in_place("meta.properties", lambda d: d.replace(b"node.id=1", b"node.id=2")),
        refuses=True,
        says="Stored node id",
    ),
]


def broker(root: Path, clean: bool) -> list[Path]:
    """A broker with two log dirs: `t-0` and `u-0` in one, `v-0` in the other."""
    second = "5Ck7mLhOSHGMUSQB0K3Dfg"
    return [
        build.write_log_dir(root / "a", [build.story("t"), plain("u")], clean=clean),
        build.write_log_dir(root / "b", [plain("v")], clean=clean, directory_id=second),
    ]


def start(dirs: Sequence[Path], release: str = "4.3.1", **more: Any) -> list[Any]:
    return list(forecast(broker_of(dirs, release, more.pop("config", None)), Options(**more)))


def of(lines: list[Any], name: str) -> PartitionOutcome:
    found = [line for line in lines if isinstance(line, PartitionOutcome) and line.name == name]
    return found[0]


@pytest.mark.parametrize("case", ROWS, ids=lambda row: row.name)
def test_outcome(case: Row, tmp_path: Path) -> None:
    dirs = broker(tmp_path, case.clean)
    if case.release < "2.8":
        for path in dirs:
            (path / "meta.properties").write_text(
                "version=0\nbroker.id=1\ncluster.id=lAb5pZ9vTWWx4JmKu0o3Ng\n"
            )
    case.hurt(dirs)
    lines = start(dirs, case.release)
    line, last = of(lines, "t-0"), lines[-1]
    online = next(each for each in lines if isinstance(each, DirOutcome)).online
    reasons = [each.reason for each in lines if isinstance(each, DirOutcome)]
    told = str([last.reason, line.failure, *reasons, *(effect.broker_says for effect in line.effects)])
    said = {effect.effect for effect in line.effects}
    where = f"{last.reason} {line.after} {line.before} {line.effects}"
    assert (last.starts, online) == (case.starts, case.online), where
    after = (line.after.log_start_offset, line.after.log_end_offset)
    assert after == (case.after or (None, None)), where
    assert case.effects <= said, where
    assert case.says in told.replace("\\'", "'"), told
    if case.lost is not None:
        assert (line.records_lost > 0) == case.lost, where


def test_nothing_is_read_in_a_dir_that_is_offline_from_the_beginning(tmp_path: Path) -> None:
    dirs = broker(tmp_path, clean=True)
    (dirs[1] / "meta.properties").write_text("version=9\n")
    (dirs[1] / "v-0" / "foo.log").write_text("")
    (dirs[1] / "lost+found").mkdir()
    lines = start(dirs)
    assert lines[-1].starts
    assert [each.online for each in lines if isinstance(each, DirOutcome)] == [True, False]
    assert of(lines, "v-0").effects == ()


def test_a_cleaner_that_does_not_run_reads_no_checkpoint(tmp_path: Path) -> None:
    """As 2.8.2 with log.cleaner.enable=false did; only the cleaner itself meets that damage."""
    dirs = broker(tmp_path, clean=True)
    checkpoint(CLEANER, "torn")(dirs)
    for enabled, online in (("true", False), (" False", True)):
        lines = start(dirs, config=ServerConfig(given={"log.cleaner.enable": enabled}))
        assert [each.online for each in lines if isinstance(each, DirOutcome)] == [online, True]
