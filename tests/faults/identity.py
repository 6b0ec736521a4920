"""Faults of identity, of the KRaft metadata, and of the log dirs themselves (catalogue 6.7)."""

import os
import re
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

from segmend.formats.codec import ZSTD
from segmend.formats.codec_write import compress
from tests.checks import build_metadata
from tests.checks import build_partition as build
from tests.checks.build_metadata import cluster
from tests.faults.hands import Change, flipped, in_batch, positions, resealed, with_number
from tests.faults.hurts import METADATA, Hurt, file, instead, linked, unhurt
from tests.faults.on_disk import move_away, rewrite
from tests.faults.patient import CLEANER, Patient, put
from tests.faults.table import Fault, Other, alone, under, written
from tests.faults.written import (
    QUORUM_STATE,
    SECOND_ID,
    clean_dir,
    formatted,
    known_and_formatted,
    metadata_dir,
    node_dirs,
    with_metadata,
)

META = "meta.properties"
CACHE = f"remote-log-index-cache/5_{build.DIRECTORY_ID}"
KRAFT = (3, 0)
IDS = (3, 7)
SMALL_SEGMENTS = build_metadata.topic_setting("u", "segment.bytes", "65536")
TOPIC_ID, NEIGHBOURS = "partition.metadata", f"version: 0\ntopic_id: {build.topic_id('u')}"
BOOTSTRAP, EPOCHS = "bootstrap.checkpoint", "leader-epoch-checkpoint"
SNAPSHOT = f"{METADATA}/{20:020d}-{2:010d}.checkpoint"


def in_zstd(patient: Patient) -> None:
    """The last batch in zstd."""

    def packed(one: bytes) -> bytes:
        return build.seal(with_number(one, ">h", 21, lambda now: now | ZSTD)[:61] + compress(ZSTD, one[61:]))

    rewrite(patient.file("active"), in_batch(-1, packed))


def meta(number: int, change: Callable[[str], str]) -> Hurt:
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
    return patient.dirs[0] / METADATA


def metadata_log(change: Change) -> Hurt:
    """The last segment of the KRaft log rewritten."""
    return lambda patient: rewrite(sorted(metadata(patient).glob("*.log"))[-1], change)


def quorum_state(content: str | None) -> Hurt:
    """quorum-state rewritten, or removed."""

    def hurt(patient: Patient) -> None:
        path = metadata(patient) / "quorum-state"
        path.unlink()
        if content is not None:
            path.write_text(content)

    return hurt


def in_the_last_epoch(patient: Patient) -> None:
    """quorum-state with the highest epoch that an int can hold."""
    path = metadata(patient) / "quorum-state"
    path.write_text(re.sub(r'"leaderEpoch":-?[0-9]+', f'"leaderEpoch":{2**31 - 1}', path.read_text()))


def kraft(name: str, hurt: Hurt, codes: str = "", start: str = "", *others: Other, **more: object) -> Fault:
    """A fault that only a KRaft broker can have."""
    return alone(name, hurt, codes, start, *others, **{"base": node_dirs, "since": KRAFT, **more})


def is_a_file(patient: Patient) -> None:
    """A file where the second log dir was."""
    shutil.rmtree(patient.dirs[1])
    patient.dirs[1].write_text("")


def sound_cache(patient: Patient) -> None:
    """What a cache of remote indexes holds."""
    for suffix, data in {
        ".index": struct.pack(">ii", 3, 90),
        ".timeindex": struct.pack(">qi", 9, 3),
        ".txnindex": struct.pack(">hqqqq", 0, 7, 5, 6, 7),
        ".index.deleted": b"x",
    }.items():
        put(patient.log_dir / (CACHE + suffix), data)


def an_epoch_behind(patient: Patient) -> None:
    """The quorum state is of the epoch before that of the log."""
    path = metadata(patient) / "quorum-state"
    path.write_text(path.read_text().replace('"leaderEpoch":2', '"leaderEpoch":1'))


def no_start_of_metadata(patient: Patient) -> None:
    """Neither the first segment nor the snapshot that stands for it."""
    for name in (SNAPSHOT, *(f"{METADATA}/{0:020d}.{kind}" for kind in ("log", "index", "timeindex"))):
        (patient.log_dir / name).unlink()


def without_times(patient: Patient) -> None:
    """The records are of 2023, the file of now, and there is no time index."""
    patient.remove("first", "timeindex")


