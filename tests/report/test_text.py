"""Words and numbers for people."""

import os
import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segmend.report import text
from segmend.report.style import Style
from segmend.wording import plural


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 KiB"),
        (1024, "1.0 KiB"),
        (4300, "4.2 KiB"),
        (118 << 20, "118 MiB"),
        (1 << 40, "1.0 TiB"),
        (1 << 70, "1024 EiB"),
    ],
)
def test_size(count: int, shown: str) -> None:
    assert text.size(count) == shown


@pytest.mark.parametrize(
    ("milliseconds", "shown"),
    [
        (None, "-"),
        (-1, "-"),
        (0, "1970-01-01 00:00:00"),
        (1_761_955_200_123, "2025-11-01 00:00:00"),
        (-2, "1969-12-31 23:59:59"),
        (2**63 - 1, str(2**63 - 1)),
        (-(2**63), str(-(2**63))),
        (253_402_300_799_000, "9999-12-31 23:59:59"),
        (253_402_300_800_000, "253402300800000"),
    ],
)
def test_when(milliseconds: int | None, shown: str) -> None:
    assert text.when(milliseconds) == shown


def test_when_precise() -> None:
    assert text.when(1_761_955_200_123, precise=True) == "2025-11-01 00:00:00.123"


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.85, "850 ms"), (3.14, "3.1 s"), (250, "4 min 10 s"), (7500, "2 h 5 min")]
)
def test_duration(seconds: float, shown: str) -> None:
    assert text.duration(seconds) == shown


def test_plural_number_shorten() -> None:
    assert plural(1, "batch", "batches") == "1 batch"
    assert plural(12_000, "batch", "batches") == "12,000 batches"
    assert plural(2, "segment") == "2 segments"
    assert text.number(None) == "-"
    assert text.shorten("abcdef", 4) == "abc…"
    assert text.shorten("abcdef", 0) == "abcdef"


@pytest.mark.parametrize(
    ("given_text", "shown"),
    [
        ("plain", "plain"),
        ("Zürich 東京", "Zürich 東京"),
        ("a\x1b[2Jb", "a\\x1b[2Jb"),
        ("tab\tline\nreturn\r", "tab\\tline\\nreturn\\r"),
        ("\udce9", "\\xe9"),
        ("\ud800", "\\ud800"),
        ("\u202eevil", "\\u202eevil"),
        ("\x9b1m", "\\x9b1m"),
    ],
)
def test_clean(given_text: str, shown: str) -> None:
    assert text.clean(given_text) == shown


@given(st.text(st.characters()) | st.binary().map(lambda b: b.decode("utf-8", "surrogateescape")))
def test_nothing_clean_steers_a_terminal(given_text: str) -> None:
    """Whatever the string, what is shown is printable and can be written as UTF-8."""
    shown = text.clean(given_text)
    shown.encode()
    assert not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in shown)


@pytest.mark.parametrize(
    "name", ["plan.json", "my plan", "it's", "a\x1b[31mb", "\udcff\udcfe\\'", "new\nline 'x'"]
)
def test_a_word_is_read_by_bash_as_what_it_was(name: str) -> None:
    told = text.word(name)
    assert told.isprintable()
    read = subprocess.run(["bash", "-c", f"printf %s {told}"], capture_output=True, check=True).stdout
    assert read == os.fsencode(name)


@pytest.mark.parametrize("name", ["a\nb", "it's\tso", "\udcff\udcfe", "\xa0$HOME", "x\x1b[31m", "plain"])
def test_a_command_with_any_name_can_be_copied(name: str) -> None:
    shown = Style().command(f"printf %s {shlex.quote(name)}")
    assert shown.isprintable()
    assert subprocess.run(["bash", "-c", shown], capture_output=True, check=True).stdout == os.fsencode(name)
