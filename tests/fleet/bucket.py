"""An object store of S3's kind on loopback (moto); what is started meanwhile finds it by its environment."""

import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import pytest
from tests.waiting import until

from segmend.fleet import remote

BUCKET = "snap"


@contextmanager
def s3_server(told: IO[bytes] | None = None) -> Iterator[Any]:
    """A client of a store with the bucket `BUCKET`; into `told` goes a line for each request."""
    import boto3  # half a second for those who do not need it

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # A process of its own: delta-rs asks the store while it holds the interpreter.
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=told or subprocess.DEVNULL)
    environ = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
    }
    try:
        with pytest.MonkeyPatch.context() as patch:
            for name, value in environ.items():
                patch.setenv(name, value)
            client = boto3.client("s3", endpoint_url=environ["AWS_ENDPOINT_URL"], region_name="us-east-1")
            _wait_for(port, server)
            client.create_bucket(Bucket=BUCKET)
            remote.forget()
            yield client
    finally:
        remote.forget()
        server.kill()
        server.wait()


Asked = Callable[[Callable[[str], object]], list[str]]


@contextmanager
def asked_of(home: Path) -> Iterator[Asked]:
    """The requests that something makes of the fleet below `home`, in a store of its own; their lines."""
    with TemporaryFile() as told, s3_server(told) as client:
        upload(client, home, "fleet")

        def requests(what: Callable[[str], object]) -> list[str]:
            before = os.fstat(told.fileno()).st_size
            remote.forget()
            what(f"s3://{BUCKET}/fleet")
            lines = os.pread(told.fileno(), 1 << 30, before).decode().splitlines()
            return [re.sub("\x1b\\[[0-9;]*m", "", line) for line in lines if " HTTP/1.1" in line]

        yield requests


def upload(client: Any, folder: Path, prefix: str) -> None:
    """All files below `folder`, in the order of their names."""
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        key = f"{prefix}/{file.relative_to(folder)}"
        client.put_object(Bucket=BUCKET, Key=key, Body=file.read_bytes())


def _wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    """Until somebody listens there."""

    def connected() -> bool:
        assert server.poll() is None
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
        return True

    until("the store", connected, 100, despite=OSError)
