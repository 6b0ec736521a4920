"""Several plans in one: a torn end, a damaged batch and a replica behind its leader, mended together."""

from tests.surgery.desk import start_code_of
from tests.surgery.shows.bed import Asked, Bed, Case
from tests.surgery.shows.damages import active, from_replica, torn
from tests.surgery.shows.places import behind


def three(bed: Bed) -> Asked:
    """Each planned alone, of a partition of its own."""
    asked = torn(bed), from_replica(bed), behind(bed)
    home = active(bed.where("codec-lz4-0")).parent
    plans = []
    for argv in (("trim", home), *(each.argv for each in asked[1:])):
        plans.append(bed.root / f"{argv[0]}.json")
        ran = bed.run("plan", *argv, "--kafka", bed.version, "-o", plans[-1])
        assert ran.code == start_code_of(plans[-1]), ran  # of one alone: the others are yet to be mended
    codes = frozenset(code for each in asked for code in each.codes)
    return Asked(argv=("compose", *plans), codes=codes, done=asked[-1].done)


CASES = [Case(name="compose", ask=three, killed=True)]
"""Apart from the operations: what is drawn at random is drawn of these."""
