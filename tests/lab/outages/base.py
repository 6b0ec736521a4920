"""Three nodes that went down one after another: `python -m tests.lab.outages.base 4.3.1 stagger`.

Each is broker and voter. `stagger`: node 3 is killed, the others write on; node 2 is killed, node 1 gets what
nobody acknowledges; then it is killed. `rolled`: nodes 3 and 2 stop cleanly, with writes between
them, and node 1 is killed.
`back`: node 3 is killed, and started again while the others write; all are killed a moment later.
`apart`: as `stagger`, of a lone controller, node 1, and two brokers; first node 3 is killed, then all.
`lax`: as `stagger`, where any replica may lead by the server.properties of node 1.
`changed`: as `stagger`, with what `changes` does while node 3 is away; `old` is a backup from before that.
`changed-lax`: the same, and any replica may lead by what was set for all brokers while they ran.
`mixed`: as `stagger`, once node 3 was upgraded.
`voters`: as `stagger`, of voters that change, as `voters` has it.
Any story with `-with-elr` or `-without-elr` behind it: eligible leader replicas are switched on or off first;
with `-zookeeper`: of a release that could do without, as older ones are.
"""

import json
import signal
import sys
import tempfile
import time
from pathlib import Path

from tests.golden.judge import copy_tree
from tests.golden.pack import pack
from tests.golden.produce import producer, send
from tests.golden.records import events
from tests.golden.topics import Topic, create
from tests.lab.cluster import Cluster
from tests.lab.elections import SETTINGS, switch_elr
from tests.lab.outages.asked import Answers, answers
from tests.lab.outages.changes import CHANGED, OTHERS, change, move, prepare
from tests.lab.outages.voters import FIRST, VOTERS, add_voter, remove_voter, with_voters
from tests.lab.releases import release

HERE = Path(__file__).with_name("bases")
TOPICS: list[tuple[Topic, int]] = [
    (Topic("one", {}, partitions=3), 1),
    (Topic("two", {}, partitions=3), 2),
    (Topic("pair", {"min.insync.replicas": "2"}, partitions=2), 2),
    (Topic("full", {}, partitions=2), 3),
    (Topic("safe", {"min.insync.replicas": "2"}, partitions=2), 3),
    (Topic("any", {"unclean.leader.election.enable": "true"}, partitions=2), 3),
]
"""With their replicas."""
MIN_INSYNC = {topic.name: int(topic.settings.get("min.insync.replicas", 1)) for topic, _ in TOPICS}
MIXED, LAST = "mixed", "last.json"
UPGRADED = {"3.7.2": "3.9.2"}
APART, ZOOKEEPER = "apart", "-zookeeper"
OLD = "old"


def votes(story: str, node_id: int) -> bool:
    """Whether that node is a voter of the metadata quorum."""
    return node_id in {APART: (1,), VOTERS: FIRST}.get(story, (1, 2, 3))


def nodes(version: str, root: Path, story: str) -> Cluster:
    """Its three nodes."""
    cluster = Cluster(version, root, 3, settings=SETTINGS, zookeeper=story.endswith(ZOOKEEPER))
    one = cluster.brokers[0]
    if story == VOTERS:
        return with_voters(cluster)
    if story == MIXED and (root / LAST).exists():
        cluster.brokers[2].release = release(UPGRADED[version])
    if story == "lax":
        one.settings["unclean.leader.election.enable"] = "true"
    for each in cluster.brokers if story == APART else ():
        role = "controller" if each is one else "broker"
        port = each.seat.controller_port if each is one else each.seat.port
        each.settings |= {
            "process.roles": role,
            "listeners": f"{'CONTROLLER' if each is one else 'PLAINTEXT'}://127.0.0.1:{port}",
            "controller.quorum.voters": f"1@127.0.0.1:{one.seat.controller_port}",
        }
    return cluster


def needed(story: str) -> dict[str, int]:
    """How many in sync acks=all wants, by topic."""
    return (
        MIN_INSYNC
        if CHANGED not in story
        else dict.fromkeys((*MIN_INSYNC, *(each.name for each in OTHERS)), 2)
    )


def write(cluster: Cluster, turn: int, story: str = "", **settings: object) -> None:
    """Some records into every partition that takes them; what is refused is no record."""
    client = producer(cluster.bootstrap, linger_ms=1000, message_timeout_ms="8000", **settings)
    for topic in (*(topic for topic, _ in TOPICS), *(OTHERS if CHANGED in story else ())):
        for partition in range(topic.partitions):
            try:
                send(client, topic.name, events(f"{topic.name}-{turn}", 3, 4), partition)
            except RuntimeError:
                continue


def keep(cluster: Cluster) -> None:
    """A backup of the nodes' dirs, written while they run."""
    time.sleep(3)
    for broker in cluster.brokers:
        for path in broker.dirs:
            copy_tree(path, cluster.root / OLD / broker.root.name / path.name)


def begin(cluster: Cluster, story: str) -> None:
    """All run, as the story wants them."""
    cluster.start()
    switch_elr(cluster, story)
    if story == VOTERS:
        add_voter(cluster)
    if story == MIXED:
        three = cluster.brokers[2]
        three.stop()
        three.release = release(UPGRADED[cluster.release.version])
        three.start()


def live(cluster: Cluster, story: str) -> Answers:
    """The story, up to the kill of the last; what the cluster said of its partitions before the end."""
    one, two, three = cluster.brokers
    begin(cluster, story)
    for topic, replicas in TOPICS:
        create(cluster.bootstrap, [topic], replicas=min(replicas, 2 if story == APART else 3))
    if story.startswith(CHANGED):
        prepare(cluster, story)
    write(cluster, 1, story)
    if story.startswith(CHANGED):
        keep(cluster)
    three.stop() if story.startswith("rolled") else three.kill()
    if story.startswith(CHANGED):
        move(cluster)
    time.sleep(9)
    if story.startswith(CHANGED):
        change(cluster)
    if story == VOTERS:
        remove_voter(cluster)
    write(cluster, 2, story)
    if story == "back":
        three.start()
        write(cluster, 3)
        last = answers([one.seat, two.seat, three.seat])
        cluster.kill()
        return last
    time.sleep(2)
    if story == APART:
        last = answers([two.seat])
        cluster.kill()
        return last
    two.stop() if story.startswith("rolled") else two.kill()
    last = answers([one.seat])
    write(cluster, 4, story, acks="1")
    one.kill()
    return last


def make(version: str, story: str) -> Path:
    """Write it, and keep it packed."""
    archive = HERE / f"{version}-{story}.tar.xz"
    with tempfile.TemporaryDirectory() as work, tempfile.TemporaryDirectory() as kept:
        with nodes(version, Path(work), story) as cluster:
            last = live(cluster, story)
        Path(work, LAST).write_text(json.dumps(last))
        for path in (*Path(work).glob("b*/*.*"), *Path(work).glob("zookeeper/*.*")):
            if path.is_file():
                path.unlink()
        copy_tree(Path(work), Path(kept))
        pack(Path(kept), sorted(each.name for each in Path(kept).iterdir()), archive)
    return archive


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the nodes end with it
    print(make(*sys.argv[1:3]))
