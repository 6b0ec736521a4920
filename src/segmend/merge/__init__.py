"""What the replicas of one partition say together: the one rule of merging them.

Used by `diff`, `rescue`, `export`, the data source and surgery's `merge`:

- `values`: what is handed on: `Run`, `Damaged`, `Replica`, `Range`, `Diverged`, `Conflict`, `Merged`.
- `replicas.read_replica(partition)`: one replica read into runs, one pass over its logs.
- `rule.merge(replicas, look)`: the true log as ranges of offsets, each from one replica; what nobody has,
  what an older branch has besides, what no rule decides. `look` reads batches and keys a second time, only
  where runs do not tell (`second_look.Look`; `look.Second` for files).
- `lineage`: which leader epoch owns which offsets. `agreement`: where two replicas hold the same bytes.
- `superseded`: which records of a less compacted replica would come back from the dead, and which no cleaner
  took; `uncleaned`: the same within a file; `no_further`: how far no cleaner can have come. `odd_epochs`: a
  flipped bit in an epoch, which no checksum covers; `proven_epochs`: what it was; `strayed`, `leaps`: one in
  an offset, by what other replicas have, and by what stands beside it; `indexed`: what the indexes say of it.
- `pieces`: where the bytes of a range lie; `cut`: a batch of which only some records are wanted.
- `doubts`: what could not be known, in words. `packed`, `spans`: very many values as columns of numbers.
- `salvage`: records of batches whose checksum or place is in doubt, where no replica has these offsets sound.
- `standing`: what each replica is beside the merged log. `compared`: all partitions of some directories, in
  threads.
"""
