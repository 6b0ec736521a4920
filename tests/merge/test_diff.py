"""`segmend diff` as a user runs it: over three real brokers that agree, and over each way to differ."""

import json
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.run import run
from tests.copies import copy_tree
from tests.faults.hands import seal, with_number
from tests.faults.on_disk import put_lines
from tests.golden.shared import golden
from tests.golden.unpack import unpack
from tests.lab.elections import HERE

from segmend.cli.output import emit_long_json
from segmend.formats.build import BatchProducer, NewRecord, build_batch
from segmend.report.progress import Progress


def batch(first: int, epoch: int, word: str = "", count: int = 10) -> bytes:
    """So many records."""
    records = [NewRecord(value=b"%s %d" % (word.encode(), at)) for at in range(first, first + count)]
    producer = BatchProducer(epoch + 7, base_sequence=0)
    return build_batch(records, base_offset=first, leader_epoch=epoch, producer=producer)


def broker(
    root: Path,
    number: int,
    batches: list[bytes],
    *,
    epochs: str = "0 0",
    mark: int | None = None,
    topic_id: str = "fuYlYUwSThqrOsuA1qAjlg",
    cluster: str = "c",
) -> Path:
    """A log dir with one replica of t-0."""
    log_dir = root / f"b{number}"
    partition = log_dir / "t-0"
    partition.mkdir(parents=True)
    (partition / f"{0:020d}.log").write_bytes(b"".join(batches))
    put_lines(partition / "leader-epoch-checkpoint", epochs.split(", "))
    (partition / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id}\n")
    (log_dir / "meta.properties").write_text(f"version=1\nnode.id={number}\ncluster.id={cluster}\n")
    if mark is not None:
        (log_dir / "replication-offset-checkpoint").write_text(f"0\n1\nt 0 {mark}\n")
    return log_dir


PLAIN = [batch(first, 0) for first in range(0, 100, 10)]


def told(*dirs: Path) -> tuple[int, dict[int, dict[str, Any]], dict[str, Any]]:
    """The exit code, the replicas by broker, and the partition."""
    ran = run("diff", *dirs, "--json")
    return ran.code, {line["broker"]: line for line in ran.of("replica")}, ran.of("partition")[0]


def test_behind_what_a_high_watermark_tells_of_damage_at_the_end_may_hide_more(tmp_path: Path) -> None:
    """All that follows offset 79 is unreadable, and the watermark tells of no more than ten of these."""
    torn = [*PLAIN[:8], bytes(3000) + b"?" * 300]
    code, _, partition = told(*(broker(tmp_path, number, torn, mark=90) for number in (0, 1)))
    assert (code, partition["missing"]) == (4, [[80, 89]])
    assert [each.partition("; ")[2] for each in partition["doubts"]] == [
        "whether there were records from offset 90 on nothing tells"
    ] * 2


def test_of_two_alike_the_one_is_best_that_says_whose_it_is(tmp_path: Path) -> None:
    dirs = [broker(tmp_path, number, PLAIN, mark=100) for number in (0, 1)]
    (dirs[0] / "meta.properties").unlink()
    _, _, partition = told(*dirs)
    assert partition["best"] == {"broker": 1, "dir": str(dirs[1])}


@pytest.mark.parametrize("named", [True, False])
def test_of_two_alike_in_everything_the_same_one_is_taken_however_they_are_given(
    tmp_path: Path, named: bool
) -> None:
    dirs = [broker(tmp_path, number, PLAIN, mark=100) for number in (9, 10)]
    for log_dir in () if named else dirs:
        (log_dir / "meta.properties").unlink()
    first = str(dirs[0] if named else dirs[1])  # 9 is before 10, and b10 before b9
    for given in (dirs, dirs[::-1]):
        for words in ((), ("fleet",)):
            ran = run(*words, "diff", *given, "--json", *(("--driver", "local") if words else ()))
            assert ran.of("partition")[0]["best"]["dir"] == first


