"""The other sections, each on tables small enough to know the answer."""

from typing import Any

import pytest
from tests.report_html import sample
from tests.report_html.sample import NOW, NOW_MS, table

from segmend.checks import Consequence
from segmend.loading.values import EFFECTS
from segmend.report.html.brokers import fleet, verdict
from segmend.report.html.columns import told_apart
from segmend.report.html.consequences import of
from segmend.report.html.disks import DisksSection, disks
from segmend.report.html.findings import findings
from segmend.report.html.places import places
from segmend.report.html.replicas import PartitionReplicas, Replication, replication
from segmend.report.html.segments import segments
from segmend.report.html.times import Times, times
from segmend.report.html.topics import palette

DAY = 86_400_000


# The verdict


def headline(*findings: dict[str, Any], clean: bool = True) -> tuple[str, str, str]:
    dirs = [
        {"broker": n, "log_dir_id": n, "path": sample.DIRS[0], "clean_shutdown": clean} for n in (1, 2, 3)
    ]
    tables = {"findings": table("findings", list(findings)), "log_dirs": table("log_dirs", dirs)}
    everyone = fleet(tables, places(tables)).everyone
    counts = {s: sum(f["severity"] == s for f in findings) for s in ("error", "warning", "info")}
    said = verdict(everyone, counts)
    return said.tone, said.headline, said.more


def test_the_headline_is_the_worst_and_the_rest_follows() -> None:
    said = headline(sample.finding(code="I14", broker=1), sample.finding(code="N01", broker=2))
    assert said == (
        "error",
        "1 broker would lose data when started",
        "1 broker would refuse to start · 1 broker is fine",
    )


def test_a_broker_that_refuses_to_start_would_lose_data_after_that() -> None:
    said = headline(*(sample.finding(code=code, broker=1) for code in ("I14", "N01", "I14")))
    assert said[1:] == (
        "1 broker would lose data when started",
        "1 broker would refuse to start · 2 brokers are fine",
    )


@pytest.mark.parametrize(
    ("findings", "expected"),
    [
        ([], ("ok", "Nothing wrong found", "")),
        (
            [sample.finding(code="N12", severity="info")],
            ("ok", "Nothing wrong found", "1 note for information"),
        ),
        (
            [sample.finding(code="R01", severity="warning")],
            ("warning", "Every broker would start, with 1 warning", ""),
        ),
        ([sample.finding(code="R02")], ("error", "Every broker would start, with 1 error", "")),
    ],
)
def test_a_calm_fleet_is_told_calmly(findings: list[dict[str, Any]], expected: tuple[str, str, str]) -> None:
    assert headline(*findings) == expected


def test_no_disk_at_all_is_no_good_news() -> None:
    assert verdict((), {"error": 0, "warning": 0, "info": 0}).tone == "info"


@pytest.mark.parametrize(
    ("code", "severity", "clean", "expected"),
    [
        ("L01", "error", True, Consequence.LOSES),
        ("L01", "error", False, Consequence.NONE),
        ("L03", "error", True, Consequence.REFUSES),
        ("C01", "warning", True, Consequence.OFFLINE),
        ("I12", "warning", False, Consequence.SLOW),
        ("L05", "info", False, Consequence.NONE),
        ("X99", "error", True, Consequence.WRONG),
        ("X99", "warning", True, Consequence.NONE),
        ("R02", "error", True, Consequence.NONE),
    ],
)
def test_consequences_follow_the_catalogue(
    code: str, severity: str, clean: bool, expected: Consequence
) -> None:
    assert of(code, severity, clean=clean) is expected


