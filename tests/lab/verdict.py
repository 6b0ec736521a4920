"""Record what real brokers do to hurt log dirs: `python -m tests.lab.verdict 4.3.1 clean [NAME...]`.

Faults that stay inside their partition share one start, each on a topic of its own; the others get a
start each. A shared start that fails is taken apart until the culprits are known; those get starts of
their own. What is recorded goes to `tests/lab/verdicts/<release>-<mark>.json`: offsets, names and sizes,
no paths and no times, so that the same base gives the same file. With names, only those are done again.
`... 4.3.1 clean --pairs 120 1` records the first 120 pairs of faults of the draw with seed 1; they go to
`<release>-<mark>-double.json`.
"""

import json
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.faults.patient import lonely_topic, patient_in
from tests.faults.table import Fault, recorded_faults
from tests.golden.pack import pack
from tests.lab.base import Base, base
from tests.lab.jars import cache_dir
from tests.lab.pairs import drawn
from tests.lab.releases import release
from tests.lab.trial import FULL, SERIOUS, Trial, copy_base, listing, run_trial, save, telling, without_names

HERE = Path(__file__).parent / "verdicts"
HEALTHY = "(none)"
"""The entry of a partition to which nothing was done."""
Verdicts = dict[str, dict[str, Any]]


def ranges(offsets: Sequence[int]) -> list[list[int]]:
    """Sorted offsets as ranges, both ends inclusive."""
    found: list[list[int]] = []
    for offset in offsets:
        if found and found[-1][1] == offset - 1:
            found[-1][1] = offset
        else:
            found.append([offset, offset])
    return found


def reading(read: dict[str, Any], whole: Sequence[int]) -> dict[str, Any]:
    """What a consumer misses of the sound log, gets on top of it, and complains about."""
    seen: list[int] = read["seen"]
    found = {
        "missing": ranges(sorted(set(whole) - set(seen))),
        "extra": ranges(sorted(set(seen) - set(whole)))[:8],
        "repeated": len(seen) - len(set(seen)),
        "errors": sorted(read["errors"]),
        "stuck": read["stuck"],
    }
    return {key: value for key, value in found.items() if value not in ([], 0, None)}


def changes(before: dict[str, int], after: dict[str, int] | None) -> dict[str, Any]:
    """Files gone, new (with sizes) and of another size; indexes grown to their full size are no news."""
    if after is None:
        return {"gone": ["*"]}
    full = {name for name, size in after.items() if FULL.get(name.rpartition(".")[2]) == size}
    found = {
        "gone": sorted(set(before) - set(after)),
        "new": {name: after[name] for name in sorted(set(after) - set(before))},
        "resized": {
            name: [before[name], after[name]]
            for name in sorted(set(before) & set(after) - full)
            if before[name] != after[name]
        },
    }
    return {key: value for key, value in found.items() if value}


def of_partition(
    trial: Trial, topic: str, before: dict[str, dict[str, int]], whole: list[int]
) -> dict[str, Any]:
    """What the start did to one partition."""
    places = [place for place in before if place.endswith(f"/{topic}-0")]
    offsets, found = trial.offsets.get(topic), {}
    if places:
        found = changes(before[places[0]], trial.after.get(places[0]))
    strays = [place for place in trial.after if re.search(rf"/{topic}-0\.[0-9a-f]{{32}}-stray$", place)]
    strays = [place for place in strays if place not in before]
    return {
        "offsets": offsets,
        **found,
        **({"stray": True} if strays else {}),
        **({"read": read} if topic in trial.reads and (read := reading(trial.reads[topic], whole)) else {}),
        **({"says": says} if (says := telling(trial.lines, topic)) else {}),
    }


def folders(
    before: dict[str, dict[str, int]], after: dict[str, dict[str, int]], topic: str
) -> dict[str, Any]:
    """Directories that came and went."""
    gone = sorted(without_names(name, topic) for name in set(before) - set(after))
    new = sorted(without_names(name, topic) for name in set(after) - set(before))
    new = [
        re.sub(r"[0-9a-f]{32}-", "HEX-", name) for name in new if not name.endswith("__consumer_offsets-0")
    ]
    return {**({"dirs_gone": gone} if gone else {}), **({"dirs_new": new} if new else {})}


