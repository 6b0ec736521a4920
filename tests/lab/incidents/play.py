"""Play an incident with real brokers, ask the forecast, start the broker once more, compare."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

from tests.cli.run import run
from tests.copies import make_tree, remembered
from tests.golden.pack import pack
from tests.golden.unpack import unpack
from tests.lab.disasters.bases import Node, node
from tests.lab.disasters.compare import disagreements
from tests.lab.disasters.files import fingerprint, look
from tests.lab.disasters.judge import Judge, judged
from tests.lab.disasters.said import said
from tests.lab.disasters.scene import Scene
from tests.lab.incidents.acts import Story, act
from tests.lab.incidents.draw import Incident

HERE = Path(__file__).with_name("records")
Row = dict[str, Any]
NO_CLEANER = {"log.cleaner.enable": "false"}
"""Of the last start: what it does at once is compared, not what the cleaner does to internal topics then."""
ALL_CLEAR = "all-clear: "
"""Before what is gone although the exit code was 0."""


def told(incident: Incident, root: Path) -> tuple[Scene, Row]:
    """The node as the story leaves it, what clients last saw of it, and the acts that could not be done."""
    shutil.rmtree(root, ignore_errors=True)
    base = node(incident.version)
    make_tree(root, remembered(base.root / "clean"))
    scene = Scene(root, base, "clean")
    story = Story(scene, incident.version, incident.uid)
    if incident.uid:
        root.chmod(0o755)
        story.owned(root)
    try:
        left_out = [words for words in incident.acts if not act(story, words)]
    finally:
        story.end()
    scene.settings_file.write_text(json.dumps(NO_CLEANER))
    for kind in ("copies", "away"):
        shutil.rmtree(root / kind, ignore_errors=True)
    for path in (root / "b1").glob("*.*"):
        if path.is_file():
            path.unlink()
    return scene, {"left_out": left_out, "ends": story.ends, "owners": owners(root / "b1", incident.uid)}


def owners(home: Path, uid: int | None) -> dict[str, int]:
    """What does not belong to the broker's user; `d0/f001-0/` stands for all of it."""
    found: dict[str, int] = {}
    for path in sorted(home.rglob("*")) if uid else ():
        owner, name = path.lstat().st_uid, str(path.relative_to(home))
        told = any(name.startswith(each) for each in found if each.endswith("/"))
        if owner != uid and not told:
            whole = path.is_dir() and all(each.lstat().st_uid == owner for each in path.rglob("*"))
            found[f"{name}/" if whole else name] = owner
    return found


def played(incident: Incident, root: Path) -> tuple[Scene, Row, list[str]]:
    """All of it; the files as they were before the last start are in `root/before`."""
    scene, row = told(incident, root)
    before = root.with_name(f"{root.name}-before")
    shutil.rmtree(before, ignore_errors=True)
    ours = shutil.ignore_patterns("zookeeper")  # its files lie on none of the disks
    shutil.copytree(root, before, symlinks=True, copy_function=shutil.copy2, ignore=ours)
    row |= {"hurt": fingerprint(look(root)), "verdict": judged(incident.version, scene, incident.uid)}
    shutil.rmtree(root)
    before.rename(root)
    given_back(root, incident, row)
    return scene, row, compared(incident, row, scene)


def given_back(root: Path, incident: Incident, row: Row) -> None:
    """Owners, which no copy keeps."""
    for path in (root, *root.rglob("*")) if incident.uid else ():
        os.chown(path, incident.uid or 0, incident.uid or 0, follow_symlinks=False)
    for name, owner in row["owners"].items():
        path = root / "b1" / name
        for each in (path, *(path.rglob("*") if name.endswith("/") else ())):
            os.chown(each, owner, owner, follow_symlinks=False)


def compared(incident: Incident, row: Row, scene: Scene) -> list[str]:
    """In what the forecast differs from the start, and what it calls whole that is not."""
    verdict = row["verdict"]
    mine = said(incident.version, scene, incident.uid, verdict.get("order"))
    points = disagreements(verdict, look(scene.root), mine)
    served = verdict.get("offsets", {})
    amiss = [
        f"{name}: {end} once, now {served.get(name)}"
        for name, end in row["ends"].items()
        if served.get(name, (0, -1))[1] < end
    ]
    if amiss and not (code := exit_code(incident, scene)):
        points.append(f"{ALL_CLEAR}exit {code}: {amiss}")
    return points


def exit_code(incident: Incident, scene: Scene) -> int:
    """Of the command as an operator gives it, with the node's server.properties."""
    settings = Judge(incident.version, scene).configuration()
    path = scene.root / "given.properties"
    path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    user = [f"--as-user={incident.uid}"] if incident.uid else []
    dirs = [each for each in scene.dirs if each.exists() and each.name not in scene.dropped]
    ran = run("forecast", *dirs, f"--config={path}", f"--kafka={incident.version}", *user, "--json")
    path.unlink()  # it has the paths of this machine
    return ran.code


def rows_of(version: str) -> list[Row]:
    """What is recorded of a release."""
    path = HERE / f"{version}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def archive(version: str) -> Path:
    """Where the files of its records lie, each before the last start."""
    return HERE / f"{version}.tar.xz"


def keep(version: str, rows: list[Row], home: Path) -> None:
    """Pack all of a release: `home` has the files of each by its number."""
    HERE.mkdir(exist_ok=True)
    text = "".join(f"{json.dumps(row, sort_keys=True, separators=(',', ':'))}\n" for row in rows)
    (HERE / f"{version}.jsonl").write_text(text)
    pack(home, sorted(path.name for path in home.iterdir()), archive(version))


def laid_out(version: str, home: Path) -> None:
    """The files of all records of a release."""
    if archive(version).exists():
        unpack(archive(version), home)


def scene_of(incident: Incident, home: Path, row: Row) -> Scene:
    """The node of a record."""
    root = home / str(row["n"])
    given_back(root, incident, row)
    return Scene(root, Node(incident.version, root, node(incident.version).ports), "clean")
