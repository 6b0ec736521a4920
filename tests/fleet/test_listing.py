"""Any of a log dir, a broker, a directory of brokers or a glob finds the same log dirs."""

import glob
import os
import shutil
from pathlib import Path

import pytest
from tests.cli.run import as_one_who_may_not, python, run
from tests.fleet.build import plain, three_brokers, write_broker

from segmend.errors import SegmendError, UsageError
from segmend.fleet.damaged import tell_unread
from segmend.fleet.listing import absolute, brokers, find_places
from segmend.fleet.options import parse_options
from segmend.fleet.tables import open_table


def found(*paths: object) -> list[tuple[int, str]]:
    return [(place.broker, place.path) for place in find_places([str(path) for path in paths])]


def test_a_log_dir_a_broker_a_parent_and_a_glob_give_the_same(tmp_path: Path) -> None:
    root = three_brokers(tmp_path)
    everything = [(n, f"{root}/b{n}/data") for n in (1, 2, 3)]
    assert found(root) == everything
    assert found(f"{root}/*") == everything
    assert found(f"{root}/b*/data") == everything
    assert found(*(f"{root}/b{n}" for n in (3, 1, 2))) == everything
    assert found(f"{root}/b2/data/") == everything[1:2]


def test_a_dir_given_twice_is_found_once(tmp_path: Path) -> None:
    root = three_brokers(tmp_path)
    assert len(found(root, f"{root}/b1", f"{root}/b1/data")) == 3


def test_several_log_dirs_of_a_broker_belong_together(tmp_path: Path) -> None:
    write_broker(tmp_path, 7, [plain("a", 0)], name="d0")
    write_broker(tmp_path, 7, [plain("b", 0)], name="d1")
    groups = brokers(find_places([str(tmp_path)]))
    assert [len(group) for group in groups.values()] == [2]


def test_a_dir_without_identity_takes_that_of_its_sibling(tmp_path: Path) -> None:
    write_broker(tmp_path, 7, [plain("a", 0)], name="d0")
    write_broker(tmp_path, 7, [plain("b", 0)], name="d1")
    (tmp_path / "b7/d1/meta.properties").unlink()
    assert found(tmp_path) == [(7, f"{tmp_path}/b7/d0"), (7, f"{tmp_path}/b7/d1")]


def test_a_dir_without_identity_beside_those_of_several_brokers_is_nobodys(tmp_path: Path) -> None:
    for broker in (7, 8):
        write_broker(tmp_path, broker, [plain("a", 0)]).rename(tmp_path / f"d{broker}")
    plain("b", 0).write_to(tmp_path / "d9")
    assert (-1, f"{tmp_path}/d9") in found(tmp_path)


@pytest.mark.parametrize(("name", "broker"), [("broker-3", 3), ("kafka12", 12), ("node_5", 5)])
def test_else_the_path_names_the_broker(tmp_path: Path, name: str, broker: int) -> None:
    data = write_broker(tmp_path / name, 1, [plain("a", 0)])
    (data / "meta.properties").unlink()
    assert [b for b, _ in found(tmp_path)] == [broker]


def test_nameless_brokers_are_told_apart(tmp_path: Path) -> None:
    for letter in "xy":
        (write_broker(tmp_path / letter, 1, [plain("a", 0)]) / "meta.properties").unlink()
    assert found(tmp_path) == [(-1, f"{tmp_path}/x/b1/data"), (-2, f"{tmp_path}/y/b1/data")]


def test_a_broker_called_like_a_partition_is_no_partition(tmp_path: Path) -> None:
    write_broker(tmp_path / "broker-1", 1, [plain("a", 0)])
    assert len(found(tmp_path)) == 1


def test_a_bare_dir_of_partitions_is_a_log_dir(tmp_path: Path) -> None:
    plain("a", 0).write_to(tmp_path / "old")
    assert found(tmp_path / "old") == [(-1, f"{tmp_path}/old")]


@pytest.mark.parametrize("what", ["missing", "file", "empty", "glob"])
def test_one_clear_line_for_a_path_that_makes_no_sense(tmp_path: Path, what: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "empty").mkdir()
    path = f"{tmp_path}/{'nothing*' if what == 'glob' else what}"
    with pytest.raises(SegmendError, match=what if what != "glob" else "matches no"):
        find_places([path])


