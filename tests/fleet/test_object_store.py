"""The same fleet in an object store gives the same rows and findings as on a disk (moto on loopback)."""

import errno
import hashlib
import json
import os
import pickle
import random
import shlex
import shutil
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any

import obstore
import pytest
from obstore.store import MemoryStore, from_url
from tests.cli.run import run
from tests.conftest import GOLDEN
from tests.fleet.bucket import s3_server, upload
from tests.fleet.build import plain, write_broker
from tests.fleet.written import table_rows
from tests.golden.unpack import unpack

from segmend.checks import CheckRun, Level
from segmend.cli.main import main
from segmend.errors import ExitCode, SegmendError, UsageError
from segmend.fleet import delta, folder, object_store, remote
from segmend.fleet.audit import AuditRequest, audit
from segmend.fleet.driver import LocalDriver
from segmend.fleet.listing import Place, find_places
from segmend.fleet.object_store import ObjectStore
from segmend.fleet.options import parse_options
from segmend.fleet.remote import files_of
from segmend.fleet.schemas import AUDIT_TABLES
from segmend.fleet.tables import open_table, read
from segmend.logdir import disk
from segmend.logdir.file_system import Unreadable
from segmend.logdir.log_dir import LogDir
from segmend.node.broker_dirs import BrokerDirs

BUNDLED = GOLDEN.parent.parent / "examples" / "fleet" / "fleet.tar.xz"

# All in one worker, which fills the bucket once.
# The store is a process of its own: as a live test, what fails is run once more, and printed in full.
pytestmark = [pytest.mark.xdist_group("bucket"), pytest.mark.flaky(reruns=1)]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("fleet")
    for broker in (1, 2):
        write_broker(root, broker, [plain("t", 0, batches=30), plain("t", 1, batches=4)])
    (root / "b2/data/t-1/00000000000000000000.timeindex").unlink()
    return root


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with s3_server() as client:
        yield client


@pytest.fixture(scope="module")
def bucket(fleet: Path, client: Any) -> str:
    upload(client, fleet, "day1")
    return "s3://snap/day1"


def rows_of(path: str, **given: str) -> list[dict[str, Any]]:
    works = open_table([path], parse_options(given), cores=1)
    rows = [row for work in works for batch in read(work) for row in batch.to_pylist()]
    for row in rows:
        # What can only differ: when the file was written, and where it lies.
        for name in ("mtime_ms", "dir", "remedy_command", "broker_says", "fingerprint"):
            row.pop(name, None)
        if "detail" in row:  # the finding that explains this one has its dir
            row["detail"] = [each for each in row["detail"] if each[0] != "cause"]
    return sorted(rows, key=repr)


@pytest.mark.slow
@pytest.mark.parametrize(
    "table", ["records", "batches", "segments", "findings", "partitions", "checkpoints", "index_entries"]
)
def test_every_table_is_the_same_from_the_store(fleet: Path, bucket: str, table: str) -> None:
    found = rows_of(bucket, table=table)
    assert found == rows_of(str(fleet), table=table)
    assert found


@pytest.mark.slow
def test_an_audit_of_a_bucket(bucket: str, tmp_path: Path) -> None:
    outcome = audit(AuditRequest(paths=(bucket,), out=str(tmp_path), level=Level.DEEP), LocalDriver(1))
    assert set(outcome.codes) >= {"I13"}
    assert (outcome.row["brokers"], outcome.row["partitions"]) == (2, 4)


@pytest.mark.slow
def test_a_sound_fleet_in_a_bucket_is_wholly_looked_at(client: Any, tmp_path: Path) -> None:
    """At the root of a bucket, too: no store tells its free space, and that hides no file of it."""
    write_broker(tmp_path / "fleet", 1, [plain("t", 0)])
    client.create_bucket(Bucket="sound")
    for file in (path for path in (tmp_path / "fleet").rglob("*") if path.is_file()):
        client.put_object(
            Bucket="sound", Key=str(file.relative_to(tmp_path / "fleet")), Body=file.read_bytes()
        )
    told = ("--out", tmp_path / "out", "--driver", "local", "--no-report")
    for path in ("s3://sound/b1/data", "s3://sound", "s3://sound/"):
        ran = run("fleet", "audit", path, *told, code=0)
        assert "gone between being listed" not in ran.out


