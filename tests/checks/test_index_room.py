"""What is no fault: an index that is longer than a default which nobody said is the setting."""

import os
from pathlib import Path

from tests.cli.run import run
from tests.faults.written import two_dirs


def test_an_index_beyond_the_default_shows_another_setting_unless_the_file_tells_it(tmp_path: Path) -> None:
    dirs = two_dirs(tmp_path, True)
    os.truncate(max((dirs[0] / "t-0").glob("*.index")), 11 << 20)
    config = tmp_path / "server.properties"
    config.write_text(f"log.dirs={','.join(map(str, dirs))}\n")
    for more, codes, outcome in (([], [], "starts"), (["--config", config], ["I26"], "refuses")):
        given = [*dirs, "--kafka", "4.3", "--json", *more]
        found = run("check", "--startup", *given).of("finding")
        assert [line["code"] for line in found if line["code"] == "I26"] == codes
        assert run("forecast", *given).json[-1]["outcome"] == outcome
