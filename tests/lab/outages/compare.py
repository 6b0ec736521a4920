"""In what a forecast of the cluster differs from what its nodes did."""

from collections.abc import Iterator
from typing import Any

from tests.lab.disasters.compare import NOT_TOLD
from tests.lab.outages.changes import LATE

Line = dict[str, Any]
MAY_END, OLDER = ("whether it ends: ", "how long it serves anything: "), "what the metadata lacks: "
"""What the forecast names as unknown: of a voter or a last dir, and with that of all; of what was elected."""
ENDS = "can end then: Exiting because log truncation is not allowed"
NOT_REGISTERED = "Shutting down because we were unable to register with the controller quorum."
"""What a broker says that waited a minute: said here, not taken from the product."""
RISK = ("at-risk", "loses")
BLANK = "it has no metadata, and every topic is a stray then"
"""What it says where a voter without metadata may lead."""
ALONE = "may end, and nobody else can lead it"
NO_END = 5
"""LEADER_NOT_AVAILABLE: the high watermark is below where the leader's epoch begins (KIP-207)."""


def complaints(lines: list[Line], became: Line) -> list[str]:
    """Everything that became something else than was said, marked where that was left open."""
    unknown = "\n".join(lines[-1]["unknown"])
    nodes = NOT_TOLD * any(each in unknown for each in MAY_END)
    partitions = nodes or NOT_TOLD * (OLDER in unknown)
    quorum = next(line for line in lines if line["type"] == "quorum")
    told = "; ".join(line["reason"] or "" for line in lines if line["type"] == "partition")
    order = lines[-1].get("start_order", [])
    followed = order if became.get("steps") == order else []  # else by an order that is named no more
    places = {node: number for number, step in enumerate(followed) for node in step}
    return [
        *(nodes + each for each in of_nodes(lines, quorum, became, told)),
        *(
            partitions + each
            for line in lines
            if line["type"] == "partition" and not line["topic"].startswith("__")
            for each in (
                *of_partition(line, became, zookeeper=not quorum["voters"], ended=ENDS in told),
                *of_goal(line, became),
                *of_reads(line, became),
                *of_order(line, became, places),
            )
        ),
        *of_untold(lines, became),
        *of_exit(lines[-1], became),
    ]


def of_nodes(lines: list[Line], quorum: Line, became: Line, told: str) -> Iterator[str]:
    """Who comes up, with which dirs, and who leads the metadata."""
    said = {str(line["node_id"]): line for line in lines if line["type"] == "broker"}
    for node, word in became["nodes"].items():
        starts = said[node]["outcome"] == "starts"
        led = quorum["leaders_possible"] or not quorum["voters"]  # without voters there is a ZooKeeper
        wanted = "refuses" if not starts else "starts" if led else "waits"
        tired = wanted == "waits" and NOT_REGISTERED in became["fatal"].get(node, "")
        never = wanted == "refuses" and word == "waits" and not quorum["leaders_possible"]  # it loads no logs
        idle = wanted == "waits" and word == "starts" and not said[node]["partitions"]  # one that only votes
        ended = word == "dies" and f"node {node} {ENDS}" in told
        if word != wanted and not (tired or never or idle or ended):
            yield f"node {node} {word}, said {wanted}: {said[node]['reason']} {became['fatal'].get(node)}"
    leader = became["elected"]  # the broker of a voter may end a moment later
    if said.get(str(leader), {}).get("outcome") == "starts" and leader not in quorum["leaders_possible"]:
        yield f"quorum led by {leader}, said {quorum['leaders_possible']}"
    end, committed = became.get("metadata_end"), quorum["committed_offset"]
    logs = {voter["node_id"]: voter["log_end_offset"] or 0 for voter in quorum["voters"]}
    if end is not None and end < (committed or 0):
        yield f"the quorum begins at {end}, said committed to {committed}"
    elif end is not None and end != logs.get(leader, end):
        yield f"the quorum begins at {end}, said {logs}"


def of_partition(line: Line, became: Line, *, zookeeper: bool, ended: bool) -> Iterator[str]:
    """Who leads it, what it has, what it takes, if no node `ended` before that or after.

    With ZooKeeper a controller looks for preferred leaders that are in sync again after 5 s, not after 300.
    """
    name, able = f"{line['topic']}-{line['partition']}", line["leaders_possible"] or []
    seen = became.get("partitions", {}).get(name, {"leader": -1})
    last, leader = became["last"].get(name, {}).get("end"), seen["leader"]
    what = f"{name}: {line['outcome']} by {able}"
    if leader < 0 and line["outcome"] != "leaderless" and ALONE not in (line["reason"] or ""):
        yield f"{what}; nobody leads it"
    preferred = line["replicas"][:1] if zookeeper and able else ()
    if leader >= 0 and leader not in (*able, *(line["reassigned_to"] or ()), *preferred):
        yield f"{what}; {leader} leads it"
    if leader >= 0 and seen.get("error") and not (seen["error"] == NO_END and line["withholds_reads"]):
        yield f"{what}; {leader} answers error {seen['error']}"
    if leader >= 0 and "end" in seen:
        ends = {copy["log_end_offset"] for copy in line["copies"] if copy["node_id"] in able}
        whole = line["outcome"] == "led" or leader in line["in_sync_complete"]
        if last is not None and seen["end"] < last and line["outcome"] not in RISK and whole:
            yield f"{what}; ends at {seen['end']} of {last}"
        if seen["end"] not in ends | ({seen["end"]} if None in ends else set()):
            yield f"{what}; ends at {seen['end']}, said {ends}"
        unsure = ended or line["perhaps_made_anew"]
        if not unsure and became["takes"].get(name) == line["refuses_acks_all"]:
            yield f"{what}; acks=all taken: {became['takes'].get(name)}"


