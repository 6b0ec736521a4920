"""What is rendered from the parser: completions, tried in the shells themselves, and the manual."""

import os
import pty
import select
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.cli.run import run

from segmend.checks.registry import known_codes
from segmend.cli.described import described
from segmend.cli.frame import whole_parser
from segmend.cli.parser import with_subparsers
from segmend.errors import EXIT_CODES


def need(program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"no {program} here")


ASKED = [
    (["segmend", "ch"], {"check"}),
    (["segmend", "check", "--de"], {"--deep"}),
    (["segmend", "show", "--sort", "s"], {"size", "segments", "start"}),
    (["segmend", "plan", "rep"], {"repair"}),
    (["segmend", "plan", "move", "--t"], {"--throttle", "--to"}),
    (["segmend", "--json", "plan", "co"], {"compose"}),
    (["segmend", "completion", ""], {"bash", "zsh", "fish"}),
    (["segmend", "explain", "ret"], {"retention"}),
    (["segmend", "explain", "L0"], {f"L0{number}" for number in range(1, 10)} & known_codes().keys()),
]


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """`script(shell)` is the completion for it, in a file."""
    folder = tmp_path_factory.mktemp("completions")

    def made(shell: str) -> Path:
        need(shell)
        ran = run("completion", shell)
        assert (ran.code, ran.err) == (0, "")
        path = folder / ("_segmend" if shell == "zsh" else f"segmend.{shell}")
        path.write_text(ran.out)
        return path

    return made


@pytest.mark.parametrize(("words", "offered"), ASKED, ids=[" ".join(words) for words, _ in ASKED])
def test_bash(words: list[str], offered: set[str], script: Callable[[str], Path]) -> None:
    ask = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); _segmend; echo "${COMPREPLY[@]}"'
    (line,) = told(["bash", "-c", ask, "bash", str(script("bash")), *words])
    assert set(line.split()) == offered


@pytest.mark.parametrize(("words", "offered"), ASKED, ids=[" ".join(words) for words, _ in ASKED])
def test_fish(words: list[str], offered: set[str], script: Callable[[str], Path]) -> None:
    ask = f"source {script('fish')}; complete -C '{' '.join(words)}'"
    assert {line.split("\t")[0] for line in told(["fish", "--no-config", "-c", ask])} == offered


def told(command: list[str]) -> list[str]:
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stderr == ""
    return ran.stdout.splitlines()


@pytest.mark.slow
def test_zsh(script: Callable[[str], Path]) -> None:
    """At a terminal, since zsh completes nowhere else: what is the only one is written out."""
    with Zsh(script("zsh").parent) as ask:
        ask("segmend che\t", "segmend check")
        ask("segmend check --de\t", "segmend check --deep")
        ask("segmend plan repai\t", "segmend plan repair")
        ask("segmend explain ret\t", "segmend explain retention")
        ask("segmend plan move --par\t", "segmend plan move --partition")
        ask("segmend show --sort s\t\t", "size", "segments", "start")


class Zsh:
    """A zsh at a terminal with a completion of its own; called, it types, and waits for what is wanted."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __enter__(self) -> Callable[..., None]:
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.environ["TERM"] = "dumb"
            os.execvp("zsh", ["zsh", "-f", "-i"])
        self.type(f"fpath=({self.folder} $fpath); autoload -U compinit; compinit -D -u\n")
        self.type("echo rea''dy\n", "ready")
        return self.ask

    def ask(self, words: str, *wanted: str) -> None:
        """Type it, and see them all; then the line is empty again."""
        self.type(words, *wanted)
        self.type("\x15echo rea''dy\n", "ready")

    def type(self, words: str, *wanted: str) -> None:
        """Until all of these are shown; a minute is enough."""
        os.write(self.terminal, words.encode())
        shown, late = "", time.monotonic() + 60
        while time.monotonic() < late and not all(each in shown for each in wanted):
            ready, _, _ = select.select([self.terminal], [], [], 1.5)
            if ready:
                shown += os.read(self.terminal, 65536).decode(errors="replace")
        assert all(each in shown for each in wanted), shown

    def __exit__(self, *_: object) -> None:
        os.kill(self.process, 9)
        os.waitpid(self.process, 0)
        os.close(self.terminal)


def every_flag() -> Iterator[str]:
    for command in described(whole_parser()).everything():
        for option in command.options:
            yield from option.flags


def test_every_option_of_every_command_is_in_all_of_them() -> None:
    rendered = [run("completion", shell).out for shell in ("bash", "zsh", "fish")]
    flags = set(every_flag())
    assert len(flags) > 40
    for flag in flags:
        assert flag in rendered[0]
        assert flag in rendered[1]
        assert (f"-l {flag[2:]} " if flag.startswith("--") else f"-s {flag[1:]} ") in rendered[2]


def test_no_help_says_the_none_of_what_was_not_given() -> None:
    parser = whole_parser()
    assert len(list(described(parser).everything())) > 40  # and so all of them have their options
    assert [each.prog for each in with_subparsers(parser) if "None" in each.format_help()] == []


def test_the_manual_has_every_command_option_and_exit_code() -> None:
    ran = run("man")
    assert (ran.code, ran.err) == (0, "")
    page = ran.out.replace("\\-", "-")
    for command in described(whole_parser()).everything():
        assert command.path == () or f".SS segmend {' '.join(command.path)}\n" in page
    assert set(every_flag()) <= {word for line in page.splitlines() for word in line.replace(",", "").split()}
    assert all(f".TP\n.B {code}\n{meaning}\n" in page for code, meaning in EXIT_CODES.items())


def test_man_finds_no_fault_with_it(tmp_path: Path) -> None:
    need("man")
    page = tmp_path / "segmend.1"
    page.write_text(run("man").out)
    ran = subprocess.run(["man", "--warnings", "-l", page], capture_output=True, text=True, check=True)
    assert ran.stderr == ""
    assert "segmend - fsck, forecast, surgery and rescue" in " ".join(ran.stdout.split())
