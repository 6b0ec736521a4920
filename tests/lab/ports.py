"""Free TCP ports on the loopback interface."""

import socket

_given: set[int] = set()


def free_port() -> int:
    """A port that nothing listens on and that was not given out before in this process."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port: int = probe.getsockname()[1]
        if port not in _given:
            _given.add(port)
            return port


def is_free(port: int) -> bool:
    """Whether nothing listens on it."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0
