"""Run a release's own DumpLogSegments over a directory and parse what it prints.

The dump opens indexes for writing, so it is only ever given a copy. Values keep Kafka's own names
(`baseOffset`, `producerId`, ...); the few names that changed between releases are brought to the newest.
"""

import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from tests.golden.decoder import NAME, compile_decoder
from tests.lab.errors import LabError
from tests.lab.process import java_command
from tests.lab.releases import Release

KINDS = (".log", ".index", ".timeindex", ".txnindex", ".snapshot", ".checkpoint")
FIELD = re.compile(r"(\w+): (.*?)(?= \w+: |$)")
LOGGED = re.compile(r"\[.*?\] (?:INFO|WARN|ERROR) .*\(kafka\.\S+\)$")
RENAMED = {
    "keysize": "keySize",
    "valuesize": "valueSize",
    "payloadsize": "valueSize",
    "payload": "value",
    "isvalid": "isValid",
    "compresscodec": "codec",
    "compressionCodec": "codec",
    "compressType": "codec",
}
Fields = dict[str, Any]


def plain(name: str, text: str) -> object:
    """A printed value as JSON: numbers, booleans, nothing, hex without its `x`, or the text."""
    if name in ("key", "value"):
        return text[1:] if text.startswith("x") else text
    if text in ("true", "false"):
        return text == "true"
    if text in ("None", "OptionalLong.empty", "Optional.empty", "null"):
        return None
    if found := re.fullmatch(r"(?:Some|OptionalLong|Optional)[(\[](-?\d+)[)\]]", text):
        return int(found.group(1))
    if name == "headerKeys":
        return text.strip("[]").split(",") if text != "[]" else []
    if name == "codec":
        word = re.sub(r"CompressionCodec$", "", text).lower()
        return "none" if word == "no" else word
    return int(text) if re.fullmatch(r"-?\d+", text) else text


def fields(line: str) -> Fields:
    """The `name: value` pairs of a line."""
    made: Fields = {}
    for name, text in FIELD.findall(line):
        name = RENAMED.get(name, name)
        if name in ("CreateTime", "LogAppendTime", "NoTimestampType"):
            made["timestampType"], made["timestamp"] = name, int(text)
        else:
            made[name] = plain(name, text.strip())
    return made


def sort_line(line: str, suffix: str, bare: str, into: dict[str, list[Any]]) -> None:
    """Put one printed line where it belongs: batches, records, entries, or everything else.

    `bare` says what a line is that begins with a mere offset: a legacy batch, of which Kafka prints
    the last offset only, or (deep dumps before 2.0) a record.
    """
    if line.startswith("baseOffset: "):
        into.setdefault("batches", []).append(fields(line))
    elif line.startswith("| offset: "):
        into.setdefault("records", []).append(fields(line.removeprefix("| ")))
    elif line.startswith("offset: ") and suffix in (".log", ".checkpoint"):
        found = fields(line)
        if bare == "batches":
            found = {"lastOffset": found.pop("offset"), **found}
        into.setdefault(bare, []).append(found)
    elif suffix == ".index" and line.startswith("offset: "):
        found = fields(line)
        into.setdefault("entries", []).append([found["offset"], found["position"]])
    elif suffix == ".timeindex" and line.startswith("timestamp: "):
        found = fields(line)
        into.setdefault("entries", []).append([found["timestamp"], found["offset"]])
    elif suffix in (".txnindex", ".snapshot") and FIELD.match(line):
        into.setdefault("entries", []).append(fields(line))
    elif line.strip():
        into.setdefault("says", []).append(line)


def parse(printed: str, root: Path, bare: str) -> dict[str, dict[str, list[Any]]]:
    """What was printed for each file, by its path below `root`; paths in complaints are shortened too."""
    found: dict[str, dict[str, list[Any]]] = {}
    current, suffix = "", ""
    for line in printed.replace(f"{root}/", "").splitlines():
        if line.startswith("Dumping "):
            current = line.removeprefix("Dumping ").strip()
            suffix = Path(current).suffix
            found.setdefault(current, {})
        elif current:
            sort_line(line, suffix, bare, found[current])
    return found


