"""Whether the authorizer of KRaft (KIP-801) lets a broker itself into the cluster.

Follows `StandardAuthorizerData.authorize`, which `ControllerApis` asks when a broker registers.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import Enum, auto
from typing import Final

from segmend.broker.rule import Rule
from segmend.broker.server_listeners import Server
from segmend.formats.config_values import boolean
from segmend.frozen import frozen
from segmend.logdir.release import Release

AUTHORIZER: Final = "authorizer.class.name"
STANDARD: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
ACL_AUTHORIZER: Final = "kafka.security.authorizer.AclAuthorizer"
SIMPLE: Final = "kafka.security.auth.SimpleAclAuthorizer"
OF_ZOOKEEPER: Final = (ACL_AUTHORIZER, SIMPLE)
SUPER_USERS: Final = "super.users"
EVERYONE: Final = "allow.everyone.if.no.acl.found"
_BUILDER: Final = "principal.builder.class"
_ANYBODY, _ANONYMOUS = "User:*", "User:ANONYMOUS"
_CLUSTER, _CLUSTER_NAME = 4, "kafka-cluster"
_PREFIXED: Final = 4
_ALL, _CLUSTER_ACTION = 2, 9
_DENY, _ALLOW = 2, 3
"""`ResourceType`, `PatternType`, `AclOperation` and `AclPermissionType` as the records have them."""


REGISTERING: Final = Rule(
    "BrokerServer.startup, once initial.broker.registration.timeout.ms is over",
    (
        ((0, 8), "java.util.concurrent.CancellationException"),
        (
            (3, 5),
            "Received a fatal error while waiting for the controller to acknowledge that we are caught up",
        ),
    ),
)
NOT_LET_IN: Final = (
    "{}: the authorizer does not let the broker in, neither by super.users nor by an ACL of the cluster "
    "(CLUSTER_ACTION)"
)
BY_ADDRESS: Final = (
    "whether the ACLs let the broker in from its address (else it is never registered, and ends)"
)
BY_OTHERS: Final = (
    "whether the controllers let this node in: its own server.properties and the ACLs here do not, neither "
    "by super.users nor by CLUSTER_ACTION (then it is never registered, and ends)"
)
BY_ZOOKEEPER: Final = (
    "whether ACLs in ZooKeeper let the brokers in: server.properties does not (super.users, "
    "allow.everyone.if.no.acl.found), and without them nobody leads a partition"
)


class Admission(Enum):
    """Whether a broker is let in, where anything in the files tells; what it hangs on, where not."""

    YES = auto()
    NO = auto()
    BY_NAME = auto()
    BY_ADDRESS = auto()


@frozen
class StandardAcl:
    """One access control entry of the metadata (ACCESS_CONTROL_ENTRY_RECORD)."""

    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission: int

    @property
    def of_cluster(self) -> bool:
        if self.pattern_type == _PREFIXED:
            named = _CLUSTER_NAME.startswith(self.resource_name)
        else:
            named = self.resource_name in (_CLUSTER_NAME, "*")
        return self.resource_type == _CLUSTER and named


def admission(given: Mapping[str, str], acls: Collection[StandardAcl], release: Release) -> Admission:
    """Whether a broker of this server.properties may register, by the `acls` of the cluster's metadata.

    An authorizer that is not Kafka's own tells by the broker's name what nobody knows.
    """
    if given.get(AUTHORIZER, "").strip() != STANDARD:
        return Admission.BY_NAME if given.get(AUTHORIZER, "").strip() else Admission.YES
    me, supers = _principal(Server(given, release)), super_users(given)
    if me in supers:
        return Admission.YES
    mine = [acl for acl in acls if acl.of_cluster]
    answers = {_decides(mine, who, given, here=here) for who in _names(me, mine) for here in (True, False)}
    if me is None and (supers or len(answers) > 1):
        return Admission.BY_NAME
    if len(answers) > 1:
        return Admission.BY_ADDRESS
    return Admission.YES if answers == {True} else Admission.NO


def asks_zookeeper(given: Mapping[str, str]) -> bool:
    """Whether ACLs in ZooKeeper alone can let the brokers in."""
    known = given.get(AUTHORIZER, "").strip() in OF_ZOOKEEPER
    return known and not super_users(given) and not _everyone(given)


def super_users(given: Mapping[str, str]) -> set[str]:
    return {each.strip() for each in given.get(SUPER_USERS, "").split(";")} - {""}


def _everyone(given: Mapping[str, str]) -> bool:
    return boolean(given.get(EVERYONE)) is True


def _names(me: str | None, acls: Collection[StandardAcl]) -> set[str]:
    """Whom the broker may be taken for."""
    return {_ANYBODY, *(acl.principal for acl in acls)} if me is None else {me}


def _decides(acls: Collection[StandardAcl], who: str, given: Mapping[str, str], *, here: bool) -> bool:
    """What they come to; `here` says that hosts they name are the broker's."""
    matching = {
        acl.permission
        for acl in acls
        if acl.principal in (who, _ANYBODY) and (here or acl.host == "*")
        if acl.operation in (_ALL, _CLUSTER_ACTION)
    }
    if acls:
        return _ALLOW in matching and _DENY not in matching
    return _everyone(given)


def _principal(server: Server) -> str | None:
    """As whom it comes to the controllers; None where a certificate, a login or another class tells."""
    name = server.controllers[0].strip().upper() if server.controllers else ""
    protocol = server.protocol(name)
    asks = server.text(f"listener.name.{name.lower()}.ssl.client.auth") or server.text("ssl.client.auth")
    anonymous = protocol == "PLAINTEXT" or (protocol == "SSL" and asks in ("", "none"))
    return _ANONYMOUS if anonymous and not server.text(_BUILDER) else None
