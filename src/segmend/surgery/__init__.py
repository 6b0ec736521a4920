"""Changing log dirs: a plan one can read, applied under the broker's lock, journalled, undoable.

fingerprint   what a file or directory is: size, owner, mode, times, hash
effects       the only module that changes a disk
recipes/      content computed from the log: indexes, snapshots, checkpoints; one file each
steps/        the closed set of changes; each can be done and undone from any point in between
plan          steps, what they expect, what they lose; a JSON file with its own hash
ops/          what makes plans: trim, move, drain, ...; one file each
graft/        two replicas compared, one made up to the other; balance: which partitions go to which disk
lock          Kafka's `.lock`, and who has the files open
journal       what was begun and what is done, beside the old bytes, outside the log dirs
apply, undo   a plan carried out, and taken back
"""