@pytest.mark.slow
def test_what_lies_in_a_bucket_is_read_again_and_that_is_said(
    fleet: Path, bucket: str, tmp_path: Path
) -> None:
    for out, paths, read_again in (
        ("s3://snap/since/disk", [fleet], False),
        (tmp_path / "store", [bucket], True),
        (tmp_path / "both", [fleet / "b1", f"{bucket}/b2"], True),
    ):
        told = ("fleet", "audit", *paths, "--out", out, "--driver", "local", "--no-report")
        assert "read again" not in run(*told, "--since-run", "last").out
        again = run(*told, "--since-run", "last").out
        assert ("\nread again: all that lies in an object store" in again) == read_again
        assert ("not read again" in again) == (bucket not in paths)


@pytest.mark.slow
def test_an_audit_into_a_bucket(fleet: Path, bucket: str, tmp_path: Path, capsys: Any) -> None:
    """Tables, report and summary as in a directory, twice into the same OUT; its history and its vacuum."""
    here, there = str(tmp_path / "here"), "s3://snap/reports/kafka"
    for out in (here, there, here, there):
        assert main(["fleet", "audit", str(fleet), "--out", out, "--driver", "local"]) == ExitCode.FINDINGS
    capsys.readouterr()
    for name in AUDIT_TABLES:
        if name not in ("runs", "log_dirs"):
            assert table_rows(there, name) == table_rows(here, name), name
    assert json.loads(folder.source(f"{there}/summary.json").read())["report"] == f"{there}/report.html"
    assert b"</html>" in folder.source(f"{there}/report.html").read()
    assert main(["fleet", "runs", there]) == ExitCode.NOTHING_WRONG
    assert main(["fleet", "diff-runs", there]) == ExitCode.NOTHING_WRONG
    assert main(["fleet", "vacuum", there, "--keep", "1"]) == ExitCode.NOTHING_WRONG
    assert len(delta.runs(there)) == 1
    assert len(list(folder.entries(f"{there}/runs"))) == 1
    assert not Path("s3:").exists()


@pytest.mark.slow
def test_an_out_that_cannot_be_written_is_one_line(fleet: Path, bucket: str, capsys: Any) -> None:
    command = ["fleet", "audit", str(fleet), "--driver", "local", "--out"]
    assert main([*command, "s3://nobody/x"]) == ExitCode.OPERATIONAL
    told = capsys.readouterr().err.splitlines()
    assert told[-1].startswith("segmend: s3://nobody/x/"), told
    assert main([*command, "ftp://host/x"]) == ExitCode.USAGE
    for character in "%#?[]\\^|":  # Delta's library reads them as a URL's, and wrote beside OUT
        capsys.readouterr()
        assert main([*command, f"s3://snap/odd/o{character}x"]) == ExitCode.USAGE
        assert f"{character} in the name of an object store's OUT" in capsys.readouterr().err
    assert "odd" not in files_of("s3://snap").listing("s3://snap")
    assert (
        main(["fleet", "audit", bucket, "--driver", "local", "--out", f"{bucket}/b1/data"]) == ExitCode.USAGE
    )


@pytest.mark.slow
@pytest.mark.parametrize("torn", ["commit", "data", "log"])
def test_a_torn_out_in_a_bucket_is_healed_or_one_line(
    fleet: Path, bucket: str, torn: str, capsys: Any
) -> None:
    out = f"s3://snap/torn-{torn}"
    command = ["fleet", "audit", str(fleet), "--out", out, "--driver", "local"]
    assert main(command) == ExitCode.FINDINGS
    first = f"{out}/findings/_delta_log/00000000000000000001.json"
    if torn == "commit":
        folder.save(first, "{ torn")
    elif torn == "data":
        for each in folder.entries(f"{out}/runs"):
            folder.remove(each.path)
    else:
        for each in [*folder.entries(f"{out}/findings/_delta_log")]:
            folder.remove(each.path)
    capsys.readouterr()
    code = main(command)
    told = capsys.readouterr().err.strip().splitlines()
    if torn == "log":
        assert code == ExitCode.FINDINGS, told
    else:
        assert code == ExitCode.OPERATIONAL
        assert "give another --out" in told[-1]


@pytest.mark.slow
def test_a_glob_in_a_bucket_finds_what_it_would_find_on_a_disk(bucket: str) -> None:
    def found(*paths: str) -> list[str]:
        return [
            place.path.removeprefix(bucket) for place in find_places([f"{bucket}{each}" for each in paths])
        ]

    both = ["/b1/data", "/b2/data"]
    assert found("/*") == found("/b[12]/d*") == found("/b?/data/") == both
    assert found("/b[!1]") == ["/b2/data"]
    for nothing in ("/*/nothing", "/x*", "/x*/data"):
        with pytest.raises(SegmendError, match="matches no directory"):
            found(nothing)


