"""Write-up 002 on a real broker: what makes it lose records, what segmend says before, what keeps them."""

import os
import shlex
import time

import pytest
from confluent_kafka import Consumer, TopicPartition

from tests.cli.run import run
from tests.golden.observe import watermarks
from tests.golden.topics import Topic, create
from tests.lab.gone.record import SETTINGS, UID, broker_of_its_user, fill, owned, place, settings_of, start
from tests.lab.places.record import UserBroker
from tests.lab.process import run_tool
from tests.lab.reader import led
from tests.lab.releases import release

NAMES = ("mounted", "seconds")
FIRST_TASK = "log.initial.task.delay.ms"


def wait_until_led(broker: UserBroker) -> None:
    """Who begins to lead writes its epoch into the directory, and takes the dir offline if he may not."""
    assert led(broker.bootstrap, [*NAMES], 60) == [*NAMES]
    reader = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "led"})
    for name in NAMES:
        watermarks(reader, TopicPartition(name, 0))
    reader.close()


@pytest.mark.broker
@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs a broker as another user")
def test_a_volume_that_became_roots_while_the_broker_ran() -> None:
    kind = release("3.9.2")
    with broker_of_its_user(kind, log_dirs=1) as (broker, root):
        broker.settings[FIRST_TASK] = "3600000"  # on a slow machine it would delete before it is asked about
        start(broker, root)
        create(broker.bootstrap, [Topic(name, settings_of(kind, name)) for name in NAMES])
        fill(broker, NAMES)
        broker.stop()  # with something left to flush the dir would go offline at once
        start(broker, root)
        wait_until_led(broker)
        owned(place(broker, "mounted"), 0, 0o600)
        broker.stop()
        owned(place(broker, "mounted"), UID, 0o644)
        broker.settings[FIRST_TASK] = SETTINGS[FIRST_TASK]
        broker.configure()
        log = run("explain", "gone", broker.log)
        assert "could not be cut to its entries as the broker stopped" in log.out

        asked = ("--config", broker.config, "--json", "--at", "+5s")
        before = run("explain", "retention", *broker.dirs, *asked)
        said = {line["topic"]: line for line in before.of("partition")}
        assert [said[name]["segments_deleted"] for name in NAMES] == [1, 4]
        (repair,) = [each["command"] for each in said["mounted"]["next"] if "plan repair" in each["command"]]
        words = shlex.split(repair.replace("plan.json", str(root / "plan.json")))
        assert run(*words[1:]).code == 0
        assert run("apply", root / "plan.json", "--yes").code & ~4 == 1

        start(broker, root)
        configs = [each["command"] for each in said["seconds"]["next"]]
        tool, *rest = shlex.split(configs[0].replace("HOST:9092", broker.bootstrap))
        assert (tool, rest[-1]) == ("kafka-configs", "message.timestamp.type=LogAppendTime")
        run_tool(kind, root / "tool", "kafka.admin.ConfigCommand", *rest)
        time.sleep(6)
        logs = {name: sorted(place(broker, name).glob("*.log")) for name in NAMES}
        assert [path.stat().st_size for path in logs["mounted"]] == [771]
        gone = {path.name for path in place(broker, "mounted").glob("*.deleted")}
        assert not gone
