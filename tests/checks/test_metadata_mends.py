"""What `check` suggests for a node's own copy of the metadata hangs on who else has one."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.checks import build_metadata as metadata
from tests.checks import build_partition as build
from tests.faults.on_disk import flip

from segmend import check
from segmend.findings import Safety
from segmend.logdir.log_dir import LogDir


@pytest.mark.parametrize(
    ("registered", "voters", "option"),
    [
        ((), (1,), "--accept-loss"),
        ((2,), (1,), "--from OTHER_METADATA_DIR"),  # a broker of it
        ((), (1, 2), "--from OTHER_METADATA_DIR"),
    ],
)
def test_a_loss_is_accepted_only_where_nobody_else_has_a_copy(
    registered: Sequence[int], voters: Sequence[int], option: str, tmp_path: Path
) -> None:
    home = build.write_log_dir(tmp_path / "d", [build.story("t")])
    nodes = [metadata.register([build.topic_id(f"of {node}")], node) for node in registered]
    log = metadata.write_metadata(
        home, [*nodes, *metadata.cluster("tuvw"), metadata.feature("kraft.version", 0)]
    )
    votes = json.loads((log / "quorum-state").read_text())
    votes["currentVoters"] = [{"voterId": voter} for voter in voters]
    (log / "quorum-state").write_text(json.dumps(votes))
    flip(next(log.glob("*.log")), -100)  # in the last batch but one
    found = check(LogDir.open(str(home)), kafka="4.3.1")
    (remedy,) = (each.remedy for each in found if each.code == "K07" and each.remedy)
    assert option in remedy.command
    assert (remedy.safety == Safety.LOSSY) == (option == "--accept-loss")
