"""`plan quorum`: a node's metadata made whole, restored from other nodes' with its vote safe, led alone.

What real quorums of three make of it is in `tests/lab/quorums`.
"""

import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.copies import copy_tree
from tests.faults.on_disk import flip_at_share
from tests.golden.shared import golden
from tests.surgery.desk import Desk, left_code

from segmend.formats import quorum_state
from segmend.formats.quorum_state import QuorumState

METADATA = "__cluster_metadata-0"
OLDER = '"leaderId":1,"leaderEpoch":2,"votedId":-1'
VOTERS = "controller.quorum.voters=1@one:9093,2@two:9093,3@three:9093"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Voter 1 of three (4.3.1, kraft.version 0): its log ends at 630 of epoch 2, that of 2 in epoch 3."""
    found = Desk(golden("4.3.1-fleet") / "b1", tmp_path)
    lines = [
        f"log.dirs={','.join(map(str, found.dirs))}",
        "process.roles=broker,controller",
        "node.id=1",
        VOTERS,
    ]
    (tmp_path / "server.properties").write_text("\n".join(lines))
    return found


@pytest.fixture
def others() -> tuple[Path, Path]:
    fleet = golden("4.3.1-fleet")
    return fleet / "b2" / "d0", fleet / "b3" / "d0"


def home(desk: Desk) -> Path:
    return next(path / METADATA for path in desk.dirs if (path / METADATA).exists())


def state(desk: Desk, place: Path) -> QuorumState:
    value, damages = quorum_state.parse((place / "quorum-state").read_bytes())
    assert value is not None
    assert damages == ()
    return value


def facts(desk: Desk) -> dict[str, Any]:
    return dict(desk.planned()["extra"]["quorum"])


def codes(desk: Desk) -> set[str]:
    return {row["code"] for row in desk.run("check", *desk.dirs, "--json").of("finding")}


@pytest.mark.slow
def test_damage_that_the_rest_covers_is_set_aside(desk: Desk) -> None:
    place = home(desk)
    flip_at_share(max(place.glob("*.checkpoint")), 0.5)
    assert desk.plan("quorum").code == left_code(desk.planned())
    assert [step["kind"] for step in desk.planned()["steps"]] == ["quarantine"]
    desk.apply()
    assert "K08" not in codes(desk)
    flip_at_share(place / f"{0:020d}.log", 0.2)  # below the older snapshot, at offset 262
    desk.plan("quorum")
    assert facts(desk) == {"end": 630}
    desk.apply()
    assert not {"K07", "K08", "K09", "I01"} & codes(desk)
    desk.undo()


@pytest.mark.slow
def test_damage_that_nothing_covers_is_not_called_mended(desk: Desk, others: tuple[Path, Path]) -> None:
    place = home(desk)
    before = (place / "quorum-state").read_bytes()
    flip_at_share(place / f"{0:020d}.log", 0.97)  # behind the newest snapshot
    ran = desk.plan("quorum")
    assert (ran.code, desk.planned()["steps"]) == (4, [])
    assert "would be lost" in desk.planned()["left"][0]
    assert desk.plan("quorum", "--from", others[0], "--from", others[1]).code == left_code(desk.planned())
    desk.apply()
    theirs = others[0] / METADATA / f"{0:020d}.log"
    assert (place / theirs.name).read_bytes() == theirs.read_bytes()
    assert (place / "quorum-state").read_bytes() == before
    desk.undo()


@pytest.mark.slow
def test_a_lost_vote_is_not_given_twice(desk: Desk, others: tuple[Path, Path]) -> None:
    """Without the files of voter 3 it may have voted in any epoch that 3 knows."""
    place = home(desk)
    shutil.rmtree(place)
    options = ("--config", desk.root / "server.properties", "--from", others[0])
    ran = desk.plan("quorum", *options)
    assert ran.code == 8
    assert "--gone 3" in ran.err
    assert desk.plan("quorum", *options, "--from", others[1]).code == left_code(desk.planned())
    desk.apply()
    assert state(desk, place).leader_epoch == 4
    assert state(desk, place).voted_id == -1
    desk.undo()
    assert not place.exists()
    assert desk.plan("quorum", *options, "--gone", 3).code == left_code(desk.planned())
    desk.apply()
    assert (state(desk, place).leader_epoch or 0) > 1000


@pytest.mark.slow
def test_a_voter_out_of_a_backup_votes_in_no_epoch_again(desk: Desk, others: tuple[Path, Path]) -> None:
    """It was called whole. With real controllers (tests/lab/quorums/older.py) what was committed was gone."""
    place = home(desk)
    kept = (place / "quorum-state").read_text()
    assert '"leaderId":2,"leaderEpoch":3,"votedId":2' in kept
    config = ("--config", desk.root / "server.properties")
    ran = desk.run("plan", "quorum", *desk.dirs, *config)
    assert "of an older copy of it (then: --restored): only the files of all other voters can tell" in ran.out
    (place / "quorum-state").write_text(kept.replace('"leaderId":2,"leaderEpoch":3,"votedId":2', OLDER))
    ran = desk.plan("quorum", *config, "--from", others[0])
    assert ran.code == 8
    assert "(node 2) says that it voted in epoch 3 (for node 2), and its quorum-state ends at" in ran.err
    assert "--gone 3" in ran.err
    given = ("--from", others[0], "--from", others[1])
    assert desk.plan("quorum", *config, *given).code == left_code(desk.planned())
    assert facts(desk) == {"end": 631}
    desk.apply()
    assert (state(desk, place).leader_epoch, state(desk, place).voted_id) == (4, -1)
    desk.undo()
    (place / "quorum-state").write_text(kept)
    assert desk.plan("quorum", *config, *given).code == left_code(desk.planned())
    assert desk.planned()["steps"] == []
    assert "go further, up to offset 631 of epoch 3" in desk.planned()["notes"][-1]
    assert desk.plan("quorum", "--restored", *config, *given).code == left_code(desk.planned())
    desk.apply()
    assert state(desk, place).leader_epoch == 4
    desk.undo()


def lose_log(place: Path) -> None:
    """All but the vote."""
    for path in place.iterdir():
        if path.name != "quorum-state":
            path.unlink()


@pytest.mark.slow
def test_a_voter_that_was_not_asked_may_have_more(desk: Desk, others: tuple[Path, Path]) -> None:
    """With real controllers of 4.3.1 the restored one and the one that lagged led: a topic was gone."""
    lose_log(home(desk))
    options = ("--config", desk.root / "server.properties", "--from", others[0])
    assert desk.plan("quorum", *options).code == 4
    (left,) = desk.planned()["left"]
    assert "the files of voter 3 were not given" in left
    assert f"--config {options[1]} --from {others[0]} --from OTHER_METADATA_DIR" in left
    assert desk.plan("quorum", *options, "--gone", 3).code == left_code(desk.planned())
    assert "what voters 3, whose files are not here, had committed" in desk.planned()["losses"][0]["what"]
    assert desk.plan("quorum", *options, "--from", others[1]).code == left_code(desk.planned())
    assert desk.planned()["losses"] == []


@pytest.mark.slow
def test_what_lost_voters_had_is_not_called_nothing(desk: Desk, others: tuple[Path, Path]) -> None:
    options = ("--standalone", "--config", desk.root / "server.properties")
    said = desk.run("plan", "quorum", *desk.dirs, *options).out
    assert "lost: nothing" not in said
    assert "on: what voters 2, 3, whose files are not here, had committed there" in said
    given = [word for each in others for word in ("--from", each)]
    assert "lost: nothing" in desk.run("plan", "quorum", *desk.dirs, *options, *given).out


def test_metadata_without_a_log_is_filled_again_and_its_vote_stays(desk: Desk) -> None:
    """It said to move the directory away, with the vote in it."""
    lose_log(home(desk))
    rows = desk.run("check", *desk.dirs, "--json").of("finding")
    (row,) = [row for row in rows if row["code"] == "N11"]
    assert row["remedy"]["command"].startswith(f"segmend plan quorum {home(desk).parent} ")


def test_a_config_with_paths_of_another_machine_tells_which_dir_to_give(
    desk: Desk, others: tuple[Path, Path]
) -> None:
    """Volumes that are mounted elsewhere: it was asked for the very file that was given."""
    place, config = home(desk), desk.root / "server.properties"
    shutil.rmtree(place)
    config.write_text(config.read_text().replace(str(desk.home), "/there"))
    options = ("--config", config, "--from", others[0], "--from", others[1])
    ran = desk.plan("quorum", *options)
    assert ran.code == 16
    assert "give --config" not in ran.err
    assert f"/there/{place.parent.name}, of server.properties, is none of them" in ran.err
    assert desk.run("plan", "quorum", place.parent, *options).code == 4, "such a config starts no broker"


@pytest.mark.slow
def test_a_last_voter_is_the_only_one(desk: Desk, tmp_path: Path) -> None:
    place = home(desk)
    assert desk.plan("quorum", "--standalone").code == 16  # the voters are in server.properties
    assert desk.plan("quorum", "--standalone", "--config", tmp_path / "server.properties").code == left_code(
        desk.planned()
    )
    notes = " ".join(desk.planned()["notes"])
    assert "controller.quorum.voters=1@one:9093 " in notes
    assert "never come back" in notes
    assert "move its __cluster_metadata-0 away before it starts" in notes
    assert "before 3.7 it deletes them" in notes
    desk.apply()
    assert state(desk, place).current_voters == (1,)
    assert state(desk, place).leader_epoch == facts(desk)["epoch"]
    desk.undo()


def test_copies_that_cannot_help_are_refused(desk: Desk, others: tuple[Path, Path], tmp_path: Path) -> None:
    shutil.rmtree(home(desk))
    config = ("--config", tmp_path / "server.properties")
    stranger = tmp_path / "stranger"
    copy_tree(others[0], stranger)
    identity = stranger / "meta.properties"
    old = identity.read_text()
    identity.write_text(old.replace("node.id=2", "node.id=1"))
    assert "of node 1 itself" in desk.plan("quorum", *config, "--from", stranger).err
    identity.write_text(old.replace("cluster.id=", "cluster.id=x"))
    assert "is of cluster" in desk.plan("quorum", *config, "--from", stranger).err
    assert "holds no" in desk.plan("quorum", *config, "--from", tmp_path).err
