"""Whether a broker is let in by its own controller: nodes that were started, see `tests.lab.acls.record`."""

import json
from pathlib import Path
from typing import Any

import pytest

from segmend.broker.authorizer import BY_ADDRESS, BY_OTHERS, BY_ZOOKEEPER
from segmend.loading import BrokerOutcome, ForecastOptions, forecast
from segmend.logdir.config import ServerConfig
from segmend.logdir.log_dir import LogDir
from tests.brokers import broker_of
from tests.golden.unpack import unpack
from tests.lab.acls.record import CASES, HERE, node
from tests.lab.broker import Seat
from tests.lab.upgrade import ARCHIVES

RELEASES = sorted(path.stem for path in HERE.glob("*.json"))
assert RELEASES, "the recordings are part of the repository"


def told(dirs: list[Path], version: str, given: dict[str, str]) -> BrokerOutcome:
    broker = broker_of([LogDir.open(str(each)) for each in dirs], version, ServerConfig(given=given))
    *_, last = forecast(broker, ForecastOptions())
    assert isinstance(last, BrokerOutcome)
    return last


@pytest.mark.parametrize("version", RELEASES)
def test_nodes_start_as_forecast(version: str, tmp_path: Path) -> None:
    root = unpack(HERE / f"{version}.tar.xz", tmp_path)
    seen: dict[str, dict[str, Any]] = json.loads((HERE / f"{version}.json").read_text())
    assert seen.keys() == CASES.keys()
    for name, case in CASES.items():
        broker = node(version, root / "x" / name, Seat(1), case.settings)
        broker.dirs = sorted((root / name).glob("d*"))
        said = told(broker.dirs, version, broker.configuration())
        if name == "other-host":  # whose address it has, no file tells
            assert (said.starts, said.unknown, said.nothing_lost) == (True, (BY_ADDRESS,), False)
            continue
        assert said.starts == (seen[name]["outcome"] == "starts"), name
        assert said.nothing_lost == said.starts, (name, said.unknown)
        if not said.starts:
            assert (said.reason or "").partition(":")[0] in seen[name]["fatal"]


def test_who_it_hangs_on_is_said_where_no_file_tells(tmp_path: Path) -> None:
    root = unpack(HERE / "4.3.1.tar.xz", tmp_path)
    dirs = {name: sorted((root / name).glob("d*")) for name in ("nobody", "named")}
    node_ = node("4.3.1", root / "x", Seat(1), {}).configuration()
    secured = node_ | {"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:SASL_SSL"}
    assert not told(dirs["nobody"], "4.3.1", secured).starts, "nobody at all is let in"
    certified = secured | {"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:SSL"}
    assert not told(dirs["nobody"], "4.3.1", certified).starts
    for some in (secured | {"super.users": "User:admin"}, certified | {"super.users": "User:CN=b"}):
        said = told(dirs["nobody"], "4.3.1", some | {"ssl.client.auth": "required"})
        assert said.nothing_lost
        assert any("authorizer.class.name" in each for each in said.assumed)
    assert told(dirs["named"], "4.3.1", secured).nothing_lost, "one of that name may be the broker"
    assert told(dirs["named"], "4.3.1", certified).nothing_lost, "nobody asks for its certificate"
    more = {"controller.quorum.voters": "1@127.0.0.1:1,2@127.0.0.1:2"}
    assert BY_OTHERS in told(dirs["nobody"], "4.3.1", node_ | more).unknown
    assert BY_OTHERS not in told(dirs["named"], "4.3.1", node_ | more).unknown


@pytest.mark.parametrize(
    "name", ["kafka.security.authorizer.AclAuthorizer", "kafka.security.auth.SimpleAclAuthorizer"]
)
def test_what_acls_zookeeper_has_is_not_known(name: str, tmp_path: Path) -> None:
    """2.8.2 came up without any, and led nothing."""
    dirs = sorted(unpack(ARCHIVES / "2.8.2.tar.xz", tmp_path).glob("b1/d*"))
    given = {"broker.id": "1", "zookeeper.connect": "h:1", "authorizer.class.name": name}
    assert BY_ZOOKEEPER in told(dirs, "2.8.2", given).unknown
    assert told(dirs, "2.8.2", given | {"super.users": "User:ANONYMOUS"}).nothing_lost
    assert told(dirs, "2.8.2", given | {"allow.everyone.if.no.acl.found": "true"}).nothing_lost
