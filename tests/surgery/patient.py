"""Log dirs with a fault, and commands on them."""

import shutil
from collections.abc import Callable
from pathlib import Path

from tests.checks.build_partition import topic_id
from tests.cli.run import Ran
from tests.faults.epochs import second_partition
from tests.faults.hurts import Hurt
from tests.faults.table import Case, Fault, Scene
from tests.faults.written import Base, clean_dir
from tests.surgery.desk import Desk


class Treated(Desk):
    """`other` is the first log dir before its damage; with `siblings` the topic has two partitions."""

    def __init__(
        self, given: Case | Hurt, root: Path, *, base: Base = clean_dir, siblings: bool = False
    ) -> None:
        case = given if isinstance(given, Case) else custom(given, base)
        self.patient = case.scene.write(root / "disks")
        if siblings:
            second_partition(topic_id(self.patient.topic), self.patient.topic)(self.patient)
        shutil.copytree(root / "disks", root / "other", symlinks=True)
        case.fault.hurt(self.patient)
        super().__init__(root / "disks", root, copy=False)
        self.scene, self.dirs, self.other = case.scene, [*self.patient.dirs], root / "other" / "a"
        self.deep = ["--deep"] if "++" in case.scene.codes else []

    def mend(self, *options: object, operation: str = "repair") -> Ran:
        """`segmend plan repair`, as deep as it is told."""
        rules = () if "--kafka" in options else ("--kafka", self.scene.release)
        return self.run("plan", operation, *self.dirs, *rules, "-o", self.plan_file, *options)

    def codes(self, *options: str) -> set[str]:
        """What checks find: all of it, at the levels at which the fault is seen."""
        where = (*self.dirs, "--kafka", self.scene.release, "--json", "--max", 0)
        runs = [self.run("check", *where, *level) for level in ([*self.deep, *options], ["--startup"])]
        return {line["code"] for found in runs for line in found.of("finding")}


def custom(hurt: Hurt, base: Base) -> Case:
    """A fault that stands in no table."""
    return Case(Fault(name="custom", hurt=hurt), Scene(codes="", start="", base=base), 0)


PatientOf = Callable[..., Treated]
