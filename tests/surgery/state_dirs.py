"""A state dir that is damaged anywhere: `python -m tests.surgery.state_dirs [--seed N] [--count N]`.

Rounds of apply and undo, the last one stopped, as in `journals`; then any file or directory of the state dir,
two files, or both of the plan, are flipped, cut, emptied, zeroed, removed, or others take their place. What
says it went to an end went there whole. One plan in four is too large for its journal to have it again. A
refusal is one line that names a file, begins no second journal, and loses nothing: with the files as they
were, an undo brings all back.
"""

import re
import shutil
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random

import pytest
from tests.faults.on_disk import put_folder, put_link, remove
from tests.surgery.faulty import Disk
from tests.surgery.journals import Rounds
from tests.surgery.loop import COMMANDS
from tests.surgery.picture import Tree
from tests.surgery.trials import main, playing
from tests.surgery.world import World, chunks, lost, make, plan_of, steps

from segmend.errors import SegmendError, UsageError
from segmend.formats import clean_shutdown
from segmend.formats.offset_checkpoint import FILE_NAMES, RECOVERY_POINT
from segmend.surgery.execute import plan_run
from segmend.surgery.execute.apply import apply
from segmend.surgery.execute.journal_events import FORWARD
from segmend.surgery.execute.plan_run import BEGUN, JOURNAL, PlanRun
from segmend.surgery.execute.reverse import reverse
from segmend.surgery.execute.runs import find, named, runs
from segmend.surgery.execute.undo import direction_of, undo
from segmend.surgery.plan import Plan
from segmend.surgery.steps.replace_file import ReplaceFile

LINE = b"0\n1\ncut 0 7\n"
BY_THEMSELVES = (".lock", clean_shutdown.FILE_NAME, *FILE_NAMES)
"""What a way back does not bring back as it was: of checkpoints the lines of what goes (`test_reverse`)."""
BY_ITS_FILE = "`segmend apply` of the file that was applied puts it back and goes on"
REVERSE = re.compile(r"segmend plan reverse ([^\s)]+)")


class Checkpointed(Rounds):
    """With checkpoints that have a line, as a plan reads them."""

    def plan_for(self, world: World) -> Plan:
        (world.a / RECOVERY_POINT).write_bytes(LINE)
        made = [
            ReplaceFile.with_bytes(step.path, LINE.replace(b"7", str(number).encode()), step.reason)
            for number, step in enumerate(steps(world)[:2])
            if isinstance(step, ReplaceFile)
        ]
        return plan_of(world, [*made, *steps(world)[2:]])


def damage(path: Path, draw: Random) -> str:
    """What was done to it."""
    kinds: dict[str, Callable[[], object]] = {
        "removed": lambda: remove(path),
        "a directory": lambda: put_folder(path),
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
            "a link to nothing": lambda: put_link(path, "nothing"),
        }
    kind = draw.choice(sorted(kinds))
    kinds[kind]()
    return kind


def to_hurt(loop: Rounds, draw: Random) -> list[Path]:
    own = sorted((loop.state / "journals").glob("*/**/*"))
    small = [path for path in own if path.suffix in (".json", ".jsonl")]
    plans = [path for path in small if path.name == "plan.json"]
    return draw.choice(
        [[draw.choice(own)], [draw.choice(small)], plans, draw.sample(small, min(2, len(small)))]
    )


def played(seed: int, number: int, folder: Path) -> str:
    """How it ended; raises AssertionError."""
    with pytest.MonkeyPatch.context() as patch:
        if large := Random(f"{seed} {number} large").random() < 0.25:
            patch.setattr(plan_run, "PACKED_LIMIT", 0)
        return played_of(seed, number, folder, large=large)


