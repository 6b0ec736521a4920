"""Damages of leader-epoch-checkpoint and partition.metadata (E, M)."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from tests.checks import build_partition as build
from tests.checks.damages import (
    Row,
    all_of,
    clean_dir,
    in_place,
    killed_dir,
    plain,
    removed,
    written,
    zookeeper,
)

from segmend.checks import Level

EPOCHS, TOPIC_ID = "t-0/leader-epoch-checkpoint", "u-0/partition.metadata"


def codes(*names: str) -> frozenset[str]:
    return frozenset(names)


def of_older_epoch(dirs: Sequence[Path]) -> None:
    """The last segment of u-0 comes from a replica with a lower epoch."""
    folder = dirs[0] / "u-0"
    shutil.rmtree(folder)
    writer = plain("u", segments=2)
    writer.epoch = 3
    writer.epochs = [(3, 0)]
    writer.segments, writer.next_offset = [build.Segment(0)], 0
    for _ in range(6):
        writer.append(3)
    writer.roll()
    writer.epoch = 2
    for _ in range(12):
        writer.append(3)
    writer.write_to(dirs[0])


def without_first_epoch(dirs: Sequence[Path]) -> None:
    path = dirs[0] / EPOCHS
    _, count, _, *rest = path.read_text().splitlines()
    path.write_text("\n".join(["0", str(int(count) - 1), *rest, ""]))


def second_partition(topic_id: str):
    """A partition 1 of topic u, whose file says `topic_id`."""

    def hurt(dirs: Sequence[Path]) -> None:
        writer = plain("u")
        writer.partition = 1
        (writer.write_to(dirs[0]) / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id}")

    return hurt


def renamed_topic(dirs: Sequence[Path]) -> None:
    shutil.copytree(dirs[0] / "u-0", dirs[0] / "w-0")


ROWS = [
    Row(
        name="count",
        codes=codes("E01"),
        base=clean_dir,
        hurt=written(EPOCHS, "0\n5\n0 0\n"),
        level=Level.STARTUP,
    ),
    Row(name="version", codes=codes("E01"), base=clean_dir, hurt=written(EPOCHS, "1\n1\n0 0\n")),
    Row(name="not-a-number", codes=codes("E02"), base=clean_dir, hurt=written(EPOCHS, "0\n1\nx 0\n")),
    Row(name="negative", codes=codes("E03"), base=clean_dir, hurt=written(EPOCHS, "0\n1\n-1 0\n")),
    Row(name="missing", codes=codes("E04"), base=clean_dir, hurt=removed(EPOCHS)),
    Row(name="empty", codes=codes("E04"), base=killed_dir, hurt=written(EPOCHS, "")),
    Row(name="no-entry", codes=codes("E04"), base=clean_dir, hurt=written(EPOCHS, "0\n0\n")),
    Row(  # as 2.8.2 leaves it at the second start after DeleteRecords of all
        name="all-deleted",
        codes=codes(),
        base=clean_dir,
        hurt=all_of(
            written("u-0/leader-epoch-checkpoint", "0\n0\n"),
            written("log-start-offset-checkpoint", "0\n1\nu 0 54\n"),
        ),
        release="2.8",
    ),
    Row(name="falling", codes=codes("E05"), base=clean_dir, hurt=written(EPOCHS, "0\n2\n5 0\n4 150\n")),
    Row(
        name="beyond-end",
        codes=codes("E06"),
        base=clean_dir,
        hurt=in_place(EPOCHS, lambda b: b.replace(b"\n4\n", b"\n5\n") + b"9 100000\n"),
    ),
    Row(name="late-start", codes=codes("E07"), base=clean_dir, hurt=written(EPOCHS, "0\n1\n6 20\n")),
    Row(
        name="start-moved-then-killed",
        codes=codes(),
        base=killed_dir,
        hurt=written("u-0/leader-epoch-checkpoint", "0\n1\n0 20\n"),
    ),
    Row(name="late-start-killed", codes=codes("E07"), base=killed_dir, hurt=without_first_epoch),
    Row(name="segments-fall", codes=codes("E08"), base=clean_dir, hurt=of_older_epoch),
    Row(name="id-missing", codes=codes("M01"), base=clean_dir, hurt=removed(TOPIC_ID), level=Level.STARTUP),
    Row(name="id-missing-3.6", codes=codes("M01"), base=clean_dir, hurt=removed(TOPIC_ID), release="3.6"),
    Row(
        name="id-missing-zookeeper",
        codes=codes(),
        base=zookeeper(clean_dir),
        hurt=removed(TOPIC_ID),
        release="3.6",
    ),
    Row(name="id-empty", codes=codes("M02"), base=clean_dir, hurt=written(TOPIC_ID, "")),
    Row(name="id-one-line", codes=codes("M02"), base=clean_dir, hurt=written(TOPIC_ID, "version: 0\n")),
    Row(
        name="id-short",
        codes=codes("M03"),
        base=clean_dir,
        hurt=written(TOPIC_ID, "version: 0\ntopic_id: zzz"),
    ),
    Row(
        name="id-malformed",
        codes=codes("M04"),
        base=clean_dir,
        hurt=written(TOPIC_ID, "version 0\ntopic_id: zzz"),
    ),
    Row(
        name="id-zero",
        codes=codes("M04"),
        base=clean_dir,
        hurt=written(TOPIC_ID, "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA"),
    ),
    Row(name="other-id", codes=codes("M05"), base=clean_dir, hurt=second_partition("AAECAwQFBgcICQoLDA0ODw")),
    Row(name="same-topic", codes=codes(), base=clean_dir, hurt=second_partition(build.topic_id("u"))),
    Row(name="same-id", codes=codes("M06"), base=clean_dir, hurt=renamed_topic),
]
