"""The exact next command of a finding, ready to paste into a shell."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from segmend.findings import Remedy, Safety
from segmend.frozen import replace

_BY_RULES = ("segmend plan ", "segmend check ", "segmend forecast ")
_REPAIR = "segmend plan repair "
_TRIM = "segmend plan trim "
_IDENTITY = "segmend plan identity "
_TO_FILE = " -o plan.json"
_OF_THE_CLUSTER = "--bootstrap-server HOST:9092"


def repair(log_dir: str, partition: str | None = None, *, deep: bool = False) -> Remedy:
    """Plan the mending of a whole log dir, or of one partition directory in it."""
    target = shlex.quote(f"{log_dir.rstrip('/')}/{partition}" if partition else log_dir)
    how = " --deep" if deep else ""
    return Remedy(command=f"{_REPAIR}{target}{how} -o plan.json", safety=Safety.SAFE)


def repairs(remedy: Remedy | None) -> bool:
    """Whether it is `plan repair`, in any way."""
    return remedy is not None and remedy.command.startswith(_REPAIR)


def writes(remedy: Remedy | None) -> bool:
    """Whether it is a plan that writes the very file anew."""
    return remedy is not None and remedy.command.startswith((_REPAIR, _TRIM, _IDENTITY))


def unlinked(path: str) -> Remedy:
    """Put what a symbolic link leads to in its place."""
    name = shlex.quote(path)
    command = f'cp -a --remove-destination "$(readlink -f {name})" {name}'
    return Remedy(command=command, safety=Safety.SAFE)


def repair_together(*log_dirs: str) -> Remedy:
    """Plan the mending of all log dirs of a broker, where one of them tells what is right in another."""
    return Remedy(command=f"{_REPAIR}{' '.join(map(shlex.quote, log_dirs))} -o plan.json", safety=Safety.SAFE)


def trim(log_dir: str, partition: str) -> Remedy:
    target = shlex.quote(f"{log_dir.rstrip('/')}/{partition}")
    return Remedy(command=f"{_TRIM}{target} -o plan.json", safety=Safety.SAFE)


def blank(log_dir: str, partition: str) -> Remedy:
    """Plan to give damaged batches up; it says how many records, and does nothing until that is agreed to."""
    target = shlex.quote(f"{log_dir.rstrip('/')}/{partition}")
    return Remedy(command=f"{_REPAIR}{target} --blank -o plan.json", safety=Safety.LOSSY)


def from_replica(log_dir: str, partition: str) -> Remedy:
    """Plan to take damaged batches from another replica; where its files are a human must say."""
    target = shlex.quote(f"{log_dir.rstrip('/')}/{partition}")
    return advice(f"{_REPAIR}{target} --from REPLICA_PARTITION_DIR -o plan.json")


def graft(
    log_dir: str, partition: str, leader: str = "LEADER_PARTITION_DIR", *, whole: bool = False
) -> Remedy:
    """Plan to take what is lost from the leader; where its files are a human must say, if nobody knows.

    `whole`: all of its log, since what both have in common does not tell what is missing.
    """
    target, name, source = map(shlex.quote, (log_dir, partition, leader))
    how = " --whole" if whole else ""
    return advice(f"segmend plan graft {target} --partition {name} --from {source}{how} -o plan.json")


def merge(log_dir: str, partition: str, *others: str) -> Remedy:
    target, name = map(shlex.quote, (log_dir, partition))
    sources = "".join(f" --from {shlex.quote(each)}" for each in others)
    return advice(f"segmend plan merge {target} --partition {name}{sources} -o plan.json")


def adopt(log_dir: str, name: str, *, replace: bool, safety: Safety) -> Remedy:
    """Plan to give a renamed directory its name back; `replace` an empty one that has the name now."""
    target = f"{shlex.quote(log_dir)} --directory {shlex.quote(name)}{' --replace' if replace else ''}"
    return Remedy(command=f"segmend plan adopt {target} -o plan.json", safety=safety)


def adopt_for_today(log_dirs: Sequence[str], path: str, *, replace: bool) -> Remedy:
    """The same with the id that its topic has now; that the records are its own a human must say."""
    target = f"{' '.join(map(shlex.quote, log_dirs))} --directory {shlex.quote(path)} --topic-id current"
    return advice(f"segmend plan adopt {target}{' --replace' if replace else ''} -o plan.json")


def quorum(log_dir: str, *options: str, safety: Safety = Safety.SAFE) -> Remedy:
    """Plan the mending of a node's copy of the cluster's metadata."""
    words = " ".join(("", *options))
    return Remedy(command=f"segmend plan quorum {shlex.quote(log_dir)}{words} -o plan.json", safety=safety)


def free(full: str, *log_dirs: str) -> Remedy:
    """Plan to make room on the disk of one log dir of a broker, by the least harm first."""
    dirs, on = " ".join(map(shlex.quote, log_dirs)), f" --on {shlex.quote(full)}" if log_dirs[1:] else ""
    return advice(f"segmend plan free {dirs}{on} --bytes 1GB -o plan.json")


def restamp(topic: str, *log_dirs: str) -> Remedy:
    """Plan to give a topic's replicas its id of today; that the records are its own a human must say."""
    dirs = " ".join(map(shlex.quote, log_dirs))
    return advice(f"segmend plan restamp {dirs} --topic {shlex.quote(topic)} -o plan.json")


