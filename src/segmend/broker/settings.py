"""Which settings a release knows, and which values it refuses, in its own words.

Follows `ConfigDef.parseType` and its validators. A broker parses server.properties (`KafkaConfig`) before all
else, and each topic's own settings (`LogConfig`) before it loads the first log: a refused value ends it.
What it does not know it ignores. The tables are Kafka's own definitions from 0.11 on.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from segmend.broker.features import knows_version
from segmend.broker.rule import Rule, Words, new_in
from segmend.broker.server_definitions import SERVER
from segmend.broker.topic_definitions import TOPIC
from segmend.formats.config_values import boolean
from segmend.formats.java_number import parse_double, parse_int, parse_long
from segmend.frozen import frozen
from segmend.logdir.release import Release

INVALID: Final = "Invalid value {} for configuration {}: {}"
MISSING: Final = 'Missing required configuration "{}" which has no default value.'
_NOT_A_NUMBER: Final = "Not a number of type {}"
_AT_LEAST: Final = "Value must be at least {}"
_NO_MORE: Final = "Value must be no more than {}"
_BETWEEN_OR: Final = "Value must be between {} and {} or equal to {}"
_BOOLEAN: Final = "Expected value to be either true or false"
_ONE_OF: Final = "String must be one of: {}"
_ONE_OF_ANY_CASE: Final = "String must be one of (case insensitive): {}"
_EMPTY_STRING: Final = "String must be non-empty"
_BLANK_ELEMENT: Final = "Configuration '{}' values must not be empty."
_EMPTY_LIST: Final = "Configuration '{}' must not be empty. Valid values include: {}"
_ANY_NON_EMPTY: Final = "any non-empty value"
_NO_VERSION = Words(
    "ApiVersion.apply; ApiVersionValidator (2.1), MetadataVersionValidator (3.3)",
    (
        ((0, 8), "Version `{0}` is not a valid version"),
        ((2, 1), "Invalid value {0} for configuration {1}: Version `{0}` is not a valid version"),
        ((3, 3), "Invalid value {0} for configuration {1}: Version {0} is not a valid version"),
    ),
)

LISTED: Final = new_in("KafkaConfig: looked at from 0.11 on", (0, 11))
"""Whether it is known which settings a release has."""
_NUMBERS: Final = {
    "SHORT": (-(2**15), 2**15 - 1),
    "INT": (-(2**31), 2**31 - 1),
    "LONG": (-(2**63), 2**63 - 1),
}
_RANGE = re.compile(r"\[(-?[\d.]+),\.\.\.(?:,(-?[\d.]+))?\](?: or (-?\d+))?")
_STEP = re.compile(r"(\d+\.\d+) (-|[A-Z]+)(?: (.*))?")
_FLAGS: Final = ("required", "no-empty", "no-blank")


@frozen
class Definition:
    """How one release defines a setting: Kafka's type, its validator as Kafka prints it, and flags."""

    kind: str
    valid: str = ""
    flags: tuple[str, ...] = ()


@frozen
class Refused:
    name: str
    said: str


Definitions = Mapping[str, Rule[Definition | None]]


@cache
def definitions(*, topic: bool) -> Definitions:
    """All settings of topics, or of server.properties, of any release."""
    rules: dict[str, Rule[Definition | None]] = {}
    for entry in re.split(r"\n(?! )", (TOPIC if topic else SERVER).strip()):
        names, _, steps = " ".join(entry.split()).partition(": ")
        rule = Rule("LogConfig" if topic else "KafkaConfig", (((0, 8), None), *_steps(steps)))
        rules.update(dict.fromkeys(names.split(), rule))
    return rules


def _steps(text: str) -> Iterator[tuple[tuple[int, ...], Definition | None]]:
    for step in text.split("; "):
        match = _STEP.fullmatch(step)
        if match is None:
            raise ValueError(step)
        since, kind, valid = match.groups(default="")
        flags = tuple(flag for flag in _FLAGS if valid.endswith(flag) or f"{flag} " in valid)
        for flag in flags:
            valid = valid.replace(flag, "").strip()
        release = tuple(map(int, since.split(".")))
        yield release, None if kind == "-" else Definition(kind=kind, valid=valid, flags=flags)


def definition(name: str, release: Release, *, topic: bool) -> Definition | None:
    """How the release defines the setting; None if it does not know it, or takes any text for it."""
    rule = definitions(topic=topic).get(name)
    return None if rule is None else rule.of(release)


def removed(name: str, before: Release, after: Release) -> bool:
    """Whether server.properties of `before` knows the setting and `after` no longer does."""
    known, left = (definition(name, release, topic=False) for release in (before, after))
    return known is not None and left is None and LISTED.of(after)


def narrowed(before: Release, after: Release, *, topic: bool) -> Iterator[tuple[str, Definition, Definition]]:
    """The settings of which `after` refuses values that `before` takes: name, then, now."""
    for name in sorted(definitions(topic=topic)):
        old, new = (definition(name, each, topic=topic) for each in (before, after))
        if old is not None and new is not None and _narrows(old, new):
            yield name, old, new