def played_of(seed: int, number: int, folder: Path, *, large: bool) -> str:
    draw = Random(f"{seed} {number} state")
    loop = Checkpointed(make(folder / "world"), draw)
    said = loop.stopped()
    if not any(run.events for run in runs(str(loop.state))):
        assert loop.look() == loop.before, said
        return "not begun"
    hurt = to_hurt(loop, draw)
    saved = folder / "saved"
    shutil.copytree(loop.state, saved, symlinks=True)
    kinds = [f"{path.relative_to(loop.state)} {damage(path, draw)}" for path in hurt]
    way = draw.choice(COMMANDS)
    said = f"{said}; {', '.join(kinds)}; {way}"
    both = {JOURNAL, BEGUN} <= {path.name for path in hurt}

    def ended(command: str, journal: str | None = None) -> str:
        """Where it went: an undo of what was undone already applies it again."""
        try:
            latest = next(iter(runs(str(loop.state))), None)
            goal = "apply" if command == "undo" and latest and direction_of(latest) == FORWARD else command
            loop.plan = by_its_journal(loop) if command == "apply" and number % 2 else loop.plan
            loop.act(command) if journal is None else undo(
                find(str(loop.state), journal), fx=Disk(loop.other)
            )
        except SegmendError as error:
            told, journals = str(error), [path.name for path in (loop.state / "journals").iterdir()]
            assert "\n" not in told, said
            assert str(folder) in told, f"{said}: {told}"
            assert len(journals) == 1, f"{said}: {journals}: {told}"
            if (moved := re.search(r"(\S+): is no plain file; move it out of the way", told)) is not None:
                Path(moved[1]).rename(folder / f"moved {Path(moved[1]).name}")
                return ended(command)
            if (lost := re.search(r"segmend undo (\S+) goes by what the files tell", told)) is not None:
                return ended("undo", lost[1])
            if BY_ITS_FILE in told:
                assert large, f"{said}: {told}"
                loop.act("apply")
                assert loop.whole("apply"), f"{said}: by the file of the plan: ended elsewhere"
                return "apply"
            back = REVERSE.search(told)
            assert back is not None, f"{said}: names no way: {told}"
            return f"reverse {back[1]}"
        stays = both and told_by_no_file(loop, goal)
        assert stays or loop.whole(goal), f"{said}: ended elsewhere"
        return goal

    end = ended(way)
    if "undo" in (end, second := ended("undo") if end == "apply" else ""):
        return f"{way}: whole"
    journal = (second or end).partition(" ")[2]
    if journal and (back := reversed_by(journal, loop, said)):
        return f"{way}: {back}"
    all_back(loop, saved, hurt, said)
    return f"{way}: {end.partition(' ')[0]}"


def all_back(loop: Rounds, saved: Path, hurt: Iterable[Path], said: str) -> None:
    """With the files of the state dir as they were."""
    for path in hurt:
        put_back(saved, loop.state, path)
    loop.act("undo")
    if runs(str(loop.state))[0].state != "undone":
        loop.act("undo")
    assert loop.look() == loop.before, f"{said}: not as it was"


def by_its_journal(loop: Rounds) -> Plan:
    """As for who has lost the file of the plan: `segmend apply 1`."""
    run = named(str(loop.state), "1")
    assert run is not None
    return run.plan


def reversed_by(journal: str, loop: Rounds, said: str) -> str:
    """What the command that is named came to; "" where nothing lies otherwise than it did."""
    try:
        plan = reverse(find(str(loop.state), journal, PlanRun.load_by_files))
    except UsageError as error:
        if "has nothing done that could be reversed" in str(error):
            return ""
        raise
    world, places = loop.world, [loop.world.a, loop.world.b, loop.state]
    there = {*chunks(world), *loop.chunks}
    held = there - set(lost(world, there, places))
    apply(plan, str(loop.state), fx=Disk(loop.other))
    gone = lost(world, held, places)
    assert not gone, f"{said}: reversed, and lost {len(gone)} pieces"
    odd = [left.path or "" for left in plan.left]
    odd += [step.paths[-1] for step in plan.steps if "what is left of it" in step.words()]
    named = {str(partition_of(Path(path), world)) for path in odd}
    for path in odd_bytes(loop.look(), loop.before):
        within = str(partition_of(Path(path), world)) in named
        assert within or path.endswith(BY_THEMSELVES), f"{said}: {path} of {named}"
    return f"reversed, {'some' if len(named) > 1 else 'all'}"


def partition_of(path: Path, world: World) -> Path:
    """Of a path below a log dir: of the steps on a partition all go back, or none."""
    home = next(each for each in (world.a, world.b) if path.is_relative_to(each))
    return home.joinpath(*path.relative_to(home).parts[:1])


def told_by_no_file(loop: Rounds, way: str) -> bool:
    """Whether only that is not where a command brings it: times of directories, and whose the locks are."""
    now, then = (loop.look(), loop.before) if way == "undo" else (loop.planned(), loop.after)
    odd = {path for path in now.keys() | then.keys() if now.get(path) != then.get(path)}
    return all(
        path.endswith("/.lock") or (path in now and path in then and Path(path).is_dir()) for path in odd
    )


def odd_bytes(now: Tree, before: Tree) -> list[str]:
    """What has other bytes, or is there or not."""
    every = now.keys() | before.keys()
    return sorted(path for path in every if now.get(path, ())[4:] != before.get(path, ())[4:])


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