def second_log(patient: Patient) -> None:
    """Two metadata logs, both empty."""
    for path in patient.dirs[:2]:
        for kind in ("log", "index", "timeindex"):
            put(path / METADATA / f"{0:020d}.{kind}", b"")


def cleaned_with_horizon(patient: Patient) -> None:
    """The first batch gets the bit that the cleaner of 3.1 and later sets."""
    patient.log("first", resealed(0, 21, ">h", lambda attributes: attributes | 0x40))
    put(patient.log_dir / CLEANER, "0\n1\nu 0 18\n")


def given_away(patient: Patient) -> None:
    """Everything belongs to user 1234."""
    for path in patient.dirs:
        for place, names, files in os.walk(path):
            for name in [".", *names, *files]:
                os.chown(os.path.join(place, name), 1234, 1234)


def closed_to_its_owner(patient: Patient) -> None:
    """One file's owner may only read it."""
    given_away(patient)
    patient.file("first").chmod(0o400)


def made_by_root(patient: Patient) -> None:
    """One file belongs to root."""
    given_away(patient)
    os.chown(patient.file("first", "index"), 0, 0)


def a_link_to_roots(patient: Patient) -> None:
    """One lies on another disk, behind a link, and belongs to root there."""
    path = patient.file("first", "index")
    there = patient.log_dir.parent / "moved away.index"
    move_away(path, there)
    given_away(patient)
    os.chown(there, 0, 0)
    there.chmod(0o600)


def kept_by_root(name: str, mode: int) -> Hurt:
    """One file, of the partition if it is there, else of its log dir, belongs to root."""

    def hurt(patient: Patient) -> None:
        given_away(patient)
        there = patient.partition / name
        path = there if there.exists() else patient.log_dir / name
        path.touch()
        os.chown(path, 0, 0)
        path.chmod(mode)

    return hurt


def open_to_all(patient: Patient) -> None:
    """The same, but anybody may write it."""
    made_by_root(patient)
    patient.file("first", "index").chmod(0o666)


