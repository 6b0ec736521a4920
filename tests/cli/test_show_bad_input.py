"""Whatever stands at a path, `show` ends with one line and exit 8 or 16, or shows the damage in place."""

import os
import random
import shlex
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from tests.cli.run import as_one_who_may_not, python, run
from tests.conftest import examples

from segmend.cli.commands.show.file import kinds
from segmend.formats.build import NewRecord, build_batch

ZERO = "00000000000000000000"


def one_line(err: str) -> bool:
    return err.startswith("segmend: ") and err.count("\n") == 1


@pytest.mark.parametrize(
    ("make", "code", "said"),
    [
        (lambda p: None, 8, "no such file or directory"),
        (lambda p: p.mkdir(), 8, "the directory is empty"),
        (lambda p: (p / "sub").mkdir(parents=True), 8, "no log dir of a broker"),
        (lambda p: p.symlink_to(p), 8, "too many levels of symbolic links"),
        (lambda p: p.symlink_to("gone"), 8, "no such file or directory"),
        (lambda p: os.mkfifo(p), 16, "say what it is with --kind"),
        (lambda p: p.write_bytes(b"hello"), 16, "say what it is with --kind"),
        (lambda p: os.mkfifo(p.parent / f"{ZERO}.log") or p.symlink_to(f"{ZERO}.log"), 16, "--kind"),
    ],
    ids=["missing", "empty", "foreign", "loop", "dangling", "fifo", "file", "link-to-fifo"],
)
def test_what_is_no_log_dir(make: object, code: int, said: str, tmp_path: Path) -> None:
    path = tmp_path / "data"
    make(path)  # type: ignore[operator]
    ran = run("show", path, code=code)
    assert said in ran.err
    assert one_line(ran.err)
    assert ran.out == ""


@pytest.mark.parametrize("above", ["", "data/b 7"], ids=["beside", "deep"])
@pytest.mark.parametrize(
    "command",
    [
        "show",
        "check",
        "diff",
        "plan repair",
        "forecast",
        "explain startup",
        "explain upgrade",
        "explain retention",
    ],
)
def test_a_directory_of_log_dirs_says_which_are_meant(command: str, above: str, tmp_path: Path) -> None:
    told = []
    for name in ("d 1", "kafka-2"):
        log_dir = tmp_path / above / name
        # What lies in a log dir is none of its own.
        (log_dir / "orders-0").mkdir(parents=True)
        for folder in (log_dir, log_dir / "orders-0"):
            (folder / "meta.properties").write_text("version=1\n")
        told.append(shlex.quote(str(log_dir)))
    (tmp_path / "lost+found").mkdir()
    ran = run(*command.split(), tmp_path, code=8)
    assert f"did you mean {' '.join(told)}?" in ran.err
    assert one_line(ran.err)


def test_a_fifo_with_the_name_of_a_log_is_told_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / f"{ZERO}.log")
    ran = run("show", tmp_path / f"{ZERO}.log", code=8)
    assert "not a regular file" in ran.err
    assert one_line(ran.err)


def test_the_same_dir_twice_and_mixed_paths(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "meta.properties").touch()
    (tmp_path / "link").symlink_to("d")
    twice = run("show", tmp_path / "d", tmp_path / "link")
    assert (twice.code, one_line(twice.err)) == (16, True)
    assert "the same directory as" in twice.err
    mixed = run("show", tmp_path / "d", tmp_path / "d" / "meta.properties")
    assert (mixed.code, one_line(mixed.err)) == (16, True)
    unknown = run("show", tmp_path / "d" / "meta.properties", "--kind", "novel")
    assert (unknown.code, one_line(unknown.err)) == (16, True)