def of_goal(line: Line, became: Line) -> Iterator[str]:
    """Whether one that is called led has all that any copy in sync had, whether that comes up or not.

    And whether of one that is called at risk somebody who can lead lacks anything.
    """
    name = f"{line['topic']}-{line['partition']}"
    seen, in_sync = became.get("partitions", {}).get(name, {}), [*(line["isr"] or ()), *(line["elr"] or ())]
    had = {each["node_id"]: (each["log_end_offset"] or 0) + each["records_lost"] for each in line["copies"]}
    goal = max((end for node, end in had.items() if node in in_sync or not {*in_sync} & {*had}), default=0)
    if line["outcome"] == "led" and seen.get("end", goal) < goal:
        yield f"{name}: led, and ends at {seen['end']} of {goal} that a copy in sync had"
    able = [each for each in line["copies"] if each["node_id"] in (line["leaders_possible"] or ())]
    most = max(had.values(), default=0)
    if line["outcome"] == "at-risk" and all(each["log_end_offset"] == most for each in able):
        yield f"{name}: at risk, and nobody who can lead it lacks anything"


def of_reads(line: Line, became: Line) -> Iterator[str]:
    """Whether a consumer gets all of it, from where it is said to begin, unless it is said to lose some."""
    name = f"{line['topic']}-{line['partition']}"
    amiss, leader = became.get("reads", {}).get(name, {}), became.get("partitions", {}).get(name, {})
    first, rest = amiss.get("first", 0), {key: amiss[key] for key in amiss if key != "first"}
    begins = {copy["log_start_offset"] for copy in line["copies"] if copy["node_id"] == leader.get("leader")}
    if begins and not begins & {first, None}:
        yield f"{name}: begins at {first}, said {begins}"
    if rest and line["outcome"] not in RISK and not line["withholds_reads"]:
        yield f"{name}: {line['outcome']}; a consumer gets {rest}"


def of_order(line: Line, became: Line, places: dict[int, int]) -> Iterator[str]:
    """Whether the order of the starts that was named keeps what it is to keep."""
    name, able = f"{line['topic']}-{line['partition']}", line["leaders_possible"] or []
    seen, last = became.get("partitions", {}).get(name, {}), became["last"].get(name, {}).get("end")
    whole = [
        places.get(copy["node_id"], 0)
        for copy in line["copies"]
        if copy["complete"] and copy["node_id"] in able
    ]
    short = [places.get(node, 0) for node in able if node not in line["in_sync_complete"]]
    first = line["order_helps"] and whole and short and min(whole) < min(short)
    if line["outcome"] == "at-risk" and first and last is not None and seen.get("end", last) < last:
        yield f"{name}: started in the order that was named, and ends at {seen['end']} of {last}"


def of_exit(last: Line, became: Line) -> Iterator[str]:
    """Whether the exit code was an all-clear where something is amiss, whatever the lines say."""
    seen, takes = became.get("partitions", {}), became.get("takes", {})
    amiss = [f"node {node} {word}" for node, word in became["nodes"].items() if word != "starts"]
    for name, before in became["last"].items():
        one = seen.get(name, {"leader": -1})
        if one["leader"] < 0 or one.get("end", -1) < before.get("end", 0) or not takes.get(name):
            amiss.append(f"{name}: {one}, before {before}, acks=all taken: {takes.get(name)}")
    if last.get("exit") == 0 and (amiss or became.get("reads")):
        yield f"exit 0: {amiss} {became.get('reads')}"


def of_untold(lines: list[Line], became: Line) -> Iterator[str]:
    """What was there before and is not spoken of, nor named as what the metadata that is elected lacks.

    Of the topic that was made after the backups that two of three nodes go back to, no disk may tell.
    """
    untellable = (f"{LATE}-",) if str(became.get("outage")).count("restored@") > 1 else ()
    told = {f"{line['topic']}-{line['partition']}" for line in lines if line["type"] == "partition"}
    if not any(BLANK in each or OLDER in each for each in lines[-1]["unknown"]):
        yield from (
            f"{name}: not a word of it"
            for name in became["last"]
            if not (name in told or name.startswith(untellable))
        )
