"""The model of one broker's disk: lazy, and reading only.

    disk      the only module that touches a disk: list, stat, pread, free space, lock probe
    files     FileEntry: one file, by name
    layout    what the names in a partition directory mean
    tree      LogDir > PartitionDir > LogSegment, by the broker's own rules
    offsets   log end offset and times of a partition, by the broker's own rule
    config    server.properties and topic overrides, with Kafka's defaults
    release   which Kafka release wrote a directory, and how we know

Nothing here knows what a finding is. What cannot be read is a value
(`disk.Unreadable`, `loaded.Loaded.unreadable`), never a traceback.
"""
