"""A few of `python -m tests.rescue.full_disks`."""

import os
import subprocess
from pathlib import Path

import pytest
from tests.rescue.full_disks import KINDS, play
from tests.seeds import SEED, sampled
from tests.surgery.full_disks import mounted


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_full_disk_stops_a_rescue_that_goes_on_with_room(kind: str, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small file system")
    try:
        with mounted(kind, tmp_path):
            pass
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no loop mount of {kind} here: {error}")
    wrong = play(SEED, range(sampled(40, 3)), [kind], tmp_path)
    assert not wrong, "\n".join(wrong)
