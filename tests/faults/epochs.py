"""Faults in leader-epoch-checkpoint and partition.metadata (catalogue 6.4)."""

import shutil
from pathlib import Path

from tests.checks import build_partition as build
from tests.faults.hurts import Hurt, both, file, instead, left, unhurt
from tests.faults.on_disk import lines_of, put_lines
from tests.faults.patient import HIGH, RECOVERY, START, Patient
from tests.faults.table import alone, elsewhere, fault, killed, under, written
from tests.faults.written import Dirs, clean_dir, plain

EPOCHS, TOPIC_ID = "leader-epoch-checkpoint", "partition.metadata"
V2, IDS, KRAFT = (0, 11), (2, 8), (3, 0)


def epochs(content: str) -> Hurt:
    """The epoch file rewritten."""
    return left(EPOCHS, content)


def identity(content: str) -> Hurt:
    """partition.metadata rewritten."""
    return left(TOPIC_ID, content)


def lines(patient: Patient) -> list[str]:
    """The entries of the epoch file."""
    return lines_of(patient.partition / EPOCHS)


def with_lines(patient: Patient, kept: list[str]) -> None:
    """The epoch file with these entries."""
    put_lines(patient.partition / EPOCHS, kept)


def hollow(patient: Patient) -> None:
    """An empty log without checkpoint lines: only what was derived from it tells that it had records."""
    for kind in ("log", "index", "timeindex", "txnindex"):
        for path in patient.partition.glob(f"*.{kind}"):
            path.unlink()
    for kind in ("log", "index", "timeindex"):
        patient.write(f"{0:020d}.{kind}", b"")
    for name in (RECOVERY, HIGH, START):
        patient.line(name, None)


def hollow_without_snapshots(patient: Patient) -> None:
    """The same, known by its epochs alone."""
    hollow(patient)
    for path in patient.snapshots:
        path.unlink()


def with_blank(patient: Patient) -> None:
    """A blank line at the end."""
    patient.write(EPOCHS, (patient.partition / EPOCHS).read_text() + "\n")


def id_of_another(patient: Patient) -> None:
    """The topic id of another topic."""
    shutil.copyfile(patient.other / TOPIC_ID, patient.partition / TOPIC_ID)


def falling(root: Path, clean: bool = True) -> Dirs:
    """The last segment comes from a replica with a lower epoch."""
    writer = build.PartitionWriter("t", epoch=3)
    for epoch in (3, 2):
        writer.epoch = epoch
        for _ in range(6):
            writer.append(3)
        if epoch == 3:
            writer.roll()
    return [build.write_log_dir(root / "a", [writer, plain("u")], clean=clean)]


def second_partition(topic_id: str, topic: str = "u") -> Hurt:
    """A partition 1 of a topic, whose file says `topic_id`."""

    def hurt(patient: Patient) -> None:
        writer = plain(topic)
        writer.partition = 1
        (writer.write_to(patient.dirs[0]) / TOPIC_ID).write_text(f"version: 0\ntopic_id: {topic_id}")

    return hurt


