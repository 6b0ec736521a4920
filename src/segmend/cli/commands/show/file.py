"""`segmend show FILE`: any file of a log dir, whatever was put before or after its name."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterator
from itertools import chain
from typing import Final

from segmend.cli.commands.show.select import selection
from segmend.cli.output import emit_asked, style
from segmend.errors import UsageError
from segmend.formats.names import parse_dir_name
from segmend.frozen import frozen
from segmend.json_values import JsonObject, number
from segmend.logdir import disk
from segmend.logdir.file_system import DEFAULT_LIMIT, OpenFile
from segmend.logdir.files import FileEntry
from segmend.logdir.seek import start_of
from segmend.logdir.walk import Item, walk
from segmend.report import fields, log, text
from segmend.report.log import RecordView
from segmend.report.partitions import Choice
from segmend.report.payload import Payload
from segmend.report.small_files import VIEWERS
from segmend.topics import decoder_for
from segmend.wording import plural

LOG = "log"
_LOG_NAMES = (".log", ".checkpoint")
_LEFT_OVERS = re.compile(r"(?:\.(?:deleted|swap|cleaned|tmp|part|bak|orig|old|save))+$")
_DIGITS = re.compile(r"(\d{1,20})(?=\D*$)")
_PLAIN_WIDTH = 120


@frozen
class Opened:
    """A file to show: what it is taken for, and the offset its name begins with."""

    entry: FileEntry
    kind: str
    base_offset: int
    topic: str


def kinds() -> list[str]:
    return [LOG, *VIEWERS]


def open_file(path: str, kind: str | None) -> Opened:
    """What the file at `path` is, by its name, or as `kind` says; raises `UsageError` if neither tells."""
    entry = FileEntry.at(path)
    kind = kind or kind_of(entry.name)
    if kind is None:
        raise UsageError(f"{path}: not a file of a log dir by its name; say what it is with --kind")
    parent = parse_dir_name(os.path.basename(disk.real_path(entry.dir_path)))
    return Opened(entry=entry, kind=kind, base_offset=base_offset(entry.name, kind), topic=parent.topic)


def kind_of(name: str) -> str | None:
    """The kind of a file by its name; .deleted, .swap and the like at the end do not matter."""
    stem = _LEFT_OVERS.sub("", name)
    if stem.endswith(_LOG_NAMES):
        return LOG
    return next((kind for kind, viewer in VIEWERS.items() if viewer.matches(stem)), None)


def base_offset(name: str, kind: str) -> int:
    """The number that the offsets in the file count from; 0 for a KRaft snapshot or without one."""
    stem = _LEFT_OVERS.sub("", name)
    if kind == LOG and not stem.endswith(".log"):
        return 0
    match = _DIGITS.search(stem.rpartition(".")[0].partition("_")[0])
    return int(match[1]) if match and int(match[1]) < 2**63 else 0


def show_file(path: str, args: argparse.Namespace) -> int:
    opened = open_file(path, args.kind)
    with opened.entry.reader() as reader:
        heading = {"type": "file", "path": path, "kind": opened.kind, "size": reader.size}
        title = f"{text.clean(path)}  {opened.kind}, {plural(reader.size, 'byte')}"
        emit_asked(args, [heading], [style(args)("bold", title)])
        if opened.kind == LOG:
            _show_log(opened, reader, args)
        else:
            _show_rows(opened, reader, args)
    return 0


def _show_log(opened: Opened, reader: OpenFile, args: argparse.Namespace) -> None:
    items = items_of(opened, reader, args)
    view = record_view(opened.topic, args)
    look = style(args)
    lines = log.record_lines(items, view, look) if args.records else log.batch_lines(items, look)
    emit_asked(args, log.rows(items, view), lines)


def items_of(opened: Opened, reader: OpenFile, args: argparse.Namespace) -> Iterator[Item]:
    """The stream of a log's batches, records and damage, as far as selected."""
    wanted = selection(args)
    start = start_of(opened.entry, reader, wanted) if args.position is None else 0
    return walk(reader, base_offset=opened.base_offset, selection=wanted, start=start, records=args.records)


def record_view(topic: str, args: argparse.Namespace) -> RecordView:
    """How to show keys and values of this topic."""
    width = 0 if args.full else _terminal_width()
    raw = args.as_ is not None
    return RecordView(
        payload=Payload(args.as_ or "text", bound=width),
        decoder=None if raw else decoder_for(topic),
        width=width,
    )


def _terminal_width() -> int:
    """Characters for a key or a value: about what is left of a terminal's line."""
    try:
        columns = os.get_terminal_size(1).columns
    except OSError:
        columns = _PLAIN_WIDTH
    return max(24, columns - 60)


def _show_rows(opened: Opened, reader: OpenFile, args: argparse.Namespace) -> None:
    viewer = VIEWERS.get(opened.kind)
    if viewer is None:
        raise UsageError(f"--kind {opened.kind} is not known; give one of {', '.join(kinds())}")
    parsed, damages = viewer.rows(reader.read(DEFAULT_LIMIT), opened.base_offset)
    rows = chain((row for row in parsed if _wanted_row(row, args)), map(fields.damage_row, damages))
    objects = ({k: v for k, v in row.items() if k != "remark"} for row in rows)
    emit_asked(args, objects, fields.lines(viewer.fields, rows, style(args)))


_NUMBERS: Final = ("offset", "at", "timestamp")


def _wanted_row(row: JsonObject, args: argparse.Namespace) -> bool:
    """Whether a row fits the selection, as far as it has what is selected by."""
    if "remark" in row:
        return True
    topic, wanted = row.get("topic"), selection(args)
    if topic is not None and not Choice(topic=args.topic, partition=args.partition).wants(
        str(topic), number(row, "partition")
    ):
        return False
    offset, at, time = (number(row, name) if row.get(name) is not None else None for name in _NUMBERS)
    return (
        (offset is None or wanted.first_offset <= offset <= wanted.last_offset)
        and (at is None or wanted.first_position <= at <= wanted.last_position)
        and (time is None or wanted.since is None or time >= wanted.since)
        and (time is None or wanted.until is None or time <= wanted.until)
    )
