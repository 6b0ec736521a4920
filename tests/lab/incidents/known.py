"""Incidents after which something is gone though the exit code was 0, each with why no disk tells of it."""

UNSEEN: dict[str, str] = {}
"""By the incident."""
