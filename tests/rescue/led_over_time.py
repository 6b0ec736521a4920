"""Exports run after run while leaders change, logs are cut, and transactions begin and end between the runs.

`python -m tests.rescue.led_over_time [--seed N] [--count N] [--only N]`. One to three replicas follow leaders
as Kafka's do (KIP-101): whoever is in sync, or after an unclean election anybody, leads in a new epoch, and
the others cut what it does not have. Some do so later, some lose their first segments. An export must have
each record once, and no other; one of committed records up to the first open transaction. Once a new leader
wrote over what an earlier run took, nothing may be added any more, and it must be said.
"""

import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.cli.run import Ran, run
from tests.markers import build_marker
from tests.rescue.over_time import ROLL, header, records
from tests.rescue.test_export import table
from tests.surgery.trials import agreed, main, playing

from segmend.formats.build import BatchProducer, NewRecord, build_batch


@dataclass
class Log:
    """A replica: its batches in order, the epochs that it knows and where they begin."""

    number: int
    batches: list[bytes] = field(default_factory=list)
    epochs: list[tuple[int, int]] = field(default_factory=list)
    start: int = 0

    @property
    def end(self) -> int:
        return header(self.batches[-1]).last_offset + 1 if self.batches else self.start

    def follow(self, leader: "Log") -> None:
        """Cut what the leader does not have, and fetch the rest."""
        self.batches, self.epochs = [*leader.batches], [*leader.epochs]

    def write(self, root: Path, mark: int) -> Path:
        log_dir = root / f"b{self.number}"
        shutil.rmtree(log_dir, ignore_errors=True)
        home = log_dir / "t-0"
        home.mkdir(parents=True)
        left = [each for each in self.batches if header(each).base_offset >= self.start]
        for at in range(0, max(len(left), 1), ROLL):
            base = header(left[at]).base_offset if left else self.start
            (home / f"{base:020d}.log").write_bytes(b"".join(left[at : at + ROLL]))
        known = [(epoch, max(first, self.start)) for epoch, first in self.epochs]
        known = [each for at, each in enumerate(known) if at == len(known) - 1 or known[at + 1][1] > each[1]]
        lines = "".join(f"{epoch} {first}\n" for epoch, first in known)
        (home / "leader-epoch-checkpoint").write_text(f"0\n{len(known)}\n{lines}")
        (log_dir / "meta.properties").write_text(f"version=1\nnode.id={self.number}\ncluster.id=c\n")
        for name, offset in {"replication": min(mark, self.end), "log-start": self.start}.items():
            told = f"0\n1\nt 0 {offset}\n" if offset else "0\n0\n"
            (log_dir / f"{name}-offset-checkpoint").write_text(told)
        return log_dir


