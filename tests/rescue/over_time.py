"""Exports run after run over sources that are cleaned and deleted between the runs: each record once.

`python -m tests.rescue.over_time [--seed N] [--count N] [--only N]`. Drawn are one to three replicas of a
log, compacted or not, and what happens to them between two exports: they grow, one or all, a cleaner comes
up to some segment on one of them, retention takes the first ones. What no run could take any more is told,
and nothing else is.
"""

import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

from tests.cli.run import run
from tests.rescue.test_export import table
from tests.surgery.trials import agreed, main, playing

from segmend.formats.batch import RecordBatch, read_header
from segmend.formats.build import NewRecord, build_batch, render
from segmend.formats.record import decode

ROLL = 6
"""So many batches are a segment."""


class Replica:
    """One of the log, as its broker has it; `segments` by their base offsets."""

    def __init__(self, number: int) -> None:
        self.number, self.start, self.cleaned = number, 0, 0
        self.segments: dict[int, list[bytes]] = {0: []}

    @property
    def end(self) -> int:
        batches = [each for segment in self.segments.values() for each in segment]
        return max([header(each).last_offset + 1 for each in batches] + [max(self.segments)])

    def append(self, batch: bytes) -> None:
        last = max(self.segments)
        if len(self.segments[last]) == ROLL:
            last = header(batch).base_offset
        self.segments.setdefault(last, []).append(batch)

    def clean(self, most: int) -> None:
        """As `Cleaner`, up to the end of a segment that is not the active one."""
        upto = max(base for base in self.segments if base <= max(most, min(self.segments)))
        newest = {r.key: r.offset for _, each in self.batches() for r in records(each) if r.offset < upto}
        for base, segment in self.segments.items():
            self.segments[base] = [*self._kept(segment, newest)] if base < upto else segment
        self.cleaned = max(self.cleaned, upto)

    def _kept(self, segment: Sequence[bytes], newest: dict[bytes | None, int]) -> Iterator[bytes]:
        for each in segment:
            kept = [r for r in records(each) if newest.get(r.key, -1) <= r.offset]
            if kept:
                yield render(header(each)._replace(records_count=len(kept)), kept)

    def retain(self, count: int) -> None:
        """Without its first segments; the active one stays."""
        for base in sorted(self.segments)[: min(count, len(self.segments) - 1)]:
            del self.segments[base]
        self.start = max(self.start, min(self.segments))

    def batches(self) -> Iterator[tuple[int, bytes]]:
        for base in sorted(self.segments):
            yield from ((base, each) for each in self.segments[base])

    def write(self, root: Path, mark: int) -> Path:
        log_dir = root / f"b{self.number}"
        shutil.rmtree(log_dir, ignore_errors=True)
        home = log_dir / "t-0"
        home.mkdir(parents=True)
        for base, segment in self.segments.items():
            (home / f"{base:020d}.log").write_bytes(b"".join(segment))
        (home / "leader-epoch-checkpoint").write_text(f"0\n1\n0 {self.start}\n")
        (log_dir / "meta.properties").write_text(f"version=1\nnode.id={self.number}\ncluster.id=c\n")
        lines = {"replication": mark, "log-start": self.start, "cleaner": self.cleaned}
        for name, offset in lines.items():
            file = "cleaner-offset-checkpoint" if name == "cleaner" else f"{name}-offset-checkpoint"
            (log_dir / file).write_text(f"0\n1\nt 0 {offset}\n" if offset else "0\n0\n")
        return log_dir


def header(batch: bytes) -> RecordBatch:
    found = read_header(batch, 0)
    assert isinstance(found, RecordBatch), found
    return found


def records(batch: bytes) -> Sequence[NewRecord]:
    """With their offsets."""
    found, _ = decode(batch, header(batch))
    return [NewRecord(r.value, r.key, r.timestamp, r.headers, r.offset) for r in found]


