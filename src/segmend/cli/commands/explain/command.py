"""`segmend explain`: the manual page of a finding, or of a topic, for your directories too."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping

from segmend.checks.manual import Entry
from segmend.cli.commands.explain.topics import TopicModule, all_topics, operands, page
from segmend.cli.nearest import did_you_mean
from segmend.cli.options import add_output_options, add_release_option
from segmend.cli.output import emit_asked, style
from segmend.cli.parser import Offering
from segmend.cli.selection import add_selection
from segmend.cli.topic_config import add_topic_config
from segmend.errors import UsageError
from segmend.fleet.cross import whole_manual
from segmend.report.style import Style

EXAMPLES = """\
examples:
  segmend explain                                     every finding there is, one line each, and the topics
  segmend explain L05                                 what L05 means, what the broker does, what to do
  segmend explain startup                             where the time of a start goes
  segmend explain startup /data/a /data/b             ... of this broker; probes, threads, rolling restarts
  segmend explain retention /data/a --topic orders    why each segment is deleted, or stays, until when
  segmend explain retention /data/a --at +7d          what goes if it were then, in bytes and records
  segmend explain gone /var/log/kafka/server.log*     why data is gone, whether rightly, by which clock
  segmend explain upgrade --from 3.9 --to 4.1         what 4.1 refuses, changes and does not give back
  segmend explain upgrade /data/a --kafka 4.1         ... and what it would do to these log dirs"""

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


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "words",
        nargs="*",
        metavar="CODE",
        action=Offering,
        offered=lambda: (*all_topics(), *whole_manual()),
        help="a finding's code, such as L05; or a topic, and log dirs (server.log files for `gone`)",
    )
    add_release_option(parser)
    parser.add_argument("--config", metavar="FILE", help="the broker's server.properties")
    selection = parser.add_argument_group("explain retention or compaction DIR, explain gone FILE")
    add_selection(selection)
    add_topic_config(selection)
    for topic in all_topics().values():
        if hasattr(topic, "configure"):
            topic.configure(parser.add_argument_group(f"explain {topic.NAME} {operands(topic)}"))
    add_output_options(parser)


def run(args: argparse.Namespace) -> int:
    """Print pages, or the list; or explain directories."""
    topics = all_topics()
    topic = topics.get(args.words[0].lower()) if args.words else None
    _refuse_options(args, topics, topic)
    if topic is not None:
        if args.words[1:]:
            return topic.run(args, args.words[1:])
        return 0 if hasattr(topic, "told") and topic.told(args) else _page(args, topic)
    codes = list(args.words)
    look = style(args)
    emit_asked(args, _objects(codes), _pages(codes, look) if codes else _list(look))
    return 0


def _refuse_options(
    args: argparse.Namespace, topics: Mapping[str, TopicModule], chosen: TopicModule | None
) -> None:
    """Raise `UsageError` for an option of a topic that is not the one asked for."""
    with_dirs = chosen is not None and len(args.words) > 1
    allowed = chosen.OPTIONS if chosen is not None and (with_dirs or hasattr(chosen, "told")) else ()
    for name in {name: None for topic in topics.values() for name in topic.OPTIONS if name not in allowed}:
        if getattr(args, name) is not None:
            takers = " or ".join(topic.NAME for topic in topics.values() if name in topic.OPTIONS)
            option = name.removesuffix("_release").replace("_", "-")
            raise UsageError(f"--{option} is for `segmend explain {takers} {_operands(topics, name)}`")
    if not with_dirs and (args.kafka is not None or args.config is not None):
        raise UsageError(
            "--kafka and --config are for a topic with directories: `segmend explain startup DIR...`"
        )


def _operands(topics: Mapping[str, TopicModule], option: str) -> str:
    """What the topics that take the option are given."""
    takers = (topic for topic in topics.values() if option in topic.OPTIONS)
    return " or ".join(dict.fromkeys(f"{operands(topic)}..." for topic in takers))


def _page(args: argparse.Namespace, topic: TopicModule) -> int:
    text = page(topic)
    said = {"type": "explanation", "topic": topic.NAME, "summary": topic.SUMMARY, "text": text}
    title, _, rest = text.partition("\n")
    emit_asked(args, [said], [style(args)("bold", title), *rest.splitlines()])
    return 0


def find(code: str) -> Entry:
    """What is known of a code, however it is spelled; raises `UsageError`."""
    known = whole_manual()
    for spelling in (code, code.upper(), code[:1].upper() + code[1:].lower()):
        if spelling in known:
            return known[spelling]
    question = did_you_mean(code, [*known, *all_topics()]) or " (`segmend explain` lists them)"
    raise UsageError(f"no finding is called '{code}', and no topic{question}")


def _pages(codes: list[str], look: Style) -> Iterator[str]:
    for number, entry in enumerate([find(code) for code in codes]):
        if number:
            yield ""
        yield look("bold", f"{entry.code.name}  {entry.code.severity}: {entry.code.title}")
        yield ""
        yield f"{entry.title}."
        if len(entry.beside) > 1:
            yield ""
            yield look("bold", "Codes")
            yield from (f"    {code.name:<4} {code.title}" for code in entry.beside)
        for heading, text in entry.page.sections().items():
            yield ""
            yield look("bold", heading)
            yield from (f"    {line}" for line in text.splitlines())


def _list(look: Style) -> Iterator[str]:
    known = whole_manual()
    for letter, family in FAMILIES.items():
        yield look("bold", f"{letter}  {family}")
        for entry in (known[code] for code in sorted(known) if code[0] == letter):
            code = entry.code
            severity = look.severity(code.severity, f"{code.severity:<8}")
            yield f"  {code.name:<5} {severity} {code.title}"
        yield ""
    yield look("bold", "topics, for your directories too: segmend explain TOPIC [DIR...]")
    for topic in all_topics().values():
        yield f"{topic.NAME:<11} {topic.SUMMARY}"


def _objects(codes: list[str]) -> Iterator[dict[str, object]]:
    entries = [find(code) for code in codes] if codes else list(whole_manual().values())
    for entry in sorted(entries, key=lambda entry: entry.code.name):
        yield {
            "type": "explanation",
            "code": entry.code.name,
            "severity": entry.code.severity.value,
            "level": entry.level,
            "summary": entry.code.title,
            "title": entry.title,
            **{heading.lower().replace(" ", "_"): text for heading, text in entry.page.sections().items()},
        }
