"""One history out of the sound batches of several replicas, put into one of them where it lies.

case          the replica and the others: opened, read into runs, and which of them is preferred
layout        the log as it will be: pieces of all replicas, in the segments of this one
log_steps     the steps that make it so, in place where that is possible
files_beside  indexes, snapshots, epochs and checkpoint lines that fit it, computed in a view of these steps
branches      what each choice of a branch leaves out: offsets, records, times, producers
side_files    what no branch that won has, kept where `show` and `rescue` read it
"""

HELP = "make one history of replicas that diverged, or are damaged in different places"
