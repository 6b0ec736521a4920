"""What the true log is, out of several replicas that are damaged, behind, or went different ways.

`diff` compares by this rule, `rescue`, `export` and `plan merge` write by it. It looks at batches: sound is
one whose checksum is right and whose offset and epoch fit between its neighbours.

The newest leader's branch wins
    Leader epochs from the batches and the leader-epoch-checkpoint of all replicas give one history: the
    newest epoch, and back from there by those replicas that have it. They had truncated their logs to its
    leader's before they followed (KIP-101), so what they have below is the branch, too. A checkpoint line
    that the replica's own sound batches contradict does not count, nor does one that begins above its end.
    One that begins later than on others, with nothing before it, leaves no branch: its leader was cleaned.
    Why: the cluster itself would go on with this leader; any other choice takes away what was written since.
    An epoch of few batches of one replica that no checkpoint has, or has begin later, while another has the
    same bytes in one that more tells of, is a flipped bit: followers copy a batch with its epoch.

What an older branch has beyond is a divergence
    It is told with offset, epoch, records and producers, and never mixed in. Why: at these offsets the newest
    leader wrote other records, or its log ended; both cannot be true.

Holes are filled
    Damaged or missing batches of one replica are taken from any that has the offsets sound on the branch.
    Why: one epoch has one leader, so its batch at an offset is the same bytes on every replica.
    A batch of which only the epoch is wrong, which no checksum covers, is had where the batches right before
    and right behind have one epoch, or the checkpoint beside it says which. It is damage of its replica all
    the same; its epoch is put right in what is written, and no other byte.

Salvage (rescue --salvage, for tables)
    Where nobody has an offset sound, records are read out of batches whose checksum fails, or that one bit
    may have moved: those that lie between the sound ones beside them, and with offsets that ascend within the
    batch. Where several replicas have one, what most of them say is taken, else the first in order. Each is
    marked and still counts as missing; none stands where a sound one is, or goes into a log. Why: which bit
    is wrong, nothing tells.

Sound bytes of one epoch that differ
    No rule knows which are right. The bytes that most replicas have are taken, else those of the replica that
    is first in order: the one that goes furthest, then the one that lacks least, then the one with the fewest
    damaged places, then one that says of which broker it is, then the lower broker id, then by path, in
    whatever order they are given. It is told; plan merge takes none by that order, and asks (--prefer
    BROKER). Why: this is no Kafka; somebody restored a volume, or ran one broker id twice.

Compaction
    Below what the cleaner's checkpoint says, the replica cleaned furthest decides what was removed; next come
    those whose batches show that records are gone. Where it is damaged, others fill in, but no record
    whose key has a later one below that point. Why: a deleted key must not come back with its old value.
    Tombstones that are there stay. One cleaned with records of a branch that lost is not trusted in this.
    Below what was compacted, bytes are not compared, for each broker cleans at its own time.

    A gap between two files is compaction only if each key that another replica has there came again, or
    its transaction was aborted; else a file is lost, with its tombstones and markers. Where an index with an
    entry is left in the gap, and no other replica speaks for it, it is said that it may be a loss.

    Nor is a gap within a file compaction where another replica has the newest record of a key there: no
    cleaner takes that, but for a tombstone, or what an aborted transaction wrote. A tombstone goes after all
    that was before it, a marker after its transaction, so they are taken from others while that is there.
    Where the tombstone of what is filled in may be gone on one replica and damaged on the others, it is told
    as a doubt. Where a tombstone may have gone while the other replica was away, or is damaged there, the
    record is left out, and named, if the files of one that lacks it show that a cleaner took it: a batch
    around it has a right checksum, or the offset index beside the file has what comes later where it lies, so
    that no bytes are gone before that since it was written. Else it is taken, and told as a doubt, for a
    replica may have lost it, and several the same; so is it where transactions of more than a million keys
    are open at once. What came again only above all that was compacted is taken, too.

    No checksum covers a base offset. Where few batches have a gap behind them and nothing else shows
    compaction, one whose bytes another replica has in that gap is misplaced, and the gap tells nothing. Of
    two batches in one place, too, the one whose bytes another replica has elsewhere is misplaced; and of what
    was compacted each batch whose bytes more replicas have at another offset, in a gap beside it; or as many,
    if there is no gap beside them there. Else that of one is taken, and told as a doubt. One with gaps beside
    it is misplaced, too, where the offset index has it elsewhere by one bit, and it fits there. Where nothing
    shows compaction, and one batch has a gap on one side, and damage or the end of its file on the other, or
    stands behind damage at the end of a file where the next begins further on, its offset may be wrong: it is
    where the high watermark says so, or an index by an offset that would not be its own where it is due, or
    another replica has it there. It is not if another one has its bytes beside that, or other bytes there. If
    none of them tells, it is left out, and named, where one flipped bit, or a leap of 2^24 offsets, would
    explain it; else it is taken, and told as a doubt. Its gap is no compaction, for any replica. Why: a
    record at a wrong offset is worse than one that is missing by name, but what breaks in disks and memory is
    a bit, or a block, which takes the batch's length with it.
    Of a replica with more gaps no batch is left out: where one of them turns out to be missing, and no other
    replica has both batches beside it, that is told as a doubt of these batches. Where a cleaner's work is
    proven, or there are more than a few gaps, they are its own: that batches beside them are where they say
    is assumed, and that is said, if no other replica has them there.

    Where nothing but a few gaps shows compaction, one is a loss if another replica has there what no cleaner
    takes, or a record without a key; or where the log has before what came again such a record, or before the
    gap one whose key came again, for none leaves those, even if nobody has anything there: then the offsets
    are missing. Nor is a cleaner's checkpoint true above such a record: where another replica has what is
    gone all are looked for, where none has, the first record. Where the metadata log
    says that a topic is not compacted, it is one if another has anything there, however many gaps there are,
    and if none has, it is told as a doubt. Why: only a cleaner leaves offsets out. A topic without a
    cleanup.policy of its own has that of the brokers: --config server.properties tells it; without that
    it is Kafka's default (delete), or open if a cleaner was at any topic without one.

Retention
    Each broker deletes at its own time, so what one still has is taken; but nothing below the highest log
    start offset in a checkpoint, which DeleteRecords may have set. Why: that was deleted on purpose.
    What replicas have below one that only another's has is told as assumed; of what all of them deleted
    nothing is said. One above all that its replica has is not believed, and told as a doubt. Where the first
    line of leader-epoch-checkpoint begins before the first file, no broker deleted what is missing. plan
    merge leaves the beginning of its replica as it is.

Above the high watermark
    What only one replica has above the newest high watermark known is taken, and marked as unacknowledged: no
    other replica had confirmed it. A replica that left the branch counts only up to where it did.
    The checkpoint is written every 5 s, so what is above it may well have been acknowledged.

Transactions
    The marker says how one ended. Where offsets are lost, it may be among them: of those that were open
    before, nothing is known but what an index of aborted transactions says. No broken batch that is too large
    for a marker was one, and where an index has the one that was at an offset, no other was. Where so many
    are open over so many holes that it would take minutes to follow them, nothing is known of any. A rescue
    of committed records leaves out what was aborted. What nobody knows stays, is marked, and is a doubt; an
    export takes nothing from the first transaction on that has not ended. The data source gives no more than
    a consumer would get, and tells what lost markers take away as damage.

Magic 0 and 1
    Have no epochs: the longest log is taken, as the leaders of those releases did, and bytes that differ
    are decided as above. Lines of leader-epoch-checkpoint count from where batches have epochs. A replica to
    which a leader sent such messages for the batches that others have is told as a divergence. No header
    says what a cleaner took out of compressed ones: below what any replica compacted, those that have a part
    of the messages of another are no other bytes. Those in a compressed message of magic 0 have
    offsets of their own: where it says another one for itself, it is misplaced.

What is refused
    Replicas whose topic ids differ: that partition alone. Replicas of several clusters: all. A directory
    that is given twice counts once.

What cannot be known
    Records at the torn end of a log, beyond every other replica; an epoch of which nothing tells what came
    before. These are named with their offsets, never guessed.
    Nothing shows, and so nothing is said, where the sound bytes of another place of the log stand inside a
    segment, with an offset that fits, and no other replica has that offset, of a compacted topic or one of
    which no metadata log is here; nor where a lost file of a compacted log, whose indexes are lost, too, held
    nothing but tombstones, or records that came again, and no replica has damage there;
    nor where a cleaner took a record and its tombstone on a replica, damaged there now, of which another one
    never had that tombstone and fills that record in, unless fewer bytes are damaged than that brings.
    A log of which somebody took the first files away looks like one that lost them: it is said so.
    What brokers have of which no dir is given is not looked at: the metadata log tells which they are. Where
    by it none of those that were in sync (or eligible to lead) has its replica here, or where the checkpoints
    of a dir that lost a replica reach beyond what the others have, that is told as a doubt. So is it where
    all of such brokers are of an older copy of their dir: by the times of its checkpoints, its marker, the
    leader epochs or its own copy of the metadata, beside when the newest metadata here has it in use. Copies
    of the last seconds before a kill, or of two minutes before a broker was fenced, look the same: that a
    dir without the marker of a stop is as its broker left it is assumed, and that is said at the end. Where
    nothing tells, as of files without times of their own, it is a doubt if not all in sync are here, else
    assumed. Why: what was acknowledged is on all that were in sync, and perhaps on nobody else.
    A producer snapshot or a recovery point beyond the end of a log tells that something is lost.
    Logs of another ending (.swap, .cleaned, .deleted) are not read, and named. It is a doubt where offsets
    that one may have are missing, or a cleaner's that waits is alone at its place. Why: a start may put it
    back, or delete it.

For your directories: segmend explain merge DIR... [--topic T]
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from itertools import chain

from segmend.cli.output import emit_asked, style
from segmend.cli.replicas import asks_for, replicas_in, targets_of
from segmend.cluster.cluster_dirs import FleetDirs
from segmend.cluster.policies import Policies
from segmend.errors import ExitCode
from segmend.fleet.surroundings import Surroundings
from segmend.logdir.config import ServerConfig
from segmend.merge.compared import Compared, compared
from segmend.report.diff import passed_over_lines, vanished_lines
from segmend.report.merge import merge_json, merge_lines

NAME = "merge"
SUMMARY = "what the true log is, out of several replicas"
OPTIONS = ("topic", "partition")


def run(args: argparse.Namespace, paths: Sequence[str]) -> int:
    """Say of each partition which epochs make its branch, and whose batches are taken."""
    targets = targets_of(paths)
    fleet = FleetDirs(targets.dirs)
    groups = replicas_in(args, fleet, targets.places)
    configs = [] if args.config is None else [ServerConfig.load(args.config)]
    compacts = Policies([fleet], configs)
    around = Surroundings(fleet, partial(asks_for, args), whole=not targets.names)
    code = ExitCode.NOTHING_WRONG
    for partition in map(around.beyond, compared(groups, jobs=1, compacts=compacts)):
        emit_asked(args, map(merge_json, [partition]), merge_lines(partition, style(args)))
        code |= _code(partition)
    gone, beside = [*around.gone().values()], around.passed_over()
    told = beside.to_json()
    last = {"type": "summary", "vanished": gone, **told}
    emit_asked(args, [last], chain(vanished_lines(gone), passed_over_lines(told)))
    return code | ExitCode.of(left=gone or beside.strays or beside.shared, unread=beside.broken)


def _code(partition: Compared) -> ExitCode:
    """As a rescue of it would end."""
    merged = partition.merged
    if merged is None:
        return ExitCode.OPERATIONAL
    left = (merged.missing, merged.diverged, merged.conflicts, merged.doubts)
    return ExitCode.of(left=any(left), unread=any(each.unreadable for each in partition.replicas))