def test_a_missing_prefix_is_one_line(bucket: str) -> None:
    with pytest.raises(SegmendError, match="no such directory"):
        open_table([f"{bucket}/nowhere"], parse_options({}), cores=1)


def test_a_scheme_that_nobody_reads_is_one_line() -> None:
    with pytest.raises(UsageError, match="ftp:// cannot be read"):
        files_of("ftp://host/x")


class Counting:
    """A store in memory that a test can look into."""

    def __init__(self) -> None:
        self.store = MemoryStore()

    def connect(self, url: str) -> MemoryStore:
        return self.store


def test_reads_are_exact_at_every_position() -> None:
    memory = Counting()
    content = bytes(range(256)) * 100
    memory.store.put("a/b", content)
    reader = ObjectStore(memory.connect).open("mem://bucket/a/b")
    for position, size in ((0, 10), (10, 5000), (5010, 100), (25_590, 100), (0, 1), (25_600, 5)):
        buffer = bytearray(size)
        got = reader.read_into(memoryview(buffer), position)
        assert buffer[:got] == content[position : position + size]
        assert got == max(0, min(size, len(content) - position))


def test_a_log_dir_in_a_store_is_one_like_any_other(fleet: Path) -> None:
    """Checked and forecast without a look at the disk; only what no store tells is different."""
    memory, home = Counting(), fleet / "b2"
    for file in (path for path in home.rglob("*") if path.is_file()):
        memory.store.put(str(file.relative_to(home)), file.read_bytes())
    stored = LogDir.open("mem://bucket/data", ObjectStore(memory.connect))
    on_disk = LogDir.open(f"{home}/data")
    found = [
        [(finding.code, finding.file, finding.broker_effect) for finding in CheckRun(BrokerDirs([each]))]
        for each in (stored, on_disk)
    ]
    assert found[0] == found[1] != []
    with pytest.raises(Unreadable, match="nothing tells its free space"):
        stored.space()
    assert (stored.real_path, stored.broker_running()) == ("mem://bucket/data", False)


def test_another_process_reads_from_the_same_store() -> None:
    place = Place(log_dir_id=0, path="s3://snap/b1", broker=1, cluster_id=None)
    assert isinstance(place.files, ObjectStore)
    assert isinstance(pickle.loads(pickle.dumps(place)).files, ObjectStore)
    assert replace(place, path="/data/b1").files is disk


def test_what_a_store_refuses_is_unreadable() -> None:
    memory = Counting()
    with pytest.raises(Unreadable) as missing:
        ObjectStore(memory.connect).file_stat("mem://bucket/none")
    assert missing.value.errno == errno.ENOENT


def test_a_store_that_nobody_serves_says_why() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"

    def connect(bucket: str) -> Any:
        told = {"aws_endpoint_url": url, "aws_skip_signature": "true"}
        return from_url(
            bucket, config=told, client_options={"allow_http": True}, retry_config={"max_retries": 0}
        )

    with pytest.raises(Unreadable, match=rf"HEAD {url}/snap/x .*\(Connection refused\)$"):
        ObjectStore(connect).file_stat("s3://snap/x")


@pytest.mark.parametrize("path", ["hdfs://nowhere/x", "hdfs:///x"])
def test_a_name_node_that_nothing_names_is_a_line_of_plain_text(path: str) -> None:
    with pytest.raises(Unreadable, match=r"\(say hdfs://HOST:PORT/, or have HADOOP_CONF_DIR") as told:
        remote.files_of(path).listing(path)
    assert str(told.value).isprintable()
    assert "↳" not in str(told.value)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("AWS_ALLOW_HTTP", None, "to use http:// set AWS_ALLOW_HTTP=true"),
        ("AWS_ENDPOINT_URL", "nonsense", "AWS_ENDPOINT_URL=nonsense is no URL such as https://host:9000"),
        ("AWS_ACCESS_KEY_ID", None, "no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"),
    ],
)
def test_what_the_environment_lacks_is_said(
    bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str | None, words: str
) -> None:
    """Of inputs and of OUT; what the library says of it is of HTTP only, or a panic."""
    write_broker(tmp_path / "fleet", 1, [plain("t", 0)])
    monkeypatch.delenv(name)
    if value is not None:
        monkeypatch.setenv(name, value)
    if name == "AWS_ACCESS_KEY_ID":
        monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
        monkeypatch.setenv("AWS_METADATA_ENDPOINT", "http://127.0.0.1:9")
    remote.forget()
    try:
        for path, out in ((bucket, tmp_path / "out"), (tmp_path / "fleet", "s3://snap/lacking")):
            ran = run("fleet", "audit", path, "--out", out, "--driver", "local", code=8)
            assert words in ran.err
            assert ran.err.count("\n") == 1
    finally:
        remote.forget()


