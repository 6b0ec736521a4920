"""Settings that take any text in every release, by name; `server_definitions` has all others.

Follows `KafkaConfig`. A test holds them to what the releases define.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from segmend.broker.settings import LISTED, definition
from segmend.logdir.release import Release

_NAMES: Final = """
alter.config.policy.class.name authorizer.class.name broker.rack client.quota.callback.class
create.topic.policy.class.name delegation.token.secret.key group.share.persister.class.name
inter.broker.listener.name listener.security.protocol.map max.connections.per.ip.overrides
metadata.log.dir metrics.recording.level principal.builder.class replica.selector.class
sasl.client.callback.handler.class sasl.jaas.config sasl.kerberos.kinit.cmd sasl.kerberos.service.name
sasl.login.callback.handler.class sasl.login.class sasl.mechanism.controller.protocol
sasl.mechanism.inter.broker.protocol sasl.oauthbearer.assertion.claim.aud
sasl.oauthbearer.assertion.claim.iss sasl.oauthbearer.assertion.claim.sub
sasl.oauthbearer.assertion.file sasl.oauthbearer.assertion.private.key.file
sasl.oauthbearer.assertion.private.key.passphrase sasl.oauthbearer.assertion.template.file
sasl.oauthbearer.client.credentials.client.id sasl.oauthbearer.client.credentials.client.secret
sasl.oauthbearer.expected.issuer sasl.oauthbearer.jwks.endpoint.url sasl.oauthbearer.jwt.retriever.class
sasl.oauthbearer.jwt.validator.class sasl.oauthbearer.scope sasl.oauthbearer.scope.claim.name
sasl.oauthbearer.sub.claim.name sasl.oauthbearer.token.endpoint.url sasl.server.callback.handler.class
security.providers ssl.endpoint.identification.algorithm ssl.engine.factory.class ssl.key.password
ssl.keymanager.algorithm ssl.keystore.certificate.chain ssl.keystore.key ssl.keystore.location
ssl.keystore.password ssl.keystore.type ssl.protocol ssl.provider ssl.secure.random.implementation
ssl.trustmanager.algorithm ssl.truststore.certificates ssl.truststore.location ssl.truststore.password
ssl.truststore.type
"""
ANY_TEXT: Final = frozenset(_NAMES.split())
_OF_OTHERS: Final = (
    "config.providers", "listener.name.", "super.users", "allow.everyone.if.no.acl.found", "kafka.metrics.",
    "kafka.csv.metrics.", "rsm.config.", "rlmm.config.",
)  # fmt: skip
"""How names begin that parts of Kafka read which are no `ConfigDef`."""


def unheard(names: Iterable[str], release: Release) -> list[str]:
    """The names that are no settings of the release: it ignores them, as it does a name written wrongly."""
    if not LISTED.of(release):
        return []
    others = [name for name in names if name not in ANY_TEXT and not name.startswith(_OF_OTHERS)]
    return [name for name in others if definition(name, release, topic=False) is None]
