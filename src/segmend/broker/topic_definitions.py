"""What topics can be told, by release: `LogConfig`, written by `python -m tests.lab.settings`."""

TOPIC = """
cleanup.policy: 0.11 LIST [compact, delete]; 4.2 LIST [compact, delete] no-blank
compression.gzip.level: 3.8 INT [1,...,9] or -1
compression.lz4.level: 3.8 INT [1,...,17]
compression.type: 0.11 STRING [uncompressed, snappy, lz4, gzip, producer]; 2.1 STRING [uncompressed,
    zstd, lz4, snappy, gzip, producer]
compression.zstd.level: 3.8 INT [-131072,...,22]
delete.retention.ms file.delete.delay.ms flush.ms min.compaction.lag.ms segment.jitter.ms: 0.11 LONG
    [0,...]
flush.messages: 0.11 LONG [0,...]; 3.3 LONG [1,...]
follower.replication.throttled.replicas leader.replication.throttled.replicas: 0.11 LIST replicas
index.interval.bytes max.message.bytes: 0.11 INT [0,...]
internal.segment.bytes: 4.1 INT
local.retention.bytes local.retention.ms: 3.0 LONG [-2,...]
max.compaction.lag.ms: 2.3 LONG [1,...]
message.downconversion.enable: 2.0 BOOLEAN; 4.0 -
message.format.version: 0.11 STRING versions; 4.0 -
message.timestamp.after.max.ms message.timestamp.before.max.ms: 3.6 LONG [0,...]
message.timestamp.difference.max.ms: 0.11 LONG [0,...]; 4.0 -
message.timestamp.type: 0.11 STRING; 2.0 STRING [CreateTime, LogAppendTime]
min.cleanable.dirty.ratio: 0.11 DOUBLE [0,...,1]
min.insync.replicas: 0.11 INT [1,...]
preallocate unclean.leader.election.enable: 0.11 BOOLEAN
remote.log.copy.disable remote.log.delete.on.disable: 3.9 BOOLEAN
remote.storage.enable: 3.0 BOOLEAN
retention.bytes: 0.11 LONG
retention.ms: 0.11 LONG; 2.2 LONG [-1,...]
segment.bytes: 0.11 INT [14,...]; 4.1 INT [1048576,...]
segment.index.bytes: 0.11 INT [0,...]; 3.3 INT [4,...]
segment.ms: 0.11 LONG [0,...]; 2.0 LONG [1,...]
"""
