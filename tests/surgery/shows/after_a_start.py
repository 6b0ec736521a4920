"""The way back once a broker ran: plans applied, a start, records, a stop, `plan reverse`, a second start.

    python -m tests.surgery.shows.after_a_start GOLDEN...

Each operation has a partition of its own, and a journal of its own. What a consumer gets in the end is what
was there before all of it, with what was produced in between; where the way back would cost that, all stays.
"""

import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.conftest import GOLDEN
from tests.faults.on_disk import flip, lengthen
from tests.golden.produce import write
from tests.golden.records import Rec
from tests.golden.unpack import unpack
from tests.lab.broker import Broker
from tests.lab.process import java_command
from tests.surgery.desk import left_code
from tests.surgery.recovery_rule import batches_of
from tests.surgery.shows import server
from tests.surgery.shows.bed import Bed, stage
from tests.surgery.shows.damages import active, rolled
from tests.surgery.test_graft import batches, fall_behind

LATER = [b"later %d" % number for number in range(5)]
"""Produced to each partition after the second start: a log that nobody looked at may end in garbage."""
MORE = [b"since %d" % number for number in range(5)]
"""Produced to each partition while the broker ran, but to those that stay quiet."""


@dataclass(frozen=True)
class Ruled:
    """One plan: of which partition; whether records come to it, and what `reverse` leaves."""

    name: str
    partition: str
    ask: Callable[[Bed, Path], tuple[object, ...]]
    quiet: bool = False
    left: str | None = None
    """What is said of what stays; None if all goes back."""
    lost: bool = False
    """Whether what was there before is not served in the end, since what came since is."""


def move(bed: Bed, home: Path) -> tuple[object, ...]:
    """Into the other log dir."""
    other = next(log_dir for log_dir in bed.dirs if log_dir != home.parent)
    return "move", *bed.dirs, "--partition", home.name, "--to", other


def delete(bed: Bed, home: Path) -> tuple[object, ...]:
    """What another replica has."""
    return "delete", *bed.dirs, "--partition", home.name, "--replica", bed.other(home.name).parent


def rename(bed: Bed, home: Path) -> tuple[object, ...]:
    """What was restored under another name."""
    home.rename(home.with_name(f"lost.{home.name}"))
    topic = home.name.rpartition("-")[0]
    return "rename", *bed.dirs, "--topic", "lost.*", "--to", topic


def repair(bed: Bed, home: Path) -> tuple[object, ...]:
    """An index with a flipped bit."""
    flip([path for path in sorted(home.glob("*.index"))[:-1] if path.stat().st_size][-1], 6, 0x40)
    return "repair", home


