"""A replica brought up to its leader's log from files: what both share is proven, the rest copied.

decision      what a comparison of both means: the tail is copied, or everything, or the leader is none
lineage       whether the leader is fit to be one
preparation   all of this put together; graft_steps: the steps that follow from it
"""

HELP = "restore an out-of-sync or lost replica from its leader's files, copying only what is missing"
