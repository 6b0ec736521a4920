"""The model of one broker's disk: lazy, and reading only.

    disk              the only module that touches a disk: list, stat, pread, free space, lock probe
    files             FileEntry: one file, by name
    layout            what the names in a partition directory mean
    loaded            a small file, read and parsed: value, damage, or why it is unreadable
    tree              LogDir > PartitionDir > LogSegment, by the broker's own rules
    tail              the ends of a segment: log end offset, newest timestamp
    overview          what one line says of a partition, a segment, a log dir
    walk              a log as a stream of batches, records and damage
    config            server.properties, with Kafka's defaults
    release           which Kafka release wrote a directory, and how we know

Nothing here knows what a finding is. What cannot be read is a value
(`PartitionDir.unreadable`, `Loaded.unreadable`) or an `Unreadable`, never a traceback.
"""
