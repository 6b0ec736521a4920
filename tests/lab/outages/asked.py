"""What the nodes of a cluster answer: leaders, in-sync replicas, offsets; whether acks=all is taken."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from confluent_kafka import Producer

from tests.lab.broker import Seat
from tests.lab.disasters import protocol

Answers = dict[str, dict[str, Any]]
"""By `topic-0`: leader, isr, and of what is led its end."""


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


def takes(bootstrap: str, names: list[str], seconds: float = 25) -> dict[str, bool]:
    """Whether a record with acks=all is acknowledged."""
    client = Producer({"bootstrap.servers": bootstrap, "message.timeout.ms": int(seconds * 1000),
                       "linger.ms": 0, "acks": "all", "log_level": 0})  # fmt: skip
    found = dict.fromkeys(names, False)
    for name in names:
        topic, _, number = name.rpartition("-")

        def told(error: object, _message: object, name: str = name) -> None:
            found[name] = error is None

        client.produce(topic, b"after", b"key", int(number), on_delivery=told)
    client.flush(seconds + 5)
    return found