def files(root: Path) -> list[Path]:
    """Every file below root that the dump understands."""
    return sorted(path for path in root.rglob("*") if path.suffix in KINDS and path.is_file())


def dump_class(release: Release) -> str:
    """Where DumpLogSegments lives in that release."""
    return (
        "org.apache.kafka.tools.DumpLogSegments"
        if release.number >= (4, 0)
        else "kafka.tools.DumpLogSegments"
    )


def without_repeats(command: list[str]) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command, a line that repeats the one before left out.

    Old dumps print each of the 873,813 zero entries of a preallocated time index.
    """
    kept: list[str] = []
    with tempfile.TemporaryFile("w+") as errors:
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, errors="replace")
        assert child.stdout is not None
        last = ""
        for line in child.stdout:
            if line != last and not LOGGED.match(line):
                kept.append(line)
                last = line
        code = child.wait()
        errors.seek(0)
        return code, "".join(kept), errors.read()


def run_dump(release: Release, scratch: Path, wanted: list[Path], *flags: str) -> str:
    """Dump all files in one process, starting again behind each file that it stumbles over.

    (It does: the .index of an empty partition of a killed broker is all zeros and ends the whole run.)
    """
    classes = compile_decoder(release, scratch / f"decoder-{release.version}")
    printed = ""
    while wanted:
        some, rest = wanted[:MOST], wanted[MOST:]
        arguments = [*flags, "--files", ",".join(map(str, some))]
        command = java_command(release, scratch, dump_class(release), *arguments, classes=classes)
        code, said, error = without_repeats(command)
        printed += said
        if code == 0:
            wanted = rest
            continue
        reached = re.findall(r"^Dumping (.*)$", said, re.MULTILINE)
        if not reached:
            raise LabError(f"{dump_class(release)} failed: {error[:1000]}")
        thrown = [line for line in error.splitlines() if "Exception" in line or "Error" in line]
        printed += f"\nFAILED {(thrown or [error.strip()[:200]])[0]}\n"
        wanted = wanted[wanted.index(Path(reached[-1])) + 1 :]
    return printed


MOST = 400
"""So many files a process: one argument of a command line has at most 128 KiB."""
DEEP = ("--deep-iteration", "--print-data-log")


def dump(release: Release, root: Path, scratch: Path) -> dict[str, dict[str, list[Any]]]:
    """Dump everything below `root` (a copy!): batches, records, index entries, snapshots, transactions."""
    if release.number < (0, 9):
        wanted = [path for path in files(root) if path.suffix in (".log", ".index")]
    else:
        wanted = files(root)
    hexed = ["--key-decoder-class", NAME, "--value-decoder-class", NAME]
    found = parse(
        run_dump(release, scratch, wanted, *DEEP, *hexed),
        root,
        "records" if release.number < (2, 0) else "batches",
    )
    if release.number < (2, 0):  # their deep dump leaves the batch lines out
        logs = [path for path in wanted if path.suffix == ".log"]
        shallow = parse(run_dump(release, scratch, logs), root, "batches")
        for name, content in shallow.items():
            found[name]["batches"] = content.get("batches", [])
    return found


INTERNAL = {
    "__consumer_offsets": "--offsets-decoder",
    "__transaction_state": "--transaction-log-decoder",
    "__cluster_metadata": "--cluster-metadata-decoder",
}


def decode_internal(release: Release, root: Path, scratch: Path) -> dict[str, list[str]]:
    """The internal topics as Kafka's own decoders print them: the lines with a key or a payload."""
    made: dict[str, list[str]] = {}
    for topic, flag in INTERNAL.items():
        logs = [
            path
            for path in files(root)
            if path.parent.name.startswith(f"{topic}-") and path.suffix in (".log", ".checkpoint")
        ]
        if not logs:
            continue
        try:
            printed = run_dump(release, scratch, logs, *DEEP, flag)
        except LabError as error:
            made[topic] = [f"FAILED {error}"]
            continue
        current = ""
        for line in printed.replace(f"{root}/", "").splitlines():
            if line.startswith("Dumping "):
                current = line.removeprefix("Dumping ").strip()
            elif current and ("payload:" in line or "key:" in line):
                made.setdefault(current, []).append(line)
    return made
