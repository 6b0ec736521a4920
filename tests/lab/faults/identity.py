"""Faults of identity, of the KRaft metadata, and of the log dirs themselves (catalogue 6.7)."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

from tests.checks.surgery import flipped, positions
from tests.lab.faults.patient import Patient, put
from tests.lab.faults.table import Fault, alone

META = "meta.properties"
KRAFT = (3, 0)
IDS = (3, 7)


def meta(number: int, change: Callable[[str], str]) -> Callable[[Patient], None]:
    """meta.properties of a log dir rewritten."""

    def hurt(patient: Patient) -> None:
        path = patient.dirs[number] / META
        path.write_text(change(path.read_text()))

    return hurt


def key(name: str, value: str | None) -> Callable[[str], str]:
    """One property set, or taken out."""
    line = "" if value is None else f"{name}={value}\n"

    def changed(text: str) -> str:
        return re.sub(rf"^{re.escape(name)}=.*\n", "", text, flags=re.MULTILINE) + line

    return changed


def same_directory_id(patient: Patient) -> None:
    """The second log dir says it is the first."""
    shutil.copyfile(patient.dirs[0] / META, patient.dirs[1] / META)


def metadata(patient: Patient) -> Path:
    """The KRaft log's directory."""
    return patient.dirs[0] / "__cluster_metadata-0"


def metadata_log(change: Callable[[bytes], bytes]) -> Callable[[Patient], None]:
    """The last segment of the KRaft log rewritten."""
    return lambda patient: patient.edit(sorted(metadata(patient).glob("*.log"))[-1], change)


def quorum_state(content: str | None) -> Callable[[Patient], None]:
    """quorum-state rewritten, or removed."""

    def hurt(patient: Patient) -> None:
        path = metadata(patient) / "quorum-state"
        path.unlink()
        if content is not None:
            path.write_text(content)

    return hurt


def kraft(name: str, row: str, hurt: Callable[[Patient], object]) -> Fault:
    """A fault that only a KRaft broker can have."""
    return alone(name, row, hurt, since=KRAFT)


def is_a_file(patient: Patient) -> None:
    """A file where the second log dir was."""
    shutil.rmtree(patient.dirs[1])
    patient.dirs[1].write_text("")


FAULTS = [
    alone("meta-missing-second", "K01", lambda p: (p.dirs[1] / META).unlink()),
    alone("meta-missing-first", "K01", lambda p: (p.dirs[0] / META).unlink()),
    alone("meta-version-9-second", "K02", meta(1, key("version", "9"))),
    alone("meta-version-9-first", "K02", meta(0, key("version", "9"))),
    alone("meta-empty-second", "K02", meta(1, lambda _: "")),
    kraft("meta-no-cluster-id-second", "K02", meta(1, key("cluster.id", None))),
    alone("meta-cluster-id-second", "K03", meta(1, key("cluster.id", "lAb5pZ9vTWWx4JmKu0o3Ng"))),
    kraft("meta-node-id-second", "K03", meta(1, key("node.id", "7"))),
    alone("meta-broker-id-second", "K03", meta(1, key("broker.id", "7"))),
    alone("meta-same-directory-id", "K04", same_directory_id, since=IDS),
    alone(
        "meta-directory-id-changed", "K05", meta(1, key("directory.id", "5Ck7mLhOSHGMUSQB0K3Dfg")), since=IDS
    ),
    alone(
        "meta-directory-id-reserved", "K05", meta(1, key("directory.id", "AAAAAAAAAAAAAAAAAAAAAQ")), since=IDS
    ),
    alone("meta-directory-id-none", "K05", meta(1, key("directory.id", None)), since=IDS),
    kraft(
        "metadata-in-second-dir",
        "K06",
        lambda p: shutil.copytree(metadata(p), p.dirs[1] / "__cluster_metadata-0"),
    ),
    kraft("metadata-flip-last", "K07", metadata_log(flipped(-1, 63))),
    kraft(
        "metadata-flip-middle", "K07", metadata_log(lambda data: flipped(len(positions(data)) // 2, 63)(data))
    ),
    kraft("metadata-torn", "K07", metadata_log(lambda data: data[:-7])),
    kraft(
        "metadata-snapshot-part",
        "K10",
        lambda p: put(metadata(p) / f"{5:020d}-{1:010d}-12.checkpoint.part", "x"),
    ),
    kraft("quorum-state-empty", "K11", quorum_state("")),
    kraft("quorum-state-garbage", "K11", quorum_state("{")),
    kraft("quorum-state-missing", "K11", quorum_state(None)),
    kraft("remote-index-cache", "K16", lambda p: (p.dirs[1] / "remote-log-index-cache").mkdir()),
    alone("log-dir-missing", "K14", lambda p: shutil.rmtree(p.dirs[1])),
    alone("log-dir-is-a-file", "K14", is_a_file),
    alone("lock-left", "K15", lambda p: put(p.dirs[1] / ".lock", "")),
]