@pytest.mark.slow
def test_no_permission_is_told_in_one_line(tmp_path: Path) -> None:
    """An unreadable dir or file ends the command, an unreadable partition is a flag in the table."""
    data, secret = tmp_path / "data", tmp_path / "secret"
    for name in ("t-0", "u-0"):
        (data / name).mkdir(parents=True)
    (data / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=c\n")
    log = data / "t-0" / f"{ZERO}.log"
    log.write_bytes(build_batch([NewRecord(b"v")]))
    secret.mkdir()
    for path in (log, data / "u-0", secret):
        path.chmod(0)

    prefix = as_one_who_may_not()
    for path, rights in ((secret, "rx"), (log, "r")):
        ran = python("-m", "segmend", "show", path, prefix=prefix)
        told = f"segmend: {path}: permission denied (chmod u+{rights} {path})\n"
        assert (ran.returncode, ran.stderr) == (8, told)
    ran = python("-m", "segmend", "show", data, prefix=prefix)
    assert ran.returncode == 0
    flagged = [line for line in ran.stdout.splitlines() if line.startswith(("t-0", "u-0"))]
    assert len(flagged) == 2
    assert all("unreadable" in line for line in flagged)
    for path in (log, data / "u-0", secret):
        path.chmod(0o700)


@pytest.mark.slow
def test_names_that_are_no_utf_8_or_steer_terminals_are_shown_escaped(tmp_path: Path) -> None:
    data = os.fsencode(tmp_path)
    os.mkdir(data + b"/caf\xe9-0")
    os.mkdir(data + b"/\x1b[2J-1")
    with open(data + b"/meta.properties", "wb") as file:
        file.write(b"cluster.id=\x1b]0;evil\x07\nversion=1\nnode.id=1\n")
    for extra in ([], ["--json"]):
        for locale in ("C", "C.UTF-8"):
            ran = python("-m", "segmend", "show", tmp_path, *extra, LC_ALL=locale)
            assert (ran.returncode, ran.stderr) == (0, "")
            assert "\x1b" not in ran.stdout
            assert "caf" in ran.stdout
            assert "\udce9" not in ran.stdout
    assert "caf\\udce9" in ran.stdout


@pytest.mark.parametrize("kind", kinds())
@pytest.mark.parametrize("size", [0, 1, 13, 100, 5000])
def test_random_bytes_as_every_kind(kind: str, size: int, tmp_path: Path) -> None:
    path = tmp_path / "mystery.bin"
    path.write_bytes(random.Random(size).randbytes(size))
    for extra in ([], ["--records"], ["--json", "--records"]):
        ran = run("show", path, "--kind", kind, *extra, code=0)
        assert ran.err == ""


def hurt_log(tmp_path: Path) -> tuple[Path, bytearray]:
    batches = [
        build_batch([NewRecord(b"v%d" % n, key=b"k", timestamp=n) for n in range(3)], base_offset=base)
        for base in (0, 3, 6, 9)
    ]
    data = bytearray(b"".join(batches))
    path = tmp_path / f"{ZERO}.log"
    path.write_bytes(data)
    return path, data


@pytest.mark.parametrize(
    ("damage", "kind", "left"),
    [
        (lambda d, n: d.__setitem__(slice(n + 8, n + 12), b"\xff\xff\xff\xff"), "size-too-small", [0, 6, 9]),
        (lambda d, n: d.__setitem__(slice(n + 8, n + 12), b"\x7f\xff\xff\xff"), "size-past-end", [0, 6, 9]),
        (lambda d, n: d.__setitem__(n + 16, 9), "bad-magic", [0, 3, 6, 9]),
        (lambda d, n: d.__delitem__(slice(len(d) - 20, len(d))), "torn-tail", [0, 3, 6]),
        (lambda d, n: d.extend(bytes(4096)), "zero-tail", [0, 3, 6, 9]),
        (lambda d, n: d.extend(bytes(5)), "header-fragment", [0, 3, 6, 9]),
    ],
)
def test_damage_is_shown_in_its_place_and_the_rest_as_well(
    damage: object, kind: str, left: list[int], tmp_path: Path
) -> None:
    path, data = hurt_log(tmp_path)
    damage(data, len(data) // 4)  # type: ignore[operator]
    path.write_bytes(data)
    ran = run("show", path, "--json", code=0)
    assert [row["base_offset"] for row in ran.of("batch")] == left
    assert kind in [row["kind"] for row in ran.of("damage")]
    for extra in ([], ["--records"]):
        assert f": {kind}: " in run("show", path, *extra).out


def test_a_bad_checksum_is_a_flag(tmp_path: Path) -> None:
    path, data = hurt_log(tmp_path)
    data[len(data) // 4 - 2] ^= 1
    path.write_bytes(data)
    assert [row["is_valid"] for row in run("show", path, "--json").of("batch")] == [False, True, True, True]
    assert "CRC-BAD" in run("show", path).out


@pytest.mark.slow
@examples(40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_flipped_bits_of_a_log_never_end_in_a_traceback(data: st.DataObject, tmp_path: Path) -> None:
    """Whatever bits flip, every output of `show` is whole and its exit code is 0."""
    path, content = hurt_log(tmp_path)
    for at in data.draw(st.lists(st.integers(0, len(content) * 8 - 1), min_size=1, max_size=12)):
        content[at // 8] ^= 1 << at % 8
    path.write_bytes(content)
    ran = run("show", path, "--records", "--json", code=0)
    assert ran.json
    assert run("show", path, "--records").code == 0


@pytest.mark.slow
def test_hostile_sizes_cost_nothing(tmp_path: Path) -> None:
    """A sparse file of a tebibyte, a count of 2^31 in a checkpoint: answered at once."""
    (tmp_path / "replication-offset-checkpoint").write_text("0\n2147483647\nt 0 5\n")
    ran = run("show", tmp_path / "replication-offset-checkpoint", "--json")
    assert ran.of("damage")[0]["kind"] == "huge-count"
    assert [row["offset"] for row in ran.of("checkpoint-entry")] == [5]
    for name in (f"{ZERO}.index", f"{ZERO}.snapshot", "partition.metadata"):
        (tmp_path / name).touch()
        os.truncate(tmp_path / name, 1 << 40)
        assert run("show", tmp_path / name, "--json").code == 0
