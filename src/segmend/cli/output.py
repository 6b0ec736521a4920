"""What goes to stdout, and the one line for people on stderr: it is loaded for every `--help`."""

from __future__ import annotations

import argparse
import codecs
import os
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress

from segmend.errors import SegmendError, system_words
from segmend.long_json import encode, pieces
from segmend.report import text
from segmend.report.style import Style


def style(args: argparse.Namespace) -> Style:
    """Colours as `--color`, NO_COLOR and the terminal say."""
    if args.color == "auto":
        wanted = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    else:
        wanted = args.color == "always"
    return Style(wanted, program())


def program() -> str:
    """The words by which segmend can be called again from here, for commands that are to be copied.

    It may lie in a directory that is not on PATH; and who calls it by a script tells by SEGMEND_CALLED how.
    """
    called = os.environ.get("SEGMEND_CALLED")
    if called:
        return called
    name = sys.argv[0]
    if name.endswith("/segmend/__main__.py"):
        return f"{text.word(sys.orig_argv[0])} -m segmend"
    return text.word(name) if name.endswith("/segmend") and _which("segmend") != name else "segmend"


def _which(name: str) -> str | None:
    """As `shutil.which`, which brings five compressors along."""
    places = (os.path.join(folder, name) for folder in os.get_exec_path())
    return next((each for each in places if os.path.isfile(each) and os.access(each, os.X_OK)), None)


def emit_json(objects: Iterable[Mapping[str, object]]) -> None:
    """Each object as one line; ASCII only, so that no byte of a disk can break a reader."""
    for item in objects:
        _put(encode(item) + "\n")


def emit_long_json(item: Mapping[str, object]) -> None:
    """One object as such a line, of which little is held (`long_json`)."""
    for piece in pieces(item):
        _put(piece)
    _put("\n")


def emit(lines: Iterable[str]) -> None:
    """Lines for people on stdout."""
    for line in lines:
        _put(line + "\n")


def emit_asked(
    args: argparse.Namespace, objects: Iterable[Mapping[str, object]], lines: Iterable[str]
) -> None:
    """With `--json` the objects, else the lines; nothing of the other ones is asked for."""
    if args.json:
        for each in objects:
            emit_long_json(each)
    else:
        emit(lines)


def flush() -> None:
    """Bring what was emitted to whoever reads it; raises `SegmendError` if it finds no room there."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _no_output(error) from None


def _put(line: str) -> None:
    try:
        sys.stdout.write(line)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _no_output(error) from None


def _no_output(error: OSError) -> SegmendError:
    """Such as a full disk, to which the output was sent."""
    return SegmendError(f"standard output: {system_words(error)}")


def _spelled_out(error: UnicodeError) -> tuple[str, int]:
    """A terminal without Unicode gets dots for our own ellipsis, and escapes for what is on a disk."""
    if isinstance(error, UnicodeEncodeError) and error.object[error.start] == "\N{HORIZONTAL ELLIPSIS}":
        return "...", error.start + 1
    replaced, end = codecs.backslashreplace_errors(error)
    return str(replaced), end


SPELLED_OUT = "segmend.spelled-out"
codecs.register_error(SPELLED_OUT, _spelled_out)


def note(message: str) -> None:
    """One line for people beside the data, on stderr; where that is a full disk there is none."""
    with suppress(OSError):
        sys.stderr.write(f"segmend: {text.clean(message)}\n")
        sys.stderr.flush()
