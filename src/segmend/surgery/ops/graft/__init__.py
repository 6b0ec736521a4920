"""A replica brought up to its leader's log from files: what both share is proven, the rest copied.

replica       the logs of a partition directory, or of bytes in memory, batch by batch
comparison    two replicas side by side: where they part, and what either has after that
decision      what that means: the tail is copied, or everything, or the leader is none
leader        the directory that is copied from: whose it is, who uses it, up to where it may be read
joined_log    the log as it will be, out of files of both
derived       indexes, snapshots and epochs of that log
preparation   all of this put together; graft_steps: the steps that follow from it
"""

HELP = "restore an out-of-sync or lost replica from its leader's files, copying only what is missing"
