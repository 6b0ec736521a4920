"""Make `vectors.json` anew: `python -m tests.topics.make_vectors` from the repository's root (a JDK).

Kafka 4.3.1's own classes write the records (`Vectors.java`); its DumpLogSegments then reads them out of a
log, and what it prints is kept too.
"""

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from tests.golden.dump import fields
from tests.lab.jars import jars
from tests.lab.java import find_java
from tests.lab.releases import release

from segmend.formats.build import NewRecord, build_batch

HERE = Path(__file__).parent
FLAGS = {
    "__share_group_state": "--share-group-state-decoder",
    "__remote_log_metadata": "--remote-log-metadata-decoder",
}


def log_of(vectors: list[dict[str, Any]]) -> bytes:
    """A log with a batch for each vector, at offsets 0, 1, ..."""
    made = [
        NewRecord(
            key=bytes.fromhex(v["key"]) if v["key"] else None,
            value=bytes.fromhex(v["value"]) if v["value"] else None,
        )
        for v in vectors
    ]
    return b"".join(build_batch([record], base_offset=offset) for offset, record in enumerate(made))


def printed(path: Path, flag: str) -> list[str]:
    """The record lines of Kafka's dump."""
    command = [find_java(), "-cp", f"{jars(release('4.3.1'))}/*", "org.apache.kafka.tools.DumpLogSegments"]
    done = subprocess.run([*command, "--files", path, flag], capture_output=True, text=True, check=True)
    return [line.removeprefix("| ") for line in done.stdout.splitlines() if line.startswith("| ")]


def main() -> None:
    """Write the file."""
    command = [find_java(), "-cp", f"{jars(release('4.3.1'))}/*", HERE / "Vectors.java"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    vectors = [json.loads(line) for line in done.stdout.splitlines()]
    for topic, flag in FLAGS.items():
        chosen = [v for v in vectors if v["topic"] == topic]
        with tempfile.TemporaryDirectory() as scratch:
            path = Path(scratch) / f"{0:020d}.log"
            path.write_bytes(log_of(chosen))
            for vector, line in zip(chosen, printed(path, flag), strict=True):
                assert "offset" in fields(line)
                vector["dump_log"] = line
    (HERE / "vectors.json").write_text(json.dumps(vectors, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
