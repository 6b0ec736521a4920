"""The model of one broker's disk: lazy, and reading only.

    file_system       what all that files may lie on can do (`Files`), and why it may refuse
    disk              the only module that touches a disk: list, stat, pread, free space, lock probe
    as_user           this disk, with what another user may do there
    log_dir           LogDir > PartitionDir (partition_dir) > LogSegment (log_segment), by brokers' rules
    files             FileEntry: one file, by name
    layout            what the names in a partition directory mean
    loaded            a small file, read and parsed: value, damage, or why it is unreadable
    scans             what was read of a log, remembered while the log stays as it is
    walk              a log as a stream of batches, records and damage
    seek, tail        the batch of an offset; the ends of a segment: log end offset, newest timestamp
    transactions      what `read_committed` leaves out; last_stable_offset: up to where it reads
    overview          what one line says of a partition, a segment, a log dir
    config            server.properties, with Kafka's defaults
    release           which Kafka release wrote a directory, and how we know (also by what lies beside)

Nothing here knows what a finding is. What cannot be read is a value
(`PartitionDir.unreadable`, `LoadedFile.unreadable`) or an `Unreadable`, never a traceback.
"""
