"""The cluster's metadata of a lone KRaft node, damaged where the rest of it covers that."""

from tests.faults.on_disk import flip_at_share
from tests.surgery.shows.bed import Asked, Bed, Case


def snapshot(bed: Bed) -> Asked:
    """The newest one: the log covers what is behind the one before."""
    flip_at_share(max(bed.where("__cluster_metadata-0").glob("*.checkpoint")), 0.5)
    return Asked(argv=("quorum", *bed.dirs), codes=frozenset({"K08"}))


def log(bed: Bed) -> Asked:
    """A batch that the newest snapshot covers."""
    flip_at_share(max(bed.where("__cluster_metadata-0").glob("*.log")), 0.4)
    return Asked(argv=("quorum", *bed.dirs), codes=frozenset({"K07"}))


CASES = (
    Case(name="quorum-snapshot", ask=snapshot, since=(3, 3), because="no snapshots of metadata"),
    Case(name="quorum-log", ask=log, since=(3, 3), because="no snapshots of metadata"),
)
