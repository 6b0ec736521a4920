"""A hex decoder for DumpLogSegments, so that the dump shows keys and values byte for byte.

Kafka's own decoders turn bytes into text, which loses whatever is not UTF-8. The dump takes a decoder
class; ours prints an `x` and the hex digits, so that an empty value is visible too.
"""

import subprocess
from pathlib import Path

from tests.lab.errors import LabError
from tests.lab.jars import jars
from tests.lab.java import find_javac
from tests.lab.releases import Release

NAME = "HexDecoder"

BODY = """
    public String fromBytes(byte[] bytes) {
        StringBuilder text = new StringBuilder("x");
        for (byte one : bytes) text.append(String.format("%02x", one));
        return text.toString();
    }
}
"""

OLD = (
    "public class HexDecoder implements kafka.serializer.Decoder<String> {"
    "    public HexDecoder(kafka.utils.VerifiableProperties properties) {}" + BODY
)
NEW = "public class HexDecoder implements org.apache.kafka.tools.api.Decoder<String> {" + BODY


def compile_decoder(release: Release, into: Path) -> Path:
    """Compile the decoder against the release's jars; returns the directory with the class."""
    javac = find_javac()
    if javac is None:
        raise LabError("the golden generator compiles a decoder for Kafka's dump: it needs a JDK with javac")
    into.mkdir(parents=True, exist_ok=True)
    source = into / f"{NAME}.java"
    source.write_text(NEW if release.number >= (4, 0) else OLD)
    command: list[str | Path] = [javac, "-nowarn", "-cp", f"{jars(release)}/*", "-d", into, source]
    subprocess.run(command, check=True, capture_output=True)
    return into
