"""Files that follow from the logs, made anew by recipes where findings say that they are wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from segmend.errors import SegmendError
from segmend.findings import Finding
from segmend.frozen import dataclass, field
from segmend.surgery.ops.repair.checking import THREADS
from segmend.surgery.ops.repair.mends import mends
from segmend.surgery.ops.repair.options import Options
from segmend.surgery.ops.repair.scene import Scene
from segmend.surgery.plan import Left
from segmend.surgery.recipes import Rebuild
from segmend.surgery.request import Request
from segmend.surgery.steps.replace_file import ReplaceFile
from segmend.threads import done_by


@dataclass(slots=True)
class DerivedFiles:
    """The steps, what to know of them, what is left as it is, and findings that stay all the same."""

    steps: list[ReplaceFile] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    left: list[Left] = field(default_factory=list)
    unmoved: list[Finding] = field(default_factory=list)


@dataclass(slots=True)
class _Wanted:
    """A file that is to be made anew, and the findings that say so."""

    rebuild: Rebuild
    findings: list[Finding] = field(default_factory=list)

    def reason(self, rewritten: frozenset[str]) -> str:
        """For the plan. `rewritten` are the logs in which batches move, by path without `.log`."""
        if self.rebuild.path.rpartition(".")[0] in rewritten:
            return "its log is rewritten"
        return "; ".join(dict.fromkeys(f"{each.code} {each.message}" for each in self.findings))

    def step(self, request: Request[Options], rewritten: frozenset[str]) -> ReplaceFile | Left:
        reason = self.reason(rewritten)
        try:
            return ReplaceFile.with_recipe(self.rebuild, reason, request.release)
        except SegmendError as why:
            return Left(why=f"{reason}; it cannot be made anew: {why}", path=self.rebuild.path)


def derived_files(
    request: Request[Options], findings: Sequence[Finding], rewritten: frozenset[str]
) -> DerivedFiles:
    """What follows from these findings; `rewritten` as in `reason`."""
    derived = DerivedFiles()
    wanted: dict[str, _Wanted] = {}
    mended: list[tuple[Finding, set[str]]] = []
    scene = Scene(request, findings)
    for finding in findings:
        try:
            rebuilds = {each.path: each for each in _rebuilds(finding, scene)}
        except SegmendError as why:
            derived.left.append(left_by(finding, str(why)))
            continue
        for path, rebuild in rebuilds.items():
            # The last finding of a file says how it is made.
            wanted.setdefault(path, _Wanted(rebuild)).rebuild = rebuild
            wanted[path].findings.append(finding)
        mended.append((finding, {*rebuilds}))
    changed = set()
    for path, made in _made(request, wanted, rewritten).items():
        if isinstance(made, Left):
            derived.left.append(made)
        elif made.before.sha256 == made.after.sha256:
            continue
        else:
            derived.steps.append(made)
            derived.notes += [note] if (note := wanted[path].rebuild.note) else []
        changed.add(path)
    derived.unmoved = [each for each, paths in mended if each.code in mends() and changed.isdisjoint(paths)]
    return derived


def _rebuilds(finding: Finding, scene: Scene) -> Iterator[Rebuild]:
    mend = mends().get(finding.code)
    return iter(()) if mend is None else mend(finding, scene)


def _made(
    request: Request[Options], wanted: Mapping[str, _Wanted], rewritten: frozenset[str]
) -> dict[str, ReplaceFile | Left]:
    """A thread takes the files of a segment, which share a pass over its log."""
    stems: dict[str, list[str]] = {}
    for path in wanted:
        stems.setdefault(path.rpartition(".")[0], []).append(path)

    def of_segment(stem: str) -> list[tuple[str, ReplaceFile | Left]]:
        return [(path, wanted[path].step(request, rewritten)) for path in stems[stem]]

    made = dict(row for rows in done_by(THREADS, of_segment, stems) for row in rows)
    return {path: made[path] for path in wanted}


def left_by(finding: Finding, why: str, next: str | None = None) -> Left:
    path, position = f"{finding.dir}/{finding.file}", finding.position
    return Left(why=why, code=finding.code, path=path, position=position, next=next)
