"""Directories that no broker serves, disks without room, volumes with the wrong identity."""

import re
import subprocess
from pathlib import Path

from tests.faults.on_disk import keep_lines, lines_of
from tests.surgery.shows.bed import Asked, Bed, Case
from tests.surgery.shows.damages import AFTER_A_KILL, rolled
from tests.surgery.test_adopt import set_aside

from segmend.formats.offset_checkpoint import FILE_NAMES

GONE = "does not exist in the metadata image"


def forget(log_dir: Path, topic: str) -> None:
    """Remove the lines of a topic with one partition, as a broker does that has set it aside."""
    for name in FILE_NAMES:
        if any(row.startswith(f"{topic} ") for row in lines_of(log_dir / name)):
            keep_lines(log_dir / name, lambda row: not row.startswith(f"{topic} "))


def stray(bed: Bed) -> Asked:
    """What a broker took for a replica of somebody else, and went on."""
    name = "mixed-1" if bed.release < (0, 9) else "single-0"
    home = bed.where(name)
    forget(home.parent, name[:-2])
    aside = set_aside(home.parent, name)
    code = "N20" if bed.release >= (3, 6, 1) else "N01"  # a name that older ones cannot read
    return Asked(argv=("adopt", *bed.dirs, "--directory", aside), codes=frozenset({code}))


def deleted(bed: Bed) -> Asked:
    """A directory that waits for its deletion: the broker's own of a killed one, or a partition renamed."""
    waiting = [path for log_dir in bed.dirs for path in log_dir.glob("doomed-0.*-delete")]
    if waiting:
        name = waiting[0].name
        return Asked(
            argv=("adopt", *bed.dirs, "--directory", name), done=lambda: not waiting[0].exists(),
            returning=AFTER_A_KILL,
        )  # fmt: skip
    home = bed.where("mixed-0" if bed.release < (0, 9) else "times-0")
    aside = set_aside(home.parent, home.name, "delete")
    code = "N19" if bed.release >= (0, 10, 2) else "N01"
    return Asked(argv=("adopt", *bed.dirs, "--directory", aside), codes=frozenset({code}))


def left_over(bed: Bed) -> frozenset[str]:
    """A segment that waits for its deletion, and (where brokers delete later) a topic; what `check` says."""
    log = rolled(bed.where("codec-none-0"), 0)
    segment = log.with_name(f"{log.name}.deleted")
    subprocess.run(["cp", "-a", log, segment], check=True)
    if bed.release < (1, 0):
        return frozenset({"N12"})
    source = bed.where("broker-gzip-0")
    topic = source.with_name(f"gone-0.{'0' * 32}-delete")
    subprocess.run(["cp", "-a", source, topic], check=True)
    return frozenset({"N12", "N19"})


def free(bed: Bed) -> Asked:
    """A disk on which something waits for its deletion."""
    codes = left_over(bed)
    place = ("--backup-dir", bed.spare) if bed.spare else ("--discard",)
    waiting = [path for ending in ("*-delete", "*/*.deleted") for d in bed.dirs for path in d.glob(ending)]
    wanted = sum(path.stat().st_blocks * 512 for root in waiting for path in [root, *root.rglob("*")])
    return Asked(
        argv=("free", *bed.dirs, "--bytes", wanted, *place), codes=codes,
        apply=place if bed.spare else (),
    )  # fmt: skip


def restore(bed: Bed) -> Asked:
    """Something that `free` set aside and that somebody wants to have back."""
    left_over(bed)
    bed.plan("free", "--bytes", 1, "--discard", "--kafka", bed.version)
    bed.apply()
    row = bed.run("quarantine", "list", "--state-dir", bed.state, "--json").json[-1]
    return Asked(
        argv=("quarantine", "restore", row["item"]), done=Path(row["path"]).exists,
        returning=AFTER_A_KILL | {"N12", "N19"},
    )  # fmt: skip


def clone(bed: Bed) -> Asked:
    """A volume with the directory id of another."""
    first, second = (log_dir / "meta.properties" for log_dir in bed.dirs)
    own = re.search(r"(?m)^directory.id=.*$", first.read_text())
    assert own is not None
    second.write_text(re.sub(r"(?m)^directory.id=.*$", own[0].replace("\\", r"\\"), second.read_text()))
    return Asked(argv=("identity", *bed.dirs), codes=frozenset({"K04"}))


def node(bed: Bed) -> Asked:
    """A volume of another node."""
    path = bed.dirs[1] / "meta.properties"
    path.write_text(re.sub(r"(?m)^(broker|node)\.id=1$", r"\1.id=7", path.read_text()))
    return Asked(argv=("identity", *bed.dirs, "--node-id", 1), codes=frozenset({"K03"}))


CASES = [
    Case(name="adopt-stray", ask=stray),
    Case(
        name="adopt-delete", ask=deleted, killed=True,
        refusals={"3.9.2-killed": GONE, "4.3.1-killed": GONE},
    ),
    Case(name="free", ask=free, killed=True),
    Case(name="quarantine-restore", ask=restore),
    Case(name="identity-clone", ask=clone, since=(3, 7), because="directory ids came with 3.7"),
    Case(name="identity-node", ask=node, since=(0, 9), because="meta.properties came with 0.9"),
]  # fmt: skip
