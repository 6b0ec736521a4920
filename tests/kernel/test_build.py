"""The command that a warning of the kernel names, in an environment as `bootstrap.py` makes it."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_the_kernel_is_made_anew_without_hatchling(tmp_path: Path) -> None:
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler: cc")
    shutil.copy(ROOT / "hatch_build.py", tmp_path)
    shutil.copytree(ROOT / "src" / "segmend" / "kernel" / "c", tmp_path / "src" / "segmend" / "kernel" / "c")
    script = "import runpy, sys; sys.modules['hatchling'] = None; "
    script += "runpy.run_path('hatch_build.py', run_name='__main__')"
    ran = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout == "built src/segmend/_kernel.so\n"
    assert (tmp_path / "src" / "segmend" / "_kernel.so").stat().st_size > 0