FAULTS = [
    alone("meta-missing-second", lambda p: (p.dirs[1] / META).unlink(),
        "K01", "refuses", under("2.7", "", "0..220")),
    alone("meta-missing-first", lambda p: (p.dirs[0] / META).unlink(), "K01", "refuses", says="have you run"),
    alone("meta-version-9-second", meta(1, key("version", "9")), "K02", "offline 0..220"),
    alone("meta-version-9-first", meta(0, key("version", "9")), "K02", "refuses offline"),
    alone("meta-empty-second", meta(1, lambda _: ""), "K02", "refuses"),
    kraft("meta-no-cluster-id-second", meta(1, key("cluster.id", None)), "K02", "offline 0..220"),
    alone("meta-cluster-id-second", meta(1, key("cluster.id", "lAb5pZ9vTWWx4JmKu0o3Ng")), "", "0..220"),
    kraft("meta-node-id-second", meta(1, key("node.id", "7")), "K03", "refuses", says="Stored node id"),
    alone("meta-broker-id-second", meta(1, key("broker.id", "7")), "", "0..220"),
    alone("meta-same-directory-id", same_directory_id, "K04", "refuses", since=IDS),
    alone("meta-directory-id-changed", meta(1, key("directory.id", "5Ck7mLhOSHGMUSQB0K3Dfg")),
        "", "0..220", since=IDS),
    alone("meta-directory-id-reserved", meta(1, key("directory.id", "AAAAAAAAAAAAAAAAAAAAAQ")),
        "K05", "refuses", since=IDS),
    alone("meta-directory-id-none", meta(1, key("directory.id", None)), "", "0..220", since=IDS),
    kraft("metadata-in-second-dir", lambda p: shutil.copytree(metadata(p), p.dirs[1] / METADATA),
        "K06", "refuses"),
    kraft("metadata-flip-last", metadata_log(flipped(-1, 63)), "K07", "0..220"),
    kraft("metadata-flip-middle", metadata_log(lambda data: flipped(len(positions(data)) // 2, 63)(data)),
        "K07", "0..220"),
    kraft("metadata-torn", metadata_log(lambda data: data[:-7]), "", "0..220"),
    kraft("metadata-snapshot-part", lambda p: put(metadata(p) / f"{5:020d}-{1:010d}-12.checkpoint.part", "x"),
        "K10", "0..220"),
    kraft("quorum-state-empty", quorum_state(""), "K11", "refuses"),
    kraft("quorum-state-garbage", quorum_state("{"), "K11", "refuses"),
    kraft("quorum-state-missing", quorum_state(None), "", "0..220"),
    kraft("remote-index-cache", lambda p: (p.dirs[1] / "remote-log-index-cache").mkdir(), "", "0..220"),
    alone("log-dir-missing", lambda p: shutil.rmtree(p.dirs[1]), "", "refuses"),
    alone("log-dir-is-a-file", is_a_file, "", "offline 0..220"),
    alone("lock-left", lambda p: put(p.dirs[1] / ".lock", ""), "", "0..220"),
    written("meta-cluster-id", meta(0, key("cluster.id", "mAb5pZ9vTWWx4JmKu0o3Ng")),
        "K03", "refuses", says="Invalid cluster.id"),
    written("meta-more-properties", meta(1, lambda text: f"a=b\n{text}"),
        "", "0..220", under("3.6", "", "0..220"), under("3.3", "K03", "refuses")),
    written("metadata-log-a-file-in-second-dir", lambda p: put(p.dirs[1] / METADATA, "x"),
        "K06", "refuses", base=node_dirs),
    written("metadata-logs-empty", second_log, "K06", "refuses"),
    written("metadata-snapshot-footer", lambda p: rewrite(p.log_dir / SNAPSHOT, lambda data: data[:-82]),
        "K08", "0..220", base=metadata_dir),
    written("metadata-snapshot-crc", lambda p: rewrite(p.log_dir / SNAPSHOT, flipped(0)),
        "K08", "refuses", base=metadata_dir),
    written("metadata-no-snapshot", no_start_of_metadata, "K09", "refuses", base=metadata_dir),
    kraft("quorum-state-last-epoch", in_the_last_epoch, "K24", "refuses"),
    kraft("quorum-state-a-folder", instead(f"{METADATA}/quorum-state"), "N30", "refuses"),
    kraft("quorum-state-tmp-a-full-folder", instead(f"{METADATA}/quorum-state.tmp", "x"), "N30", "refuses"),
    written("quorum-state-folder-removed", instead(f"{METADATA}/quorum-state"),
        "N30", "0..220", under("3.8", "N30", "refuses", base=metadata_dir), base=metadata_dir, release="3.7"),
    written("quorum-state-folder-kept", instead(f"{METADATA}/quorum-state", "x"),
        "N30", "refuses", base=metadata_dir, release="3.7"),
    written("quorum-state-tmp-folder-removed", instead(f"{METADATA}/quorum-state.tmp"),
        "N30", "0..220", base=metadata_dir),
    written("quorum-state-version", quorum_state('{"data_version":9}'), "K11", "refuses", base=metadata_dir),
    written("quorum-state-behind", an_epoch_behind, "K12", "0..220", base=metadata_dir),
    written("metadata-record-misfit", unhurt, "K29", "refuses",
        base=with_metadata([*cluster(["t", "u"]), build_metadata.remove_topic("5Ck7mLhOSHGMUSQB0K3Dfg")])),
    written("bootstrap-empty", file(BOOTSTRAP, b""), "K26", "refuses", base=known_and_formatted),
    written("bootstrap-torn", lambda p: rewrite(p.dirs[0] / BOOTSTRAP, lambda data: data[:-3]),
        "K26", "refuses", base=known_and_formatted),
    written("bootstrap-gone", lambda p: (p.dirs[0] / BOOTSTRAP).unlink(),
        "", "0..220", base=known_and_formatted),
    written("bootstrap-a-link-to-nothing", linked(BOOTSTRAP), "N32", "0..220", base=known_and_formatted),
    kraft("meta-a-link-to-nothing", linked(META), "N32 K01", "refuses", says="have you run"),
    written("quorum-state-of-kip-853", file(f"{METADATA}/quorum-state", QUORUM_STATE),
        "K19+", "0..220", base=with_metadata(cluster(["t", "u"], level=19)), release="3.8"),
    written("remote-cache-length", file(f"{CACHE}.index", bytes(15)), "K16", "0..220"),
    written("remote-cache-offset", file(f"{CACHE}.index", b"\xff" * 8), "K16", "0..220"),
    written("remote-cache-times", file(f"{CACHE}.timeindex", struct.pack(">qiqi", 9, 0, 8, 1)),
        "K16", "0..220"),
    written("remote-cache-transactions", file(f"{CACHE}.txnindex", struct.pack(">hqqqq", 0, 7, 1, 4, 4)),
        "K16", "0..220"),
    written("remote-cache-sound", sound_cache, "", "0..220"),
    written("hard-link", lambda p: os.link(p.file("active"), p.log_dir.parent / "backup.log"),
        "K17+", "0..220"),
    written("times-lost", without_times, "I13 K18+", "index-created 0..54", on="u-0", mend="repair"),
    written("zstd-under-2.0", in_zstd, "K19+", "reads-fail 0..220", under("2.1", "", "0..220"),
        release="2.0", says="Unknown compression type id: 4"),
    written("magic-2-under-0.10", unhurt, "K19+", "0..220", release="0.10.2"),
    written("metadata-healthy", unhurt, "", "0..220", base=with_metadata(cluster(["t", "u"]))),
    written("topic-recreated", unhurt,
        "M05", "log-recreated-empty stray-renamed 0..0 -201",
        base=with_metadata(cluster(["t", "u"], ids={"t": SECOND_ID}))),
    written("metadata-gone", unhurt, "K23", "stray-renamed -201", base=formatted),
    written("metadata-blank", lambda p: build_metadata.write_metadata(p.dirs[0], []),
        "K23", "stray-renamed -201", base=formatted),
    written("metadata-a-file", lambda p: put(p.dirs[1] / METADATA, ""),
        "K27", "refuses", base=formatted, says="FileAlreadyExistsException"),
    written("metadata-a-link-to-nothing", linked(METADATA),
        "K27", "refuses", base=formatted, says="FileAlreadyExistsException"),
    written("metadata-gives-ids-again", unhurt,
        "K25", "0..220", base=with_metadata(cluster(["t", "u"], following=9))),
    written("topic-id-of-its-neighbour", lambda p: put(p.partition / TOPIC_ID, NEIGHBOURS),
        "M05", "partition-unserved", base=with_metadata(cluster(["t", "u"])), mend="repair: M07"),
    written("topic-unknown", unhurt, "M07", "stray-renamed -201", base=with_metadata(cluster(["u"]))),
    written("topic-removed", unhurt,
        "M07", "stray-renamed -201",
        base=with_metadata([*cluster(["t", "u"]), build_metadata.remove_topic(build.topic_id("t"))])),
    written("topic-reassigned", unhurt,
        "M07", "stray-renamed -201", base=with_metadata(cluster(["t", "u"], replicas=(2, 3)))),
    written("directory-id-not-registered", unhurt,
        "K05", "0..220", base=with_metadata(cluster(["t", "u"], directory_ids=[SECOND_ID]))),
    written("metadata-version", unhurt,
        "K21", "refuses", base=with_metadata(cluster(["t", "u"])), release="4.2",
        says="only supports versions 7-29"),
    written("metadata-version-too-old", unhurt,
        "K21", "refuses", base=with_metadata(cluster(["t", "u"], level=4)), release="4.0",
        says="Unsupported metadata version"),
    written("metadata-version-unknown", unhurt,
        "K21", "refuses", base=with_metadata(cluster(["t", "u"])), release="4.1",
        says="Unsupported metadata version"),
    written("topic-setting-refused", unhurt,
        "K22", "refuses", base=with_metadata([*cluster(["t", "u"]), SMALL_SEGMENTS]),
        says="Invalid value 65536 for configuration segment.bytes: Value must be at least 1048576 (topic u)"),
    written("kraft-under-2.7", unhurt, "K21", "refuses offline", release="2.7", zookeeper=False),
    written("delete-horizon", cleaned_with_horizon,
        "", "0..54", under("3.0", "K19+", "0..54"), base=clean_dir, on="u-0", release="3.1"),
    written("file-of-a-closed-mode", closed_to_its_owner, "K13+", "0..220", root=True),
    written("file-of-another-owner", made_by_root, "K13+", "0..220", root=True),
    written("link-to-a-file-of-another-owner", a_link_to_roots, "K13+", "0..220", root=True),
    written("file-open-to-all", open_to_all, "", "0..220", root=True),
    written("small-file-of-another-owner", kept_by_root(EPOCHS, 0o644), "", "0..220", root=True),
    written("small-file-closed", kept_by_root(EPOCHS, 0o600), "K13", "0..220", root=True),
    written("lock-of-another-owner", kept_by_root(".lock", 0o644), "K13", "0..220", root=True),
]  # fmt: skip
