"""Disasters: whole nodes hurt by a seed, started by real brokers, and compared with the forecast."""
