"""What disasters have taught: by name, the records in which the forecast was once wrong about it.

Each is the smallest that was drawn; the fast tests play all of them.
"""

NAMED: dict[str, dict[str, int]] = {
    "a future replica takes the place of the current one": {"3.3.2": 57},
    "a future replica with holes takes the place of the current one": {"4.0.1": 51},
    "a file has the name of a partition's directory": {"2.5.1": 52, "3.6.2": 59, "3.7.2": 21, "4.3.1": 17},
    "after a kill, logs of an offline dir are made again beside it, and nobody leads them": {
        "4.0.1": 19,
        "4.1.1": 62,
    },
    "after a kill, 3.7 leads nothing behind the first partition of an offline dir": {"3.7.2": 59},
    "after a kill, so does 3.9": {"3.9.2": 1062},
    "high watermarks that are no numbers end the way through all that is led": {"4.3.1": 1063, "3.3.2": 1063},
    "a partition carried into a dir that is offline is made again in its own": {"4.3.1": 41},
    "what was mended in a dir before it failed": {"3.3.2": 7},
    "a file has such a name where another log is made anew first": {"3.3.2": 202611300201},
    "3.6.1 and later load what is called -stray": {"3.6.2": 55},
    "after a kill, a stray stops the leader before it is deleted": {"3.6.2": 60},
    "a log that waits for its deletion has no epochs and snapshots left": {"3.9.2": 54},
    "two dirs with two cluster ids, under ZooKeeper from 2.4 on": {"2.5.1": 22},
    "offsets that go backwards behind an odd magic byte": {"3.9.2": 1064},
    "a marker twice, of a transaction that began in the segment before": {"1.1.0": 11230212},
    "a dir that fails on the way hides a wrong topic id behind that place": {"3.3.2": 1064},
    "a swap below all segments of 1.1.0": {"1.1.0": 64},
    "high watermarks that cannot be read take a dir offline once all is loaded": {"3.6.2": 11230215},
    "an empty dir under ZooKeeper": {"1.1.0": 16},
    "the last entry of a time index that is made anew goes back": {"3.7.2": 202612010310},
    "an index longer than log.index.size.max.bytes": {"3.9.2": 202612020305},
    "the number of an index goes on behind twenty digits": {"3.3.2": 202612030309, "4.0.1": 202612030302},
    "an empty segment behind missing offsets, in a log with transactions": {"3.7.2": 202612050311},
    "records under the attribute of a marker, of which a recovery ends the start": {"3.7.2": 202612050317},
    "a first line of epochs that is the newest, in a log that nobody leads": {"3.9.2": 202612020306},
    "a dir no longer configured, where it is a race whether its logs are led": {"4.0.1": 105, "3.9.2": 82},
    "a file's number in digits of another script, with leading zeros": {"4.3.1": 202612010317},
    "epochs out of order, as 1.1 keeps them": {"1.1.0": 202612040403},
    "a file that ends in .checkpoint.deleted and is no snapshot of metadata": {"2.8.2": 202612040301},
    "a log start above all records, whose snapshots are there until the state is rebuilt": {
        "2.5.1": 202612040403
    },
    "a dir that fails over a log behind a wrong topic id, made in another one then": {"4.0.1": 202612050328},
    "logs behind a wrong topic id, made in the emptiest dir, not in theirs": {
        "4.0.1": 202611309001,
        "4.3.1": 202611309001,
    },
    "what a coordinator writes behind a cut": {"2.8.2": 202612040412},
    "two empty segments that begin inside the one before": {"1.1.0": 202612030314},
    "a snapshot that is listed and not there: its name is no UTF-8": {
        "3.9.2": 202611309002,
        "4.3.1": 202611309003,
    },
    "snapshots whose numbers have a sign": {"1.1.0": 202612060405},
    "a log dir with another directory.id than it had, after a clean stop": {"3.9.2": 202611240620},
    "an index that no buffer can hold": {"4.3.1": 202611240622, "2.8.2": 202611240602},
    "a directory in the place of meta.properties": {"2.8.2": 202611240614},
    "a log dir with another directory.id than it had, after a kill": {"3.7.2": 202611240604},
    "a directory in the place of an index of transactions": {"3.7.2": 202611240609},
    "remote storage switched on without a class": {"4.3.1": 202611240623},
    "a recovery that finds nothing at offset 0 takes all snapshots, and leaves none": {
        "2.5.1": 202611250101,
        "2.8.2": 202611250101,
        "1.1.0": 202611250101,
    },
    "a log format from before there were producers, set for newer logs": {"2.5.1": 202611251130},
    "a log cleaner whose map of offsets holds no key": {"2.8.2": 202611251103},
    "a port above 65,535": {"3.3.2": 202611251102, "4.3.1": 202611251121},
    "a log dir that is made in another one": {"2.8.2": 202611251101},
    "a replica on its way beside one that is made anew": {"3.6.2": 202611410702, "3.9.2": 20261141050810},
    "a node that its own controller never registers": {"4.3.1": 202611251114, "3.3.2": 202611251110},
    "a broker that is fenced between two heartbeats": {"4.3.1": 202611251116},
    "a metadata log that is made of a wrong number": {"4.3.1": 202611420701},
    "a directory in the place of an old index": {"2.8.2": 202611510704},
    "a race for a log dir with a new id, over a log that is cut while it is loaded": {"3.9.2": 202611530707},
    "epochs that begin within a segment that is recovered, as 1.1 keeps them": {"1.1.0": 202611510423},
    "a topic id that cannot be read, of a log with an open transaction in a dir that failed": {
        "3.3.2": 202611540700
    },
    "a stray beside the replica whose name it has": {"3.7.2": 202611510063, "3.9.2": 202611510601},
    "a node that takes longer to start than it may": {"4.3.1": 202611420709},
    "an index of aborted transactions that leaves one out": {"4.3.1": 202612004000, "1.1.0": 202612004001},
    "messages of before 0.11 at the end of a segment that is recovered": {
        "2.5.1": 202612004035,
        "1.1.0": 202612004019,
    },
}
"""By release the number in its record."""
