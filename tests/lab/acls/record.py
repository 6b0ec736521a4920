"""Record how nodes start whose ACLs are not for the broker: `python -m tests.lab.acls.record 4.3.1`.

One node is broker and voter, its listeners are PLAINTEXT, so that it speaks to itself as `User:ANONYMOUS`.
Each case has ACLs of the cluster, written while that was a super user, and the settings of a start after it.
"""

import json
import signal
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

from tests.copies import copy_tree
from tests.golden.pack import pack
from tests.golden.produce import write
from tests.golden.records import events
from tests.golden.topics import Topic, create
from tests.lab.admin import admin
from tests.lab.base import QUIET, quiet_port
from tests.lab.broker import Broker, Seat
from tests.lab.errors import LabError
from tests.lab.nodes.record import plain
from tests.lab.releases import release
from tests.lab.trial import Trial, save, shortened

HERE = Path(__file__).with_name("recorded")
DIRS = ("d0", "d1")
ME, ACTION = "User:ANONYMOUS", "CLUSTER_ACTION"
SUPER, EVERYONE = "super.users", "allow.everyone.if.no.acl.found"
AUTHORIZER = {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}
SOON = {"initial.broker.registration.timeout.ms": "15000"}
"""Not a minute until it gives up."""


@dataclass(frozen=True)
class Acl:
    """One of the cluster itself, or of a topic."""

    principal: str = ME
    operation: str = ACTION
    permission: str = "ALLOW"
    host: str = "*"
    topic: str | None = None

    @property
    def binding(self) -> AclBinding:
        """As a client gives it."""
        kind = ResourceType.BROKER if self.topic is None else ResourceType.TOPIC
        return AclBinding(
            kind, self.topic or "kafka-cluster", ResourcePatternType.LITERAL, self.principal, self.host,
            AclOperation[self.operation], AclPermissionType[self.permission],
        )  # fmt: skip


@dataclass(frozen=True)
class Case:
    """ACLs that are there, and settings beside the authorizer."""

    acls: tuple[Acl, ...] = ()
    settings: dict[str, str] = field(default_factory=dict)


ALICE = Acl("User:alice")
ALL = AclBindingFilter(
    ResourceType.ANY, None, ResourcePatternType.ANY, None, None, AclOperation.ANY, AclPermissionType.ANY
)
CASES = {
    "nobody": Case(),
    "everyone": Case(settings={EVERYONE: "true"}),
    "everyone-beside-a-topic": Case((Acl("User:alice", "READ", topic="a"),), {EVERYONE: "true"}),
    "everyone-beside-alice": Case((ALICE,), {EVERYONE: "true"}),
    "named": Case((Acl(),)),
    "all-to-all": Case((Acl("User:*", "ALL"),)),
    "alter": Case((Acl(operation="ALTER"),)),
    "denied": Case((Acl(), Acl("User:*", permission="DENY"))),
    "other-host": Case((Acl(host="10.1.2.3"),)),
    "super-of-two": Case(settings={SUPER: f"User:admin; {ME} ;"}),
    "super-and-denied": Case((Acl("User:*", "ALL", "DENY"),), {SUPER: ME}),
    "super-is-another": Case(settings={SUPER: f"User:admin,{ME}"}),
}
PATIENCE = 120
"""Seconds until one that lives is not up."""


def node(version: str, root: Path, seat: Seat, settings: dict[str, str]) -> Broker:
    """Not started."""
    own = {**QUIET, **SOON, **AUTHORIZER, **settings}
    return Broker(release(version), root / "b1", seat, settings=own, peers=[seat])


def written(version: str, root: Path, seat: Seat) -> None:
    """A topic, and for each case a copy of the disks with its ACLs, below `root`."""
    with node(version, root / "written", seat, {SUPER: ME}) as broker:
        broker.start()
        create(broker.bootstrap, [Topic("a", {}, 2)])
        write(broker.bootstrap, "a", events("a", 3, 4), partition=0)
        client = admin(broker.bootstrap)
        for name, case in CASES.items():
            bindings = [each.binding for each in case.acls]
            for done in client.create_acls(bindings).values() if bindings else ():
                done.result(60)
            for each in broker.dirs:
                copy_tree(each, root / "kept" / name / each.name)
            for gone in client.delete_acls([ALL]).values():
                gone.result(60)


def tried(case: Case, version: str, root: Path, seat: Seat) -> dict[str, Any]:
    """What becomes of the start, and what it says of it."""
    with node(version, root, seat, case.settings) as broker:
        broker.write_config()
        broker.launch()
        try:
            broker.wait_ready(PATIENCE)
            seen: dict[str, Any] = {"outcome": "starts"}
        except LabError:
            seen = {"outcome": "refuses"}
        lines = shortened(broker.lines(), root)
        if seen["outcome"] == "refuses":
            seen["fatal"] = plain(str(Trial(False, lines, {}, []).fatal()))[:300]
        said = [plain(each)[:200] for each in lines if "uthoriz" in each and "=" not in each]
        return seen | {"says": [*dict.fromkeys(said)][:4]}


def main(version: str) -> None:
    """All cases; their disks go together into one archive."""
    found: dict[str, Any] = {}
    HERE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="acls-") as work:
        root, seat = Path(work), Seat(1, quiet_port(), quiet_port())
        written(version, root, seat)
        pack(root / "kept", sorted(CASES), HERE / f"{version}.tar.xz")
        for name, case in CASES.items():
            home = root / "trial" / name
            copy_tree(root / "kept" / name, home / "b1")
            found[name] = tried(case, version, home, seat)
            print(version, name, json.dumps(found[name]), flush=True)
            save(HERE / f"{version}.json", found)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the node ends with it
    main(*sys.argv[1:])
