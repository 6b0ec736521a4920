"""Faults in the text checkpoints of a log dir and in its clean shutdown marker (catalogue 6.5)."""

from tests.faults.hands import longer
from tests.faults.hurts import Hurt, both, edited, file, gone, instead, linked
from tests.faults.on_disk import lines_of, put_lines
from tests.faults.patient import CLEANER, HIGH, RECOVERY, START, Patient, put
from tests.faults.table import alone, fault, killed, under, written
from tests.faults.written import clean_dir

MARKER = ".kafka_cleanshutdown"
BOTH = "clean killed"


def earlier_stop(patient: Patient) -> None:
    """A marker over checkpoints of before the last records."""
    for name in (RECOVERY, HIGH):
        patient.line(name, patient.end - 100)


def doubled(patient: Patient) -> None:
    """The partition's recovery point twice, the last one 0."""
    patient.line(RECOVERY, patient.end)
    path = patient.log_dir / RECOVERY
    put_lines(path, [*lines_of(path), f"{patient.topic} 0 0"])


def huge(name: str) -> Hurt:
    """A count of 2^31-1."""
    return file(name, "0\n2147483647\n")


FAULTS = [
    alone("recovery-count", file(RECOVERY, "0\n5\nf 0 1\n"),
        "C01", "refuses offline", marks=BOTH, says="already offline", mend="repair: N27"),
    alone("recovery-blank-line", edited(RECOVERY, longer(b"\n")), "C01", "refuses offline", mend="repair"),
    alone("recovery-two-tokens", file(RECOVERY, "0\n1\nf 0\n"), "C01", "refuses offline", mend="repair"),
    alone("recovery-version", file(RECOVERY, "7\n0\n"), "C01", "refuses offline", mend="repair"),
    alone("recovery-not-a-number", file(RECOVERY, "0\n1\nf 0 x\n"),
        "C02", "0..220", killed("C02", "recovery-scan 0..220", mend="repair"),
        under("2.8", "C01", "refuses offline", base=clean_dir, mend="repair"), marks=BOTH, mend="repair"),
    alone("recovery-missing", gone(RECOVERY),
        "", "0..220", killed("C03", "recovery-scan 0..220"), marks=BOTH),
    alone("recovery-empty", file(RECOVERY, ""), "", "0..220", killed("", "recovery-scan 0..220"), marks=BOTH),
    fault("recovery-above-end", lambda p: p.line(RECOVERY, p.end + 1000), "C04", "0..220"),
    fault("recovery-at-end", lambda p: p.line(RECOVERY, p.end),
        "", "0..220", killed("", "recovery-scan 0..220")),
    fault("recovery-zero", lambda p: p.line(RECOVERY, 0), "", "0..220", killed("", "recovery-scan 0..220")),
    fault("recovery-line-missing", lambda p: p.line(RECOVERY, None), "", "0..220"),
    fault("recovery-negative", lambda p: p.line(RECOVERY, -5), "C06", "0..220", mend="repair"),
    alone("recovery-huge-count", huge(RECOVERY), "C05", "refuses", says="array size", mend="repair"),
    alone("recovery-doubled", doubled, "C06", "0..220", marks=BOTH, mend="repair"),
    alone("recovery-crlf", edited(RECOVERY, lambda data: data.replace(b"\n", b"\r\n")),
        "C06", "0..220", mend="repair"),
    alone("start-malformed", file(START, "0\n3\nf 0 1\n"),
        "C07", "refuses offline", under("2.8", "C07", "offline", zookeeper=True, mend="repair: N27"),
        mend="repair: N27"),
    alone("start-not-a-number", file(START, "0\n1\nf 0 x\n"), "C07", "0..220", mend="repair"),
    fault("start-beyond-end", lambda p: p.line(START, 100000),
        "C08", "epochs-rewritten log-start-moved segments-deleted snapshot-deleted 100000..100000 -54",
        killed("C08",
            "epochs-rewritten log-start-moved recovery-scan segments-deleted snapshot-deleted "
            "100000..100000 -54", mend="repair"),
        under("2.2",
            "C08", "epochs-rewritten log-start-moved reads-fail snapshot-deleted 100000..54 -54",
            mend="repair"),
        on="u-0", alone=BOTH, says="Deleting all segments because", mend="repair"),
    fault("start-at-end", lambda p: p.line(START, p.end),
        "P08+", "epochs-rewritten snapshot-deleted 220..220", alone=BOTH),
    fault("start-inside", lambda p: p.line(START, p.base("rolled") + 2),
        "", "epochs-rewritten snapshot-deleted 56..220", alone=BOTH),
    written("start-behind", both(lambda p: p.line(START, 109), lambda p: p.line(RECOVERY, 0)),
        "I25-", "refuses index-rebuilt recovery-scan",
        under("2.0",
            "I25-", "epochs-rewritten index-rebuilt recovery-scan snapshot-deleted 109..220", mend="repair"),
        release="1.1", clean=False, says="inconsistent range", mend="repair"),
    fault("start-negative", lambda p: p.line(START, -4), "", "0..220"),
    alone("high-watermark-malformed", file(HIGH, "0\n3\nf 0 1\n"), "C10", "offline", mend="repair: N27"),
    alone("high-watermark-not-a-number", file(HIGH, "0\n1\nf 0 x\n"),
          "C10", "partition-unserved", mend="repair"),
    alone("high-watermark-missing", gone(HIGH), "", "0..220"),
    written("high-watermark-negative", file(HIGH, "0\n1\nu 0 -1\n"), "C06", "0..220", mend="repair"),
    fault("high-watermark-above-end", lambda p: p.line(HIGH, p.end + 1000),
        "C10b", "high-watermark-reset 0..220 -1000"),
    fault("high-watermark-zero", lambda p: p.line(HIGH, 0), "", "0..220"),
    alone("cleaner-malformed", file(CLEANER, "0\n3\nf 0 1\n"), "C11", "offline", mend="repair"),
    fault("cleaner-above-end", lambda p: p.line(CLEANER, p.end + 1000), "C11b", "0..220", mend="repair"),
    alone("marker-after-kill", file(MARKER, '{"version":0,"brokerEpoch":7}'),
        "C12 I12+ I14+ P03+", "0..220", clean=False, marks="killed", mend="repair"),
    alone("marker-gone", gone(MARKER), "C13", "recovery-scan 0..220"),
    alone("marker-garbage", file(MARKER, "{"), "C14", "0..220"),
    alone("marker-a-folder", instead(MARKER), "", "0..220",
        under("2.7", "N01", "refuses")),
    alone("marker-a-full-folder", instead(MARKER, "x"), "N01", "offline"),
    alone("marker-empty", file(MARKER, ""), "", "0..220"),
    written("recovery-a-link-to-nothing", linked(RECOVERY), "N32", "refuses offline"),
    written("high-watermark-a-link-to-nothing", linked(HIGH), "N32", "offline"),
    written("marker-a-link-to-nothing", linked(MARKER), "N32 C13", "recovery-scan 0..220"),
    written("marker-a-loop", linked(MARKER, MARKER), "N32 C13", "recovery-scan 0..220"),
    written("lock-a-link-to-nothing", linked(".lock"), "N32", "refuses offline"),
    written("lock-a-loop", linked(".lock", ".lock"), "N32", "refuses offline"),
    written("lock-a-link-to-come", linked(".lock", "../lock"), "", "0..220"),
    written("markers-differ", lambda p: put(p.dirs[1] / MARKER, '{"version":0,"brokerEpoch":8}'),
        "C14", "0..220"),
    written("marker-by-hand", earlier_stop, "C15+", "0..220"),
    fault("checkpoint-tmp-left", lambda p: put(p.log_dir / f"{RECOVERY}.tmp", "x"), "", "0..220"),
]  # fmt: skip