def set_aside(log_dir: str, *names: str, safety: Safety = Safety.SAFE) -> Remedy:
    """Move what lies in one folder out of the log dirs, to `<log dir>.aside`, overwriting nothing."""
    base = log_dir.rstrip("/")
    folder = names[0].rpartition("/")[0]
    target = shlex.quote(f"{base}.aside/{folder}" if folder else f"{base}.aside")
    sources = " ".join(shlex.quote(f"{base}/{name}") for name in names)
    return Remedy(command=f"mkdir -p {target} && mv -n {sources} {target}/", safety=safety)


def rename(log_dir: str, old: str, new: str, *, safety: Safety = Safety.SAFE) -> Remedy:
    """Rename inside a log dir, overwriting nothing."""
    base = log_dir.rstrip("/")
    return Remedy(
        command=f"mv -n {shlex.quote(f'{base}/{old}')} {shlex.quote(f'{base}/{new}')}", safety=safety
    )


def advice(command: str) -> Remedy:
    """A command or sentence to consider; segmend cannot judge whether it is right here."""
    return Remedy(command=command, safety=Safety.ADVICE)


def unset(topic: str, setting: str) -> Remedy:
    """Give a topic the broker's setting again, while a release runs that starts with its own."""
    entity = f"--entity-type topics --entity-name {shlex.quote(topic)} --delete-config {shlex.quote(setting)}"
    return advice(f"kafka-configs.sh {_OF_THE_CLUSTER} --alter {entity}")


def show(log_dir: str, name: str) -> Remedy:
    """Look at a directory or file before deciding."""
    return look(f"{log_dir.rstrip('/')}/{name}")


def check_alone(*brokers: Sequence[str]) -> Remedy:
    return advice("; ".join(f"segmend check {' '.join(map(shlex.quote, dirs))}" for dirs in brokers))


def check_deep(path: str) -> Remedy:
    return advice(f"segmend check --deep {shlex.quote(path)}")


def by_rules_of(release: str, remedy: Remedy) -> Remedy:
    """The same where somebody said whose rules count."""
    return replace(remedy, command=command_by_rules_of(release, remedy.command))


def command_by_rules_of(release: str, command: str) -> str:
    """The same; a command that goes by them is told it, too, once."""
    if not command.startswith(_BY_RULES) or "; " in command or " --kafka " in command:
        return command
    asked = command.removesuffix(_TO_FILE)
    return f"{asked} --kafka {shlex.quote(release)}{_TO_FILE if asked != command else ''}"


def play(*log_dirs: str) -> Remedy:
    """Ask what a start of the broker makes of these dirs."""
    return advice(f"segmend forecast {' '.join(map(shlex.quote, log_dirs))}")


def describe(topic: str) -> Remedy:
    """Ask the cluster for what is on none of its disks here: the topic's id."""
    return advice(f"kafka-topics.sh {_OF_THE_CLUSTER} --describe --topic {shlex.quote(topic)}")


def find_hanging(topic: str, partition: int) -> Remedy:
    """Ask the cluster which transactions of a partition nobody will end."""
    where = f"--topic {shlex.quote(topic)} --partition {partition}"
    return advice(f"kafka-transactions.sh {_OF_THE_CLUSTER} find-hanging {where}")


def look(*paths: str) -> Remedy:
    """Look at directories or files side by side."""
    return advice(f"segmend show {' '.join(map(shlex.quote, paths))}")


def chown(path: str, uid: int, gid: int, *, whole: bool = False) -> Remedy:
    """Give a file back to the broker's user, or all below a directory; never what a link points to."""
    how = "-hR" if whole else "-h"
    return Remedy(command=f"chown {how} {uid}:{gid} {shlex.quote(path)}", safety=Safety.SAFE)


def chmod(path: str, *, whole: bool = False) -> Remedy:
    """Let the owner read and write; X: enter, if it is a directory."""
    how = "-R " if whole else ""
    return Remedy(command=f"chmod {how}u+rwX {shlex.quote(path)}", safety=Safety.SAFE)


def remove(log_dir: str, name: str, *, safety: Safety = Safety.SAFE) -> Remedy:
    """Remove a file whose content a broker makes anew."""
    path = f"{log_dir.rstrip('/')}/{name}"
    return Remedy(command=f"rm {shlex.quote(path)}", safety=safety)


def identity(*log_dirs: str, directory_id: str | None = None, **ids: str) -> Remedy:
    """Plan the mending of meta.properties in all dirs of a broker; what is right may need a human's word.

    `cluster_id`, `node_id`: what no file tells that could be kept.
    """
    dirs = " ".join(map(shlex.quote, log_dirs))
    given = {"directory_id": directory_id, **ids}
    wanted = "".join(
        f" --{name.replace('_', '-')} {shlex.quote(value)}" for name, value in given.items() if value
    )
    return advice(f"{_IDENTITY}{dirs}{wanted} -o plan.json")