@pytest.mark.parametrize(
    ("code", "effect", "lost", "expected"),
    [
        ("L03", "broker-refuses", 0, Consequence.REFUSES),
        ("C01", "broker-refuses", 0, Consequence.REFUSES),
        ("E01", "none", 0, Consequence.NONE),
        ("I14", "none", 0, Consequence.LOSES),
        ("L05", "reads-fail", 0, Consequence.WRONG),
        ("N12", "file-deleted", 7, Consequence.LOSES),
        ("I01", "index-rebuilt", 0, Consequence.SLOW),
        ("M01", "stray-renamed", 220, Consequence.LOSES),
        ("M01", "stray-renamed", 0, Consequence.NONE),
        ("C10b", "tail-truncated", 0, Consequence.WRONG),
        ("N27", "log-recreated-empty", 0, Consequence.LOSES),
        ("M01", "partition-unserved", 0, Consequence.WRONG),
        ("Q06", "metadata-lost", 0, Consequence.LOSES),
        ("K14", "none", 0, Consequence.FAILING),
    ],
)
def test_what_the_start_does_goes_before_the_catalogue(
    code: str, effect: str, lost: int, expected: Consequence
) -> None:
    assert of(code, "error", clean=True, effect=effect, records_lost=lost) is expected


COUNTED = {
    "tail-truncated", "segment-emptied", "segments-deleted", "segment-skipped", "directory-deleted",
    "stray-renamed", "log-start-moved",
}  # fmt: skip
"""Effects that lose something where they say how many records."""


def test_no_effect_is_passed_over() -> None:
    """What leaves readers all that they had, and takes no time: the start is as if nothing were wrong."""
    said = {effect: of("X99", "warning", clean=True, effect=effect) for effect in EFFECTS}
    assert {effect for effect, worst in said.items() if worst is Consequence.NONE} == {
        "index-created", "index-trimmed", "file-deleted", "swap-completed", "snapshot-rebuilt",
        "snapshot-deleted", "epochs-rewritten", "high-watermark-reset", "checkpoint-reset",
        *COUNTED,
    }  # fmt: skip
    assert {of("X99", "warning", clean=True, effect=each, records_lost=1) for each in COUNTED} == {
        Consequence.LOSES
    }


# The fleet


def test_a_brokers_row_sums_its_dirs() -> None:
    tables = sample.tables()
    rows = fleet(tables, places(tables)).rows
    assert [row.name for row in rows] == ["1", "2", "3"]
    assert [row.clean for row in rows] == ["killed", "clean", "clean"]
    assert sum(row.partitions for row in rows) == tables["partitions"].num_rows
    assert sum(row.segments for row in rows) == tables["segments"].num_rows
    assert max(row.width for row in rows) == 100.0


def test_a_broker_that_only_findings_know_is_there() -> None:
    tables = {"findings": table("findings", [sample.finding(broker=9)])}
    row = fleet(tables, places(tables)).rows[0]
    assert (row.name, row.state, row.worst) == ("9", "unknown", "error")


def test_brokers_sort_as_numbers_and_dirs_that_nobody_owns_come_last() -> None:
    dirs = [{"broker": b, "log_dir_id": n} for n, b in enumerate((10, None, 9))]
    tables = {"log_dirs": table("log_dirs", dirs)}
    assert [row.name for row in fleet(tables, places(tables)).rows] == ["9", "10", "?"]


# Disk use


def drawn(*parts: dict[str, Any], dirs: list[dict[str, Any]] | None = None) -> DisksSection:
    tables = {
        "partitions": table(
            "partitions", [{"broker": 1, "log_dir_id": 0, "partition": 0, **p} for p in parts]
        ),
        "log_dirs": table("log_dirs", dirs or [{"broker": 1, "log_dir_id": 0, "path": "/a"}]),
    }
    return disks(tables, places(tables), palette(tables))


def test_a_stack_is_to_scale_and_small_topics_share_a_slice() -> None:
    found = drawn(*({"topic": f"t{n:02}", "log_bytes": 100 - n} for n in range(10)))
    slices = found.dirs[0].slices
    assert [s.colour for s in slices] == [*(f"t{n}" for n in range(8)), "other"]
    assert sum(s.width for s in slices) == pytest.approx(100, abs=0.02)
    assert slices[-1].label == "other topics"


@pytest.mark.parametrize(
    ("total", "free", "used", "tight"),
    [(100, 40, "60 %", False), (100, 5, "95 %", True), (None, None, "", False), (0, 0, "", False)],
)
def test_the_gauge_says_how_full_the_disk_is(
    total: int | None, free: int | None, used: str, tight: bool
) -> None:
    dirs = [{"broker": 1, "log_dir_id": 0, "path": "/a", "disk_total_bytes": total, "disk_free_bytes": free}]
    bar = drawn({"topic": "t", "log_bytes": 1}, dirs=dirs).dirs[0]
    assert (bar.used, bar.tight) == (used, tight)


