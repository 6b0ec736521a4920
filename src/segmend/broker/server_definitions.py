"""What server.properties can say, by release: `KafkaConfig`, written by `python -m tests.lab.settings`.

Settings that take any text in every release are left out.
"""

SERVER = """
add.partitions.to.txn.retry.backoff.max.ms: 4.0 INT [0,...]
add.partitions.to.txn.retry.backoff.ms share.coordinator.load.buffer.size
    share.coordinator.state.topic.num.partitions share.coordinator.state.topic.prune.interval.ms
    share.coordinator.state.topic.segment.bytes share.coordinator.threads
    share.coordinator.write.timeout.ms: 4.0 INT [1,...]
advertised.host.name host.name: 0.11 STRING; 3.0 -
advertised.listeners listeners log.dir log.dirs: 0.11 STRING; 4.2 LIST no-blank no-empty
advertised.port port: 0.11 INT; 3.0 -
alter.config.policy.kraft.compatibility.enable: 3.9 BOOLEAN; 4.0 -
alter.log.dirs.replication.quota.window.num alter.log.dirs.replication.quota.window.size.seconds: 1.1
    INT [1,...]
auto.create.topics.enable auto.leader.rebalance.enable controlled.shutdown.enable delete.topic.enable
    log.cleaner.enable log.preallocate unclean.leader.election.enable: 0.11 BOOLEAN
auto.include.jmx.reporter zookeeper.metadata.migration.enable: 3.4 BOOLEAN; 4.0 -
background.threads log.roll.hours metrics.num.samples min.insync.replicas num.io.threads
    num.network.threads num.partitions num.recovery.threads.per.data.dir offsets.commit.timeout.ms
    offsets.load.buffer.size offsets.retention.minutes offsets.topic.num.partitions
    offsets.topic.segment.bytes queued.max.requests quota.window.num quota.window.size.seconds
    replication.quota.window.num replication.quota.window.size.seconds socket.request.max.bytes
    transaction.abort.timed.out.transaction.cleanup.interval.ms transaction.max.timeout.ms
    transaction.remove.expired.transaction.cleanup.interval.ms transaction.state.log.load.buffer.size
    transaction.state.log.min.isr transaction.state.log.num.partitions
    transaction.state.log.segment.bytes transactional.id.expiration.ms: 0.11 INT [1,...]
broker.heartbeat.interval.ms broker.session.timeout.ms initial.broker.registration.timeout.ms
    sasl.server.max.receive.size: 2.8 INT
broker.id controller.socket.timeout.ms default.replication.factor
    delete.records.purgatory.purge.interval.requests fetch.purgatory.purge.interval.requests
    group.initial.rebalance.delay.ms group.max.session.timeout.ms group.min.session.timeout.ms
    log.retention.hours log.retention.minutes offset.metadata.max.bytes offsets.topic.compression.codec
    producer.purgatory.purge.interval.requests replica.fetch.min.bytes replica.fetch.wait.max.ms
    replica.socket.receive.buffer.bytes replica.socket.timeout.ms request.timeout.ms
    socket.receive.buffer.bytes socket.send.buffer.bytes: 0.11 INT
broker.id.generation.enable zookeeper.set.acl: 0.11 BOOLEAN; 4.0 -
compression.gzip.level: 3.8 INT [1,...,9] or -1
compression.lz4.level: 3.8 INT [1,...,17]
compression.type: 0.11 STRING; 3.3 STRING [uncompressed, zstd, lz4, snappy, gzip, producer]
compression.zstd.level: 3.8 INT [-131072,...,22]
config.providers: 4.2 LIST no-blank
connection.failed.authentication.delay.ms: 2.1 INT [0,...]
connections.max.idle.ms log.cleaner.dedupe.buffer.size log.flush.interval.ms
    log.flush.scheduler.interval.ms log.retention.bytes log.retention.ms log.roll.jitter.ms log.roll.ms
    replica.high.watermark.checkpoint.interval.ms replica.lag.time.max.ms
    sasl.kerberos.min.time.before.relogin: 0.11 LONG
connections.max.reauth.ms: 2.2 LONG
control.plane.listener.name: 2.2 STRING; 4.0 -
controlled.shutdown.max.retries leader.imbalance.per.broker.percentage zookeeper.connection.timeout.ms
    zookeeper.session.timeout.ms: 0.11 INT; 4.0 -
controlled.shutdown.retry.backoff.ms: 0.11 LONG; 4.0 -
controller.listener.names: 2.8 STRING; 4.2 LIST no-blank no-empty required
controller.performance.always.log.threshold.ms: 4.0 LONG [0,...]
controller.performance.sample.period.ms: 4.0 LONG [100,...]
controller.quorum.append.linger.ms controller.quorum.election.backoff.max.ms
    controller.quorum.election.timeout.ms controller.quorum.fetch.timeout.ms
    controller.quorum.request.timeout.ms controller.quorum.retry.backoff.ms: 2.8 INT; 4.1 INT [0,...]
controller.quorum.auto.join.enable: 4.2 BOOLEAN
controller.quorum.bootstrap.servers: 3.8 LIST non-empty list
controller.quorum.fetch.max.bytes controller.quorum.fetch.snapshot.max.bytes
    group.coordinator.background.threads: 4.3 INT [1,...]
controller.quorum.voters: 2.8 LIST non-empty list
controller.quota.window.num controller.quota.window.size.seconds: 2.7 INT [1,...]
cordoned.log.dirs: 4.3 LIST no-blank
delegation.token.expiry.check.interval.ms delegation.token.expiry.time.ms
    delegation.token.max.lifetime.ms: 1.1 LONG [1,...]
delegation.token.master.key password.encoder.old.secret password.encoder.secret: 1.1 PASSWORD; 4.0 -
early.start.listeners: 3.3 STRING; 4.2 LIST no-blank
eligible.leader.replicas.enable: 3.7 BOOLEAN; 4.0 -
fetch.max.bytes: 2.5 INT [1024,...]
follower.fetch.last.tiered.offset.enable: 4.3 BOOLEAN
group.consumer.assignment.interval.ms group.consumer.max.assignment.interval.ms
    group.consumer.min.assignment.interval.ms group.share.assignment.interval.ms
    group.share.max.assignment.interval.ms group.share.min.assignment.interval.ms
    group.streams.assignment.interval.ms group.streams.max.assignment.interval.ms
    group.streams.min.assignment.interval.ms: 4.3 INT [0,...]
group.consumer.assignors: 3.5 LIST; 4.2 LIST no-blank no-empty
group.consumer.heartbeat.interval.ms group.consumer.max.heartbeat.interval.ms
    group.consumer.max.session.timeout.ms group.consumer.max.size
    group.consumer.min.heartbeat.interval.ms group.consumer.min.session.timeout.ms
    group.consumer.session.timeout.ms group.coordinator.threads: 3.5 INT [1,...]
group.consumer.migration.policy: 3.8 STRING (case insensitive) [DISABLED, DOWNGRADE, UPGRADE,
    BIDIRECTIONAL]
group.consumer.regex.refresh.interval.ms: 4.1 INT [10000,...]
group.coordinator.append.linger.ms: 3.8 INT [0,...]; 4.2 INT [-1,...]
group.coordinator.cached.buffer.max.bytes share.coordinator.cached.buffer.max.bytes: 4.3 INT
    [524288,...]
group.coordinator.new.enable: 3.5 BOOLEAN; 4.1 -
group.coordinator.rebalance.protocols: 3.7 LIST [consumer, classic]; 3.8 LIST [consumer, classic,
    unknown]; 3.9 LIST [consumer, classic, share, unknown]; 4.0 LIST [consumer, classic, share]; 4.1
    LIST [consumer, classic, share, streams]; 4.2 LIST [consumer, classic, share, streams] no-blank
    no-empty
group.max.size: 2.2 INT [1,...]
group.share.assignors: 4.1 LIST; 4.2 LIST no-blank no-empty
group.share.delivery.count.limit: 3.9 INT [2,...,10]
group.share.enable: 3.9 BOOLEAN; 4.3 -
group.share.heartbeat.interval.ms group.share.max.heartbeat.interval.ms
    group.share.max.session.timeout.ms group.share.min.heartbeat.interval.ms
    group.share.min.session.timeout.ms group.share.session.timeout.ms: 3.9 INT [1,...]
group.share.initialize.retry.interval.ms remote.log.manager.follower.thread.pool.size: 4.2 INT [1,...]
group.share.max.delivery.count.limit: 4.3 INT [5,...,25]
group.share.max.groups: 3.9 SHORT [1,...,100]; 4.1 -
group.share.max.partition.max.record.locks: 4.3 INT [2000,...,10000]
group.share.max.record.lock.duration.ms: 3.9 INT [30000,...,3600000]
group.share.max.share.sessions group.streams.heartbeat.interval.ms
    group.streams.max.heartbeat.interval.ms group.streams.max.session.timeout.ms group.streams.max.size
    group.streams.min.heartbeat.interval.ms group.streams.min.session.timeout.ms
    group.streams.session.timeout.ms share.coordinator.cold.partition.snapshot.interval.ms: 4.1 INT
    [1,...]
group.share.max.size: 3.9 SHORT [10,...,1000]; 4.0 INT [1,...,1000]
group.share.min.delivery.count.limit: 4.3 INT [2,...,5]
group.share.min.partition.max.record.locks: 4.3 INT [100,...,2000]
group.share.min.record.lock.duration.ms: 3.9 INT [1000,...,30000]
group.share.partition.max.record.locks: 3.9 INT [100,...,10000]
group.share.record.lock.duration.ms: 3.9 INT [1000,...,60000]; 4.0 INT [1000,...,3600000]
group.streams.initial.rebalance.delay.ms: 4.2 INT [0,...]
group.streams.max.standby.replicas group.streams.num.standby.replicas: 4.1 INT [0,...]
inter.broker.protocol.version log.message.format.version: 0.11 STRING versions; 4.0 -
internal.metadata.delete.delay.millis: 4.1 LONG
internal.metadata.log.segment.bytes internal.metadata.max.batch.size.in.bytes: 4.1 INT
internal.metadata.max.fetch.size.in.bytes: 4.1 INT; 4.3 -
kafka.metrics.polling.interval.secs: 2.1 INT [1,...]
kafka.metrics.reporters: 2.1 LIST; 4.2 LIST no-blank
leader.imbalance.check.interval.seconds: 0.11 LONG; 3.2 LONG [1,...]
log.cleaner.backoff.ms log.segment.delete.delay.ms: 0.11 LONG [0,...]
log.cleaner.delete.retention.ms log.cleaner.min.compaction.lag.ms: 0.11 LONG; 3.3 LONG [0,...]
log.cleaner.io.buffer.load.factor log.cleaner.io.max.bytes.per.second sasl.kerberos.ticket.renew.jitter
    sasl.kerberos.ticket.renew.window.factor: 0.11 DOUBLE
log.cleaner.io.buffer.size log.cleaner.threads log.flush.offset.checkpoint.interval.ms
    log.flush.start.offset.checkpoint.interval.ms log.index.interval.bytes log.roll.jitter.hours
    message.max.bytes replica.fetch.backoff.ms replica.fetch.max.bytes replica.fetch.response.max.bytes:
    0.11 INT [0,...]
log.cleaner.max.compaction.lag.ms: 2.3 LONG; 3.3 LONG [1,...]
log.cleaner.min.cleanable.ratio: 0.11 DOUBLE; 3.3 DOUBLE [0,...,1]
log.cleanup.policy: 0.11 LIST [compact, delete]; 4.2 LIST [compact, delete] no-blank
log.dir.failure.timeout.ms remote.log.manager.copy.max.bytes.per.second
    remote.log.manager.fetch.max.bytes.per.second: 3.8 LONG [1,...]
log.flush.interval.messages log.retention.check.interval.ms metrics.sample.window.ms
    offsets.retention.check.interval.ms: 0.11 LONG [1,...]
log.index.size.max.bytes: 0.11 INT [4,...]
log.initial.task.delay.ms: 3.8 LONG [0,...]
log.local.retention.bytes log.local.retention.ms: 3.6 LONG [-2,...]
log.message.downconversion.enable: 2.0 BOOLEAN; 4.0 -
log.message.timestamp.after.max.ms log.message.timestamp.before.max.ms: 3.6 LONG [0,...]
log.message.timestamp.difference.max.ms: 0.11 LONG; 3.3 LONG [0,...]; 4.0 -
log.message.timestamp.type: 0.11 STRING [CreateTime, LogAppendTime]
log.segment.bytes: 0.11 INT [14,...]; 4.0 INT [1048576,...]
max.connection.creation.rate: 2.7 INT [0,...]
max.connections: 2.3 INT [0,...]
max.connections.per.ip: 0.11 INT [1,...]; 2.0 INT [0,...]
max.incremental.fetch.session.cache.slots: 1.1 INT [0,...]
max.request.partition.size.limit remote.fetch.max.wait.ms remote.log.manager.copy.quota.window.num
    remote.log.manager.copy.quota.window.size.seconds remote.log.manager.fetch.quota.window.num
    remote.log.manager.fetch.quota.window.size.seconds: 3.8 INT [1,...]
metadata.log.max.record.bytes.between.snapshots remote.log.index.file.cache.total.size.bytes
    remote.log.manager.task.interval.ms remote.log.manager.task.retry.backoff.max.ms
    remote.log.manager.task.retry.backoff.ms: 3.0 LONG [1,...]
metadata.log.max.snapshot.interval.ms: 3.4 LONG [0,...]
metadata.log.segment.bytes: 3.0 INT [12,...]; 4.1 INT [8388608,...]
metadata.log.segment.min.bytes: 3.0 INT [12,...]; 4.1 -
metadata.log.segment.ms metadata.max.retention.bytes metadata.max.retention.ms: 3.0 LONG
metadata.max.idle.interval.ms: 3.3 INT [0,...]
metric.reporters sasl.enabled.mechanisms sasl.kerberos.principal.to.local.rules ssl.cipher.suites
    ssl.enabled.protocols: 0.11 LIST; 4.2 LIST no-blank
node.id: 2.8 INT; 4.0 INT [0,...] required
num.replica.alter.log.dirs.threads: 1.1 INT
num.replica.fetchers: 0.11 INT; 4.2 INT [1,...]
offsets.commit.required.acks: 0.11 SHORT; 4.0 -
offsets.topic.replication.factor transaction.state.log.replication.factor: 0.11 SHORT [1,...]
password.encoder.cipher.algorithm password.encoder.keyfactory.algorithm: 1.1 STRING; 4.0 -
password.encoder.iterations: 1.1 INT [1024,...]; 4.0 -
password.encoder.key.length: 1.1 INT [8,...]; 4.0 -
process.roles: 2.8 LIST [broker, controller]; 4.0 LIST [broker, controller] required; 4.2 LIST [broker,
    controller] no-blank no-empty required
producer.id.expiration.check.interval.ms producer.id.expiration.ms: 3.4 INT [1,...]
queued.max.request.bytes: 1.0 LONG
quota.consumer.default quota.producer.default: 0.11 LONG [1,...]; 3.0 -
remote.list.offsets.request.timeout.ms: 4.0 LONG [1,...]
remote.log.index.file.cache.ttl.ms: 4.3 LONG [-1,...]
remote.log.manager.copier.thread.pool.size remote.log.manager.expiration.thread.pool.size: 3.8 INT
    [1,...]; 3.9 INT; 4.0 INT [1,...]
remote.log.manager.task.retry.jitter: 3.0 DOUBLE [0,...,0.5]
remote.log.manager.thread.pool.size remote.log.reader.max.pending.tasks remote.log.reader.threads: 3.0
    INT [1,...]
remote.log.metadata.custom.metadata.max.bytes: 3.6 INT [0,...]
remote.log.metadata.manager.class.name remote.log.metadata.manager.impl.prefix
    remote.log.metadata.manager.listener.name remote.log.storage.manager.class.name
    remote.log.storage.manager.impl.prefix: 3.0 STRING non-empty string
remote.log.metadata.manager.class.path remote.log.storage.manager.class.path: 3.0 STRING non-empty
    string; 3.6 STRING
remote.log.storage.system.enable: 3.0 BOOLEAN
reserved.broker.max.id: 0.11 INT [0,...]; 4.0 -
sasl.login.connect.timeout.ms sasl.login.read.timeout.ms sasl.oauthbearer.clock.skew.seconds: 3.1 INT
sasl.login.refresh.buffer.seconds sasl.login.refresh.min.period.seconds: 2.0 SHORT
sasl.login.refresh.window.factor sasl.login.refresh.window.jitter: 2.0 DOUBLE
sasl.login.retry.backoff.max.ms sasl.login.retry.backoff.ms sasl.oauthbearer.jwks.endpoint.refresh.ms
    sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms sasl.oauthbearer.jwks.endpoint.retry.backoff.ms:
    3.1 LONG
sasl.oauthbearer.assertion.algorithm: 4.1 STRING (case insensitive) [ES256, RS256]
sasl.oauthbearer.assertion.claim.exp.seconds: 4.1 INT [0,...,86400]
sasl.oauthbearer.assertion.claim.jti.include transaction.two.phase.commit.enable: 4.1 BOOLEAN
sasl.oauthbearer.assertion.claim.nbf.seconds: 4.1 INT [0,...,3600]
sasl.oauthbearer.expected.audience: 3.1 LIST; 4.2 LIST no-blank
security.inter.broker.protocol: 0.11 STRING; 3.3 STRING [PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL]
server.max.startup.time.ms: 3.5 LONG [0,...]
share.coordinator.append.linger.ms: 4.0 INT [0,...]; 4.2 INT [-1,...]
share.coordinator.snapshot.update.records.per.snapshot: 4.0 INT [0,...]; 4.3 INT [0,...,500]
share.coordinator.state.topic.compression.codec share.fetch.purgatory.purge.interval.requests: 4.0 INT
share.coordinator.state.topic.min.isr share.coordinator.state.topic.replication.factor: 4.0 SHORT
    [1,...]
share.fetch.max.fetch.records: 4.0 INT; 4.1 -
socket.connection.setup.timeout.max.ms socket.connection.setup.timeout.ms: 2.7 LONG
socket.listen.backlog.size: 3.2 INT [1,...]
ssl.allow.dn.changes ssl.allow.san.changes: 3.7 BOOLEAN
ssl.client.auth: 0.11 STRING [required, requested, none]
ssl.principal.mapping.rules: 2.2 LIST; 2.4 STRING
telemetry.max.bytes: 3.7 INT [1,...]
transaction.partition.verification.enable: 3.6 BOOLEAN
unclean.leader.election.interval.ms: 3.9 LONG [1,...]
unstable.api.versions.enable: 3.5 BOOLEAN
unstable.feature.versions.enable: 3.8 BOOLEAN
unstable.metadata.versions.enable: 3.7 BOOLEAN; 3.8 -
zookeeper.clientCnxnSocket zookeeper.ssl.endpoint.identification.algorithm
    zookeeper.ssl.keystore.location zookeeper.ssl.keystore.type zookeeper.ssl.protocol
    zookeeper.ssl.truststore.location zookeeper.ssl.truststore.type: 2.5 STRING; 4.0 -
zookeeper.connect: 0.11 STRING required; 2.8 STRING; 4.0 -
zookeeper.max.in.flight.requests: 1.1 INT [1,...]; 4.0 -
zookeeper.metadata.migration.min.batch.size: 3.6 INT [1,...]; 4.0 -
zookeeper.ssl.cipher.suites zookeeper.ssl.enabled.protocols: 2.5 LIST; 4.0 -
zookeeper.ssl.client.enable zookeeper.ssl.crl.enable zookeeper.ssl.ocsp.enable: 2.5 BOOLEAN; 4.0 -
zookeeper.ssl.keystore.password zookeeper.ssl.truststore.password: 2.5 PASSWORD; 4.0 -
zookeeper.sync.time.ms: 0.11 INT; 3.2 -
"""
