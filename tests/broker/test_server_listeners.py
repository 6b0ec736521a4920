"""Listeners of server.properties, as far as their rules do not show in a refused start."""

import pytest

from segmend.broker.server_listeners import Server
from segmend.logdir.release import Release


@pytest.mark.parametrize("release", ["2.8.2", "4.3.1"])
def test_a_map_that_is_refused_knows_no_listener(release: str) -> None:
    """Not even one whose name stands in Kafka's words on it."""
    given = {"listeners": "FOO://:9092", "listener.security.protocol.map": "A:FOO"}
    server = Server(given, Release.parse(release))
    assert server.refused_map is not None
    assert "FOO" in server.refused_map
    assert server.listeners.found == ()
    assert "FOO" in (server.listeners.refused or "")