def test_a_loop_of_links_ends(tmp_path: Path) -> None:
    root = three_brokers(tmp_path)
    (root / "b1/self").symlink_to(root)
    assert len(found(root)) == 3


def test_a_dir_that_cannot_be_listed_comes_with_the_reason(tmp_path: Path) -> None:
    root = three_brokers(tmp_path)
    (root / "b1/data").chmod(0)
    asked = (
        "import sys; from segmend.fleet.listing import find_places as f; print(*f(sys.argv[1:]), sep='\\n')"
    )
    ran = python("-c", asked, root, prefix=as_one_who_may_not())
    (root / "b1/data").chmod(0o755)
    assert ran.stdout.count("unreadable='permission denied'") == 1


def test_an_empty_directory_among_log_dirs_may_be_a_disk(tmp_path: Path) -> None:
    root = three_brokers(tmp_path)
    for name in ("b1/blank", "b2/lost+found", "b2/logs/old", "b4/data"):
        (root / name).mkdir(parents=True)
    one = [(1, f"{root}/b1/blank")]
    everything = [*((n, f"{root}/b{n}/data") for n in (1, 2, 3)), (-1, f"{root}/b4/data")]
    assert found(root) == one + everything
    unread = [place.path for place in find_places([str(root)]) if place.unread]
    assert unread == [f"{root}/b1/blank", f"{root}/b4/data"]
    assert everything[-1] in found(f"{root}/b*/data")
    with pytest.raises(SegmendError, match="no Kafka log dir in it"):
        found(f"{root}/b1/blank/")


def test_a_link_to_nothing_beside_log_dirs_may_be_a_disk(tmp_path: Path) -> None:
    """Of a mount that is not there; it was left out of "nothing wrong"."""
    root = three_brokers(tmp_path)
    for name in ("b1/blank", "b4", "b2/data/orders-9", "b3/notes"):
        (root / name).symlink_to(f"/nothing/{name}")
    (root / "other/deep").mkdir(parents=True)
    (root / "other/deep/lost").symlink_to("nothing")

    def unread(*paths: str) -> set[str]:
        return {place.path.removeprefix(f"{root}/") for place in find_places([*paths]) if place.unread}

    assert unread(str(root)) == unread(f"{root}/*") == {"b1/blank", "b3/notes", "b4"}
    assert unread(f"{root}/*/data") == unread(f"{root}/b[24]*/d*") == {"b4"}
    assert unread(f"{root}/b2") == set()


@pytest.mark.parametrize("given", ["b1", "b1/*", "b*/d*", "."])
def test_a_file_called_as_log_dirs_are_stands_where_one_was(tmp_path: Path, given: str) -> None:
    """`forecast --cluster` says that the dir is offline; the fleet did not find that there was one."""
    for name in ("d0", "d1"):
        write_broker(tmp_path, 1, [plain("t", int(name[1:]), batches=2)], name=name)
    for name in ("b1/d2", "b1/d2.txt", "b1/server.log.1", "b2"):
        (tmp_path / name).write_text("")
    places = find_places([str(tmp_path / given)])
    assert [(place.broker, Path(place.path).name) for place in places] == [(1, "d0"), (1, "d1"), (1, "d2")]
    assert places[2].unread == "not a directory: a file stands where a log dir is to be?"


def test_what_a_glob_may_not_look_into_is_told(tmp_path: Path) -> None:
    """A shell's glob leaves it out."""
    root = three_brokers(tmp_path)
    (root / "b1").chmod(0)
    asked = (
        "import sys; from segmend.fleet.listing import find_places as f\n"
        "for each in sys.argv[1:]: print(*(place.path for place in f([each]) if place.unread))"
    )
    globs = [f"{root}/*", f"{root}/*/data", f"{root}/*/d*", f"{root}/b?/*/"]
    ran = python("-c", asked, *globs, prefix=as_one_who_may_not())
    (root / "b1").chmod(0o755)
    b1 = f"{root}/b1"
    assert ran.stdout.splitlines() == [b1, f"{b1}/data", b1, b1], ran.stderr


