"""Faults in leader-epoch-checkpoint and partition.metadata (catalogue 6.4)."""

from __future__ import annotations

import shutil
from collections.abc import Callable

from tests.lab.faults.patient import Patient
from tests.lab.faults.table import alone, fault

EPOCHS, TOPIC_ID = "leader-epoch-checkpoint", "partition.metadata"
V2, IDS, KRAFT = (0, 11), (2, 8), (3, 0)


def epochs(content: str) -> Callable[[Patient], None]:
    """The epoch file rewritten."""
    return lambda patient: patient.write(EPOCHS, content)


def identity(content: str) -> Callable[[Patient], None]:
    """partition.metadata rewritten."""
    return lambda patient: patient.write(TOPIC_ID, content)


def lines(patient: Patient) -> list[str]:
    """The entries of the epoch file."""
    return (patient.partition / EPOCHS).read_text().splitlines()[2:]


def with_lines(patient: Patient, kept: list[str]) -> None:
    """The epoch file with these entries."""
    patient.write(EPOCHS, "\n".join(["0", str(len(kept)), *kept, ""]))


def with_blank(patient: Patient) -> None:
    """A blank line at the end."""
    patient.write(EPOCHS, (patient.partition / EPOCHS).read_text() + "\n")


def id_of_another(patient: Patient) -> None:
    """The topic id of another topic."""
    shutil.copyfile(patient.other / TOPIC_ID, patient.partition / TOPIC_ID)


FAULTS = [
    alone("epochs-count", "E01", epochs("0\n5\n0 0\n"), since=V2),
    alone("epochs-three-tokens", "E01", epochs("0\n1\n0 0 0\n"), since=V2),
    alone("epochs-version", "E01", epochs("1\n1\n0 0\n"), since=V2),
    alone("epochs-blank-line", "E01", with_blank, since=V2),
    alone("epochs-not-a-number", "E02", epochs("0\n1\n0 x\n"), since=V2),
    alone("epochs-negative", "E03", epochs("0\n1\n-4 0\n"), since=V2),
    alone("epochs-negative-offset", "E03", epochs("0\n1\n0 -4\n"), since=V2),
    fault("epochs-empty", "E04", epochs(""), since=V2),
    fault("epochs-missing", "E04", lambda p: (p.partition / EPOCHS).unlink(), since=V2),
    fault("epochs-none", "E04", epochs("0\n0\n"), since=V2),
    fault("epochs-not-monotonic", "E05", lambda p: with_lines(p, ["5 10", "1 40"]), since=V2),
    fault("epochs-offsets-back", "E05", lambda p: with_lines(p, ["0 50", "1 10"]), since=V2),
    fault("epochs-beyond-end", "E06", lambda p: with_lines(p, [*lines(p), f"9 {p.end + 50}"]), since=V2),
    fault("epochs-future-epoch", "E06", lambda p: with_lines(p, [*lines(p), f"99 {p.end - 3}"]), since=V2),
    fault("epochs-first-missing", "E07", lambda p: with_lines(p, lines(p)[1:]), since=V2),
    fault("topic-id-missing", "M01", lambda p: (p.partition / TOPIC_ID).unlink(), since=KRAFT),
    alone("topic-id-empty", "M02", identity(""), since=IDS),
    alone("topic-id-one-line", "M02", identity("version: 0\n"), since=IDS),
    alone("topic-id-bad-base64", "M03", identity("version: 0\ntopic_id: zzz"), since=IDS),
    alone("topic-id-malformed", "M04", identity("version 0\ntopic_id AAAA"), since=IDS),
    alone("topic-id-version", "M04", identity("version: -1\ntopic_id: 5Ck7mLhOSHGMUSQB0K3Dfg"), since=IDS),
    alone("topic-id-zero", "M04", identity("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA"), since=IDS),
    fault("topic-id-wrong", "M05", identity("version: 0\ntopic_id: 5Ck7mLhOSHGMUSQB0K3Dfg"), since=IDS,
          alone="clean killed"),
    alone("topic-id-of-another", "M06", id_of_another, since=KRAFT),
]  # fmt: skip
