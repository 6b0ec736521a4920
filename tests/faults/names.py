"""Faults in names, in the set of segments, and in the layout (catalogue 6.6)."""

import shutil
from collections.abc import Callable

from tests.checks import build_partition as build
from tests.checks.build_metadata import cluster
from tests.faults.hands import with_field
from tests.faults.hurts import (
    HEX,
    SET,
    Hurt,
    both,
    copied,
    file,
    folder,
    left,
    removed,
    renamed,
    segment_removed,
    unhurt,
)
from tests.faults.on_disk import lengthen, move_away, put_link, rewrite
from tests.faults.patient import HIGH, RECOVERY, START, Patient, put
from tests.faults.table import alone, elsewhere, fault, killed, under, written
from tests.faults.written import metadata_dir, plain, with_metadata

FIRST, SECOND, THIRD = (f"{base:020d}" for base in (0, 18, 36))
"""The segments of `u-0`."""
V11 = (1, 1)
NO_BATCHES = b"This is a text that somebody has put here, and nothing that a broker wrote. " * 50
CHECKPOINTS = (RECOVERY, HIGH, START)


def swapped(role: str) -> Hurt:
    """All of a segment has the names that a finished compaction gives it."""

    def hurt(patient: Patient) -> None:
        base = patient.base(role)
        for kind in ("log", "index", "timeindex"):
            path = patient.partition / f"{base:020d}.{kind}"
            path.rename(f"{path}.swap")

    return hurt


def segment_gone(role: str, *kinds: str) -> Hurt:
    """Files of a segment removed; the role goes with its log: the others are those of the next one."""
    return removed(*(kinds or SET), role=role)


def wrong_base(patient: Patient, role: str = "rolled", by: int = 3) -> None:
    """A segment under a name some offsets too high."""
    base = patient.base(role)
    for kind in SET:
        old = patient.partition / f"{base:020d}.{kind}"
        if old.exists():
            old.rename(patient.partition / f"{base + by:020d}.{kind}")


def emptied(patient: Patient, keep: str) -> None:
    """No file left but those that `keep` names."""
    for path in list(patient.partition.iterdir()):
        if path.name not in keep.split():
            path.unlink()


def swap_set(patient: Patient) -> None:
    """The swap files of a finished compaction of the rolled segment, beside the originals."""
    patient.copy("rolled", ".swap")


def swap_alone(patient: Patient) -> None:
    """The same, with the originals gone."""
    for kind in ("log", "index", "timeindex"):
        patient.file("rolled", kind).rename(patient.file("rolled", f"{kind}.swap"))


def swap_of_two(patient: Patient) -> None:
    """A swap log that holds two segments."""
    patient.copy("rolled", ".swap")
    base = patient.base("rolled")
    more = patient.file("last-rolled").read_bytes()
    path = patient.partition / f"{base:020d}.log.swap"
    lengthen(path, more)


def snapshot_unfound(patient: Patient) -> None:
    """The newest producer snapshot under its number and a byte that is no UTF-8: listed, and not there."""
    newest = max(patient.partition.glob("*.snapshot"))
    newest.rename(newest.with_name(f"{newest.stem}.\udcff.snapshot"))


def snapshot_beside_unfound(patient: Patient) -> None:
    """A copy of the newest producer snapshot but one under a name that is no UTF-8."""
    other = patient.snapshots[0]
    shutil.copyfile(other, other.with_name(f"{other.stem}.\udcff.snapshot"))


def snapshot_twice(patient: Patient) -> None:
    """A copy of the newest producer snapshot that somebody put beside it: a broker may read either."""
    newest = max(patient.partition.glob("*.snapshot"))
    shutil.copyfile(newest, newest.with_name(f"{newest.stem}.old.snapshot"))


def swap_unpadded(patient: Patient) -> None:
    """A swap log whose number is not padded: an empty one takes the place of the segment."""
    base = patient.base("rolled")
    shutil.copyfile(patient.file("rolled"), patient.partition / f"{base}.log.swap")