@pytest.mark.slow
def test_a_key_that_a_store_does_not_know_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer stands behind a long request."""
    monkeypatch.setenv("INITIAL_NO_AUTH_ACTION_COUNT", "1")  # moto's: the bucket is made, then keys count
    write_broker(tmp_path / "fleet", 1, [plain("t", 0)])
    with s3_server():
        for path, out, words in (
            ("s3://snap/x", tmp_path / "out", "permission denied"),
            (tmp_path / "fleet", "s3://snap/out", "403 Forbidden"),
        ):
            ran = run("fleet", "audit", path, "--out", out, "--driver", "local", code=8)
            assert words in ran.err
            assert ran.err.count("\n") == 1


@pytest.mark.slow
def test_what_a_test_asked_of_one_store_goes_to_no_other(bucket: str, tmp_path: Path) -> None:
    """The process keeps its connections, and another test may have had another store."""
    (tmp_path / "here").write_bytes(b"")
    with s3_server() as other:
        upload(other, tmp_path, "day2")
        assert list(files_of("s3://snap").listing("s3://snap")) == ["day2"]
    assert "day1" in files_of("s3://snap").listing("s3://snap")


class Asked:
    """What is asked of a store in memory, whose ETags are MD5s as those of S3, or as `tag` says."""

    def __init__(
        self, tag: Callable[[bytes], str] = lambda content: hashlib.md5(content).hexdigest()
    ) -> None:
        self.requests: list[str] = []
        self._tag = tag

    def __getattr__(self, name: str) -> Any:
        self.requests.append(name)
        return getattr(obstore, name)

    def list_with_delimiter(self, store: Any, prefix: str | None) -> Any:
        self.requests.append("list")
        found = obstore.list_with_delimiter(store, prefix)
        for meta in found["objects"]:
            meta["e_tag"] = f'"{self._tag(bytes(store.get(meta["path"]).bytes()))}"'
        return found


@pytest.mark.slow
@pytest.mark.parametrize("level", list(Level))
def test_a_check_asks_four_times_a_segment_at_most(
    level: Level, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a listing told is not asked again; small files are read whole, and equal ones once."""
    home, memory, asked = unpack(BUNDLED, tmp_path) / "b1", Counting(), Asked()
    for file in (path for path in home.rglob("*") if path.is_file()):
        memory.store.put(str(file.relative_to(home)), file.read_bytes())
    monkeypatch.setattr(object_store, "obstore", asked)

    def seen(root: str, files: Any) -> set[tuple[str, str | None, int | None]]:
        dirs = BrokerDirs([LogDir.open(f"{root}/{name}", files) for name in ("d0", "d1")])
        return {(each.code, each.file, each.position) for each in CheckRun(dirs, level=level)}

    assert seen("mem://bucket", ObjectStore(memory.connect)) == seen(str(home), disk)
    assert 0 < len(asked.requests) <= 4 * len(list(home.rglob("*.log")))


def test_equal_objects_are_read_once_if_the_store_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """An ETag that is no MD5 of what it names says nothing of others that have it."""

    def read_both(first: bytes, second: bytes, asked: Asked) -> list[bytes]:
        memory = Counting()
        memory.store.put("d/a", first)
        memory.store.put("d/b", second)
        monkeypatch.setattr(object_store, "obstore", asked)
        files = ObjectStore(memory.connect)
        files.listing("mem://bucket/d")
        return [files.open(f"mem://bucket/d/{name}").read(9) for name in ("a", "b")]

    honest, lying = Asked(), Asked(tag=lambda _: "0" * 32)
    assert read_both(b"same", b"same", honest) == [b"same", b"same"]
    assert honest.requests == ["list", "get_range"]
    assert read_both(b"this", b"that", lying) == [b"this", b"that"]


