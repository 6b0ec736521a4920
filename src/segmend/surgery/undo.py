"""Take a plan back: every byte, name, owner, mode and time as it was. An undo can be undone."""

from __future__ import annotations

from segmend.surgery.carry import Outcome, Watch, carry
from segmend.surgery.effects import Effects
from segmend.surgery.events import BACK, FORWARD
from segmend.surgery.journal import Run
from segmend.surgery.quarantines import refuse_discarded


def direction_of(run: Run) -> str:
    """Where an undo of this run goes: back, or forward again if it was taken back and that was told.

    Who was interrupted before he was told says `undo` again to have it done, not to have it undone.
    """
    return FORWARD if run.state == "undone" and run.told else BACK


def undo(run: Run, *, fx: Effects | None = None, watch: Watch | None = None) -> Outcome:
    """Take a run back, wholly or as far as it got; one that was taken back is applied again.

    Raises as `apply`; refused if a file is not as the run left it, which says a broker was there.
    """
    refuse_discarded(run)
    return carry(fx or Effects(), run, direction_of(run), watch or Watch())
