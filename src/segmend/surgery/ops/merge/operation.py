"""One history out of the sound batches of several replicas, as steps on the directory of one of them.

All replicas are read once. The branch of the newest leader wins, by the rule that `diff` and `rescue` have
(`segmend explain merge`); what is damaged here comes from a replica that has it sound, and what this one has
sound on that branch stays where it lies. Another branch wins on purpose by `--prefer`, if the figure of what
that costs is named. What the branch leaves out goes to files beside, which `show` and `rescue` read.

The others are only read, with `--live-source` also while their brokers run. Where several replicas need it,
it is planned for each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from segmend.errors import SegmendError, UsageError
from segmend.frozen import frozen
from segmend.logdir.config import ServerConfig
from segmend.surgery.ops.merge.branches import BranchChoice, choice, choice_json, choices, losing, overlapping
from segmend.surgery.ops.merge.case import HOME, Case, open_case, refuse_undecided_epoch
from segmend.surgery.ops.merge.files_beside import FilesBeside
from segmend.surgery.ops.merge.layout import first_offset, laid_out
from segmend.surgery.ops.merge.log_steps import changes
from segmend.surgery.ops.merge.side_files import place_of, side_steps
from segmend.surgery.options import flag, option, required
from segmend.surgery.plan import SIDE, Left, Loss, Plan
from segmend.surgery.planning import accepted_loss, assembly
from segmend.surgery.planning.assembly import Draft
from segmend.surgery.planning.view import PlannedView
from segmend.surgery.replicas.registered import heard_of
from segmend.surgery.request import Request
from segmend.surgery.step import Step
from segmend.wording import plural

NAME = "merge"
EXAMPLES = """\
examples:
  segmend plan merge /data/a /data/b --partition orders-3 --from /mnt/b2/data --from /mnt/b3/data -o plan.json
                                              each batch from whichever has it sound
  segmend plan merge /data/a --partition orders-3 --from /mnt/b3/data --side /backup/lost -o plan.json
                                              after an unclean election: what the newest leader never had
                                              goes to /backup/lost/orders-3, which show and rescue read
  segmend plan merge /data/a --partition orders-3 --from /mnt/b2/data --prefer 2 --side /backup/lost \\
      --accept-loss 900-records -o plan.json   the branch of broker 2 wins on purpose, at that price
  segmend plan merge /data/a --partition orders-3 --from /mnt/b3/data --live-source -o plan.json
                                              while broker 3 serves: what it has committed"""


@frozen
class Options:
    """What `plan merge` may be asked."""

    partition: str = required("the replica that gets the merged log", "TOPIC-N")
    from_: tuple[str, ...] = required(
        "another replica: its directory, or the log dir it is in (may be given several times)", "DIR"
    )
    prefer: str | None = option("the branch of this replica wins: its broker id, or directory", "BROKER")
    config: tuple[str, ...] = option(
        "server.properties of a broker of these: its log.cleanup.policy counts where a topic has none",
        "FILE",
        default=(),
    )
    live_source: bool = flag("brokers run on the other replicas: read these up to their high watermarks only")
    side: str | None = option("a directory for the records that are left out; made if it is missing", "SIDE")
    accept_loss: int | None = option(
        "with --prefer: leave out N records of other branches", "N-records", accepted_loss.records
    )


def plan(request: Request[Options]) -> Plan:
    """The plan; raises `UsageError`, `BrokerRunning`, `SegmendError` for what cannot be merged."""
    options = request.options
    assembly.refuse_strangers(request.broker, request.given)
    configs = [ServerConfig.load(path) for path in options.config]
    case = open_case(request, options.partition, options.from_, live=options.live_source, configs=configs)
    refuse_undecided_epoch(case)
    every = choices(case)
    chosen = every[0] if options.prefer is None else _preferred(case, case.number_of(options.prefer), every)
    _refuse_undecided(case, chosen)
    _refuse_price(options, chosen, every[0])
    side = None if options.side is None else place_of(options.side, request.given, case)
    if side is None and losing(chosen.merged, HOME):
        raise UsageError(
            f"{case.target.path}: {_spans(chosen)} are not on the branch that wins; name a directory outside "
            "the log dirs that keeps them as logs which `segmend show` and `segmend rescue` read: --side DIR"
        )
    steps = list(_steps(case, chosen, request))
    beside = [] if side is None else side_steps(side, case, chosen.merged)
    draft = Draft(
        # What is cut off is somewhere else before.
        steps=[*beside, *steps], losses=list(_losses(case, chosen, side)),
        notes=list(_notes(case, chosen, steps, side)), left=list(_left(case, chosen)),
        extra={NAME: _facts(case, chosen, every), **({SIDE: side} if beside else {})},
    )  # fmt: skip
    return assembly.make(NAME, _arguments(options, case), request, draft, only=frozenset({case.target.name}))


def _arguments(options: Options, case: Case) -> dict[str, object]:
    arguments: dict[str, object] = {"partition": case.target.name, "from": list(options.from_)}
    if options.config:
        arguments["config"] = list(options.config)
    if options.prefer is not None:
        arguments["prefer"] = options.prefer
    if options.side is not None:
        arguments["side"] = options.side
    if options.accept_loss is not None:
        arguments["accept-loss"] = f"{options.accept_loss}-records"
    return arguments


def _preferred(case: Case, number: int, every: Sequence[BranchChoice]) -> BranchChoice:
    newest = every[0]
    if number in {*newest.on_it()} and all(each.because != "order" for each in newest.merged.conflicts):
        return newest  # It may be behind, and never left it.
    preferred = choice(case, number)
    if own := losing(preferred.merged, number):
        raise SegmendError(
            f"{case.replicas[number].path}: from offset {own[0][0]} on its leader epochs go back, so it has "
            "no one history that could win"
        )
    return next((each for each in every if each.lost == preferred.lost), preferred)


def _refuse_undecided(case: Case, chosen: BranchChoice) -> None:
    """Raise `SegmendError` where two have other bytes of one epoch, and nobody said whose count."""
    conflict = next((each for each in chosen.merged.conflicts if each.because == "order"), None)
    if conflict is None or chosen.prefer is not None:
        return
    sides = ", and ".join(" and ".join(map(case.called, group)) for group in conflict.held)
    raise SegmendError(
        f"{case.target.path}: offsets {conflict.first_offset} to {conflict.last_offset} are not the same on "
        f"{sides}, all of one leader epoch, and no rule says who is right; say it: --prefer BROKER"
    )


def _refuse_price(options: Options, chosen: BranchChoice, newest: BranchChoice) -> None:
    """Raise `UsageError` unless what another branch costs was agreed to by its figure."""
    if chosen is newest:
        accepted_loss.refuse_other_figure(options.accept_loss, 0)
        return
    if options.accept_loss is None:
        raise UsageError(
            f"--prefer {options.prefer}: leaves out {_spans(chosen)}, which the newest leader's branch "
            f"(epoch {newest.epoch}) may have acknowledged; "
            f"if that is meant: --accept-loss {chosen.records}-records"
        )
    accepted_loss.refuse_other_figure(options.accept_loss, chosen.records)


def _spans(chosen: BranchChoice) -> str:
    spans = ", ".join(f"{each.first_offset} to {each.last_offset}" for each in chosen.lost)
    return f"{plural(chosen.records, 'record')} (offsets {spans})"


def _steps(case: Case, chosen: BranchChoice, request: Request[Options]) -> Iterator[Step]:
    """Logs, what is beside them, checkpoint lines; none where the log is the merged one."""
    logs = laid_out(case, chosen.merged)
    changed = changes(case, logs)
    if not changed:
        return
    view = PlannedView()
    for step in (step for each in changed for step in each.steps):
        step.preview(view, request.release)
        yield step
    rest = FilesBeside(case, chosen.merged, logs, changed, request.release, view, request.on_progress)
    yield from rest.steps()
    yield from rest.lines()


def _losses(case: Case, chosen: BranchChoice, side: str | None) -> Iterator[Loss]:
    """What this replica has besides the branch."""
    own = losing(chosen.merged, HOME)
    for each in chosen.lost:
        if HOME in each.replicas or overlapping((each.first_offset, each.last_offset), own):
            yield Loss(
                dir=case.target.log_dir.path, topic=case.target.topic, partition=case.target.partition,
                records=each.records, bytes=each.bytes, first_offset=each.first_offset,
                last_offset=each.last_offset,
                what=f"of leader epoch {each.epoch}, not on the branch that wins; kept in "
                f"{side}/{case.target.name}",
            )  # fmt: skip


def _left(case: Case, chosen: BranchChoice) -> Iterator[Left]:
    low = first_offset(case, chosen.merged)
    for first, last in chosen.merged.missing:
        if last >= low:
            yield Left(
                why=f"offsets {max(first, low)} to {last} are sound on none of these replicas, on the "
                "branch that wins: the merged log has none of them; another replica may: --from DIR",
                path=case.target.path,
            )  # fmt: skip


def _notes(case: Case, chosen: BranchChoice, steps: Sequence[Step], side: str | None) -> Iterator[str]:
    merged, path = chosen.merged, case.target.path
    if not steps:
        yield f"{path}: is the merged log already, up to offset {merged.next_offset}"
    own = losing(merged, HOME)
    others = [each for each in chosen.lost if not overlapping((each.first_offset, each.last_offset), own)]
    for each in others if side is None else ():
        whose = ", ".join(map(case.called, each.replicas))
        yield (
            f"offsets {each.first_offset} to {each.last_offset} of {whose} are not on this branch, and its "
            "broker cuts them off when it follows; --side DIR keeps them"
        )
    yield from _leader(case, chosen)
    for replica, limit in zip(case.replicas, case.limits, strict=True):
        if limit is not None:
            yield (
                f"{replica.path}: its broker runs, so it was read up to its high watermark {limit} only; "
                "what the merged log has from there on stays unless that broker has something else there"
            )
    if chosen.prefer is not None:
        diverged = [n for n in range(len(case.replicas)) if n not in {*chosen.on_it()} and n != HOME]
        if diverged:
            whose = ", ".join(map(case.called, diverged))
            yield f"{whose}: needs the same before it starts, or may lead with the other branch"
    yield from merged.doubts
    if steps and case.target.log_dir.is_clean:
        yield f"{case.target.log_dir.path}: {assembly.MARKER_FITS}"


def _leader(case: Case, chosen: BranchChoice) -> Iterator[str]:
    """What it means that somebody leads by the metadata: followers are cut to what the leader has."""
    home = next((each for each in case.brokers[1:] if each.node_id is not None), None)
    heard = heard_of(case.target.key, case.brokers, home)
    if heard is None or heard.registered.leader < 0:
        return
    node, epoch = heard.registered.leader, heard.registered.epoch
    number = next((n for n, each in enumerate(case.replicas) if each.broker == node), None)
    says = f"by the metadata node {node} leads in epoch {epoch}"
    if number is None:
        yield f"{says}, and its replica is not among these: what only that one has is not in this log"
    elif number != HOME and number not in {*chosen.on_it()}:
        yield f"{says}, and has left this branch: its followers are cut to what it has"


def _facts(case: Case, chosen: BranchChoice, every: Sequence[BranchChoice]) -> dict[str, object]:
    """The table of choices for programs, and where the merged log comes from."""
    merged = chosen.merged
    told = [each for each in every if each is not chosen]
    return {
        "first_offset": merged.first_offset,
        "next_offset": merged.next_offset,
        "lineage": [[each.epoch, each.first_offset] for each in merged.lineage],
        "missing": [list(each) for each in merged.missing],
        "sources": [
            {"replica": case.called(each.replica), "first_offset": each.first_offset,
             "last_offset": each.last_offset}
            for each in merged.ranges
        ],
        "choices": [choice_json(case, chosen, chosen=True)]
        + [choice_json(case, each, chosen=False) for each in told],
    }  # fmt: skip
