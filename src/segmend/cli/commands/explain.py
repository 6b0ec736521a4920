"""`segmend explain`: the manual page of a finding."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from segmend.checks import Check, all_checks, by_code
from segmend.checks.manual import HEADINGS, Page, page_of
from segmend.cli.common import add_output_options, emit, emit_json, style
from segmend.errors import UsageError
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
}


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


def find(code: str) -> tuple[str, Check]:
    """The code as it is written, and its check; raises `UsageError`."""
    for spelling in (code, code.upper(), code[:1].upper() + code[1:].lower()):
        check = by_code(spelling)
        if check is not None:
            return spelling, check
    raise UsageError(f"no finding is called '{code}' (`segmend explain` lists them)")


def _pages(codes: list[str], look: Style) -> Iterator[str]:
    for number, (code, check) in enumerate(map(find, codes)):
        page = page_of(check)
        if number:
            yield ""
        yield look("bold", f"{code}  {check.codes[code]}: {page.codes[code]}")
        yield ""
        yield from _sections(page, look)


def _sections(page: Page, look: Style) -> Iterator[str]:
    yield f"{page.title}."
    for heading in HEADINGS:
        if heading == "Codes" and len(page.codes) < 2:
            continue
        yield ""
        yield look("bold", heading)
        yield from (f"    {line}".rstrip() for line in page.sections.get(heading, "").splitlines())


def _list(look: Style) -> Iterator[str]:
    lines = {code: (text, check) for check in all_checks() for code, text in page_of(check).codes.items()}
    for letter, family in FAMILIES.items():
        yield look("bold", f"{letter}  {family}")
        for code in sorted(code for code in lines if code[0] == letter):
            text, check = lines[code]
            severity = check.codes[code]
            yield f"  {code:<5} {look.severity(severity, f'{severity:<8}')} {text}"
        yield ""


def _objects(codes: list[str]) -> Iterator[dict[str, object]]:
    wanted = dict(map(find, codes)) if codes else {c: check for check in all_checks() for c in check.codes}
    for code, check in sorted(wanted.items()):
        page = page_of(check)
        yield {
            "type": "explanation",
            "code": code,
            "severity": check.codes[code].value,
            "level": check.level.name.lower(),
            "summary": page.codes[code],
            "title": page.title,
            **{heading.lower().replace(" ", "_"): page.sections.get(heading, "") for heading in HEADINGS[1:]},
        }
