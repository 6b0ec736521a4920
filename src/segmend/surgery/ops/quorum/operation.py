"""The copy of `__cluster_metadata-0` of a KRaft node: made whole, restored from another node's, or led alone.

A node goes by its newest snapshot and the log behind it (`KafkaMetadataLog`, `MetadataLoader`). Where its
own copy still has a whole snapshot and all of the log from there, or the log from offset 0, only what is
damaged is set aside. Else the newest of the copies that were given is taken, byte for byte, up to its last
whole batch. `quorum-state`, where the node notes how it voted, stays as it is; if it is lost the node gets
one of an epoch in which it cannot have voted. So it does where other voters' files show, or `--restored`
says, that its own are of an older copy of it (`voter_files`), whole as they look: then others' count as well.

`--standalone` is for a quorum that is lost for good: the last voter is made the only one. That is no
election: what it does not have is lost, and voters that come back with their old files would make a second
quorum.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Sequence

from segmend.checks import remedies
from segmend.formats.names import CLUSTER_METADATA_TOPIC
from segmend.frozen import replace
from segmend.node.metadata_log import MetadataLog
from segmend.surgery.ops.quorum import log_files, standalone, votes
from segmend.surgery.ops.quorum.case import ChosenCopy, Options, QuorumCase
from segmend.surgery.options import given_in
from segmend.surgery.plan import Left, Loss, Plan
from segmend.surgery.planning import accepted_loss, assembly
from segmend.surgery.planning.assembly import Draft
from segmend.surgery.planning.view import planned
from segmend.surgery.request import Request
from segmend.surgery.step import Step

__all__ = ["EXAMPLES", "NAME", "Options", "plan"]

NAME = "quorum"
EXAMPLES = """\
examples:
  segmend plan quorum /data/meta -o plan.json          a damaged snapshot, or log, that the rest still covers
  segmend plan quorum /data/meta --config server.properties \\
      --from /mnt/node2/meta --from /mnt/node3/meta -o plan.json            restored from the newest of them
  segmend plan quorum /data/meta --config server.properties \\
      --from /mnt/node2/meta --gone 3 -o plan.json     its votes are lost, too, and voter 3 with its disk
  segmend plan quorum /data/meta --restored --config server.properties \\
      --from /mnt/node2/meta --from /mnt/node3/meta -o plan.json            out of a backup: no vote twice
  segmend plan quorum /data/meta --config server.properties \\
      --standalone -o plan.json                        the last voter of a lost quorum leads alone"""


def plan(request: Request[Options]) -> Plan:
    """The plan; raises `UsageError`, `BrokerRunning`, and `SegmendError` for what would not be safe."""
    assembly.refuse_strangers(request.broker, request.given)
    case, agreed = QuorumCase(request), request.options.accept_loss
    if (registered := case.registered) is not None:
        request = replace(request, broker=registered)
        case = QuorumCase(request)
    arguments = {name: value for name, value in given_in(request.options) if name != "accept_loss"}
    if agreed is not None:
        arguments["accept-loss"] = f"{agreed}-records"
    if case.choice is None:
        draft = Draft(left=[_helpless(case)])
    elif case.lost and agreed is None:
        draft = Draft(left=[_too_much(case, case.choice)])
    else:
        accepted_loss.refuse_other_figure(agreed, case.lost)
        draft = (_alone if request.options.standalone else _mended)(case, case.choice)
    return assembly.make(NAME, arguments, replace(request, broker=case.broker), draft)


def _mended(case: QuorumCase, choice: ChosenCopy) -> Draft:
    """A voter, or any node, that goes on among the others."""
    files = list(_files(case, choice))
    after = _log(case, files)
    steps = _in_order(case, [*votes.steps(case, after), *files])
    notes = [*_notes(case, choice, after), *votes.notes(case, after)]
    facts = {"end": choice.standing.position[1]}
    unasked, losses = _not_asked(case, after), _losses(case, choice)
    gone = set() if unasked is None or choice.source is None else unasked & set(case.options.gone)
    if gone:
        losses.append(_unknown(case, choice, gone))
    left = [] if unasked is not None and unasked <= gone else [_unsure(case, choice, unasked)]
    return Draft(steps=steps, losses=losses, notes=notes, left=left, extra={NAME: facts})


def _alone(case: QuorumCase, choice: ChosenCopy) -> Draft:
    """The last voter."""
    files, end = list(_files(case, choice)), choice.standing.position[1]
    after = _log(case, files)
    voter_set = after.voter_set
    survivor = standalone.survivor(case.node_id, case.home.directory_id, voter_set, case.config)
    epoch = votes.free_epoch(case, survivor.others)
    ending = log_files.ending(case.home, choice.standing, None if choice.source else case.own)
    time = 0 if choice.standing.run is None else choice.standing.run.time
    steps = [
        votes.of_epoch(case, epoch, [survivor.node_id], in_log=bool(voter_set)), *files,
        *standalone.voters_step(ending, survivor, epoch, time),
    ]  # fmt: skip
    snapshot = choice.standing.snapshot
    covered = 0 if snapshot is None else snapshot.end
    unseen = votes.unseen(survivor.others, case.sources)
    price = standalone.price(survivor, epoch, (covered, end), unseen, case.broker.release)
    notes = [*_notes(case, choice, after), *price]
    facts = {"end": end + (survivor.entry is not None), "epoch": epoch, "voters": [survivor.node_id]}
    losses = _losses(case, choice)
    if unseen:
        losses.append(_unknown(case, choice, unseen))
    return Draft(steps=_in_order(case, steps), losses=losses, notes=notes, extra={NAME: facts})


def _in_order(case: QuorumCase, steps: Sequence[Step]) -> list[Step]:
    """The directory comes before what is put into it, the vote before the log, and its indexes last."""
    ordered = sorted(steps, key=lambda step: step.KIND != "make_dir")
    after = planned(case.broker, ordered).dirs[case.broker.dirs.index(case.home)]
    return [*ordered, *log_files.indexes(case.home, after, ordered, case.broker.release)]


def _files(case: QuorumCase, choice: ChosenCopy) -> Iterator[Step]:
    """The steps for the snapshot and the log."""
    alone = case.options.standalone
    if choice.source is not None:
        yield from log_files.emptied(case.partition, case.home)
        yield from log_files.taken(case.home, choice.standing)
    elif case.own is not None and (alone or not case.own.loads_all):
        torn = "a torn batch, which nobody was told of" if alone else None
        yield from log_files.kept(case.own, choice.standing, "damaged from here on" if case.lost else torn)


def _log(case: QuorumCase, files: Sequence[Step]) -> MetadataLog:
    """What the metadata will say."""
    after = planned(case.broker, files)
    log = after.metadata_log(after.dirs[case.broker.dirs.index(case.home)])
    return MetadataLog() if log is None else log


def _notes(case: QuorumCase, choice: ChosenCopy, after: MetadataLog) -> Iterator[str]:
    (epoch, end), base = choice.standing.position, choice.standing.snapshot
    what = "the log from offset 0" if base is None else f"the snapshot up to offset {base.end}"
    up_to = f"{what}, in all up to offset {end} of epoch {epoch}"
    if case.older is not None:
        yield f"this node's files are of an older copy of it: {case.older}"
    if choice.source is not None:
        yield f"the newest whole copy is {choice.source}: {up_to}"
        if case.own is None:
            yield "this node's own copy is not there: whether it had records that no other has, nothing tells"
    elif case.lost or (case.own and case.own.cut_short):
        yield f"what is left of its own copy: {up_to}"
    else:
        if case.own and case.own.torn:
            yield (
                f"behind offset {end} is a torn batch, as a kill leaves it; whether the disk lost more, "
                "only other nodes can tell"
            )
        yield f"its own copy {'is whole' if case.own and case.own.loads_all else 'has all'}: {up_to}"
        if case.older is None:
            yield from _behind(case, after)


def _behind(case: QuorumCase, after: MetadataLog) -> Iterator[str]:
    """What is not known of files that look whole: a copy of a week ago does, too. Nothing of no voter's."""
    unasked = votes.not_asked(case, after)
    own = (0, 0) if case.own is None else case.own.reached
    ahead = [source for source in case.sources if source.copy.reached > own]
    why = "only the files of all other voters can tell (--from)"
    if ahead:
        epoch, end = max(source.copy.reached for source in ahead)
        why = f"{' and '.join(map(str, ahead))} go further, up to offset {end} of epoch {epoch}"
    elif unasked == []:
        return
    yield f"whether this node was behind, or its files are of an older copy of it (then: --restored): {why}"