def test_what_only_files_beside_a_lost_log_tell_of_is_no_all_clear(tmp_path: Path) -> None:
    """The checkpoints are lost with it; where another replica has these offsets, nothing is in doubt."""
    dirs = [broker(tmp_path, number, PLAIN[:8]) for number in (0, 1)]
    whole = broker(tmp_path, 2, PLAIN)
    for name, told_from in (("80.index", 80), ("100.snapshot", 80)):
        number, suffix = name.split(".")
        beside = dirs[0] / "t-0" / f"{int(number):020d}.{suffix}"
        beside.write_bytes(b"")
        for command in (["diff", *dirs], ["rescue", *dirs, "--out", tmp_path / name, "--as", "jsonl"]):
            ran = run(*command, "--json")
            assert ran.code == 4
            assert any(f"offsets from {told_from} on" in each for each in ran.of("partition")[0]["doubts"])
        assert not run("diff", *dirs, whole, "--json").of("partition")[0]["doubts"]
        beside.unlink()
        assert run("diff", *dirs).code == 0
    (dirs[0] / "t-0" / f"{0:020d}.log").rename(dirs[0] / "t-0" / f"{80:020d}.log.deleted")
    (dirs[0] / "t-0" / f"{80:020d}.index").write_bytes(b"")
    shutil.copyfile(dirs[1] / "t-0" / f"{0:020d}.log", dirs[0] / "t-0" / f"{0:020d}.log")
    assert run("diff", *dirs).code == 0, "it is being deleted"


def test_three_real_brokers_agree() -> None:
    dirs = sorted(golden("4.3.1-fleet").glob("b*/d*"))
    ran = run("diff", *dirs, "--json", code=0)
    assert len(ran.of("partition")) == 30
    assert {line["relation"] for line in ran.of("replica")} == {"best", "equal"}
    assert ran.json[-1]["type"] == "summary"
    people = run("diff", *dirs)
    assert (people.code, people.out.count("\n")) == (0, 2)
    assert "assumed: what lies in " in people.out.splitlines()[1]
    metadata = run("diff", *dirs, "--topic", "__cluster_metadata", "--json")
    assert [line["behind_records"] for line in metadata.of("replica")] == [1, 0, 106]


RECORDED = [
    pytest.param(path.name, marks=[] if "4.3.1-killed" in path.name else pytest.mark.slow)
    for path in sorted(HERE.glob("*.tar.xz"))
]


@pytest.mark.parametrize("name", RECORDED)
def test_real_clusters_clean_and_killed(name: str, tmp_path: Path) -> None:
    """Three real brokers that ended together differ nowhere; one that ended before is behind, no more."""
    root = unpack(HERE / name, tmp_path)
    ran = run("diff", *sorted(root.glob("b*/d*")), "--json")
    assert len(ran.of("partition")) >= 9
    if "behind" not in name:
        assert ran.code == 0, [line for line in ran.of("partition") if line["verdict"] != "equal"]
        return
    lines = [line for line in ran.of("replica") if line["topic"] in ("full", "safe", "any")]
    assert {(line["broker"], line["behind_records"]) for line in lines} == {(1, 0), (2, 0), (3, 30)}


@pytest.mark.slow
def test_how_far_it_is_is_told_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """A total is what tells when it will be done."""
    told: list[tuple[int, int]] = []
    monkeypatch.setattr(Progress, "update", lambda _, done, total, _what: told.append((done, total)))
    run("diff", golden("4.3.1-fleet") / "b1" / "d0", golden("4.3.1-fleet") / "b2" / "d0")
    assert told == [(number, len(told)) for number in range(len(told))]
    assert len(told) > 5


def test_a_directory_that_is_gone_is_a_difference(tmp_path: Path) -> None:
    copy_tree(golden("4.3.1-fleet"), fleet := tmp_path / "fleet")
    shutil.rmtree(next(fleet.glob("b2/d*/shipments-2")))
    ran = run("diff", *sorted(fleet.glob("b*/d*")), "--topic", "shipments", "--json")
    lines = {line["partition"]: line for line in ran.of("partition")}
    assert ran.code == 4
    assert (lines[2]["verdict"], lines[2]["absent"], lines[1]["verdict"]) == ("behind", [2], "equal")


def test_a_log_that_every_replica_lost_is_missing(tmp_path: Path) -> None:
    dirs = [broker(tmp_path, number, [], mark=100) for number in (1, 2)]
    code, _, partition = told(*dirs)
    assert (code, partition["verdict"], partition["missing"]) == (4, "damaged", [[0, 99]])
    (dirs[0] / "t-0" / f"{0:020d}.log").unlink()
    assert told(*dirs)[2]["missing"] == [[0, 99]]
    ran = run("rescue", *dirs, "--as", "jsonl", "--out", tmp_path / "out", "--json")
    assert (ran.code, ran.json[-1]["missing"]) == (4, 100)