def swap_empty_between(patient: Patient) -> None:
    """An empty swap log whose number lies within a segment."""
    (patient.partition / f"{patient.base('rolled') + 5:020d}.log.swap").touch()


def swap_absurd(patient: Patient) -> None:
    """A swap log whose last batch claims offset 1,000,000."""
    patient.copy("rolled", ".swap")
    path = patient.partition / f"{patient.base('rolled'):020d}.log.swap"
    rewrite(path, with_field(-1, "offset", lambda _: 1_000_000))


def swap_of(data: Callable[[Patient], bytes], role: str = "rolled") -> Hurt:
    """A swap log of other bytes beside the segment that it will replace."""
    return lambda patient: patient.write(f"{patient.file(role).name}.swap", data(patient))


def half(patient: Patient) -> bytes:
    """Half of the segment, and no more."""
    data = patient.file("rolled").read_bytes()
    return data[: len(data) // 2]


def swaps_over_one_another(patient: Patient) -> None:
    """A swap log that holds two segments, and one that is nothing but text over the second of them."""
    swap_of_two(patient)
    patient.write(f"{patient.file('last-rolled').name}.swap", NO_BATCHES)


def cleaned_below_swap(patient: Patient) -> None:
    """A `.cleaned` of a lower base condemns the swap, whose originals are gone already."""
    swap_alone(patient)
    patient.copy("old", ".cleaned", kinds="log")


def unpadded(patient: Patient) -> None:
    """A segment behind the end whose name lacks its zeros."""
    shutil.copyfile(patient.file("rolled"), patient.partition / f"{patient.end + 5}.log")


def copied_with_new_base(patient: Patient) -> None:
    """Two segments that hold the same offsets."""
    patient.copy("rolled", "", base=patient.base("rolled") + 1)


def in_two_dirs(patient: Patient) -> None:
    """The same partition in both log dirs."""
    shutil.copytree(patient.partition, patient.other.parent / patient.partition.name)


def moved(patient: Patient) -> None:
    """The partition carried to the other log dir by hand, without its checkpoint lines."""
    shutil.move(patient.partition, patient.other.parent / patient.partition.name)


def overlapping(patient: Patient) -> None:
    """The first segment as it was before a split: it goes on to the end of the second."""
    whole = plain("u", segments=2, batches=9).write_to(patient.log_dir.parent / "other")
    for kind in ("log", "index", "timeindex"):
        shutil.copy(whole / f"{FIRST}.{kind}", patient.partition)


def started_before(patient: Patient) -> None:
    """The log start offset lies below the first segment that is left."""
    segment_removed("first")(patient)
    patient.write("leader-epoch-checkpoint", "0\n1\n0 18\n")
    put(patient.log_dir / START, "0\n1\nu 0 9\n")


def linked(patient: Patient) -> None:
    """A symbolic link where the directory was."""
    target = patient.log_dir.parent / f"elsewhere-{patient.topic}"
    move_away(patient.partition, target)


def dangling(kind: str, role: str) -> Hurt:
    """A symbolic link to a place that is not mounted."""

    def hurt(patient: Patient) -> None:
        path = patient.file(role, kind)
        put_link(path, f"/not-mounted/{path.name}")

    return hurt


def all_dangling(patient: Patient) -> None:
    """Every log on a place that is not mounted."""
    for path in patient.partition.glob("*.log"):
        put_link(path, f"/not-mounted/{path.name}")


def index_swap_of(role: str) -> Hurt:
    """A copy of the segment's index that a swap log takes for its own."""
    return lambda patient: patient.copy(role, ".swap", kinds="index")


def index_swap(patient: Patient) -> None:
    """An index of a compaction whose log is not there."""
    shutil.copyfile(patient.file("old", "index"), patient.file("rolled", "index.swap"))


def named_twice(patient: Patient) -> None:
    """A segment once more, under its base without the zeros."""
    shutil.copyfile(patient.file("rolled"), patient.partition / f"{patient.base('rolled')}.log")


def vanished(patient: Patient) -> None:
    """The directory removed by hand."""
    shutil.rmtree(patient.partition)


def all_vanished(patient: Patient) -> None:
    """Every partition directory of the log dir removed."""
    for path in patient.log_dir.glob("*-0"):
        shutil.rmtree(path)


def never_here(patient: Patient) -> None:
    """Neither the directory nor a line of it."""
    vanished(patient)
    for name in CHECKPOINTS:
        patient.line(name, None)


def empty_and_vanished(patient: Patient) -> None:
    """The directory of a partition that never had a record."""
    vanished(patient)
    for name in CHECKPOINTS:
        patient.line(name, 0)


def cut_short(patient: Patient) -> None:
    """The stray of a topic whose empty replica is in its place."""
    renamed(f".{HEX}-stray")(patient)
    (patient.log_dir / "u-0").mkdir()
    for path in (patient.log_dir / f"u-0.{HEX}-stray").glob("*.metadata"):
        shutil.copy(path, patient.log_dir / "u-0")
    for kind in ("log", "index", "timeindex"):
        patient.write(f"{0:020d}.{kind}", b"")
    for name in CHECKPOINTS:
        patient.line(name, 0)


HERE = with_metadata(cluster(["t", "u"]))
ELSEWHERE = with_metadata(cluster(["t", "u"], replicas=(2, 3)))
ONE_RECORD = build.batch(954, [build.record(0, b"k", b"v")])
FAULTS = [
    alone("dir-lost-found", folder("lost+found"),
        "N01", "refuses", says="is not in the form of topic-partition"),
    alone("dir-bak", folder("t-0.bak"), "N01", "refuses"),
    alone("dir-foo-delete", folder("foo-delete"), "N21", "refuses"),
    alone("dir-backup-7", folder("backup-7"), "N11", "0..220", marks="clean killed"),
    alone("dir-trash-1000", folder(".Trash-1000"), "N11", "0..220"),
    written("dir-no-utf-8", folder("\udcff\udcfe-0"), "N28", "0..220"),
    written("file-no-utf-8", left("\udcff.log"), "N22", "0..220"),
    written("snapshot-unfound", snapshot_unfound, "N22 P03+", "offline",
        killed("N22", "offline epochs-rewritten recovery-scan segment-emptied -51")),
    written("snapshot-twice", snapshot_twice, "N31", "0..220"),
    written("snapshot-beside-unfound", snapshot_beside_unfound, "N31", "0..220"),
    alone("file-foo-log", left("foo.log"), "N03", "refuses", says='For input string: "foo"'),
    alone("file-x-cleaned", left("x.cleaned"), "N03", "refuses", says='For input string: "x"'),
    alone("file-x-swap", left("x.swap"), "N03", "refuses"),
    alone("file-x-index", left("x.index"), "N03", "refuses"),
    fault("segment-unpadded", unpadded,
        "N04", "index-created index-rebuilt reads-fail segment-skipped snapshot-deleted 0..225"),
    fault("segment-wrong-base", wrong_base, "I11+ I19 N05+", "refuses index-rebuilt", alone="killed"),
    fault("segments-overlap", copied_with_new_base, "I17+ N05+", "reads-fail 0..220", alone="killed"),
    fault("segment-missing-old", segment_gone("old"),
        "I01 I17+ I22 N08+", "file-deleted index-created index-rebuilt reads-fail snapshot-deleted 0..220",
        mend="repair: I22 N08"),
    fault("segment-missing-rolled", segment_gone("rolled"),
        "I01 I17+ I22 N08+",
        "file-deleted index-created index-rebuilt reads-fail snapshot-deleted snapshot-rebuilt 0..220",
        mend="repair: I22 N08"),
    fault("log-missing-rolled", segment_gone("rolled", "log"),
        "I22 N08+", "file-deleted reads-fail snapshot-deleted 0..220", says="orphaned index file"),
    fault("segment-missing-first", segment_gone("first"),
        "I01 I17+ I22", "file-deleted index-created index-rebuilt snapshot-deleted 54..220",
        killed("I01 I17+ I22",
            "file-deleted index-created index-rebuilt recovery-scan snapshot-deleted 54..220",
            mend="repair: I22")),
    fault("segment-missing-active", segment_gone("active"),
        "C04 C10b E06+ I01 I17+ N10",
            "epochs-rewritten file-deleted high-watermark-reset index-created index-rebuilt "
            "snapshot-deleted 0..164 -56",
        mend="repair: C04 C10b E06 N10"),
    fault("log-missing-active", segment_gone("active", "log"),
        "C04 C10b E06+ N10",
        "epochs-rewritten file-deleted high-watermark-reset snapshot-deleted 0..164 -56"),
    fault("partition-empty", lambda p: emptied(p, ""), "N11", "log-recreated-empty stray-renamed 0..0"),
    fault("partition-only-metadata", lambda p: emptied(p, "partition.metadata"),
        "N11", "high-watermark-reset 0..0 -220"),
    fault("partition-only-text", lambda p: emptied(p, "partition.metadata leader-epoch-checkpoint"),
        "N11", "epochs-rewritten high-watermark-reset 0..0 -220"),
    fault("partition-missing", vanished,
        "N27", "", killed("N27", "", on="u-0"), under("2.6", "N27", ""),
        elsewhere("N27", "log-recreated-empty 0..0 -220", base=HERE),
        elsewhere("M07", "", base=ELSEWHERE, on="u-0")),
    fault("deleted-left", lambda p: p.copy("rolled", ".deleted"),
        "N12", "file-deleted 0..220", killed("N12", "file-deleted recovery-scan 0..220")),
    fault("deleted-active", lambda p: p.file("active").rename(p.file("active", "log.deleted")),
        "C04 C10b E06+ N10 N12",
            "epochs-rewritten file-deleted high-watermark-reset snapshot-deleted 0..164 -56"),
    fault("cleaned-left", lambda p: p.copy("rolled", ".cleaned"), "N13", "file-deleted 0..220"),
    fault("cleaned-below-swap", cleaned_below_swap,
        "I01 I22 N13 N14 N16", "file-deleted index-created reads-fail swap-completed 0..220",
        mend="repair: I22 N13 N14 N16"),
    fault("swap-complete", swap_set, "N14", "file-deleted reads-fail swap-completed 0..220"),
    written("swap-unpadded", swap_unpadded,
        "N04", "index-created segment-skipped swap-completed 0..220 -50"),
    written("swap-empty-between", swap_empty_between,
        "N14", "index-created reads-fail swap-completed 0..220",
        under("2.7", "N14", "index-rebuilt reads-fail swap-completed 0..220"),
        under("1.1", "N14",
            "index-rebuilt reads-fail segments-deleted snapshot-deleted swap-completed 0..220 -50")),
    written("swap-empty-below", left("-00000000000000000005.log.swap"),
        "N14", "index-created reads-fail swap-completed 0..220",
        under("2.7", "N14",
            "index-rebuilt reads-fail snapshot-deleted snapshot-rebuilt swap-completed 0..220"),
        under("1.1", "N14", "refuses swap-completed", says="inconsistent range")),
    fault("swap-alone", swap_alone,
        "I01 I22 N14 N16", "file-deleted index-created reads-fail swap-completed 0..220",
        under("2.7",
            "I01 I22 N14 N16", "file-deleted index-created index-rebuilt swap-completed 0..220",
            mend="repair: I22 N14 N16"),
        under("1.1",
            "I01 I22 N14 N16",
            "epochs-rewritten file-deleted index-created index-rebuilt segments-deleted snapshot-deleted "
            "swap-completed 54..220 -50", mend="repair: I22 N14 N16"),
        mend="repair: I22 N14 N16"),
    fault("swap-of-two", swap_of_two, "N14", "file-deleted reads-fail swap-completed 0..220"),
    fault("swap-log-only", lambda p: p.copy("rolled", ".swap", kinds="log"),
        "N14", "file-deleted index-created reads-fail swap-completed 0..220"),
    fault("swap-absurd-offset", swap_absurd,
        "N14 N15+",
        "file-deleted reads-fail segments-deleted snapshot-rebuilt swap-completed 0..1000002 -103",
        alone="clean killed"),
    fault("swap-of-text", swap_of(lambda _: NO_BATCHES),
        "N14 N15+", "index-created reads-fail swap-completed 0..220 -50"),
    fault("swap-of-text-with-index", both(swap_of(lambda _: NO_BATCHES), index_swap_of("rolled")),
        "N14 N15+", "reads-fail swap-completed 0..220 -50"),
    fault("swap-of-text-condemned",
        both(swap_of(lambda _: NO_BATCHES), lambda patient: patient.copy("old", ".cleaned", kinds="log")),
        "N13", "file-deleted 0..220"),
    fault("swap-of-nothing", swap_of(lambda _: b""),
        "N14 N15+", "index-created reads-fail swap-completed 0..220 -50"),
    fault("swap-of-nothing-active", swap_of(lambda _: b"", "active"),
        "N14 N15+",
            "epochs-rewritten high-watermark-reset index-created snapshot-deleted "
            "swap-completed 0..164 -51"),
    fault("swap-of-the-first", swap_of(lambda patient: patient.file("first").read_bytes()),
        "N14 N15+", "index-created swap-completed 0..220 -50",
        under("2.7", "N14 N15+", "refuses file-deleted index-created index-rebuilt swap-completed -50"),
        alone="clean killed"),
    fault("swap-of-half", swap_of(half),
        "N14 N15+", "file-deleted index-created reads-fail swap-completed 0..220 -26",
        under("2.7",
            "N14 N15+",
            "file-deleted index-created index-rebuilt reads-fail swap-completed "
            "tail-truncated 0..220 -26")),
    fault("swaps-over-one-another", swaps_over_one_another,
        "N14 N15+", "file-deleted index-created reads-fail swap-completed 0..220 -50",
        alone="clean killed", since=(3, 0)),
    fault("swap-index-only", index_swap, "N16", "swap-completed 0..220"),
    alone("partition-in-two-dirs", in_two_dirs,
        "N17", "refuses", marks="clean killed", says="Duplicate log directories"),
    alone("partition-moved", moved, "", "0..220", marks="clean killed"),
    alone("partition-future-only", renamed(f".{HEX}-future"), "N18", "", since=V11),
    alone("partition-delete", renamed(f".{HEX}-delete"), "N19", "", since=V11),
    alone("partition-stray", renamed(f".{HEX}-stray"), "N20", "", under("3.6", "N01", "refuses"), since=V11),
    alone("partition-delete-without-id", renamed("-delete"), "N21", "refuses"),
    fault("foreign-file", left("notes.txt", b"x"), "N22", "0..220"),
    fault("foreign-folder", lambda p: put(p.partition / "old" / "notes.txt", "x"), "N22", "0..220"),
    alone("partition-linked", linked, "N23", "0..220"),
    alone("dir-copy-1", folder("u-0 (1)"), "N24", "refuses"),
    alone("dir-long-topic", folder("u" * 250 + "-0"), "N11 N25", "0..220"),
    written("log-link-broken", dangling("log", "old"),
        "N08+ N29", "file-deleted reads-fail snapshot-deleted 0..54", on="u-0"),
    written("log-link-broken-first", dangling("log", "first"),
        "N29", "file-deleted snapshot-deleted 54..220"),
    written("timeindex-link-broken", dangling("timeindex", "old"), "N29", "offline"),
    written("logs-link-broken", all_dangling, "N10 N29", "offline file-deleted"),
    written("snapshot-link-broken", dangling("snapshot", "active"), "N29", "0..220"),
    fault("segment-named-twice", named_twice, "N26", "segment-skipped 0..220"),
    written("segment-removed-first", segment_removed("first"), "", "snapshot-deleted 54..220"),
    written("segment-removed-second", segment_removed("old"), "N08+", "reads-fail 0..54", on="u-0"),
    written("log-removed-active", removed("log", role="active"),
        "C04 C10b N10", "file-deleted high-watermark-reset snapshot-deleted 0..36 -18", on="u-0"),
    written("swap-instead", swapped("last-rolled"),
        "I22 N14", "file-deleted reads-fail swap-completed 0..220",
        under("2.7", "I22 N14", "file-deleted index-rebuilt swap-completed 0..220"),
        under("1.1",
            "I22 N14",
            "file-deleted index-rebuilt reads-fail segments-deleted snapshot-deleted swap-completed 0..220 "
            "-50")),
    written("dir-trash-with-files", file(".Trash-1000/info", "x"), "N02", "0..220"),
    written("dir-backup-with-files", file("backup-7/all.tar", "x"), "N02", "0..220"),
    written("segment-renamed-active", lambda p: wrong_base(p, "active", 9),
        "I04 N05+", "high-watermark-reset snapshot-deleted tail-truncated 0..45 -9", on="u-0",
        mend="repair: N05"),
    written("segment-of-before-a-split", overlapping, "N07+", "0..54", on="u-0"),
    written("segment-missing-below-start", started_before, "N09", "snapshot-deleted 18..54", on="u-0"),
    written("cleaned-empty-below-swap", both(swapped("old"), left(f"{FIRST}.log.cleaned")),
        "N08+ N13", "file-deleted reads-fail snapshot-deleted 0..54 -18", on="u-0"),
    written("swap-of-one-record", left("00000000000000000054.log.swap", ONE_RECORD),
        "N14 N15+",
            "file-deleted index-created reads-fail segments-deleted snapshot-rebuilt swap-completed "
            "0..955 -151"),
    written("swap-of-zeros", left(f"{SECOND}.log.swap", bytes(100)), "N14 N15+", "refuses", on="u-0"),
    written("partitions-all-vanished", all_vanished, "N27", "", under("2.6", "N27", "")),
    written("partition-never-here", never_here, "", "log-recreated-empty 0..0", base=HERE),
    written("partition-vanished-empty", empty_and_vanished, "N27", "log-recreated-empty 0..0", base=HERE),
    written("partition-stray-but-expected", renamed(f".{HEX}-stray"),
        "N20", "log-recreated-empty 0..0 -220", base=HERE),
    written("partition-stray-and-empty", cut_short, "N20", "0..0", base=HERE, on="u-0"),
    written("partition-deleted-but-expected", renamed(f".{HEX}-delete"),
        "N19", "log-recreated-empty 0..0 -220", base=HERE),
    written("dir-dump", file("heap.hprof", bytes(10 << 20)), "N28", "0..220"),
    written("dir-checkpoint-tmp", file("replication-offset-checkpoint.tmp", "0\n"), "", "0..220"),
    written("partition-with-leading-zero", copied("u-0", "u-00"), "N17", "refuses", on="u-0"),
    written("partition-future-beside", copied("u-0", f"u-0.{HEX}-future"), "N33", "refuses", on="u-0"),
    written("epochs-tmp-left", left("leader-epoch-checkpoint.tmp", "x"), "", "0..220"),
    written("dir-colon", folder("u-0:Zone.Identifier"), "N24", "refuses"),
    written("partition-of-long-topic", lambda p: p.rename_partition("u" * 250 + "-0"),
        "N25 N27", "", on="u-0"),
    written("remote-index-cache-empty", folder("remote-log-index-cache"), "", "0..220"),
    written("metadata-log-healthy", unhurt, "", "0..220", base=metadata_dir),
]  # fmt: skip
