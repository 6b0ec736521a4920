"""One node of a cluster, by the log dirs on its disks: whose they are, and what its metadata says."""
