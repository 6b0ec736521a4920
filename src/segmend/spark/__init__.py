"""Spark over the fleet: a session, the data source `kafka-log`, `scan`, and a driver of the audit."""
