"""Dirs whose times tell of no copy are asked for as little as that takes."""

import os
from pathlib import Path

import pytest
from tests.copies import copy_tree
from tests.golden.shared import golden

from segmend.logdir.files import FileEntry
from segmend.logdir.log_dir import LogDir
from segmend.node import dir_times


@pytest.mark.parametrize("anew", [False, True])
def test_logs_are_looked_at_only_where_all_else_is_younger(
    anew: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy_tree(golden("4.3.1-clean") / "b1", tmp_path / "b1")
    paths = sorted((tmp_path / "b1").glob("d*"))
    for path in (each for each in (tmp_path / "b1").rglob("*") if each.is_file()):
        time = 1_800_000_000 + 86_400 * (anew and paths[1] in path.parents)
        os.utime(path, (time, time))
    dirs = [LogDir.attempt(str(path)) for path in paths]
    logs = {entry.path for one in dirs[1].current for each in one.segments if (entry := each.log)}
    looked, time_of = set[str](), dir_times.time_of

    def watched(entry: FileEntry | None) -> int | None:
        looked.add("" if entry is None else entry.path)
        return time_of(entry)

    monkeypatch.setattr(dir_times, "time_of", watched)
    assert dir_times.copied_anew(dirs) == ({dirs[1].path: dirs[0].path} if anew else {})
    assert logs
    assert logs & looked == (logs if anew else set())
