"""Partitions deleted, under a wrong topic id, under a wrong name."""

import re
from pathlib import Path

from tests.surgery.shows.bed import Asked, Bed, Case

OTHER = "c2VnbWVuZC1zZWdtZW5kLQ"


def stamp(home: Path) -> None:
    """The id of a topic that is gone."""
    path = home / "partition.metadata"
    path.write_text(re.sub("topic_id: .*", f"topic_id: {OTHER}", path.read_text()))


def wrong_id(bed: Bed) -> Asked:
    """A partition that has the id of an earlier topic."""
    home = bed.where("codec-snappy-0")
    path = home / "partition.metadata"
    own = path.read_text().split()[-1]
    stamp(home)
    return Asked(argv=("restamp", *bed.dirs, "--topic", "codec-snappy"), done=lambda: own in path.read_text())


def wrong_name(bed: Bed) -> Asked:
    """A partition restored under another name, and with another id."""
    home = bed.where("codec-snappy-0")
    lost = home.rename(home.with_name("lost.snappy-0"))
    if (lost / "partition.metadata").exists():
        stamp(lost)
    return Asked(argv=("rename", *bed.dirs, "--topic", "lost*", "--to", "codec-snappy"), done=home.exists)


def spare(bed: Bed) -> Asked:
    """A partition that another replica has."""
    home = bed.where("codec-snappy-0")
    return Asked(
        argv=("delete", *bed.dirs, "--partition", home.name, "--replica", bed.other(home.name).parent),
        done=lambda: not home.exists(), deleted=frozenset({home.name}),
    )  # fmt: skip


CASES = [
    Case(
        name="restamp",
        ask=wrong_id,
        since=(3, 0),
        because="topic ids came with 2.8, whose golden directories have none",
    ),
    Case(name="rename", ask=wrong_name),
    Case(name="delete", ask=spare, killed=True),
]
