"""Outages of three-node clusters drawn by a seed: disks hurt, some nodes started, and who leads what."""
