"""The lab: real Kafka brokers of many releases, started and stopped from Python.

Everything that says how Kafka behaves is proved against real releases. The lab fetches their jars
(`jars`), finds a Java (`java`), starts ZooKeeper and brokers on free ports with their own temporary
directories (`zookeeper`, `broker`, `cluster`), and runs Kafka's own command line tools (`tools`).
It only ever stops processes that it started itself.
"""
