"""Replicas of a partition: what several operations, and rescue, need of them; no operation knows another one.

replica_log   the logs of a partition directory, or of bytes in memory, batch by batch
comparison    two replicas side by side: where they part, and what either has after that
leader        a replica that is copied from: whose it is, who uses it, up to where it may be read
given         those of other nodes that prove to have its records
registered    whom the cluster's metadata names as its leader
recovery      what the next start would do to a replica's segments
joined_log    a log as it will be, out of files of both
derived       indexes and aborted transactions of that log
new_files     as whom a replica's new files come
relocation    replicas that go to other log dirs of their broker
"""