def graft(bed: Bed, home: Path) -> tuple[object, ...]:
    """What is behind its leader."""
    leader = bed.other(home.name)
    fall_behind(home, len(batches(leader)) // 2)
    return "graft", *bed.dirs, "--partition", home.name, "--from", leader


def trim(bed: Bed, home: Path) -> tuple[object, ...]:
    """A torn end."""
    log = active(home)
    donor = rolled(home, 1) if len(list(home.glob("*.log"))) > 2 else rolled(bed.where("codec-none-0"), 1)
    lengthen(log, donor.read_bytes()[: batches_of(donor)[0].size * 2 // 3])
    return "trim", home


def free(bed: Bed, home: Path) -> tuple[object, ...]:
    """A segment that waits for its deletion."""
    log = rolled(home, 0)
    subprocess.run(["cp", "-a", log, log.with_name(f"{log.name}.deleted")], check=True)
    return "free", *bed.dirs, "--bytes", 1, "--discard"


OLD = [
    Ruled("move", "codec-lz4-0", move),
    Ruled("delete", "codec-snappy-0", delete, quiet=True),
    Ruled("repair", "codec-none-0", repair),
    Ruled("graft", "codec-gzip-0", graft, left="stays"),
    Ruled("rename", "mixed-1", rename, quiet=True),
    Ruled("trim", "empty-0", trim, quiet=True),
    Ruled("free", "codec-none-0", free),
]
"""On 0.8.2.2, which has few partitions."""
ALL = [
    *(each for each in OLD if not each.partition.startswith("mixed")),
    Ruled("move, quiet", "empty-0", move, quiet=True),
    Ruled("delete, and written anew", "single-0", delete, left="is there again with", lost=True),
    Ruled("rename", "nulls-0", rename),
    Ruled("trim", "times-0", trim, left="its old end stays in"),
    Ruled("trim, quiet", "orders.eu-west_1-0", trim, quiet=True),
]


def rules(bed: Bed) -> list[Ruled]:
    """The plans for a release."""
    return OLD if bed.release < (0, 9) else ALL


def play(golden: str, whole: Path, root: Path, *, killed: bool = False) -> list[str]:
    """Raises AssertionError; what `reverse` said that it left."""
    bed = Bed(golden, whole, root)
    journals = [(rule, applied(bed, rule)) for rule in rules(bed)]
    quiet = {rule.partition for rule in rules(bed) if rule.quiet}
    with server.beside(bed) as zookeeper:
        with server.up(bed, zookeeper) as broker:
            wanted = {name for name in server.written(golden) if not name.startswith("__")}
            server.read(broker, bed, wanted)  # until all have a leader
            put = {name for name in wanted - quiet if is_written(bed, name)}
            produce(broker, bed, put, MORE)
            broker.kill() if killed else broker.stop()
        for _, journal in journals:
            names_the_way(bed, journal, stopped=not killed)
        said = [reversed_(bed, rule, journal) for rule, journal in reversed(journals)]
        errors = [found for found in bed.findings() if found[0] in ("L01", "L05", "L07")]
        if killed and zookeeper:
            zookeeper.until_forgotten()
        with server.up(bed, zookeeper) as broker:
            server.read(broker, bed, wanted)
            produce(broker, bed, {name for name in wanted if is_written(bed, name)}, LATER)
            seen = server.read(broker, bed, wanted)
    wrong = [
        name
        for name in sorted(wanted)
        if not fits(golden, values(seen.get(name, [])), *expected(golden, name, bed, put))
    ]
    assert not wrong, (wrong, errors)
    return said


def expected(golden: str, name: str, bed: Bed, put: set[str]) -> tuple[list[bytes], list[bytes]]:
    """The values of a partition in the end: what was there, and what came since."""
    rule = next((rule for rule in rules(bed) if rule.partition == name), None)
    old = values(server.written(golden)[name])
    if rule is not None and (rule.lost or rule.name == "rename"):
        old = []
    since = MORE if name in put and (rule is None or rule.name != "rename") else []
    return old, [*since, *(LATER if is_written(bed, name) else ())]


def fits(golden: str, found: list[bytes], old: list[bytes], new: list[bytes]) -> bool:
    """A killed one got more between the look of a consumer and its death."""
    if golden.endswith("-clean"):
        return found == [*old, *new]
    return found[: len(old)] == old and found[len(found) - len(new) :] == new


def values(rows: list[dict[str, Any]]) -> list[bytes]:
    return [bytes.fromhex(row["value"] or "") for row in rows]


def applied(bed: Bed, rule: Ruled) -> str:
    """The damage, the plan, `apply`; the journal's name."""
    asked = rule.ask(bed, bed.where(rule.partition))
    with stage(f"{rule.name}: plan"):
        ran = bed.run("plan", *asked, "--kafka", bed.version, "-o", bed.plan_file)
        assert ran.code in (0, 4), ran
    with stage(f"{rule.name}: apply"):
        ran = bed.run("apply", bed.plan_file, "--yes", "--state-dir", bed.state, "--json")
        assert ran.code in (1, 5), ran
    return str(ran.of("applied")[0]["journal"])


def names_the_way(bed: Bed, journal: str, *, stopped: bool) -> None:
    """`undo` costs nothing that came since: it says what can be had, always if the stop was a clean one."""
    ran = bed.run("undo", journal, "--dry-run", "--state-dir", bed.state)
    way = f"segmend plan reverse {bed.state}/journals/{journal}"
    assert ran.code == 8 or not stopped or bed.release < (0, 9), ran
    assert ran.code in (0, 8), ran
    assert ran.code == 0 or way in ran.err or "first: segmend undo" in ran.err, ran


def reversed_(bed: Bed, rule: Ruled, journal: str) -> str:
    """The way back of one plan; what it says that it leaves."""
    state = ("--state-dir", bed.state)
    with stage(f"{rule.name}: reverse"):
        ran = bed.run("plan", "reverse", journal, *state, "-o", bed.plan_file, "--json")
        left = "; ".join(words for row in ran.of("plan") for words in row["left"])
        assert ran.code == left_code(bed.planned()), ran  # a torn end that comes back is cut by a start
        # Of a killed one an index of the active segment is made anew, which grows.
        grown = rule.name == "repair" and bed.golden.endswith("-killed")
        assert rule.left in left if rule.left else (grown or not left), left
        if ran.of("step"):
            ran = bed.run("apply", bed.plan_file, "--yes", *state)
            assert ran.code == 1 + left_code(bed.planned()), ran
    if rule.name == "rename":
        home = bed.where(f"lost.{rule.partition}")
        assert rule.quiet or MORE[-1] in max(home.glob("*.log")).read_bytes(), "what came since is not there"
    return f"{rule.name}: {left}"


def is_written(bed: Bed, name: str) -> bool:
    """Whether a record comes where it is sent: the console producer of 0.8.2.2 takes any partition."""
    return bed.release >= (0, 9) or not name.startswith("mixed")


def produce(broker: Broker, bed: Bed, names: set[str], sent: list[bytes]) -> None:
    """The same values to each partition."""
    for name in sorted(names):
        topic, _, number = name.rpartition("-")
        if bed.release >= (0, 9):
            write(broker.bootstrap, topic, [[Rec(b"key", value)] for value in sent], partition=int(number))
        else:
            main = (
                "kafka.tools.ConsoleProducer",
                "--broker-list",
                broker.bootstrap,
                "--topic",
                topic,
                "--sync",
            )
            command = java_command(broker.release, bed.root, *main, "--request-required-acks", "-1")
            subprocess.run(
                command, input=b"\n".join([*sent, b""]), capture_output=True, check=True, timeout=120
            )


def main(words: list[str]) -> int:
    """The number of failures."""
    failures = 0
    for golden in words:
        for killed in (False, True):
            begun = time.monotonic()
            with tempfile.TemporaryDirectory(prefix="reversed-") as work:
                whole = unpack(GOLDEN / f"{golden}.tar.xz", Path(work) / "golden")
                try:
                    said = "\n  ".join(play(golden, whole, Path(work), killed=killed))
                except Exception:
                    said, failures = f"FAILS: {traceback.format_exc()[-2500:]}", failures + 1
            print(f"{golden} {killed=} {time.monotonic() - begun:5.1f}s  {said}", flush=True)
    return failures


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
