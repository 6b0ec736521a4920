"""A state dir that is damaged anywhere: `python -m tests.surgery.state_dirs [--seed N] [--count N]`.

Rounds of apply and undo, the last one stopped, as in `journals`; then any file or directory of the state dir
is flipped, cut, emptied, zeroed, removed, or another one takes its place. What says it went to an end went
there whole. A refusal is one line that names a file, begins no second journal, and loses nothing: with the
file as it was, an undo brings all back.
"""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

from tests.surgery.journals import Rounds
from tests.surgery.loop import COMMANDS
from tests.surgery.trials import main, playing
from tests.surgery.world import make

from segmend.errors import SegmendError
from segmend.surgery.execute.journal_events import FORWARD
from segmend.surgery.execute.runs import runs
from segmend.surgery.execute.undo import direction_of


def damage(path: Path, draw: Random) -> str:
    """What was done to it."""
    kinds: dict[str, Callable[[], object]] = {
        "removed": lambda: removed(path),
        "a directory": lambda: swapped(path),
    }
    if path.is_file():
        data = path.read_bytes()
        at = draw.randrange(len(data)) if data else 0
        flipped = bytes(byte ^ 1 << draw.randrange(8) for byte in data[at : at + 1])
        kinds |= {
            "flipped": lambda: path.write_bytes(data[:at] + flipped + data[at + 1 :]),
            "cut": lambda: path.write_bytes(data[:at]),
            "empty": lambda: path.write_bytes(b""),
            "zeroed": lambda: path.write_bytes(bytes(len(data))),
            "a link to nothing": lambda: (path.unlink(), path.symlink_to("nothing")),
        }
    kind = draw.choice(sorted(kinds))
    kinds[kind]()
    return kind


def removed(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def swapped(path: Path) -> None:
    """An empty directory in its place."""
    removed(path)
    path.mkdir()


def played(seed: int, number: int, folder: Path) -> str:
    """How it ended; raises AssertionError."""
    draw = Random(f"{seed} {number} state")
    loop = Rounds(make(folder / "world"), draw)
    said = loop.stopped()
    if not any(run.events for run in runs(str(loop.state))):
        assert loop.look() == loop.before, said
        return "not begun"
    own = sorted((loop.state / "journals").glob("*/**/*"))
    small = [path for path in own if path.suffix in (".json", ".jsonl")]
    hurt = draw.choice([draw.choice(own), draw.choice(small)])
    saved = folder / "saved"
    shutil.copytree(loop.state, saved, symlinks=True)
    kind = damage(hurt, draw)
    way = draw.choice(COMMANDS)
    said = f"{said}; {hurt.relative_to(loop.state)} {kind}; {way}"

    def ended(command: str) -> str:
        """Where it went: an undo of what was undone already applies it again."""
        try:
            latest = next(iter(runs(str(loop.state))), None)
            goal = "apply" if command == "undo" and latest and direction_of(latest) == FORWARD else command
            loop.act(command)
        except SegmendError as error:
            told, journals = str(error), [path.name for path in (loop.state / "journals").iterdir()]
            assert "\n" not in told, said
            assert str(folder) in told, f"{said}: {told}"
            assert len(journals) == 1, f"{said}: {journals}: {told}"
            return "refused"
        assert loop.whole(goal), f"{said}: ended elsewhere"
        return goal

    end = ended(way)
    if "undo" in (end, *((ended("undo"),) if end == "apply" else ())):
        return f"{way}: whole"
    put_back(saved, loop.state, hurt)
    loop.act("undo")
    if runs(str(loop.state))[0].state != "undone":
        loop.act("undo")
    assert loop.look() == loop.before, f"{said}: not as it was"
    return f"{way}: {end}"


def put_back(saved: Path, state: Path, hurt: Path) -> None:
    """As from a backup: what was damaged, alone."""
    source = saved / hurt.relative_to(state)
    if hurt.is_symlink() or hurt.is_file():
        hurt.unlink()
    elif hurt.is_dir():
        shutil.rmtree(hurt)
    shutil.copytree(source, hurt) if source.is_dir() else shutil.copy2(source, hurt)


play = playing(played)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], "tests.surgery.state_dirs", [], play))