class Trial:
    def __init__(self, seed: int, number: int, home: Path) -> None:
        self.draw = Random(f"over time {seed} {number}")
        self.home, self.out = home, home / "out"
        self.replicas = [Replica(each) for each in range(1, self.draw.randrange(2, 5))]
        self.compacted, self.deletes = self.draw.random() < 0.7, self.draw.random() < 0.4
        self.all: dict[int, tuple[bytes, str]] = {}
        self.batches: list[bytes] = []
        self.did: list[str] = []

    def grow(self) -> None:
        for _ in range(self.draw.randrange(1, 9)):
            first = len(self.all)
            new = [NewRecord(f"v{at}".encode(), b"k%d" % self.draw.randrange(7), 1_700_000_000_000 + at)
                   for at in range(first, first + self.draw.randrange(1, 6))]  # fmt: skip
            self.all |= {first + at: (each.key or b"", f"v{first + at}") for at, each in enumerate(new)}
            self.batches.append(build_batch(new, base_offset=first))
        leader = self.draw.choice(self.replicas)
        behind = self.draw.random() < 0.3
        for each in self.replicas:
            upto = (
                len(self.batches) if each is leader or not behind else self.draw.randrange(len(self.batches))
            )
            for batch in self.batches[:upto]:
                if header(batch).base_offset >= each.end:
                    each.append(batch)

    def change(self) -> None:
        self.grow()
        mark = min(each.end for each in self.replicas)
        for each in self.replicas:
            if self.compacted and self.draw.random() < 0.5:
                each.clean(self.draw.randrange(mark + 1))
        if self.deletes and self.draw.random() < 0.5:
            count, one = self.draw.randrange(1, 4), self.draw.random() < 0.3
            for each in self.replicas[:1] if one else self.replicas:
                each.retain(count)

    def play(self) -> Iterator[str]:
        low = 0
        for step in range(self.draw.randrange(2, 6)):
            self.change()
            mark = min(each.end for each in self.replicas)
            dirs = [each.write(self.home, mark) for each in self.replicas]
            ran = run("export", *dirs, "--out", self.out, "--json")
            self.did.append(" ".join(f"{each.start}/{each.cleaned}/{each.end}" for each in self.replicas))
            if ran.code not in (0, 4):
                yield f"run {step}: exit code {ran.code}: {ran.err} {ran.out[-600:]}"
                return
            (line,) = ran.of("partition")
            yield from (f"run {step}: {each}" for each in self._judged(low, ran.code, line["doubts"]))
            low = line["next_offset"]

    def _judged(self, low: int, code: int, doubts: Sequence[str]) -> Iterator[str]:
        rows = table(self.out)
        got = {row["offset"]: row["value"].decode() for row in rows}
        if len(got) < len(rows):
            yield f"{len(rows) - len(got)} twice"
        if wrong := [at for at, value in got.items() if at not in self.all or self.all[at][1] != value]:
            yield f"{len(wrong)} wrong: {wrong[:5]}"
        end = max(each.end for each in self.replicas)
        newest = {key: at for at, (key, _) in self.all.items() if at < end}
        due = [at for at in range(low, end) if not self.compacted or newest[self.all[at][0]] == at]
        lacking = [at for at in due if at not in got]
        start = max(each.start for each in self.replicas)
        if late := [at for at in lacking if at >= start]:
            yield f"{len(late)} lack, exit code {code}: {late[:5]}"
        # The first run takes the log as it begins, by the replica whose beginning is the last.
        if low and lacking and code == 0:
            yield f"exit code 0, though {lacking[:5]} went before"
        # Of a compacted log nobody knows what was between.
        if code and low >= start:
            yield f"exit code {code}, and nothing is gone: {doubts}"


def played(seed: int, number: int, folder: Path) -> str:
    """Which kind of log it was."""
    trial = Trial(seed, number, folder)
    found = [*trial.play()]
    kind = f"{'compacted' if trial.compacted else 'plain'}{', deleted' if trial.deletes else ''}"
    agreed(found, f"{kind}: {'; '.join(trial.did)}")
    return kind


play = playing(played)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], "tests.rescue.over_time", [], play))
