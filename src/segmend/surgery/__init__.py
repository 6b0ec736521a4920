"""Changing log dirs: a plan one can read, applied under the broker's lock, journalled, undoable.

plan, step     what is to be changed, expected and lost; a JSON file with its own hash
steps/         the closed set of changes; each can be done and undone from any point in between
recipes/       content computed from the log: indexes, snapshots, checkpoints; one file each
derive/        what recipes compute it from
ops/           what makes plans: trim, move, drain, ...; a room each
planning/      what operations share, and the log dirs as a plan will leave them
execute/       a plan carried out and taken back: journal, locks, preconditions
writing/       the system calls that change a disk, and the safe ways to write made of them
fingerprint    what a file or directory is: size, owner, mode, times, hash
"""