FAULTS = [
    alone("epochs-count", epochs("0\n5\n0 0\n"),
        "E01", "offline", elsewhere("E01", "refuses offline", base=clean_dir, mend="repair"), since=V2,
        says="Expected [5]", mend="repair"),
    alone("epochs-three-tokens", epochs("0\n1\n0 0 0\n"), "E01", "offline", since=V2, mend="repair"),
    alone("epochs-version", epochs("1\n1\n0 0\n"), "E01", "offline", since=V2, mend="repair"),
    alone("epochs-blank-line", with_blank, "E01", "offline", since=V2, mend="repair"),
    alone("epochs-a-folder", instead(f"PARTITION/{EPOCHS}"),
        "N30", "offline", under("3.2", "N30", "refuses", base=clean_dir), since=V2),
    alone("epochs-tmp-a-folder", instead(f"PARTITION/{EPOCHS}.tmp"),
        "N30", "offline", under("3.2", "N30", "refuses", base=clean_dir), since=V2,
        says="Is a directory"),
    alone("epochs-not-a-number", epochs("0\n1\n0 x\n"),
        "E02", "refuses", since=V2, says="NumberFormatException", mend="repair"),
    alone("epochs-negative", epochs("0\n1\n-4 0\n"),
        "E03", "refuses", under("1.1", "E03", "0..220", mend="repair"), since=V2, says="Received invalid",
        mend="repair"),
    alone("epochs-negative-offset", epochs("0\n1\n0 -4\n"), "E03", "refuses", since=V2, mend="repair"),
    fault("epochs-empty", epochs(""),
        "E04+", "0..220", killed("E04+", "epochs-rewritten recovery-scan 0..220", mend="repair"), since=V2,
        mend="repair"),
    fault("epochs-missing", lambda p: (p.partition / EPOCHS).unlink(),
        "E04+", "0..220", since=V2, mend="repair"),
    fault("epochs-none", epochs("0\n0\n"), "E04+", "0..220", since=V2, mend="repair"),
    written("epochs-all-deleted", both(epochs("0\n0\n"), file(START, "0\n1\nu 0 54\n")),
        "", "snapshot-deleted 54..54", base=clean_dir, on="u-0", release="2.8"),
    fault("epochs-not-monotonic", lambda p: with_lines(p, ["5 10", "1 40"]),
        "E05", "epochs-rewritten 0..220", since=V2, mend="repair"),
    fault("epochs-offsets-back", lambda p: with_lines(p, ["0 50", "1 10"]),
        "E05", "epochs-rewritten 0..220", since=V2, mend="repair"),
    fault("epochs-beyond-end", lambda p: with_lines(p, [*lines(p), f"9 {p.end + 50}"]),
        "E06+", "epochs-rewritten 0..220", since=V2),
    written("epochs-at-the-end", epochs("0\n5\n0 0\n2 55\n4 110\n6 165\n9 220\n"),
        "", "epochs-rewritten 0..220", clean=True),
    written("log-hollow", hollow, "E06+ P05",
        "epochs-rewritten high-watermark-reset snapshot-deleted 0..0 -220"),
    written("log-hollow-but-epochs", hollow_without_snapshots, "E06+",
        "epochs-rewritten high-watermark-reset 0..0 -165"),
    fault("epochs-future-epoch", lambda p: with_lines(p, [*lines(p), f"99 {p.end - 3}"]),
        "", "0..220", since=V2),
    fault("epochs-first-missing", lambda p: with_lines(p, lines(p)[1:]),
        "E07+", "0..220", killed("E07+", "recovery-scan 0..220", mend="repair"), since=V2, mend="repair"),
    written("epochs-start-late", epochs("0\n1\n6 20\n"), "E07+", "0..220", clean=True, mend="repair"),
    written("epochs-start-moved", epochs("0\n1\n0 20\n"), "", "recovery-scan 0..54", clean=False, on="u-0"),
    written("epochs-of-segments-fall", unhurt, "E08+", "0..36", base=falling),
    fault("topic-id-missing", lambda p: (p.partition / TOPIC_ID).unlink(),
        "M01", "log-recreated-empty stray-renamed 0..0 -201",
        under("3.6", "M01", "0..220", base=clean_dir, mend="repair"),
        under("3.6", "", "0..220", zookeeper=True),
        under("2.8", "M01", "0..220", base=clean_dir, mend="repair"), since=KRAFT,
        says="treat it as a stray log", mend="repair"),
    alone("topic-id-empty", identity(""), "M02", "refuses", since=IDS, says="this.text", mend="repair"),
    alone("topic-id-one-line", identity("version: 0\n"), "M02", "refuses", since=IDS, mend="repair"),
    alone("topic-id-bad-base64", identity("version: 0\ntopic_id: zzz"),
        "M03", "refuses", since=IDS, says="zzz", mend="repair"),
    alone("topic-id-malformed", identity("version 0\ntopic_id AAAA"),
        "M04", "offline", since=IDS, says="Malformed line", mend="repair"),
    alone("topic-id-version", identity("version: -1\ntopic_id: 5Ck7mLhOSHGMUSQB0K3Dfg"),
        "M04", "offline", since=IDS, mend="repair"),
    alone("topic-id-zero", identity("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA"),
        "M04", "offline", since=IDS, mend="repair"),
    alone("topic-id-a-folder", instead(f"PARTITION/{TOPIC_ID}"), "N30", "offline", since=IDS),
    fault("topic-id-wrong", identity("version: 0\ntopic_id: 5Ck7mLhOSHGMUSQB0K3Dfg"),
        "", "0..220", since=IDS, alone="clean killed"),
    alone("topic-id-of-another", id_of_another, "M06", "0..220", since=KRAFT),
    written("topic-ids-of-partitions-differ", second_partition("AAECAwQFBgcICQoLDA0ODw"),
        "M05", "0..54", on="u-0"),
    written("topic-ids-of-partitions", second_partition(build.topic_id("u")), "", "0..54", on="u-0"),
]  # fmt: skip
