"""What to do about a clock of retention that is no record's time: commands to copy, each with its reason."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.deletions import KAFKA_CONFIGS
from segmend.frozen import frozen
from segmend.logdir.release import Release


@frozen
class Advice:
    """A command, or a sentence where there is none (`command` None), and what it does."""

    command: str | None
    why: str


def advice(clock: str | None, place: str, topic: str, release: Release) -> Iterator[Advice]:
    """For what the clock was (`explain.gone.WAS`); partition's directory and topic are words of a shell."""
    if clock in ("zero", "untrimmed"):
        yield Advice(
            command=f"segmend plan repair {place} -o plan.json",
            why="time indexes made anew from the records, while the broker is stopped",
        )
        why = "meanwhile nothing goes by time; --delete-config undoes it"
        yield _set(release, topic, "retention.ms=-1", why)
    if clock == "untrimmed":
        yield Advice(
            command=f'chown -R --reference="$(dirname {place})" {place}',
            why="to the broker's user, before it stops",
        )
    elif clock in ("seconds", "microseconds", "nanoseconds"):
        yield _set(
            release, topic, "message.timestamp.type=LogAppendTime",
            "the broker's own clock for what is written from now on; or mend the producer",
        )  # fmt: skip
        if clock == "seconds":
            yield _set(
                release, topic, "retention.ms=-1", "what is there stays; retention.bytes still bounds it"
            )
    elif clock == "mtime":
        yield Advice(
            command=None,
            why=f"copy log dirs with their times (cp -a, rsync -a): of {topic} the time of a file counted",
        )


def _set(release: Release, topic: str, setting: str, why: str) -> Advice:
    words = KAFKA_CONFIGS.say(release)
    command = f"{words} --alter --entity-type topics --entity-name {topic} --add-config {setting}"
    return Advice(command=command, why=why)
