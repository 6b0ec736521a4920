"""What every command costs before it looks at a disk is imports, nearly all of it; the bench times them."""

from pathlib import Path

import pytest
from tests.checks.build_partition import PartitionWriter, write_log_dir
from tests.cli.run import python


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A healthy log dir with one partition."""
    log_dir = tmp_path / "data"
    orders = PartitionWriter("orders")
    orders.append(3)
    write_log_dir(log_dir, [orders])
    return log_dir


def test_a_healthy_dir_asks_for_no_start(tiny: Path) -> None:
    """What plays a start, threads and codecs are loaded where something is wrong, large or compressed."""
    script = (
        "import sys; from segmend.cli.main import main; print(main(['check', *sys.argv[1:]]), *sys.modules)"
    )
    code, *loaded = python("-c", script, tiny).stdout.splitlines()[-1].split()
    assert code == "0"
    assert "segmend.checks.runner" in loaded
    heavy = ("segmend.loading", "segmend.explain", "segmend.surgery", "segmend.kernel.reference")
    codecs = ("cramjam", "isal", "lz4", "zstandard")
    slow = ("concurrent.futures", "inspect", "numpy", "platform", "shutil")
    assert not [name for name in loaded if name.startswith((*heavy, *codecs, *slow))]


def test_a_repair_brings_neither_codecs_nor_dataclasses(tiny: Path) -> None:
    """Its two starts of Python are half of the time that the indexes of a large partition take."""
    next(tiny.glob("orders-0/*.index")).unlink()
    plan = tiny.parent / "plan.json"
    for argv in (["plan", "repair", tiny, "-o", plan], ["apply", plan, "--yes", "--state-dir", tiny.parent]):
        script = "import sys; from segmend.cli.main import main; print(main(sys.argv[1:]), *sys.modules)"
        code, *loaded = python("-c", script, *argv).stdout.splitlines()[-1].split()
        assert code in ("0", "1")
        slow = {"concurrent.futures", "dataclasses", "inspect", "logging", "platform"}
        assert not {"cramjam", "isal", "lz4", "zstandard", *slow} & {*loaded}
        # What applies plans is not for who makes them; and the plan has the bytes, no recipe is run again.
        others = {"plan": ("execute", "replicas", "ops.trim."), "apply": ("planning", "recipes.", "ops.")}[
            argv[0]
        ]
        assert not [
            name for name in loaded if name.startswith(tuple(f"segmend.surgery.{each}" for each in others))
        ]
        assert argv[0] == "plan" or not {"segmend.kernel", "segmend.loading"} & {*loaded}


def test_showing_a_plan_makes_none(tiny: Path) -> None:
    plan = tiny.parent / "plan.json"
    script = "import sys; from segmend.cli.main import main; print(main(sys.argv[1:]), *sys.modules)"
    for argv in (["plan", "repair", tiny, "-o", plan], ["plan", "show", plan]):
        code, *loaded = python("-c", script, *argv).stdout.splitlines()[-1].split()
        assert code == "0"
    assert not {"segmend.checks", "segmend.kernel", "segmend.loading", "segmend.node"} & {*loaded}


def test_an_audit_of_a_healthy_fleet_loads_what_it_uses(tiny: Path) -> None:
    """Neither what the other commands of the fleet need, nor pandas, which pyarrow would load by itself."""
    script = "import sys; from segmend.cli.main import main; print(main(sys.argv[1:]), *sys.modules)"
    argv = ["fleet", "audit", tiny, "--out", tiny.parent / "out", "--driver", "local"]
    code, *loaded = python("-c", script, *argv).stdout.splitlines()[-1].split()
    assert code == "0"
    assert "segmend.report.html.render" in loaded
    others = ("cluster", "loading", "merge", "surgery")
    assert not {"pandas", *(f"segmend.{each}" for each in others)} & {*loaded}
