"""Journals that are damaged: `python -m tests.surgery.journals [--seed N] [--count N]`.

One to three rounds of apply and undo, the last one stopped at a drawn call; then the journal loses its last
lines, perhaps all, or has its end torn or flipped. What says it went to an end went there whole: to the last
time of a directory, and with no `.lock` left. A refusal changes nothing that an undo by the whole journal
would not bring back.
"""

import shutil
import sys
from contextlib import suppress
from pathlib import Path
from random import Random

from tests.surgery.drawn import STOPPED
from tests.surgery.faulty import Failing, Mortal
from tests.surgery.loop import COMMANDS, Loop
from tests.surgery.picture import Tree
from tests.surgery.story import ERRORS
from tests.surgery.trials import main, playing
from tests.surgery.world import World, chunks, make, plan_of

from segmend.errors import SegmendError
from segmend.surgery.execute.journal import acknowledge
from segmend.surgery.execute.journal_events import event_of
from segmend.surgery.execute.runs import runs
from segmend.surgery.plan import Plan
from segmend.surgery.writing.effects import Effects

SAYS_ALL = "flipped where it says nothing"
"""In the name of the line's own hash: it is as good as whole."""


class Rounds(Loop):
    """Commands that come to their end are told, as to a user."""

    def __init__(self, world: World, draw: Random) -> None:
        self.draw, self.now, self.world, self.chunks = draw, 0.0, world, chunks(world)
        super().__init__(self.plan_for(world), world.state, world.tree, world.b)
        shutil.rmtree(world.state)

    def plan_for(self, world: World) -> Plan:
        return plan_of(world)

    def told(self, command: str) -> None:
        self.act(command)
        (run,) = runs(str(self.state))
        if self.draw.random() < 0.8:
            acknowledge(Effects(), run, lambda: self.now)

    def stopped(self) -> str:
        """Some rounds, and one more that is stopped."""
        rounds = self.draw.choice([0, 1, 2, 3])
        for number in range(rounds):
            self.told(COMMANDS[number % 2])
        command = COMMANDS[rounds % 2]
        last = self.calls[command].calls
        at = self.draw.choice([self.draw.randint(1, last), self.draw.randint(1, min(30, last))])
        kind = self.draw.choice(["killed", "half", "refused"])
        fx = (
            Failing(at, self.draw.choice(ERRORS), self.other, stays=self.draw.random() < 0.5)
            if kind == "refused"
            else Mortal(at, self.other, half=kind == "half")
        )
        with suppress(*STOPPED):
            self.act(command, fx)
        return f"{rounds} rounds, then {command} {kind} at {at}"

    def whole(self, way: str) -> bool:
        """Whether all is where this command brings it."""
        return self.look() == self.before if way == "undo" else self.planned() == self.after


def damaged(whole: bytes, draw: Random) -> tuple[bytes, str]:
    """The journal without its last lines, or with an end that is not as it was written."""
    lines = whole.splitlines(keepends=True)
    if not lines:
        return whole, "no line yet"
    most = draw.choice([1, 1, 2, 3, 6, 20, len(lines)])
    lost = min(draw.randint(1, most), len(lines))
    kept, rest = b"".join(lines[:-lost]), b"".join(lines[-lost:])
    kind = draw.choice(["lost", "lost", "torn", "flipped"])
    if kind == "torn":
        kept += rest[: draw.randrange(len(rest))]
    elif kind == "flipped":
        at = draw.randrange(len(lines[-1]))
        kept = whole[: -len(lines[-1])] + lines[-1][:at] + bytes([lines[-1][at] ^ 1 << draw.randrange(8)])
        kept += lines[-1][at + 1 :]
        if event_of(kept.splitlines(keepends=True)[-1]) is not None:
            kind = SAYS_ALL
    return kept, f"{kind}, {lost} of {len(lines)} lines"


def played(seed: int, number: int, folder: Path) -> str:
    """How it ended; raises AssertionError."""
    draw = Random(f"{seed} {number} journal")
    loop = Rounds(make(folder / "world"), draw)
    said = loop.stopped()
    (found,) = runs(str(loop.state)) or [None]
    if found is None or not found.events:
        assert loop.look() == loop.before, said
        return "not begun"
    journal = Path(found.journal)
    whole, stopped_at = journal.read_bytes(), loop.look()
    hurt, how = damaged(whole, draw)
    journal.write_bytes(hurt)
    way = draw.choice(COMMANDS)
    said = f"{said}; {how}; {way}"
    try:
        loop.act(way)
    except SegmendError:
        ended = "refused"
        after: Tree = loop.look()
        assert contents(after) == contents(stopped_at), f"{said}: refused, and something was changed"
        journal.write_bytes(whole)
    else:
        again = how.startswith(SAYS_ALL) and found.state == "undone" and found.told
        ended = "apply" if again else way
        assert loop.whole(ended), f"{said}: ended elsewhere"
        if ended == "undo":
            return ended
    loop.act("undo")
    if runs(str(loop.state))[0].state != "undone":
        loop.act("undo")
    assert loop.look() == loop.before, f"{said}: not as it was"
    return ended


def contents(tree: Tree) -> set[object]:
    """What is in the files, wherever they lie."""
    return {row[5] for row in tree.values() if len(row) > 5 and row[4]}


play = playing(played)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], "tests.surgery.journals", [], play))
