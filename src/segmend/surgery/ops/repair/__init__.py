"""What is damaged made anew from what is not."""

HELP = "mend indexes, snapshots, epochs, checkpoints, topic ids and batch headers from what is sound"
