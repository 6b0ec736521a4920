"""Three nodes that went down one after another: `python -m tests.lab.outages.base 4.3.1 stagger`.

Each is broker and voter. `stagger`: node 3 is killed, the others write on; node 2 is killed, node 1 gets what
nobody acknowledges; then it is killed. `rolled`: nodes 3 and 2 stop cleanly, with writes between
them, and node 1 is killed.
`together`: all are killed at one moment, after what acks=all acknowledged; `old` is an earlier backup.
`together-stopped`: the same, and all stop cleanly; `together-upgraded`: started again by the next release.
`twins`: as `stagger`, of two nodes alone.
`back`: node 3 is killed, and started again while the others write; all are killed a moment later.
`apart`: as `stagger`, of a lone controller, node 1, and two brokers; first node 3 is killed, then all.
`beside`: a lone controller, node 4, lives through it all, and sees node 3 stop, 2 killed, and 1 killed last;
`beside-rolled`: node 2 and 1 stop cleanly, too.
`controllers`: nodes 3 to 5 are controllers, 1 and 2 brokers; 5 is killed, a topic made, and all are killed.
`controllers-dynamic`: the same, with the voters in the log (KIP-853).
`lax`: as `stagger`, where any replica may lead by the server.properties of node 1; `twins-lax`: as `twins`.
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

from tests.copies import copy_tree
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
STRICT = (Topic("strict", {"min.insync.replicas": "3"}, partitions=2), 3)
"""Beside a controller that lives: what leaves its ISR is eligible at once (KIP-966)."""
MIXED, LAST = "mixed", "last.json"
UPGRADED = {"3.6.2": "3.7.2", "3.7.2": "3.9.2"}
APART, BESIDE, ZOOKEEPER = "apart", "beside", "-zookeeper"
PURE = "controllers"
CONTROLLERS = {APART: (1,), BESIDE: (4,), PURE: (3, 4, 5)}
"""The nodes that are controllers and nothing else."""
OLD = "old"
TOGETHER, STOPPED, ALL_UPGRADED = "together", "together-stopped", "together-upgraded"
TWINS, LAX = "twins", "lax"
FENCED = 12
"""Seconds after which a controller that lives has missed a broker (broker.session.timeout.ms)."""


def controllers(story: str) -> tuple[int, ...]:
    """The nodes that are controllers alone, where there are some."""
    return CONTROLLERS.get(story.partition("-")[0], ())


def node_ids(story: str) -> tuple[int, ...]:
    """All its nodes."""
    return tuple(range(1, max(2 if story.startswith(TWINS) else 3, *controllers(story), 0) + 1))


def votes(story: str, node_id: int) -> bool:
    """Whether that node is a voter of the metadata quorum."""
    return node_id in (FIRST if story == VOTERS else controllers(story) or node_ids(story))


def started_by(version: str, story: str) -> str:
    """The release that all nodes are started by in the end."""
    return UPGRADED[version] if story == ALL_UPGRADED else version


def topics(story: str) -> list[tuple[Topic, int]]:
    """Those of the story, with their replicas."""
    at_most = 2 if story == APART or story.startswith((PURE, TWINS)) else 3
    wanted = [*TOPICS, *([STRICT] if story.startswith(BESIDE) else ())]
    return [(topic, min(replicas, at_most)) for topic, replicas in wanted]


def nodes(version: str, root: Path, story: str) -> Cluster:
    """All of them."""
    count, alone = len(node_ids(story)), controllers(story)
    cluster = Cluster(version, root, count, settings=SETTINGS, zookeeper=story.endswith(ZOOKEEPER))
    one = cluster.brokers[0]
    if story == VOTERS:
        return with_voters(cluster)
    if story == MIXED and (root / LAST).exists():
        cluster.brokers[2].release = release(UPGRADED[version])
    for each in cluster.brokers if started_by(version, story) != version and (root / LAST).exists() else ():
        each.release = release(UPGRADED[version])
    if story in (LAX, f"{TWINS}-{LAX}"):
        one.settings["unclean.leader.election.enable"] = "true"
    dynamic = story == f"{PURE}-dynamic"
    if dynamic:
        with_voters(cluster, alone)
    voters = [f"{node}@127.0.0.1:{cluster.brokers[node - 1].seat.controller_port}" for node in alone]
    for each in cluster.brokers if alone else ():
        seat, votes_ = each.seat, each.seat.node_id in alone
        each.settings |= {
            "initial.broker.registration.timeout.ms": "400000" if story.startswith(PURE) else "60000",
            "process.roles": "controller" if votes_ else "broker",
            "listeners": f"CONTROLLER://127.0.0.1:{seat.controller_port}"
            if votes_
            else f"PLAINTEXT://127.0.0.1:{seat.port}",
            **({} if dynamic else {"controller.quorum.voters": ",".join(voters)}),
        }
    return cluster


def needed(story: str) -> dict[str, int]:
    """How many in sync acks=all wants, by topic."""
    found = {topic.name: int(topic.settings.get("min.insync.replicas", 1)) for topic, _ in topics(story)}
    return found if CHANGED not in story else dict.fromkeys((*found, *(each.name for each in OTHERS)), 2)


def write(cluster: Cluster, turn: int, story: str = "", **settings: object) -> None:
    """Some records into every partition that takes them; what is refused is no record."""
    client = producer(cluster.bootstrap, linger_ms=1000, message_timeout_ms="8000", **settings)
    for topic in (*(topic for topic, _ in topics(story)), *(OTHERS if CHANGED in story else ())):
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
    cluster.start(400 if story.startswith(PURE) else 120)
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
    begin(cluster, story)
    if story.startswith((PURE, TOGETHER, TWINS)):
        return (outlived if story.startswith(PURE) else ended_together)(cluster, story)
    one, two, three = cluster.brokers[:3]
    for topic, replicas in topics(story):
        create(cluster.bootstrap, [topic], replicas=replicas)
    if story.startswith(CHANGED):
        prepare(cluster, story)
    write(cluster, 1, story)
    if story.startswith(CHANGED):
        keep(cluster)
    three.stop() if story.startswith(("rolled", BESIDE)) else three.kill()
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
    return end(cluster, story)


def outlived(cluster: Cluster, story: str) -> Answers:
    """The last controller does not hear of the last topic."""
    *first, last = topics(story)
    for topic, replicas in first:
        create(cluster.bootstrap, [topic], replicas=replicas)
    write(cluster, 1, story)
    cluster.brokers[-1].kill()
    create(cluster.bootstrap, [last[0]], replicas=last[1])
    write(cluster, 2, story)
    time.sleep(3)
    told = answers([broker.seat for broker in cluster.brokers[:2]])
    cluster.kill()
    return told


def ended_together(cluster: Cluster, story: str) -> Answers:
    """High watermarks are in checkpoints, and behind them is more that all acknowledged; a twin lives on."""
    for topic, replicas in topics(story):
        create(cluster.bootstrap, [topic], replicas=replicas)
    write(cluster, 1, story)
    keep(cluster)
    time.sleep(7)
    write(cluster, 2, story)
    if story.startswith(TWINS):
        return end(cluster, story)
    last = answers([broker.seat for broker in cluster.brokers])
    cluster.stop() if story == STOPPED else cluster.kill()
    return last


def end(cluster: Cluster, story: str) -> Answers:
    """Node 2 goes, then node 1, which writes alone; a lone controller sees either."""
    one, two = cluster.brokers[:2]
    missed = FENCED if controllers(story) else 0
    two.stop() if "rolled" in story else two.kill()
    time.sleep(missed)
    last = answers([one.seat])
    write(cluster, 4, story, acks="1")
    one.stop() if missed and "rolled" in story else one.kill()
    time.sleep(missed)
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