class Recorder:
    """All trials of one release after one kind of stop; `verdicts` is what is known so far."""

    def __init__(self, version: str, mark: str, work: Path, suffix: str = "") -> None:
        self.version, self.mark, self.work = version, mark, work
        self.path = HERE / f"{version}-{mark}{suffix}.json"
        self.verdicts: Verdicts = json.loads(self.path.read_text()) if self.path.exists() else {}
        self.whole: list[int] = []

    def base(self, size: str) -> Base:
        """The base to copy."""
        return base(self.version, self.mark, size)

    def healthy(self) -> None:
        """A start with no fault at all: the records that a sound log has."""
        root = self.work / "trial"
        copy_base(self.base("few"), root)
        topic = lonely_topic(root)
        before = listing([root / "b1" / "d0", root / "b1" / "d1"])
        trial = run_trial(self.base("few"), root, [topic])
        self.whole = trial.reads[topic]["seen"]
        verdict = of_partition(trial, topic, before, self.whole)
        self.verdicts[HEALTHY] = {"outcome": "starts", "partition": verdict, "records": ranges(self.whole)}

    def lonely(self, fault: Fault) -> None:
        """A start for one fault."""
        root = self.work / "trial"
        copy_base(self.base("few"), root)
        patient = patient_in(root, topic := lonely_topic(root))
        place = patient.place
        fault.hurt(patient)
        before = listing(list(patient.dirs))
        trial = run_trial(self.base("few"), root, [topic])
        verdict: dict[str, Any] = {"place": place.replace(topic, "T")}
        verdict["outcome"] = "starts" if trial.starts else "refuses"
        if (fatal := trial.fatal()) is not None:
            verdict["fatal"] = without_names(fatal, topic)[:300]
        if trial.offline:
            verdict["offline"] = trial.offline
        if trial.starts:
            verdict["partition"] = of_partition(trial, topic, before, self.whole)
            if set(trial.offline_later) - set(trial.offline):
                verdict["offline_later"] = trial.offline_later
            verdict |= folders(before, trial.after, topic)
        self.verdicts[fault.name] = verdict

    def together(self, faults: list[Fault]) -> None:
        """One start for faults on topics of their own; taken apart when it fails."""
        if len(faults) <= 1:
            for fault in faults:
                self.lonely(fault)
            return
        root = self.work / "trial"
        copy_base(self.base("many"), root)
        dirs = [root / "b1" / "d0", root / "b1" / "d1"]
        topics = {fault.name: f"f{number:03d}" for number, fault in enumerate(faults)}
        for fault in faults:
            fault.hurt(patient_in(root, topics[fault.name]))
        before = listing(dirs)
        trial = run_trial(self.base("many"), root, list(topics.values()))
        if not trial.starts or trial.offline or trial.offline_later:
            for part in self.apart(trial, faults, topics):
                self.together(part)
            return
        for fault in faults:
            topic = topics[fault.name]
            verdict = of_partition(trial, topic, before, self.whole)
            self.verdicts[fault.name] = {"outcome": "starts", "partition": verdict}
        save(self.path, self.verdicts)

    def apart(self, trial: Trial, faults: list[Fault], topics: dict[str, str]) -> Iterator[list[Fault]]:
        """Smaller groups: those that the broker names in its errors each alone, else halves."""
        serious = "\n".join(line for line in trial.lines if SERIOUS.search(line))
        named = [fault for fault in faults if re.search(rf"\b{topics[fault.name]}-0\b", serious)]
        print(f"  taken apart: {[fault.name for fault in named]} {trial.offline} {trial.fatal()}", flush=True)
        shutil.copy(self.work / "trial" / "b1" / "server.log", self.work / "taken-apart.log")
        if named and len(named) < 6:
            yield from ([fault] for fault in named)
            yield [fault for fault in faults if fault not in named]
        else:
            yield faults[: len(faults) // 2]
            yield faults[len(faults) // 2 :]


def pack_base(version: str, mark: str) -> None:
    """Keep what forecasts and lonely starts need: two topics, the KRaft log or ZooKeeper's data."""
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        copy_base(base(version, mark, "few"), root)
        kept = {
            lonely_topic(root),
            patient_in(root, lonely_topic(root)).other.name[:-2],
            "__cluster_metadata",
        }
        for folder in (root / "b1").glob("d*/*/"):
            if folder.name[:-2] not in kept:
                shutil.rmtree(folder)
        members = ["b1/d0", "b1/d1", "base.json", "zookeeper/data"]
        pack(root, [each for each in members if (root / each).exists()], HERE / f"{version}-{mark}.tar.xz")


def singles(recorder: Recorder, names: Sequence[str]) -> list[Fault]:
    """The faults of these names, or those that are not recorded yet."""
    number, mark = release(recorder.version).number, recorder.mark
    wanted = [fault for fault in recorded_faults() if fault.applies(number, mark)]
    return [each for each in wanted if (each.name in names if names else each.name not in recorder.verdicts)]


def pairs(recorder: Recorder, count: int, seed: int) -> list[Fault]:
    """The first so many pairs that can be done, in the order of the draw, without those that are recorded."""
    root = recorder.base("few").root
    found: dict[str, Fault] = {}
    for pair in drawn(recorder.version, recorder.mark, seed):
        if len(found) == count:
            break
        if pair.name not in found and pair.works(root, recorder.work / "draw"):
            found[pair.name] = pair.as_fault()
    return [fault for name, fault in found.items() if name not in recorder.verdicts]


def record(recorder: Recorder, wanted: Sequence[Fault]) -> None:
    """Record these faults."""
    version, mark = recorder.version, recorder.mark
    started = time.monotonic()
    pack_base(version, mark)
    recorder.healthy()
    recorder.together([fault for fault in wanted if fault.scope(mark) == "partition"])
    save(recorder.path, recorder.verdicts)
    for fault in wanted:
        if fault.scope(mark) == "broker":
            recorder.lonely(fault)
            verdict = recorder.verdicts[fault.name]
            print(f"{time.monotonic() - started:.0f} s {fault.name}: {verdict}", flush=True)
            save(recorder.path, recorder.verdicts)
    print(f"{version} {mark}: {len(recorder.verdicts)} recorded, {time.monotonic() - started:.0f} s")


def main(version: str, mark: str, *rest: str) -> None:
    """Singles (those of the names in `rest`, if any), or with `--pairs COUNT SEED` pairs."""
    suffix = "-double" if "--pairs" in rest else ""
    work = cache_dir() / "lab" / "work" / f"{version}-{mark}{suffix}"
    work.mkdir(parents=True, exist_ok=True)
    recorder = Recorder(version, mark, work, suffix)
    record(recorder, pairs(recorder, int(rest[1]), int(rest[2])) if suffix else singles(recorder, rest))


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the broker ends with it
    main(*sys.argv[1:])
