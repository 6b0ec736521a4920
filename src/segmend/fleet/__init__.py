"""Many log dirs as tables: list, split, pack, read, audit. No JVM in here; Spark is one of its drivers."""