def test_the_biggest_partitions_are_one_row_for_all_replicas() -> None:
    small, large = (
        {"topic": "t", "log_bytes": 5, "kind": "current"},
        {"topic": "t", "log_bytes": 9, "kind": "current"},
    )
    found = drawn(
        small, {**large, "broker": 2, "log_dir_id": 1}, {**small, "kind": "stray", "dir_name": "t-0.x-stray"}
    )
    assert [(b.name, b.brokers, b.bytes) for b in found.biggest] == [
        ("t-0", "1, 2", 9),
        ("t-0.x-stray", "1", 5),
    ]


# Record times


def timed(*ranges: tuple[str, int | None, int | None]) -> Times:
    rows = [{"topic": t, "log_bytes": 1, "min_timestamp_ms": a, "max_timestamp_ms": b} for t, a, b in ranges]
    tables = {"partitions": table("partitions", rows)}
    return times(tables, palette(tables), NOW)


def test_a_bar_runs_from_the_oldest_to_the_newest_partition() -> None:
    found = timed(("a", NOW_MS - 4 * DAY, NOW_MS - 2 * DAY), ("a", NOW_MS - 3 * DAY, NOW_MS - DAY))
    bar = found.rows[0]
    assert bar.span == "3 days"
    assert bar.calendar.left < 5
    assert bar.calendar.left + bar.calendar.width == pytest.approx(75, abs=1)


def test_no_time_is_not_the_year_1970() -> None:
    found = timed(("a", -1, NOW_MS), ("b", -1, -1), ("c", None, None))
    assert ([row.topic for row in found.rows], found.timeless) == ([], 3)


@pytest.mark.parametrize("oldest", [0, -(2**63) + 1, 86_400_000])
@pytest.mark.parametrize("newest", [2**63 - 1, NOW_MS + 30 * DAY])
def test_absurd_times_are_clipped_and_told(oldest: int, newest: int) -> None:
    found = timed(("odd", oldest, newest), ("sane", NOW_MS - DAY, NOW_MS))
    odd = next(row for row in found.rows if row.topic == "odd")
    assert odd.ancient.startswith("ancient: ")
    assert odd.future.startswith("future: ")
    for bar in (odd.calendar, odd.by_age):
        assert (bar.left, bar.width) == (0.0, 100.0)
    sane = next(row for row in found.rows if row.topic == "sane")
    assert sane.calendar.width > 90, "one absurd topic does not flatten the others"