def _narrows(old: Definition, new: Definition) -> bool:
    if {*new.flags} - {*old.flags}:
        return True
    if new.kind in _NUMBERS or new.kind == "DOUBLE":
        (low, high), (least, most) = _bounds(old), _bounds(new)
        return least > low or most < high
    choices = {*new.valid.strip("[]").split(", ")}
    return "[" in new.valid and ("[" not in old.valid or bool({*old.valid.strip("[]").split(", ")} - choices))


def _bounds(known: Definition) -> tuple[float, float]:
    """The least and the greatest number that it takes."""
    least, most = _NUMBERS.get(known.kind, (-math.inf, math.inf))
    match = _RANGE.fullmatch(known.valid)
    if match is None:
        return least, most
    low, high, other = (None if text is None else float(text) for text in match.groups())
    low = least if low is None else low
    return low if other is None else min(low, other), most if high is None else high


def refusal(name: str, value: str, release: Release, *, topic: bool) -> str | None:
    """Kafka's words on a value that the release refuses, or None."""
    known = definition(name, release, topic=topic)
    if known is None:
        return None
    if known.kind in _NUMBERS or known.kind == "DOUBLE":
        return _number(name, value, known)
    if known.kind == "BOOLEAN":
        return None if boolean(value) is not None else INVALID.format(value, name, _BOOLEAN)
    if known.kind == "LIST":
        return _list(name, value.strip(), known)
    return _string(name, value.strip(), known, release)


def _number(name: str, value: str, known: Definition) -> str | None:
    number = _parsed(value.strip(), known.kind)
    if number is None:
        return INVALID.format(value, name, _NOT_A_NUMBER.format(known.kind))
    bounds = _RANGE.fullmatch(known.valid)
    if bounds is None:
        return None
    low, high, other = (None if text is None else float(text) for text in bounds.groups())
    if number == other or ((low is None or number >= low) and (high is None or number <= high)):
        return None
    if other is not None:
        why = _BETWEEN_OR.format(*bounds.groups())
    elif low is not None and number < low:
        why = _AT_LEAST.format(bounds[1])
    else:
        why = _NO_MORE.format(bounds[2])
    return INVALID.format(number, name, why)


def _parsed(text: str, kind: str) -> int | float | None:
    if kind == "DOUBLE":
        return parse_double(text)
    number = parse_long(text) if kind == "LONG" else parse_int(text)
    low, high = _NUMBERS[kind]
    return number if number is not None and low <= number <= high else None


def _list(name: str, value: str, known: Definition) -> str | None:
    elements = re.split(r"\s*,\s*", value) if value else []
    if not elements and "no-empty" in known.flags:
        return _EMPTY_LIST.format(name, known.valid or _ANY_NON_EMPTY)
    if "no-blank" in known.flags and "" in elements:
        return _BLANK_ELEMENT.format(name)
    return next(filter(None, (_choice(name, each, known) for each in elements)), None)


def _string(name: str, value: str, known: Definition, release: Release) -> str | None:
    if known.valid == "versions":
        return None if knows_version(release, value) else _NO_VERSION.say(release, value, name)
    if known.valid == "non-empty string":
        return INVALID.format(value, name, _EMPTY_STRING) if not value else None
    return _choice(name, value, known)


def _choice(name: str, value: str, known: Definition) -> str | None:
    """One text against `[a, b]`, or `(case insensitive) [a, b]`."""
    head, bracket, tail = known.valid.partition("[")
    if not bracket:
        return None
    choices, any_case = tail.rstrip("]"), bool(head)
    if value in choices.split(", ") or (any_case and value.lower() in choices.lower().split(", ")):
        return None
    return INVALID.format(value, name, (_ONE_OF_ANY_CASE if any_case else _ONE_OF).format(choices))


COMPARED_LOCAL = Rule(
    "LogConfig, KIP-405: compared with the whole retention when it is built, since 3.6 when it is changed",
    (((0, 8), False), ((3, 0), True), ((3, 6), False)),
)
_LOCAL_MORE: Final = "Value must not be more than property: {} value."
_LOCAL_UNLIMITED: Final = "Value must not be -1 as {} value is set as {}."
_SAME: Final = -2


def refused_topic(
    settings: Mapping[str, str], release: Release, retention: Mapping[str, int]
) -> Refused | None:
    """The first of a topic's own settings that the release refuses.

    `retention` is what the broker's own settings say, by the names that topics have for them.
    """
    for name, value in settings.items():
        refused = refusal(name, value, release, topic=True)
        if refused is not None:
            return Refused(name=name, said=refused)
    if COMPARED_LOCAL.of(release):
        for whole in ("retention.ms", "retention.bytes"):
            refused = _local(f"local.{whole}", whole, settings, retention[whole])
            if refused is not None:
                return Refused(name=f"local.{whole}", said=refused)
    return None


def _local(local: str, whole: str, settings: Mapping[str, str], default: int) -> str | None:
    """The part kept here may not be more than the whole."""
    part = parse_long(settings.get(local, str(_SAME)).strip())
    total = parse_long(settings.get(whole, str(default)).strip())
    if part is None or total is None or part == _SAME:
        return None
    if part == -1 and total != -1:
        return INVALID.format(part, local, _LOCAL_UNLIMITED.format(whole, total))
    return INVALID.format(part, local, _LOCAL_MORE.format(whole)) if part > total else None