def test_a_glob_is_a_shell_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = three_brokers(tmp_path / "fleet")
    (root / "b1").rename(root / ".b1")
    monkeypatch.chdir(root)
    globs = ("*", "./*", "b*/data", "b[23]/d?ta", "../*/b2", ".b*", f"{root}//b*", "*/", ".", "./b2/../b*")
    for each in globs:
        places = {os.path.realpath(place.path) for place in find_places([each])}
        roots = [os.path.realpath(path) for path in glob.glob(each) if os.path.isdir(path)]
        wanted = {f"{root}/{name}/data" for name in (".b1", "b2", "b3")}
        assert places == {path for path in wanted if any(f"{path}/".startswith(f"{r}/") for r in roots)}, each


@pytest.mark.parametrize("command", ["diff", "rescue", "export"])
def test_what_goes_on_without_a_log_dir_says_so(tmp_path: Path, command: str) -> None:
    root = three_brokers(tmp_path / "fleet")
    (root / "b1/blank").mkdir()
    out = [] if command == "diff" else ["--out", str(tmp_path / "out")]
    form = ["--as", "jsonl"] if command == "rescue" else []
    ran = run("fleet", command, root, "--driver", "local", *out, *form, code=8)
    assert f"{root}/b1/blank: the directory is empty: a disk" in ran.err


def test_a_read_that_may_not_lack_a_row_fails_over_one(tmp_path: Path, caplog) -> None:
    root = three_brokers(tmp_path)
    (root / "b1/blank").mkdir()
    tell_unread(find_places([str(root)]), "PERMISSIVE")
    assert f"{root}/b1/blank: the directory is empty" in caplog.text
    with pytest.raises(SegmendError, match=r"blank: the directory is empty.*FAILFAST"):
        open_table([str(root)], parse_options({"mode": "FAILFAST"}), cores=1)


def test_a_path_of_this_disk_may_be_a_url() -> None:
    given = ["file:/a/b", "file:///a/b", "/a/b", "s3://a/b", "c/../a"]
    assert absolute(given) == ["/a/b", "/a/b", "/a/b", "s3://a/b", os.path.abspath("a")]


@pytest.mark.parametrize("names", [("b1", "b2", "b3"), ("north", "south", "west")])
@pytest.mark.parametrize("given", ["", "*"])
@pytest.mark.parametrize("made", [(), ("lost+found",), "a link", "a file"])
def test_the_only_disk_of_a_broker_that_is_not_mounted_is_a_place(
    made: tuple[str, ...] | str, given: str, names: tuple[str, ...], tmp_path: Path
) -> None:
    """Nothing beside it is a log dir; it lies where those of the other brokers do."""
    root = three_brokers(tmp_path / "fleet")
    for number, name in enumerate(names, 1):
        (root / f"b{number}").rename(root / name)
    gone = root / names[1] / "data"
    shutil.rmtree(gone)
    if made == "a link":
        gone.symlink_to("nothing")
    elif made == "a file":
        gone.touch()
    else:
        for each in ("", *made):
            (gone / each).mkdir()
    (root / "tools" / "cdrom").mkdir(parents=True)
    assert {each.path: bool(each.unread) for each in find_places([str(root / given)])} == {
        str(root / name / "data"): name == names[1] for name in names
    }


def test_a_broker_without_a_log_dir_is_a_place_where_numbers_tell_that_it_is_one(tmp_path: Path) -> None:
    root = three_brokers(tmp_path / "fleet")
    shutil.rmtree(root / "b2" / "data")
    (root / "tools").mkdir()
    assert [each.path for each in find_places([str(root)]) if each.unread] == [str(root / "b2")]


def test_an_empty_path_is_not_the_directory_one_stands_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(three_brokers(tmp_path / "fleet"))
    with pytest.raises(UsageError, match="an empty path"):
        absolute(["/a", ""])
    ran = run("fleet", "audit", "", "--out", tmp_path / "out", "--driver", "local", code=8)
    assert ran.err == "segmend: '': no such directory\n"


@pytest.mark.parametrize("odd", ["\0", "\ud800"])
def test_what_is_no_path_is_a_line(odd: str, tmp_path: Path) -> None:
    root = three_brokers(tmp_path / "fleet")
    with pytest.raises(SegmendError, match="not a path"):
        open_table([str(root)], parse_options({"config": odd}), cores=1)