def test_a_log_that_retention_emptied_is_not(tmp_path: Path) -> None:
    dirs = [broker(tmp_path, number, [], epochs="0 100", mark=100) for number in (1, 2)]
    for log_dir in dirs:
        (log_dir / "t-0" / f"{0:020d}.log").rename(log_dir / "t-0" / f"{100:020d}.log")
    new = broker(tmp_path, 3, [], mark=0)
    code, _, partition = told(*dirs, new)
    assert (code, partition["verdict"], partition["missing"]) == (0, "equal", [])


def test_an_unclean_election_is_a_divergence(tmp_path: Path) -> None:
    old = [*PLAIN, batch(100, 1, "old"), batch(110, 1, "old")]
    new = [*PLAIN[:7], batch(70, 2, "new")]
    one = broker(tmp_path, 1, old, epochs="0 0, 1 100", mark=120)
    two = broker(tmp_path, 2, new, epochs="0 0, 2 70", mark=70)
    code, replicas, partition = told(one, two)
    assert (code, partition["verdict"], partition["best"]["broker"]) == (4, "diverged", 2)
    assert replicas[1]["diverged_at"] == {"offset": 70, "epoch": 0}
    assert replicas[1]["diverged"] == [
        {"first_offset": 70, "last_offset": 119, "records": 50, "producers": [7, 8]}
    ]
    assert partition["missing"] == []
    assert replicas[2]["unique"] == [
        {"first_offset": 70, "last_offset": 79, "records": 10, "above_high_watermark": True}
    ]
    (one / "meta.properties").unlink()
    said = "of broker ? (" + str(one) + "), 50 records of a branch that lost, written by producers 7, 8\n"
    asked = ("rescue", one, two, "--as", "jsonl", "--out", tmp_path / "out")
    assert said in run(*asked).out
    (line,) = run(*asked, "--json").of("partition")
    assert [each["producers"] for each in line["diverged"]] == [[7, 8]]


def test_a_high_watermark_of_a_leader_that_lost_is_no_loss_and_no_all_clear(tmp_path: Path) -> None:
    """Cut to the newer log, and killed before its checkpoint of high watermarks was written again."""
    one = broker(tmp_path, 1, PLAIN[:6], epochs="0 0", mark=70)
    two = broker(tmp_path, 2, PLAIN[:6], epochs="0 0, 2 60", mark=60)
    code, _, partition = told(one, two)
    assert (code, partition["missing"], partition["high_watermark"]) == (4, [], 60)
    (doubt,) = partition["doubts"]
    assert "its high watermark is 70, but the newest epoch that it knows ends at offset 59" in doubt
    both = broker(tmp_path / "both", 1, PLAIN[:6], epochs="0 0, 2 60", mark=70)
    assert told(both, two)[2]["missing"] == [[60, 69]], "of the newest epoch it is a loss"


def test_damage_names_who_has_it_sound(tmp_path: Path) -> None:
    hurt = [bytearray(each) for each in PLAIN]
    hurt[3][70] ^= 1
    hurt[6][70] ^= 1
    worse = [bytearray(each) for each in PLAIN[:9]]
    worse[6][70] ^= 1
    one = broker(tmp_path, 1, [bytes(each) for each in hurt], mark=100)
    two = broker(tmp_path, 2, [bytes(each) for each in worse], mark=90)
    code, replicas, partition = told(one, two)
    assert (code, partition["verdict"], partition["missing"]) == (4, "damaged", [[60, 69]])
    assert replicas[1]["damaged"] == [
        {"first_offset": 30, "last_offset": 39, "sound_on": [2]},
        {"first_offset": 60, "last_offset": 69, "sound_on": []},
    ]
    assert (replicas[2]["relation"], replicas[2]["behind_records"]) == ("damaged", 10)
    ran = run("diff", one, two)
    assert "lost: offsets 60 to 69 are sound on no replica" in ran.out
    last = next(line for line in ran.out.splitlines() if "segmend rescue" in line).partition("rescue")[2]
    words = shlex.split(last)
    words[words.index("--out") + 1] = str(tmp_path / "out")
    assert run("rescue", *words).code == 4


