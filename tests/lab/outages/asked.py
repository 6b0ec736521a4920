"""What the nodes of a cluster answer: leaders, in-sync replicas, offsets; whether acks=all is taken."""

import time
from collections.abc import Iterable, Mapping
from typing import Any

from confluent_kafka import Producer

from tests.lab.broker import Seat
from tests.lab.disasters import protocol

Answers = dict[str, dict[str, Any]]
"""By `topic-0`: leader, isr, and of what is led its end."""
REFUSED, AT_MOST = 10, 60
"""Seconds after which it is refused: by too few in sync all that time, or whatever keeps it."""


def answers(seats: Iterable[Seat]) -> Answers:
    """Of the first node that answers; offsets from the leaders themselves."""
    ports = {seat.node_id: seat.port for seat in seats}
    for port in ports.values():
        try:
            told = protocol.metadata(port)
        except (OSError, ValueError, LookupError):
            continue
        if told:
            break
    else:
        return {}
    found = {
        name: {"leader": one.leader, "isr": sorted(one.isr)}
        for name, one in sorted(told.items())
        if not name.startswith("__")
    }
    for node, port in ports.items():
        mine = [name for name, one in found.items() if one["leader"] == node]
        for name, (error, end) in ends(port, mine).items():
            found[name]["end" if error == 0 else "error"] = end if error == 0 else error
    return found


def ends(port: int, names: list[str]) -> dict[str, list[int]]:
    """(error, high watermark) of each; nothing where the node does not answer."""
    try:
        return protocol.offsets(port, names, -1) if names else {}
    except (OSError, ValueError, LookupError):
        return {}


def takes(seats: list[Seat], names: list[str], needed: Mapping[str, int]) -> dict[str, bool]:
    """Whether a record with acks=all is acknowledged; `needed` are how many in sync a topic wants."""
    servers = ",".join(f"127.0.0.1:{seat.port}" for seat in seats)
    client = Producer({"bootstrap.servers": servers, "message.timeout.ms": AT_MOST * 1000,
                       "linger.ms": 0, "acks": "all", "log_level": 0})  # fmt: skip
    found = dict.fromkeys(names, False)
    for name in names:
        topic, _, number = name.rpartition("-")

        def told(error: object, _message: object, name: str = name) -> None:
            found[name] = error is None

        client.produce(topic, b"after", b"key", int(number), on_delivery=told)
    begun = few_since = time.monotonic()
    while len(client) and time.monotonic() < begun + AT_MOST:
        client.flush(2)
        told = answers(seats)
        if any(len(told[name]["isr"]) >= needed.get(name.rpartition("-")[0], 1)
               for name, taken in found.items() if not taken and name in told):  # fmt: skip
            few_since = time.monotonic()
        if time.monotonic() > few_since + REFUSED:
            break
    client.purge()
    client.flush(1)
    return found
