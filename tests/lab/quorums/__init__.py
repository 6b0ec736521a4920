"""Metadata quorums of three that lose disks: bases, stories, and what real brokers made of `plan quorum`."""
