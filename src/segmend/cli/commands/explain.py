"""`segmend explain`: the manual page of a finding."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from segmend.checks import all_checks
from segmend.checks.manual import HEADINGS, Page, parse_page
from segmend.cli.common import add_output_options, emit, emit_json, style
from segmend.errors import UsageError
from segmend.findings import Severity
from segmend.fleet.cross import all_cross_checks
from segmend.report.style import Style

NAME = "explain"
HELP = "the manual page of a finding, or the list of all findings"
EXAMPLES = """\
examples:
  segmend explain        every finding there is, one line each
  segmend explain L05    what L05 means, what the broker does, what to do"""

FAMILIES = {
    "L": "bytes of the .log",
    "I": "index files",
    "P": "producer snapshots and transactions",
    "E": "leader epochs",
    "M": "topic ids",
    "C": "checkpoints of the log dir, clean shutdown marker",
    "N": "names, the set of segments, layout",
    "K": "identity, KRaft metadata, environment",
    "R": "replicas side by side (fleet audit)",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One code: how bad, where it is looked for, and the page it is on."""

    code: str
    severity: Severity
    level: str
    page: Page

    @property
    def summary(self) -> str:
        """The code's one line."""
        return self.page.codes[self.code]


def configure(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("codes", nargs="*", metavar="CODE", help="a finding's code, such as L05")
    add_output_options(parser)


def run(args: argparse.Namespace) -> int:
    """Print pages, or the list."""
    if args.json:
        emit_json(_objects(args.codes))
        return 0
    look = style(args)
    emit(_pages(args.codes, look) if args.codes else _list(look))
    return 0


def entries() -> dict[str, Entry]:
    """Every code there is: those of one broker's disks and those of replicas side by side."""
    sources = [(check.codes, check.level.name.lower(), check.page) for check in all_checks()]
    sources += [(check.codes, "fleet", check.page) for check in all_cross_checks()]
    return {
        code: Entry(code=code, severity=severity, level=level, page=parse_page(page))
        for codes, level, page in sources
        for code, severity in codes.items()
    }


def find(code: str, known: Mapping[str, Entry]) -> Entry:
    """What is known of a code, however it is spelled; raises `UsageError`."""
    for spelling in (code, code.upper(), code[:1].upper() + code[1:].lower()):
        if spelling in known:
            return known[spelling]
    raise UsageError(f"no finding is called '{code}' (`segmend explain` lists them)")


def _pages(codes: list[str], look: Style) -> Iterator[str]:
    known = entries()
    for number, entry in enumerate([find(code, known) for code in codes]):
        if number:
            yield ""
        yield look("bold", f"{entry.code}  {entry.severity}: {entry.summary}")
        yield ""
        yield from _sections(entry.page, look)


def _sections(page: Page, look: Style) -> Iterator[str]:
    yield f"{page.title}."
    for heading in HEADINGS:
        if heading == "Codes" and len(page.codes) < 2:
            continue
        yield ""
        yield look("bold", heading)
        yield from (f"    {line}".rstrip() for line in page.sections.get(heading, "").splitlines())


def _list(look: Style) -> Iterator[str]:
    known = entries()
    for letter, family in FAMILIES.items():
        yield look("bold", f"{letter}  {family}")
        for entry in (known[code] for code in sorted(known) if code[0] == letter):
            severity = look.severity(entry.severity, f"{entry.severity:<8}")
            yield f"  {entry.code:<5} {severity} {entry.summary}"
        yield ""


def _objects(codes: list[str]) -> Iterator[dict[str, object]]:
    known = entries()
    wanted = [find(code, known).code for code in codes] if codes else list(known)
    for entry in (known[code] for code in sorted(wanted)):
        page = entry.page
        yield {
            "type": "explanation",
            "code": entry.code,
            "severity": entry.severity.value,
            "level": entry.level,
            "summary": entry.summary,
            "title": page.title,
            **{heading.lower().replace(" ", "_"): page.sections.get(heading, "") for heading in HEADINGS[1:]},
        }
