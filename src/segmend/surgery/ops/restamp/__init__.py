"""The topic id in partition.metadata."""

HELP = "give replicas the topic id that their topic has now (recreated topics, restored volumes)"
