"""HDFS as a store, by what delta-rs brings for its tables (hdfs-native: neither Java nor libhdfs).

`hdfs://host:port/path`, or `hdfs:///path` for the fs.defaultFS of HADOOP_CONF_DIR, which also tells name
nodes and their stand-bys. HADOOP_USER_NAME, or a Kerberos ticket, says who asks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING

from deltalake._internal import DeltaFileSystemHandler
from pyarrow.fs import FileInfo, FileType

from segmend.fleet.folder import one_line
from segmend.fleet.object_store import ObjectStore
from segmend.logdir.file_system import EntryType, Unreadable

if TYPE_CHECKING:
    from obstore import ListResult, ObjectMeta


class _Calls:
    """obstore's functions, of a handler of delta-rs."""

    @staticmethod
    def list_with_delimiter(store: DeltaFileSystemHandler, prefix: str | None) -> ListResult:
        with _refusals():
            listed = store.get_file_info_selector(prefix or "", True, False)
        return {
            "objects": [_meta(each) for each in listed if each.type == FileType.File],
            "common_prefixes": [each.path for each in listed if each.type == FileType.Directory],
        }

    @staticmethod
    def head(store: DeltaFileSystemHandler, key: str) -> ObjectMeta:
        with _refusals():
            (told,) = store.get_file_info([key])
        if told.type != FileType.File:
            raise FileNotFoundError(key)
        return _meta(told)

    @staticmethod
    def get(
        store: DeltaFileSystemHandler, key: str, *, options: Mapping[str, tuple[int, int]] | None = None
    ) -> SimpleNamespace:
        with _refusals():
            file = store.open_input_file(key)
            file.seek((options or {}).get("range", (0,))[0])

        def stream(min_chunk_size: int) -> Iterator[bytes]:
            while True:
                with _refusals():
                    piece = file.read(min_chunk_size)
                if not piece:
                    return
                yield piece

        return SimpleNamespace(bytes=file.read, stream=stream)

    @staticmethod
    def get_range(store: DeltaFileSystemHandler, key: str, *, start: int, length: int) -> bytes:
        with _refusals():
            file = store.open_input_file(key)
            file.seek(start)
            content: bytes = file.read(length)
        return content

    @staticmethod
    def put(store: DeltaFileSystemHandler, key: str, content: bytes) -> None:
        with _refusals():
            file = store.open_output_stream(key, None)
            file.write(content)
            file.close()  # type: ignore[attr-defined]  # only now it has its name

    @staticmethod
    def delete(store: DeltaFileSystemHandler, key: str) -> None:
        with _refusals():
            store.delete_file(key)


class Hdfs(ObjectStore):
    """All clusters; unlike a bucket they have directories with nothing in them."""

    def __init__(self) -> None:
        super().__init__(lambda url: DeltaFileSystemHandler(f"{url}/"))

    @property
    def calls(self) -> type[_Calls]:
        """The same of HDFS."""
        return _Calls

    def _page(self, path: str) -> None:
        """One answer tells one directory."""

    def listing(self, path: str) -> dict[str, EntryType]:
        """Names in a directory; of an empty one only the directory above it tells that it is there."""
        try:
            return super().listing(path)
        except Unreadable as error:
            above, _, name = path.rstrip("/").rpartition("/")
            if error.missing and not above.endswith("/") and self.listing(above).get(name) == "dir":
                return {}
            raise


def _meta(told: FileInfo) -> ObjectMeta:
    return {"path": told.path, "size": told.size, "last_modified": told.mtime}


@contextmanager
def _refusals() -> Iterator[None]:
    """Of an error the line that says why; a name node adds where in its own Java."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        words = one_line(OSError(str(error).partition("\n\tat ")[0]))
        kind = PermissionError if "AccessControlException" in words else OSError
        raise kind(words) from None
