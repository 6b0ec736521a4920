"""One behaviour of brokers that changed from release to release."""

from __future__ import annotations

from typing import Generic, Self, TypeVar

from segmend.frozen import dataclass
from segmend.logdir.release import Asked, Release

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Rule(Generic[T]):
    """`steps` are (first release, value), ascending; `follows` names Kafka's class, KIP or JIRA."""

    follows: str
    steps: tuple[tuple[tuple[int, ...], T], ...]

    def of(self, release: Release) -> T:
        """The value for a release; the first one for anything older."""
        if release.asked is not None:
            self._note(release.asked)
        number = release.padded
        for since, value in reversed(self.steps):
            if number >= since:
                return value
        return self.steps[0][1]

    def _note(self, asked: Asked) -> None:
        for since, _ in self.steps[1:]:
            asked.add(since)


def new_in(follows: str, release: tuple[int, ...]) -> Rule[bool]:
    """Something that brokers do since a release."""
    return Rule(follows, (((0, 8), False), (release, True)))


def gone_in(follows: str, release: tuple[int, ...]) -> Rule[bool]:
    """Something that brokers did before a release."""
    return Rule(follows, (((0, 8), True), (release, False)))


class Words(Rule[str | None]):
    """What brokers log or throw, with room for values; None: a release that says nothing of it."""

    __slots__ = ()

    @classmethod
    def since(cls, follows: str, *steps: tuple[tuple[int, ...], str | None]) -> Self:
        """Words before whose first release nothing was said."""
        return cls(follows, (((0, 8), None), *steps))

    def _note(self, asked: Asked) -> None:
        """Other words are no other behaviour."""

    def say(self, release: Release, *values: object, **named: object) -> str | None:
        words = self.of(release)
        return None if words is None else words.format(*values, **named)
