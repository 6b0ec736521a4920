"""What happens to a log dir whose topics `tier` and `cut` (its first records were deleted) are tiered."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.faults.on_disk import remove_all

TOPICS = ("tier", "cut", "plain")
"""The last has nothing in remote storage."""
TRIALS = 24
"""Drawn of each release."""


@dataclass(frozen=True)
class Trial:
    """Whether the broker is told to use remote storage (`used`), and what was done to its log dir before."""

    used: bool
    wounds: tuple[str, ...]

    @property
    def name(self) -> str:
        """As it is recorded."""
        return " ".join(("used" if self.used else "unused", *self.wounds))


def _remove(*patterns: str) -> Callable[[Path], None]:
    return lambda log_dir: remove_all(log_dir, *patterns)


def _of_tiered(file: str) -> Callable[[Path], None]:
    return _remove(*(f"{topic}-0/{file}" for topic in TOPICS))


def _at(number: int) -> Callable[[Path], None]:
    """Remove one segment of each topic."""

    def hurt(log_dir: Path) -> None:
        for topic in TOPICS:
            logs = sorted((log_dir / f"{topic}-0").glob("*.log"))
            if len(logs) > 1:
                _remove(f"{topic}-0/{logs[number].stem}.*")(log_dir)

    return hurt


def _later_epoch(log_dir: Path) -> None:
    """The epochs begin a little behind the first record."""
    for topic in TOPICS:
        file = log_dir / f"{topic}-0" / "leader-epoch-checkpoint"
        if file.exists():
            file.write_text("0\n1\n0 2500\n")


WOUNDS: dict[str, Callable[[Path], None]] = {
    "no-log-start-line": _remove("log-start-offset-checkpoint"),
    "no-high-watermark": _remove("replication-offset-checkpoint"),
    "no-epochs": _of_tiered("leader-epoch-checkpoint"),
    "later-epoch": _later_epoch,
    "no-segment": _of_tiered("0*"),
    "no-first-segment": _at(0),
    "no-last-segment": _at(-1),
    "no-directory": _remove(*(f"{topic}-0" for topic in TOPICS)),
    "no-remote-metadata": _remove("__remote_log_metadata-*"),
    "killed": _remove(".kafka_cleanshutdown"),
}


def drawn(seed: int) -> list[Trial]:
    """Each wound alone, both ways, would be half of it: all of them are drawn, one or two at a time."""
    chance = random.Random(seed)
    trials = [Trial(used=True, wounds=()), Trial(used=False, wounds=())]
    while len(trials) < TRIALS:
        wounds = tuple(sorted(chance.sample(sorted(WOUNDS), chance.choice((1, 1, 2)))))
        trial = Trial(used=chance.random() < 0.75, wounds=wounds)
        if trial not in trials:
            trials.append(trial)
    return trials


def hurt(trial: Trial, log_dir: Path) -> None:
    """Do it."""
    for name in trial.wounds:
        WOUNDS[name](log_dir)