class Trial:
    def __init__(self, seed: int, number: int, home: Path) -> None:
        self.draw = Random(f"led over time {seed} {number}")
        self.home, self.out = home, home / "out"
        self.logs = [Log(each) for each in range(1, self.draw.randrange(2, 5))]
        self.leader, self.epoch = self.logs[0], 0
        self.leader.epochs.append((0, 0))
        self.transactional = self.draw.random() < 0.6
        self.committed = self.draw.random() < 0.5
        self.open: dict[int, int] = {}
        self.decided: dict[tuple[int, int], bool] = {}
        self.sequences: dict[int, int] = {}
        self.count, self.did = 0, list[str]()

    def elect(self) -> None:
        """Anybody, in a new epoch; what it lacks is gone for good, and so are open transactions of it."""
        self.leader = self.draw.choice(self.logs)
        self.epoch += self.draw.choice((1, 1, 2))
        self.leader.epochs.append((self.epoch, self.leader.end))
        self.open = {}
        for batch in self.leader.batches:
            head = header(batch)
            if head.is_control:
                self.open.pop(head.producer_id, None)
            elif head.is_transactional:
                self.open.setdefault(head.producer_id, head.base_offset)

    def grow(self) -> None:
        for _ in range(self.draw.randrange(0, 7)):
            kind = self.draw.random()
            if self.transactional and kind < 0.3 and self.open:
                producer = self.draw.choice(sorted(self.open))
                # Its coordinator has decided, and writes no other marker once this one is lost.
                which = producer, self.open.pop(producer)
                commits = self.decided.setdefault(which, self.draw.random() < 0.6)
                batch = build_marker(
                    offset=self.leader.end, commit=commits, producer_id=producer,
                    producer_epoch=0, leader_epoch=self.epoch, timestamp=1_700_000_000_000 + self.count,
                )  # fmt: skip
            else:
                batch = self._data(self.transactional and kind < 0.7)
            self.leader.batches.append(batch)
        for each in self.logs:
            if each is not self.leader and self.draw.random() < 0.75:
                each.follow(self.leader)

    def _data(self, transactional: bool) -> bytes:
        first, many = self.leader.end, self.draw.randrange(1, 5)
        new = []
        for _ in range(many):
            self.count += 1
            new.append(NewRecord(b"v%d" % self.count, None, 1_700_000_000_000 + self.count))
        told = BatchProducer()
        if transactional:
            producer = self.draw.randrange(3)
            self.open.setdefault(producer, first)
            sequence = self.sequences.get(producer, 0)
            self.sequences[producer] = sequence + many
            told = BatchProducer(producer, 0, sequence, transactional=True)
        return build_batch(new, base_offset=first, producer=told, leader_epoch=self.epoch)

    def play(self) -> Iterator[str]:
        taken, low = dict[int, str](), 0
        for step in range(self.draw.randrange(2, 7)):
            if self.draw.random() < 0.5:
                self.elect()
            self.grow()
            if self.draw.random() < 0.2 and len(self.leader.batches) > ROLL:
                first = header(self.draw.choice(self.leader.batches[:-1])).base_offset
                for each in self.logs:
                    each.start = max(each.start, first) if each.end > first else each.start
            dirs = [each.write(self.home, 0) for each in self.logs]
            isolation = "read_committed" if self.committed else "read_uncommitted"
            ran = run("export", *dirs, "--out", self.out, "--json", "--isolation", isolation)
            self.did.append(
                f"epoch {self.epoch} of {self.leader.number}: "
                + " ".join(f"{each.start}..{each.end}" for each in self.logs)
                + f" ({ran.code})"
            )
            rows = {row["offset"]: row["value"].decode() for row in table(self.out)}
            written_over = self._lost(taken, low)
            if ran.code in (8, 12):
                if rows != taken:
                    yield f"run {step}: refused, and the table has other rows"
                if not written_over:
                    yield f"run {step}: refused: {ran.out[-500:]}"
                return
            if ran.code not in (0, 4):
                yield f"run {step}: exit code {ran.code}: {ran.err} {ran.out[-600:]}"
                return
            if written_over:
                yield f"run {step}: exit code {ran.code}: {written_over}"
                return
            yield from (f"run {step}: {each}" for each in self._judged(ran, rows, taken, low))
            taken, low = rows, ran.of("partition")[0]["next_offset"]

    def _truth(self) -> dict[int, tuple[str, bool]]:
        """By offset the value, and whether it is of an aborted transaction, as the leader has it."""
        found, pending = dict[int, tuple[str, bool]](), dict[int, list[int]]()
        for batch in self.leader.batches:
            head = header(batch)
            if head.is_control:
                commits = records(batch)[0].key == b"\0\0\0\1"
                for offset in pending.pop(head.producer_id, []):
                    found[offset] = found[offset][0], not commits
                continue
            for each in records(batch):
                assert each.offset is not None
                assert each.value is not None
                found[each.offset] = each.value.decode(), False
                if head.is_transactional:
                    pending.setdefault(head.producer_id, []).append(each.offset)
        return found

    def _lost(self, taken: dict[int, str], low: int) -> str:
        """What an earlier run took that the leader has not, and did not delete; or skipped and has now."""
        truth = self._truth()
        lost = [at for at, value in taken.items() if truth.get(at, ("",))[0] != value]
        if low > self.leader.end:
            return f"the log ends at {self.leader.end}, and {low} was reached"
        if lost:
            return f"{len(lost)} were written over: {lost[:5]}"
        live = [at for at, (_, aborted) in truth.items() if at < low and not (aborted and self.committed)]
        skipped = [at for at in live if at not in taken and at >= self.started]
        return f"{len(skipped)} are new below {low}: {skipped[:5]}" if skipped else ""

    @property
    def started(self) -> int:
        """Below that retention took what was not exported."""
        return max(each.start for each in self.logs)

    def _judged(self, ran: Ran, rows: dict[int, str], taken: dict[int, str], low: int) -> Iterator[str]:
        if len(table(self.out)) != len(rows):
            yield "some twice"
        truth = self._truth()
        upto = min(self.open.values(), default=self.leader.end) if self.committed else self.leader.end
        due = {
            at: value
            for at, (value, aborted) in truth.items()
            if self.started <= at < upto and at >= low and not (aborted and self.committed)
        }
        if lacking := [at for at in due if rows.get(at) != due[at]]:
            yield f"{len(lacking)} lack, exit code {ran.code}: {lacking[:5]}"
        if strange := [at for at in rows if at not in taken and rows[at] != truth.get(at, ("",))[0]]:
            yield f"{len(strange)} of nowhere: {strange[:5]}"


def played(seed: int, number: int, folder: Path) -> str:
    """Which kind of log it was."""
    trial = Trial(seed, number, folder)
    found = [*trial.play()]
    kind = "transactions" if trial.transactional else "plain"
    kind += ", committed" if trial.committed else ""
    agreed(found, f"{kind}: {'; '.join(trial.did)}")
    return kind


play = playing(played)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], "tests.rescue.led_over_time", [], play))
