"""What a stranger does, on a real broker: `python -m tests.surgery.strangers [--seed N] [--count N] [4.3.1]`.

A broker has five topics, the same again empty under other names, and committed offsets. Drawn of a trial are
one or two operations (rename, a clone, restamp, move, delete, graft, free, quorum, merge, with `--prefer` or
without) on drawn partitions, internal ones too, a `-future` directory now and then, another release that is
given, and whether two plans are composed, or made at once and applied in turns. Then: plan, now and then a
run of the broker, apply, now and then back and again; the broker starts and a consumer gets every record; the
undo is refused, what it prints is typed as it stands, and the broker starts once more and has what it had.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from confluent_kafka import Consumer, TopicPartition
from tests.cli.run import Ran, run
from tests.copies import copy_tree
from tests.faults.on_disk import flip_at_share
from tests.golden.produce import producer, send
from tests.golden.records import events
from tests.golden.topics import Topic, create, small_segments
from tests.lab.cluster import Cluster
from tests.lab.reader import read
from tests.removal import remove
from tests.surgery.picture import picture
from tests.surgery.shows.names import stamp
from tests.surgery.trials import each_of, main, nobody_else

RELEASES = ("4.3.1", "3.9.2", "3.3.2", "2.8.2", "1.1.0")
TOPICS = ("red", "green", "blue", "grey", "pink")
OFFSETS = "__consumer_offsets"
NAMED = re.compile(r"segmend (plan reverse [^\n)]+)")
Seen = dict[str, list[int]]


@dataclass
class Bench:
    """A stopped broker that is put back to where it was before each trial."""

    cluster: Cluster
    kept: Path
    seen: Seen = field(default_factory=dict)

    @classmethod
    def made(cls, version: str, root: Path) -> Bench:
        settings = {"offsets.topic.num.partitions": "1", "log.retention.ms": "-1"}
        bench = cls(Cluster(version, root / "live", settings=settings), root / "kept")
        cluster = bench.cluster
        cluster.start()
        small = small_segments(cluster.release)
        create(cluster.bootstrap, [Topic(name, small) for each in TOPICS for name in (each, f"new-{each}")])
        client = producer(cluster.bootstrap)
        for name in TOPICS:
            send(client, name, events(name, 40))
        commit(cluster.bootstrap)
        bench.seen = bench.read([*TOPICS, *(f"new-{name}" for name in TOPICS), OFFSETS])
        assert all(bench.seen[name] for name in (*TOPICS, OFFSETS)), bench.seen
        cluster.stop()
        shutil.copytree(root / "live", bench.kept, symlinks=True)
        return bench

    @property
    def dirs(self) -> list[Path]:
        return self.cluster.brokers[0].dirs

    def put_back(self) -> None:
        copy_tree(self.kept, self.cluster.root)

    def read(self, names: Sequence[str]) -> Seen:
        found = read(self.cluster.bootstrap, list(names))
        assert not any(row["errors"] for row in found.values()), found
        return {name: list(row["seen"]) for name, row in found.items()}

    def started(self, wanted: Seen, said: str) -> None:
        """The broker runs for a while, and a consumer gets what is wanted."""
        self.cluster.start()
        found = self.read(list(wanted))
        odd = {name: (len(found[name]), len(wanted[name])) for name in wanted if found[name] != wanted[name]}
        assert not odd, f"{said}: read and wanted: {odd}"
        self.cluster.stop()

    def home(self, name: str) -> tuple[Path, Path]:
        """The log dir of a partition, and the other one."""
        home = next(each for each in self.dirs if (each / name).is_dir())
        return home, next(each for each in self.dirs if each != home)


def commit(bootstrap: str) -> None:
    group = {"bootstrap.servers": bootstrap, "group.id": "strangers", "log_level": 0}
    client = Consumer(group)
    for offset in range(1, 30):
        client.commit(offsets=[TopicPartition("red", 0, offset)], asynchronous=False)
    client.close()


@dataclass
class Trial:
    """`wanted` is what a consumer must get after it, `back` once all was reversed, where that is known."""

    bench: Bench
    draw: Random
    folder: Path
    wanted: Seen
    back: Seen
    said: list[str] = field(default_factory=list)
    hurt: bool = False
    """Whether something is as a start would not leave it."""

    def segmend(self, *words: object) -> Ran:
        state = ("--state-dir", self.folder / "state") if words[0] in ("apply", "undo", "journal") else ()
        return run(*words, *state)

    def renamed(self, name: str) -> list[object]:
        copy = self.draw.random() < 0.5
        self.wanted[f"new-{name}"] = self.wanted[name]
        if not copy:
            self.wanted[name] = []
        asked = ["rename", *self.bench.dirs, "--topic", name, "--to", "new-{topic}", "--replace"]
        return [*asked, *(["--copy"] if copy else [])]

    def restamped(self, name: str) -> list[object]:
        stamp(self.bench.home(f"{name}-0")[0] / f"{name}-0")
        self.hurt = True
        self.back.pop(name, None)  # Under the id of another topic nobody reads it.
        return ["restamp", *self.bench.dirs, "--topic", name]

    def moved(self, name: str) -> list[object]:
        _, other = self.bench.home(f"{name}-0")
        return ["move", *self.bench.dirs, "--partition", f"{name}-0", "--to", other]

    def replica(self, name: str) -> tuple[Path, Path]:
        """Its directory, and a log dir of another broker that has the same."""
        own = self.bench.home(f"{name}-0")[0] / f"{name}-0"
        other = self.folder / f"other-{name}"
        shutil.copytree(own, other / own.name)
        identity = (own.parent / "meta.properties").read_text()
        (other / "meta.properties").write_text(re.sub(r"(broker|node)\.id=1", r"\1.id=2", identity))
        return own, other

    def deleted(self, name: str) -> list[object]:
        """The broker makes it anew, empty."""
        own, other = self.replica(name)
        self.wanted[name] = []
        return ["delete", *self.bench.dirs, "--partition", own.name, "--replica", other]

    def grafted(self, name: str) -> list[object]:
        """Its last segments are gone, or the first of them is damaged."""
        own, other = self.replica(name)
        segments = sorted(own.glob("*.log"))
        cut = self.draw.randrange(1, len(segments))
        if self.draw.random() < 0.5:
            flip_at_share(segments[cut], self.draw.uniform(0.1, 0.9))
        else:
            for path in (path for log in segments[cut:] for path in own.glob(f"{log.stem}.*")):
                path.unlink()
        self.hurt = True
        self.back.pop(name, None)
        whole = ["--whole"] if self.draw.random() < 0.3 else []
        return ["graft", *self.bench.dirs, "--partition", own.name, "--from", other / own.name, *whole]

    def freed(self, name: str) -> list[object]:
        """One that is marked for deletion is set aside; a start would have removed it."""
        home = self.bench.home(f"{name}-0")[0]
        shutil.copytree(home / f"{name}-0", home / f"old-0.{self.draw.getrandbits(128):032x}-delete")
        self.hurt = True
        asked = ["free", *self.bench.dirs, "--on", home, "--bytes", "1"]
        return [*asked, "--backup-dir", self.folder / "spare"]

    def metadata(self, _name: str) -> list[object]:
        """Its newest snapshot is no whole one."""
        home, _ = self.bench.home("__cluster_metadata-0")
        place = home / "__cluster_metadata-0"
        older = max(place.glob("*.checkpoint"), default=max(place.glob("*.log")))
        data = older.read_bytes()
        newest = place / f"{self.draw.randrange(5, 40):020}-0000000001.checkpoint"
        newest.write_bytes(data[: self.draw.randrange(len(data))])
        self.hurt = True
        self.back.clear()  # With it no node starts.
        return ["quorum", home]

    def merged(self, name: str) -> list[object]:
        """Its own replica and another broker's are each damaged elsewhere."""
        own, other = self.replica(name)
        self.hurt = True
        first, second = self.draw.sample(sorted(path.name for path in own.glob("*.log"))[:-1], 2)
        flip_at_share(own / first, self.draw.uniform(0.1, 0.9))
        flip_at_share(other / own.name / second, self.draw.uniform(0.1, 0.9))
        self.back.pop(name, None)
        asked = ["merge", *self.bench.dirs, "--partition", own.name, "--from", other / own.name]
        prefer = ["--prefer", self.draw.choice([1, 2])] if self.draw.random() < 0.5 else []
        return [*asked, "--side", self.folder / f"side-{name}", *prefer]

    def operations(self) -> list[list[object]]:
        """One or two, on topics of their own."""
        ways: list[Callable[[str], list[object]]] = [
            self.renamed, self.moved, self.merged, self.deleted, self.grafted, self.freed,
        ]  # fmt: skip
        if self.bench.cluster.release.number >= (3, 0):
            ways += [self.restamped, self.metadata]
        asked = []
        for name in self.draw.sample(TOPICS, self.draw.choice([1, 2, 2])):
            way = self.draw.choice(ways)
            internal = way in (self.moved, self.restamped) and self.draw.random() < 0.3
            asked.append(way(OFFSETS if internal and not asked else name))
            if self.draw.random() < 0.15:
                asked[-1] += ["--kafka", self.draw.choice(RELEASES)]
        return asked

    def meanwhile(self) -> None:
        """A run of the broker between plan and apply, which takes nothing that is to be found."""
        if not self.hurt and self.draw.random() < 0.3:
            self.said.append("the broker ran")
            self.bench.started(self.bench.seen, self.told())

    def future(self) -> None:
        """A directory as of a move between log dirs that was begun, in the way of nobody."""
        name = f"{self.draw.choice(TOPICS)}-0"
        home, other = self.bench.home(name)
        ending = f"{self.draw.getrandbits(128):032x}-future"
        shutil.copytree(home / name, other / f"{name}.{ending}")
        self.said.append(f"with {name}.{ending}")

    def planned(self, asked: Sequence[object], number: int) -> Path | None:
        """Its file; None where it is refused, and nothing was changed."""
        file, before = self.folder / f"plan-{number}.json", self.look()
        ran = self.segmend("plan", *asked, "-o", file)
        self.said.append(f"{shlex.join(map(str, asked))}: {ran.code} {ran.err.strip()[-400:]}")
        assert ran.code in (0, 4, 8, 16), self.told()
        assert self.look() == before, self.told()
        return file if ran.code in (0, 4) else None

    def again(self, asked: Sequence[object], number: int) -> Path:
        file = self.planned(asked, number)
        assert file is not None, self.told()
        return file

    def look(self) -> object:
        return [picture(path) for path in self.bench.dirs]

    def applied(self, file: Path) -> bool:
        before = self.look()
        ran = self.segmend("apply", file, "--yes")
        self.said.append(f"apply {file.name}: {ran.code} {ran.err.strip()[-400:]}")
        if ran.code in (1, 5):
            return True
        assert ran.code == 8, self.told()
        assert self.look() == before, self.told()
        return False

    def journals(self) -> list[str]:
        rows = self.segmend("journal", "list", "--json").json
        return [row["path"] for row in rows if row["type"] == "journal" and row["state"] == "applied"][::-1]

    def told(self) -> str:
        return "\n".join(["", *self.said])

    def composed(self, files: Sequence[Path]) -> Path | None:
        """None where they are made for two releases: each is applied, then."""
        file = self.planned(["compose", *files], 9)
        assert file is not None or "make them for one (--kafka)" in self.said[-1], self.told()
        return file

    def carried_out(
        self, asked: Sequence[Sequence[object]], files: Sequence[Path], composed: Path | None
    ) -> None:
        """Each plan that is refused, since another one or a broker was there, is made again."""
        if composed is not None:
            if not self.applied(composed):
                files = [self.again(each, 5 + number) for number, each in enumerate(asked)]
                composed = self.composed(files)
                assert composed is not None, self.told()
                assert self.applied(composed), self.told()
            return
        for number, file in enumerate(files):
            if not self.applied(file):
                assert self.applied(self.again(asked[number], 5 + number)), self.told()

    def play(self) -> str:
        if self.draw.random() < 0.3:
            self.future()
        asked = self.operations()
        files = [file for number, each in enumerate(asked) if (file := self.planned(each, number))]
        if len(files) < len(asked):
            return "refused"
        composed = self.composed(files) if len(files) == 2 and self.draw.random() < 0.5 else None
        self.meanwhile()
        before = self.look()
        self.carried_out(asked, files, composed)
        if self.draw.random() < 0.5:
            for journal in self.journals():
                assert self.segmend("undo", journal, "--yes").code == 0, self.told()
            assert self.look() == before, f"undone, and not as it was: {self.told()}"
            for file in (self.folder / "plan-9.json",) if (self.folder / "plan-9.json").exists() else files:
                if not self.applied(file):  # The second one had to be made again.
                    assert self.applied(self.folder / f"plan-{5 + files.index(file)}.json"), self.told()
        self.bench.started(self.wanted, self.told())
        return self.reversed()

    def reversed(self) -> str:
        """Each plan, the last first, by what the undo prints."""
        left = False
        for number, journal in enumerate(self.journals()):
            ran = self.segmend("undo", journal, "--yes")
            self.said.append(f"undo {journal}: {ran.code} {ran.err.strip()[-400:]}")
            if ran.code == 0:
                continue
            named = NAMED.search(ran.err)
            assert ran.code == 8 and named is not None, self.told()  # noqa: PT018 - it is one thing
            file = self.folder / f"back-{number}.json"
            ran = run(*shlex.split(named[1]), "-o", file)
            self.said.append(f"{named[1]}: {ran.code} {ran.err.strip()[-400:]}{ran.out.strip()[-800:]}")
            assert ran.code in (0, 4), self.told()
            left = left or bool(json.loads(file.read_bytes())["left"])
            ran = self.segmend("apply", file, "--yes")
            assert ran.code in (0, 1, 4, 5), f"{ran.err}{self.told()}"
        if left or not self.back:
            return "served, reversed in part" if left else "served, reversed to a damaged snapshot"
        self.bench.started(self.back, f"reversed: {self.told()}")
        return "served, reversed"


def played(bench: Bench, seed: int, number: int, folder: Path) -> str:
    bench.put_back()
    draw = Random(f"{seed} {number} stranger")
    trial = Trial(bench, draw, folder, dict(bench.seen), dict(bench.seen))
    try:
        return trial.play()
    except Exception as error:
        error.add_note(f"--seed {seed} --only {number} {bench.cluster.release.version}{trial.told()}")
        raise
    finally:
        bench.cluster.kill()


def play(numbers: Iterable[int], seed: int, of: Sequence[str], home: Path) -> Counter[str]:
    """Play them all, on each release."""
    told: Counter[str] = Counter()
    for version in of:
        place = Path(tempfile.mkdtemp(dir="/var/tmp"))
        try:
            bench = Bench.made(version, place)
            with bench.cluster, nobody_else():
                told.update(each_of(numbers, home, lambda n, folder, b=bench: [played(b, seed, n, folder)]))
        finally:
            remove(place)
    return told


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], "tests.surgery.strangers", RELEASES, play, count=4))