def test_a_log_start_offset_above_all_is_not_believed(tmp_path: Path) -> None:
    """No broker deletes above its high watermark: two bytes of a checkpoint are not to cost a partition."""
    one, two = broker(tmp_path, 1, PLAIN, mark=100), broker(tmp_path, 2, PLAIN, mark=100)
    (one / "log-start-offset-checkpoint").write_text("0\n1\nt 0 5230\n")
    code, _, partition = told(one, two)
    assert (code, partition["missing"]) == (4, [])
    ran = run("rescue", one, "--as", "jsonl", "--out", tmp_path / "out", "--json")
    assert (ran.code, json.loads(ran.out.splitlines()[-1])["records"]) == (4, 100)
    assert "5230, lies above all that is there, which ends at 99" in partition["doubts"][0]
    (one / "log-start-offset-checkpoint").write_text("0\n1\nt 0 100\n")
    assert told(one, two)[2]["doubts"] == []


def test_a_codec_that_does_not_exist_is_damage(tmp_path: Path) -> None:
    """Its checksum is right, and still no consumer reads it."""
    odd = [*PLAIN]
    odd[3] = seal(with_number(odd[3], ">h", 21, lambda attributes: attributes | 7))
    one, two = broker(tmp_path, 1, odd, mark=100), broker(tmp_path, 2, PLAIN, mark=100)
    code, replicas, partition = told(one, two)
    assert (code, partition["verdict"], partition["missing"]) == (4, "damaged", [])
    assert replicas[1]["damaged"] == [{"first_offset": 30, "last_offset": 39, "sound_on": [2]}]
    ran = run("rescue", one, two, "--as", "jsonl", "--out", tmp_path / "out", "--json")
    assert (ran.code, json.loads(ran.out.splitlines()[-1])["records"]) == (0, 100)


def test_the_next_command_mends(tmp_path: Path) -> None:
    hurt = [bytearray(each) for each in PLAIN]
    hurt[3][70] ^= 1
    one = broker(tmp_path, 1, [bytes(each) for each in hurt], mark=100)
    two = broker(tmp_path, 2, PLAIN, mark=100)
    ran = run("diff", one, two)
    command = shlex.split(
        next(line for line in ran.out.splitlines() if "next:" in line).partition("next:")[2]
    )
    command[command.index("plan.json")] = str(tmp_path / "plan.json")
    assert run(*command[command.index("plan") :]).code in (0, 4)
    applied = run("apply", tmp_path / "plan.json", "--yes", "--state-dir", tmp_path / "state")
    assert applied.code in (1, 5), applied
    assert told(one, two)[0] == 0


def test_compaction_and_retention_are_no_difference(tmp_path: Path) -> None:
    thin = build_batch([NewRecord(value=b"x", key=b"k", offset=9)], base_offset=0, leader_epoch=0)
    one = broker(tmp_path, 1, [thin, *PLAIN[3:]], mark=100)
    two = broker(tmp_path, 2, PLAIN, mark=100)
    (one / "cleaner-offset-checkpoint").write_text("0\n1\nt 0 30\n")
    assert told(one, two)[0] == 0
    log = two / "t-0" / f"{0:020d}.log"
    log.rename(log.with_name(f"{40:020d}.log")).write_bytes(b"".join(PLAIN[4:]))
    assert told(one, two)[1][2]["damaged"] == [{"first_offset": 0, "last_offset": 39, "sound_on": [1]}], (
        "no broker deleted these: it would have moved the first epoch's line up"
    )
    (two / "t-0" / "leader-epoch-checkpoint").write_text("0\n1\n0 40\n")
    code, replicas, _ = told(one, two)
    assert (code, replicas[2]["log_start_offset"]) == (0, 40)


def keyed(*offsets: int) -> bytes:
    """A batch of these offsets; a key comes again after 17."""
    records = [NewRecord(value=b"v", key=b"k%d" % (each % 17), offset=each) for each in offsets]
    return build_batch(records, base_offset=offsets[0], leader_epoch=0)


KEYED = [keyed(*range(first, first + 10)) for first in range(0, 100, 10)]


