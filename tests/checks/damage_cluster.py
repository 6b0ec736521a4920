"""Damages that show only beside `__cluster_metadata`: topic ids, strays, directory ids, features."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.checks import build_metadata as metadata
from tests.checks import build_partition as build
from tests.checks.damages import Row, clean_dir, in_place, written

from segmend.checks import Level

OTHER = "5Ck7mLhOSHGMUSQB0K3Dfg"
METADATA = "__cluster_metadata-0"


def node_dir(root: Path) -> Sequence[Path]:
    """`t-0` and `u-0` of a node that follows the metadata log."""
    return with_metadata(metadata.cluster(["t", "u"]))(root)


def with_metadata(records: Sequence[bytes]) -> Callable[[Path], Sequence[Path]]:
    def made(root: Path) -> Sequence[Path]:
        dirs = clean_dir(root)
        metadata.write_metadata(dirs[0], records)
        return dirs

    return made


def codes(*names: str) -> frozenset[str]:
    return frozenset(names)


def nothing(dirs: Sequence[Path]) -> None:
    """The fault is in what the metadata says."""


def cleaned_with_horizon(dirs: Sequence[Path]) -> None:
    """The first batch of `u-0` gets the bit that the cleaner of 3.1 and later sets."""

    def change(data: bytes) -> bytes:
        size = 12 + struct.unpack_from(">i", data, 8)[0]
        attributes = struct.unpack_from(">h", data, 21)[0] | 0x40
        return build.seal(data[:21] + struct.pack(">h", attributes) + data[23:size]) + data[size:]

    in_place(f"u-0/{0:020d}.log", change)(dirs)
    written("cleaner-offset-checkpoint", "0\n1\nu 0 18\n")(dirs)


ROWS = [
    Row(name="node", codes=codes(), base=node_dir, hurt=nothing, level=Level.DEEP),
    Row(
        name="recreated",
        codes=codes("M05"),
        base=with_metadata(metadata.cluster(["t", "u"], ids={"u": OTHER})),
        hurt=nothing,
        level=Level.STARTUP,
    ),
    Row(name="topic-deleted", codes=codes("M07"), base=with_metadata(metadata.cluster(["t"])), hurt=nothing),
    Row(
        name="removed",
        codes=codes("M07"),
        base=with_metadata(
            [*metadata.cluster(["t", "u"]), metadata.remove_topic(build.topic_id("u"))],
        ),
        hurt=nothing,
    ),
    Row(
        name="reassigned",
        codes=codes("M07"),
        base=with_metadata(metadata.cluster(["t", "u"], replicas=(2, 3))),
        hurt=nothing,
    ),
    Row(
        name="directory-id-changed",
        codes=codes("K05"),
        base=with_metadata(metadata.cluster(["t", "u"], directory_ids=[OTHER])),
        hurt=nothing,
        level=Level.STARTUP,
    ),
    Row(
        name="metadata-version",
        codes=codes("K21"),
        base=node_dir,
        hurt=nothing,
        level=Level.STARTUP,
        release="4.2",
    ),
    Row(
        name="kraft-under-2.7",
        codes=codes("K21"),
        base=clean_dir,
        hurt=nothing,
        release="2.7",
        level=Level.STARTUP,
    ),
    Row(
        name="quorum-state-under-3.8",
        codes=codes("K19"),
        base=with_metadata(metadata.cluster(["t", "u"], level=19)),
        hurt=written(
            f"{METADATA}/quorum-state",
            '{"leaderId":1,"leaderEpoch":2,"votedId":1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}',
        ),
        release="3.8",
    ),
    Row(
        name="horizon-under-3.0", codes=codes("K19"), base=clean_dir, hurt=cleaned_with_horizon, release="3.0"
    ),
    Row(name="horizon", codes=codes(), base=clean_dir, hurt=cleaned_with_horizon, release="3.1"),
]
