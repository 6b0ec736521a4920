"""A replica brought up to its leader's log from files: what both share is proven, the rest copied.

replica    the logs of a partition directory, or of bytes in memory, batch by batch
prefix     two replicas side by side: where they part, and what either has after that
leader     the directory that is copied from: whose it is, who uses it, up to where it may be read
joined     the log as it will be: pieces of files of both
derived    indexes, snapshots and epochs of that log
changes    the steps
"""

HELP = "restore an out-of-sync or lost replica from its leader's files, copying only what is missing"