def test_nor_may_it_hide_a_first_file_that_is_lost(tmp_path: Path) -> None:
    one, two = broker(tmp_path, 1, KEYED, mark=100), broker(tmp_path, 2, KEYED, mark=100)
    (one / "cleaner-offset-checkpoint").write_text("0\n1\nt 0 4000\n")
    log = one / "t-0" / f"{0:020d}.log"
    log.rename(log.with_name(f"{40:020d}.log")).write_bytes(b"".join(KEYED[4:]))
    ran = run("rescue", one, two, "--as", "jsonl", "--out", tmp_path / "out", "--json")
    assert (ran.code, json.loads(ran.out.splitlines()[-1])["records"]) == (0, 100)


@pytest.mark.parametrize("cleaned", [0, 70, 100, 4000])
def test_what_a_cleaner_would_have_taken_shows_that_none_was_there(cleaned: int, tmp_path: Path) -> None:
    """A batch is gone whose keys came again, and the cleaner's checkpoint may even say that it was there."""
    one = broker(tmp_path, 1, [*KEYED[:5], *KEYED[6:]], mark=100)
    if cleaned:
        (one / "cleaner-offset-checkpoint").write_text(f"0\n1\nt 0 {cleaned}\n")
    two = broker(tmp_path, 2, KEYED, mark=100)
    code, replicas, _ = told(one, two)
    assert (code, replicas[1]["damaged"]) == (4, [{"first_offset": 50, "last_offset": 59, "sound_on": [2]}])
    ran = run("rescue", one, two, "--as", "jsonl", "--out", tmp_path / "out", "--json")
    assert (ran.code, json.loads(ran.out.splitlines()[-1])["records"]) == (0, 100)


def test_a_cleaner_that_was_there_took_all(tmp_path: Path) -> None:
    one = broker(tmp_path, 1, [keyed(*range(43, 50)), *KEYED[5:]], mark=100)
    (one / "cleaner-offset-checkpoint").write_text("0\n1\nt 0 60\n")
    assert told(one, broker(tmp_path, 2, KEYED, mark=100))[0] == 0


def test_a_file_lost_below_what_was_compacted(tmp_path: Path) -> None:
    """What a cleaner took came again later; what did not was lost."""
    batches = [
        build_batch(
            [NewRecord(value=b"v", key=b"k%d" % (number % 7), offset=number * 10)],
            base_offset=number * 10, leader_epoch=0,
        )
        for number in range(10)
    ]  # fmt: skip
    one, two = broker(tmp_path, 1, batches[3:6], mark=91), broker(tmp_path, 2, batches, mark=91)
    for log_dir in (one, two):
        (log_dir / "cleaner-offset-checkpoint").write_text("0\n1\nt 0 91\n")
    late = one / "t-0" / f"{80:020d}.log"
    late.write_bytes(b"".join(batches[8:]))
    code, replicas, _ = told(one, two)
    assert (code, replicas[1]["relation"]) == (4, "damaged")
    assert replicas[1]["damaged"] == [
        {"first_offset": 60, "last_offset": 60, "sound_on": [2]},
        {"first_offset": 70, "last_offset": 70, "sound_on": [2]},
    ]
    late.rename(late.with_name(f"{60:020d}.log")).write_bytes(b"".join(batches[6:]))
    assert told(one, two)[0] == 0


@pytest.mark.parametrize("at", [5, 9])
def test_a_flipped_epoch_is_no_leader(at: int, tmp_path: Path) -> None:
    """No checksum covers it; at the end of a log the other replica has the same bytes in another epoch."""
    odd = [*PLAIN]
    odd[at] = odd[at][:12] + b"\0\0\x10\0" + odd[at][16:]
    one, two = broker(tmp_path, 1, odd, mark=100), broker(tmp_path, 2, PLAIN, mark=100)
    code, replicas, partition = told(one, two)
    assert (code, partition["verdict"], partition["best"]["broker"]) == (4, "damaged", 2)
    assert replicas[1]["damaged"] == [{"first_offset": at * 10, "last_offset": at * 10 + 9, "sound_on": [2]}]


def test_a_checkpoint_denies_a_flipped_epoch(tmp_path: Path) -> None:
    """No other replica has those bytes, but its own checkpoint has an older epoch begin later."""
    odd = [*PLAIN[:4], PLAIN[4][:12] + b"\0\0\x10\0" + PLAIN[4][16:]]
    one = broker(tmp_path, 1, odd, epochs="0 0, 1 100", mark=100)
    two = broker(tmp_path, 2, [*PLAIN[:4], *PLAIN[5:]], epochs="0 0, 1 100", mark=100)
    _, replicas, partition = told(one, two)
    assert partition["verdict"] == "damaged"
    assert all(replica["relation"] != "diverged" for replica in replicas.values())


