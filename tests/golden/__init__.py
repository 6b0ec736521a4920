"""Golden log directories, written by real Kafka releases."""
