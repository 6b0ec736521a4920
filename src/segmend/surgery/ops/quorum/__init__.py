"""The cluster's metadata of a KRaft node: made whole, restored from another node's, led alone.

operation    what is asked, and what comes of it; case: what there is, and the best of it
sources      copies of other nodes: whose they are, how far they go, what they know of votes
log_files    the steps that leave a snapshot and a run of the log, this node's own or another one's
votes        quorum-state, so that nobody votes twice in an epoch
standalone   the last voter made the only one
"""

HELP = "mend the metadata of a KRaft node, restore it from another node, or let a last voter lead alone"