def _losses(case: QuorumCase, choice: ChosenCopy) -> list[Loss]:
    if not case.lost:
        return []
    end = choice.standing.position[1]
    loss = Loss(
        dir=case.home.path, topic=CLUSTER_METADATA_TOPIC, partition=0, records=case.lost, bytes=0,
        first_offset=end, last_offset=end + case.lost - 1, what="metadata that no whole copy has",
    )  # fmt: skip
    return [loss]


def _unknown(case: QuorumCase, choice: ChosenCopy, voters: Collection[int]) -> Loss:
    """What voters whose files nobody has may have committed."""
    them = ", ".join(map(str, sorted(voters)))
    return Loss.of_unknown_size(
        case.home.path, CLUSTER_METADATA_TOPIC, 0, choice.standing.position[1],
        f"what voters {them}, whose files are not here, had committed there",
    )  # fmt: skip


def _not_asked(case: QuorumCase, after: MetadataLog) -> set[int] | None:
    """Voters that may know of more than this copy, where nothing tells how far it went; None: nobody tells.

    What was committed a majority has: the others have all of it, but not each of them.
    """
    if not case.ends_unknown:
        return set()
    unasked = votes.not_asked(case, after)
    return None if unasked is None else set(unasked)


def _unsure(case: QuorumCase, choice: ChosenCopy, unasked: set[int] | None) -> Left:
    end = choice.standing.position[1]
    whom = "nothing tells which nodes vote" if unasked is None else (
        f"the files of voter {', '.join(map(str, sorted(unasked)))} were not given"
    )  # fmt: skip
    own = "its own log is gone, or ends before the newest snapshot"
    if case.older is not None:
        own = f"this node's files are of an older copy of it ({case.older})"
    why = (
        f"{own}, and {whom}: what was committed from "
        f"offset {end} on may be with them alone, and a quorum without them would lose it"
    )
    return Left(why=why, path=case.path, next=_with_another(case))


