"""`python -m tests.sweep [--seed N] [WHAT...]`: whole, what CI takes samples of; all of it takes hours.

`faults`: every fault, of the lab and on written log dirs, with each command that is named, and many pairs
through an operator's evening; `crash`: more kills and losses of power, and hostile plans; `recorded`: each
recorded disaster, each trial of owners, odd places and outages, each deletion and cleaning; `merge`: many
more histories of replicas; `fleet`: more histories of audits that carry scans over, walks through reports,
YARN; `live`: more faults on live brokers, each story on each release; `outside`: any damage, all commands
beside one another; `options`: any value of any option; `surgery`: operations, damage and stops at random;
`killed`: kills at random; `shows`: each operation on each golden release with a broker after it; `user`: all
fast tests as a normal user in a clean clone. What is drawn depends on the seed, that of the day if none is
given: it is printed first and last, and with it the same is drawn again.
"""

import argparse
import os
import subprocess
import sys
import time

from tests.seeds import ALL, NUMBER

DAY = 86_400
PYTEST = (sys.executable, "-m", "pytest", "-m", "", "--timeout", "0")
SWEEPS = {
    "faults": (
        *PYTEST,
        "tests/checks/test_damages.py",
        "tests/checks/test_next_commands.py",
        "tests/loading/test_order_of_dirs.py",
        "tests/logdir/test_index_file.py",
        "tests/surgery/test_every_fault.py",
        "tests/surgery/test_own_bytes.py",
        "tests/surgery/test_repair.py",
    ),
    "crash": (
        *PYTEST,
        "tests/cli/test_read_only.py",
        "tests/surgery/test_crash.py",
        "tests/surgery/test_damaged_state.py",
        "tests/surgery/test_every_operation_killed.py",
        "tests/surgery/test_graft_releases.py",
        "tests/surgery/test_hard_links.py",
        "tests/surgery/test_harder_killed.py",
        "tests/surgery/test_hostile_plans.py",
        "tests/surgery/test_interrupted.py",
        "tests/surgery/test_log_ends.py",
        "tests/surgery/test_names.py",
        "tests/surgery/test_threads.py",
        "tests/surgery/test_trees.py",
    ),
    "fleet": (
        *PYTEST,
        "tests/fleet/test_as_check.py",
        "tests/fleet/test_carried.py",
        "tests/fleet/test_any_fate.py",
        "tests/fleet/test_drawn_requests.py",
        "tests/fleet/test_hurt_markers.py",
        "tests/fleet/test_options.py",
        "tests/fleet/test_unread.py",
        "tests/report_html/test_walks.py",
        "tests/spark/on_yarn.py",
        "tests/spark/test_stream.py",
    ),
    "recorded": (
        *PYTEST,
        "tests/lab/compaction/test_compaction.py",
        "tests/lab/disasters/test_disasters.py",
        "tests/lab/disasters/test_smaller_indexes.py",
        "tests/lab/outages/test_outages.py",
        "tests/lab/places/test_places.py",
        "tests/lab/retention/test_retention.py",
        "tests/lab/test_earlier_dirs.py",
        "tests/lab/test_older_metadata.py",
    ),
    "merge": (
        *PYTEST,
        "tests/merge/test_flipped.py",
        "tests/rescue/test_all_clear.py",
        "tests/rescue/test_full_disks.py",
        "tests/rescue/test_over_time.py",
        "tests/rescue/test_under_hands.py",
        "tests/merge/test_rule.py",
        "tests/rescue/test_one_rule.py",
    ),
    "live": (
        *PYTEST,
        "tests/lab/quorums/test_quorums.py",
        "tests/lab/test_clients.py",
        "tests/lab/test_live.py",
        "tests/merge/test_healthy.py",
        "tests/merge/test_unclean.py",
        "tests/real/test_graft_story.py",
        "tests/real/test_left_overs.py",
        "tests/real/test_live_brokers.py",
        "tests/real/test_merge_story.py",
        "tests/real/test_names.py",
        "tests/real/test_restamp_story.py",
        "tests/real/test_lineages.py",
        "tests/real/test_ran_since.py",
        "tests/real/test_strangers.py",
        "tests/real/test_surgery.py",
        "tests/surgery/test_broker_rebuild.py",
        "tests/surgery/test_offset_ends.py",
    ),
    "outside": (
        *PYTEST,
        "tests/logdir/test_above.py",
        "tests/outside/test_drawn.py",
        "tests/outside/test_taken.py",
    ),
    "options": (*PYTEST, "tests/cli/test_any_option.py", "tests/surgery/test_examples.py"),
    "surgery": (sys.executable, "-m", "tests.surgery.drawn"),
    "killed": (sys.executable, "-m", "tests.surgery.killed"),
    "shows": (sys.executable, "-m", "tests.surgery.shows", "all"),
    "user": (".ci/stranger", "tests"),
}


def main(words: list[str]) -> int:
    """Run what is asked for; 0 if nothing was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.sweep", description=__doc__)
    parser.add_argument("--seed", type=int, default=int(time.time()) // DAY)
    parser.add_argument("what", nargs="*", metavar="WHAT", help=", ".join(SWEEPS))
    given = parser.parse_args(words)
    if unknown := set(given.what) - SWEEPS.keys():
        parser.error(f"no such sweep: {', '.join(unknown)}")
    chosen = given.what or list(SWEEPS)
    again = f"sweep: the same again: python -m tests.sweep --seed {given.seed} {' '.join(chosen)}"
    print(again, flush=True)
    drawn = {**os.environ, NUMBER: str(given.seed), ALL: "whole"}
    failed = [name for name in chosen if subprocess.call(SWEEPS[name], env=drawn) != 0]
    print(again, *(f"sweep: {name} found something" for name in failed), sep="\n")
    return min(len(failed), 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