def test_a_hole_between_files_is_no_compaction(tmp_path: Path) -> None:
    one = broker(tmp_path, 1, PLAIN[:4], mark=100)
    (one / "t-0" / f"{60:020d}.log").write_bytes(b"".join(PLAIN[6:]))
    code, replicas, _ = told(one, broker(tmp_path, 2, PLAIN, mark=100))
    assert code == 4
    assert replicas[1]["damaged"] == [{"first_offset": 40, "last_offset": 59, "sound_on": [2]}]


def test_same_epoch_other_bytes(tmp_path: Path) -> None:
    """Two against one, whatever the order they are given in."""
    odd = [*PLAIN[:4], batch(40, 0, "odd"), *PLAIN[5:]]
    dirs = [broker(tmp_path, 1, odd), broker(tmp_path, 2, PLAIN), broker(tmp_path, 3, PLAIN)]
    code, replicas, partition = told(*dirs)
    assert (code, replicas[1]["diverged_at"]) == (4, {"offset": 40, "epoch": 0})
    assert partition["conflicts"] == [
        {"first_offset": 40, "last_offset": 49, "because": "majority", "taken": [2, 3]}
    ]
    for words in ((), ("fleet",)):
        out, more = tmp_path / f"out{len(words)}", ("--driver", "local") if words else ()
        ran = run(*words, "rescue", *dirs, "--out", out, "--as", "jsonl", "--json", *more, code=4)
        assert ran.of("partition")[0]["conflicts"] == partition["conflicts"]
        assert "at offsets 40 to 49; taken by majority" in (out / "_rescue.txt").read_text()


@pytest.mark.parametrize("gaps", [(), (20,), (20, 40), (70,)])
@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_other_bytes_are_seen_on_either_side_of_a_gap(
    gaps: tuple[int, ...], order: tuple[int, int], tmp_path: Path
) -> None:
    other = [batch(at, 0, "other" if at == 50 else "") for at in range(0, 100, 10) if at not in gaps]
    dirs = {1: broker(tmp_path, 1, PLAIN), 2: broker(tmp_path, 2, other)}
    code, _, partition = told(*(dirs[number] for number in order))
    assert code == 4
    assert [(each["first_offset"], each["last_offset"]) for each in partition["conflicts"]] == [(50, 59)]


def test_what_is_refused(tmp_path: Path) -> None:
    one, other = broker(tmp_path, 1, PLAIN), broker(tmp_path, 2, PLAIN, cluster="d")
    ran = run("diff", one, other)
    assert (ran.code, ran.err.count("\n")) == (16, 1)
    assert "these are 2 clusters" in ran.err
    unnamed = broker(tmp_path, 4, PLAIN, cluster="")
    assert run("diff", one, unnamed).code == 0
    ran = run("diff", one, one)
    assert (ran.code, "the same directory" in ran.err) == (0, True)
    again = broker(tmp_path, 3, PLAIN, topic_id="AAAAAAAAAAAAAAAAAAAAAg")
    ran = run("diff", one, again, "--json", code=8)
    assert json.loads(ran.out.splitlines()[0])["verdict"] == "refused"
    third = broker(tmp_path, 5, PLAIN)
    for order in ([again, one, third], [third, again, one]):
        ran = run("diff", *order, "--json")
        reason = json.loads(ran.out.splitlines()[0])["reason"]
        assert (reason.startswith(f"{again}/"), reason.endswith("so leave it out")) == (True, True), reason


def test_long_lists_are_written_as_they_come(capsys: pytest.CaptureFixture[str]) -> None:
    """None is held as a whole: the next item is made once the one before is written."""
    held: list[int] = []

    def items() -> Iterator[dict[str, int]]:
        for at in range(3):
            held.append(len(capsys.readouterr().out))
            yield {"at": at}

    emit_long_json({"type": "x", "none": iter(()), "some": items(), "all": [1]})
    assert capsys.readouterr().out == ',{"at":2}],"all":[1]}\n'
    assert [bool(each) for each in held] == [True] * 3