def _helpless(case: QuorumCase) -> Left:
    """Nothing here can be used."""
    why = "is not there" if case.own is None else "has no whole snapshot and log that belong together"
    if case.sources:
        why += f"; neither have {', '.join(map(str, case.sources))}"
    return Left(why=why, path=case.path, next=_with_another(case))


def _too_much(case: QuorumCase, choice: ChosenCopy) -> Left:
    """What can be had ends before what there was."""
    (epoch, end), had = choice.standing.position, case.reached
    whose = "this copy" if choice.source is None else str(choice.source)
    why = (
        f"{whose} can be used up to offset {end} of epoch {epoch}, and there were records up to offset "
        f"{had[1]} of epoch {had[0]}: {case.lost} would be lost; another node may have them; to give "
        f"them up: "
        f"--accept-loss {case.lost}-records"
    )
    return Left(why=why, path=case.path, next=_with_another(case))


def _with_another(case: QuorumCase) -> str:
    asked = [] if case.options.config is None else [f"--config {shlex.quote(case.options.config)}"]
    asked += [f"--from {shlex.quote(each)}" for each in case.options.from_]
    asked += [f"--gone {each}" for each in case.options.gone]
    asked += ["--restored"] if case.options.restored else []
    return remedies.quorum(case.home.path, *asked, "--from OTHER_METADATA_DIR").command