def test_a_clock_a_little_ahead_is_not_the_future() -> None:
    assert timed(("a", NOW_MS - DAY, NOW_MS + DAY // 2)).rows[0].future == ""


def test_the_scale_follows_the_spread() -> None:
    even = [(f"t{n}", NOW_MS - 9 * DAY, NOW_MS - n * DAY) for n in range(3)]
    spread = [
        ("old", NOW_MS - 900 * DAY, NOW_MS),
        *((f"t{n}", NOW_MS - n * DAY, NOW_MS) for n in range(1, 4)),
    ]
    assert (timed(*even).scale, timed(*spread).scale) == ("calendar", "age")


# Replicas


def compared(*rows: dict[str, Any]) -> Replication:
    plain = {"topic": "t", "partition": 0, "log_start_offset": 0, "behind": 0, "status": "in-step"}
    full = [
        {**plain, "max_log_end_offset": 100, "log_end_offset": 100, "expected_replicas": 2, **r} for r in rows
    ]
    return replication({"replicas": table("replicas", full)})


def only(found: Replication) -> PartitionReplicas:
    assert len(found.rows) == 1
    return found.rows[0]


def test_partitions_in_step_are_counted_and_not_listed() -> None:
    found = compared({"broker": 1}, {"broker": 2})
    shares = [(each.status, each.partitions) for each in found.statuses]
    assert (found.partitions, shares, found.rows) == (1, [("in-step", "1")], ())


def test_a_replica_behind_is_shown_with_its_lag() -> None:
    part = only(
        compared({"broker": 1}, {"broker": 2, "log_end_offset": 90, "behind": 10, "status": "behind"})
    )
    assert (part.status, part.behind, part.replicas[1].note) == ("behind", 10, "10 behind")
    assert part.replicas[0].held == 100
    assert part.replicas[1].held == pytest.approx(33, abs=1), "zoomed until it shows"


def test_a_replica_apart_is_shown_from_where_it_differs() -> None:
    part = only(compared({"broker": 1}, {"broker": 2, "diverged_at": 40, "status": "diverged"}))
    assert part.replicas[1].note == "differs from 40"
    assert part.replicas[1].held + part.replicas[1].apart == pytest.approx(100)


def test_a_missing_replica_is_counted() -> None:
    assert only(compared({"broker": 1})).missing == 1


def test_partitions_with_one_replica_have_nobody_to_be_compared_with() -> None:
    found = compared({"broker": 1, "expected_replicas": 1})
    assert (found.partitions, found.single) == (0, 1)


def test_the_worst_come_first() -> None:
    found = compared(
        {"broker": 1, "partition": 1, "expected_replicas": 1, "status": "behind"},
        {"broker": 2, "partition": 1, "expected_replicas": 1},
        {"broker": 1, "partition": 2},
        {"broker": 1, "partition": 3, "status": "diverged"},
        {"broker": 2, "partition": 3},
    )
    assert [row.name for row in found.rows] == ["t-3", "t-2", "t-1"]


def test_brokers_of_two_clusters_are_told_apart_everywhere() -> None:
    """A partition that each of two clusters has once, and should have twice, is twice a missing replica."""
    whose = [{"cluster_id": cluster, "broker": 1, "log_dir_id": n} for n, cluster in enumerate("ab")]
    part = {"topic": "t", "partition": 0, "kind": "current", "log_bytes": 5}
    tables = told_apart(
        {
            "log_dirs": table("log_dirs", [{**each, "path": "/d", "clean_shutdown": True} for each in whose]),
            "partitions": table("partitions", [{**each, **part} for each in whose]),
            "replicas": table("replicas", [{**each, **part, "expected_replicas": 2} for each in whose]),
            "findings": table("findings", [sample.finding(**whose[1], code="N01")]),
        }
    )
    where = places(tables)
    found = fleet(tables, where).rows
    assert [(row.name, row.id, row.partitions, row.worst) for row in found] == [
        ("1 of a", "1", 1, "ok"),
        ("1 of b", "1", 1, "error"),
    ]
    assert [(row.missing, row.replicas[0].broker) for row in replication(tables).rows] == [
        (1, "1 of a"),
        (1, "1 of b"),
    ]
    colours = palette(tables)
    assert [each.brokers for each in disks(tables, where, colours).biggest] == ["1 of a", "1 of b"]
    assert findings(tables, where, {}).brokers == ("1 of b",)
    bars = times(
        told_apart(
            {
                **tables,
                "partitions": table(
                    "partitions",
                    [{**w, **part, "min_timestamp_ms": 10**12, "max_timestamp_ms": 10**12} for w in whose],
                ),
            }
        ),
        colours,
        NOW,
    )
    assert [row.topic for row in bars.rows] == ["t of a", "t of b"]


def test_of_one_cluster_the_ids_say_enough() -> None:
    tables = sample.tables()
    assert told_apart(tables) is tables


# Segments


def test_segments_are_grouped_by_codec_format_and_size() -> None:
    rows = [
        {"log_bytes": 3 << 20, "codecs": ["lz4"], "magics": [2]},
        {"log_bytes": 1 << 20, "codecs": ["lz4", "none"], "magics": [1, 2]},
        {"log_bytes": 0, "codecs": [], "magics": []},
        {"log_bytes": None, "codecs": None, "magics": None},
    ]
    found = segments({"segments": table("segments", rows)})
    assert {s.name: s.segments for s in found.codecs} == {
        "lz4": 1,
        "several in one segment": 1,
        "no batches": 2,
    }
    assert {s.name: s.segments for s in found.magics} == {
        "magic 2": 1,
        "several in one segment": 1,
        "no batches": 2,
    }
    assert {s.name: s.segments for s in found.sizes if s.segments} == {"empty": 2, "1–16 MiB": 2}
