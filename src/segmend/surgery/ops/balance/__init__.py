"""Log dirs made about equally full."""

HELP = "move partitions between the log dirs until all disks are about equally full"