@pytest.mark.slow
def test_one_answer_for_all_below_says_what_a_listing_of_each_says(client: Any) -> None:
    """Also where tools keep objects of no bytes for directories: in them files would be seen."""
    names = (
        "b1/d/x",
        "b1/d/t-0/0.log",
        "b1/d/.kafka_cleanshutdown",
        "b1x/y",
        "b1/d/t-0/00000000000000000000.log",
    )
    for root, more in (("plain", ()), ("marked", ("b2/", "b1/", "b1/d/t.1-1/"))):
        for name in (*names, *more):
            client.put_object(
                Bucket="snap", Key=f"below/{root}/{name}", Body=b"" if name[-1] == "/" else b"1"
            )
        files = files_of("s3://snap")
        assert isinstance(files, ObjectStore)

        def below(path: str, files: ObjectStore = files) -> dict[str, Any]:
            entries = files.listing(path)
            return {
                name: below(f"{path}/{name}") if kind == "dir" else files.file_stat(f"{path}/{name}").size
                for name, kind in entries.items()
            }

        one_by_one = below(f"s3://snap/below/{root}")
        with files.listed_once():
            assert below(f"s3://snap/below/{root}") == one_by_one
            assert files.path_type(f"s3://snap/below/{root}/b1") == "dir"
            assert files.path_type(f"s3://snap/below/{root}/b1/d/x") == "file"
            assert files.path_type(f"s3://snap/below/{root}/b1/d/nothing") is None
            with pytest.raises(Unreadable, match="no such file"):
                files.open(f"s3://snap/below/{root}/b1/d/nothing")


@contextmanager
def _breaking_off(port: int, after: int) -> Iterator[int]:
    """The port of one between us and a store, who hangs up when an answer has so many bytes."""

    def pass_on(here: socket.socket, there: socket.socket, most: int) -> None:
        with suppress(OSError):
            while most > 0 and (data := here.recv(min(most, 1 << 16))):
                there.sendall(data)
                most -= len(data)
        for each in (here, there):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def serve(listening: socket.socket) -> None:
        with suppress(OSError):
            while True:
                client, _ = listening.accept()
                store = socket.create_connection(("127.0.0.1", port))
                for each in ((client, store, 1 << 40), (store, client, after)):
                    Thread(target=pass_on, args=each, daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        Thread(target=serve, args=(listening,), daemon=True).start()
        yield listening.getsockname()[1]


@pytest.mark.slow
def test_a_large_log_is_read_whole_though_the_store_hangs_up(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = random.Random(5).randbytes(9 << 20)
    client.put_object(Bucket="snap", Key="long/a", Body=content)
    port = int(os.environ["AWS_ENDPOINT_URL"].rpartition(":")[2])
    with _breaking_off(port, after=5 << 20) as broken:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{broken}")
        remote.forget()
        try:
            with files_of("s3://snap").open("s3://snap/long/a") as reader:
                read, buffer = b"", bytearray(700_000)
                while count := reader.read_into(memoryview(buffer), len(read)):
                    read += buffer[:count]
                back = reader.read(5000, 1_000_000)
        finally:
            remote.forget()
    assert read == content
    assert back == content[1_000_000:1_005_000]


@pytest.mark.slow
def test_reads_of_a_large_object_are_exact_in_any_order() -> None:
    memory, rng = Counting(), random.Random(7)
    content = rng.randbytes(7_300_001)
    memory.store.put("a/b", content)
    files = ObjectStore(memory.connect)
    for _ in range(60):
        with files.open("mem://bucket/a/b") as reader:
            position = 0
            for _ in range(rng.randrange(1, 9)):
                size = rng.choice((1, 61, 5000, 300_000, 1 << 20, 3 << 20))
                assert reader.read(size, position) == content[position : position + size]
                position = rng.choice((position + size, position + size + 99_000, rng.randrange(7_300_001)))


@pytest.mark.slow
def test_replicas_there_are_rescued_as_on_a_disk(bucket: str, fleet: Path, tmp_path: Path) -> None:
    found = []
    for source in (str(fleet), bucket):
        out = tmp_path / str(len(found))
        command = ["fleet", "rescue", source, "--out", str(out), "--driver", "local"]
        assert main([*command, "--kafka", "4.3"]) == ExitCode.NOTHING_WRONG
        found.append({path.relative_to(out): path.read_bytes() for path in out.glob("t-*/*")})
    assert found[0] == found[1]
    assert any(path.suffix == ".log" for path in found[0])


@pytest.mark.slow
def test_what_a_diff_suggests_there_can_be_pasted(
    client: Any, fleet: Path, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(fleet, hurt := tmp_path / "hurt")
    log = min((hurt / "b2/data/t-0").glob("*.log"))
    log.write_bytes(log.read_bytes()[:-9] + bytes(9))
    upload(client, hurt, "hurt")
    assert main(["fleet", "diff", "s3://snap/hurt", "--driver", "local"]) == ExitCode.FINDINGS
    told = [line.partition("segmend ")[2] for line in capsys.readouterr().out.splitlines() if "next:" in line]
    assert len(told) == 1, told
    monkeypatch.chdir(tmp_path)
    pasted = [*shlex.split(told[0]), "--driver", "local", "--kafka", "4.3"]
    assert main(pasted) == ExitCode.NOTHING_WRONG, told
    assert (tmp_path / "rescued-t" / "t-0").exists()
