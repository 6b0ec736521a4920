"""The joins across replicas, in the SQL that Spark and SQLite both speak.

Views that must be there: `partitions` (the scalar columns of schemas.PARTITIONS) and
`digests`. A cluster without a name joins as ''.

A partition's *reference* is the replica that would win an election among the files: the
highest last epoch, then the highest log end offset (`seniority` 1). The others are compared
with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, Protocol, TypeVar, cast

from segmend.fleet.schemas import DIGEST_OFFSETS
from segmend.fleet.typed_rows import HeldReplica, SuspectRow

COLUMNS: Final = {
    "partitions": (
        "cluster_id", "broker", "log_dir_id", "topic", "partition", "kind", "dir_name", "topic_id",
        "log_start_offset", "high_watermark", "cleaned_offset", "log_end_offset", "last_epoch",
        "compacted", "bytes", "max_timestamp_ms",
    ),
    "digests": ("log_dir_id", "topic", "partition", "bucket", "first_offset", "end_offset", "digest"),
}  # fmt: skip
"""What the statements read of each table."""

# A broker that holds a partition twice (a damage of its own, N17) is compared by the better copy.
REPLICAS: Final = """
with held as (
  select coalesce(cluster_id, '') as cluster, p.*,
         row_number() over (
           partition by coalesce(cluster_id, ''), topic, partition, broker
           order by log_end_offset desc, log_dir_id) as copy
  from partitions p
  where kind in ('current', 'cluster-metadata')
),
ranked as (
  select held.*,
         row_number() over (
           partition by cluster, topic, partition
           order by last_epoch desc, log_end_offset desc, broker) as seniority,
         count(*) over (partition by cluster, topic, partition) as replicas,
         max(high_watermark) over (partition by cluster, topic, partition) as max_high_watermark,
         max(log_end_offset) over (partition by cluster, topic, partition) as max_log_end_offset,
         max(cleaned_offset) over (partition by cluster, topic, partition) as max_cleaned_offset,
         max(case when compacted then 1 else 0 end) over (partition by cluster, topic) as topic_compacted
  from held
  where copy = 1
),
counted as (
  select cluster, topic, replicas,
         row_number() over (
           partition by cluster, topic order by count(*) desc, replicas desc) as commonness
  from ranked
  where seniority = 1
  group by cluster, topic, replicas
)
select r.cluster, r.cluster_id, r.broker, r.log_dir_id, r.topic, r.partition, r.dir_name, r.topic_id,
       r.replicas, c.replicas as expected_replicas, r.log_start_offset, r.high_watermark,
       r.log_end_offset, r.last_epoch, r.max_high_watermark, r.max_log_end_offset,
       r.max_log_end_offset - r.log_end_offset as behind, r.bytes, r.max_timestamp_ms,
       r.seniority, r.topic_compacted, r.max_cleaned_offset
from ranked r
join counted c on c.cluster = r.cluster and c.topic = r.topic and c.commonness = 1
"""

# Compaction runs at its own pace on every broker, so only what no cleaner has reached is compared.
SUSPECTS: Final = f"""
with pairs as (
  select f.cluster, f.topic, f.partition, f.dir_name, f.log_dir_id, f.broker,
         r.log_dir_id as reference_dir_id, r.broker as reference,
         f.log_start_offset as start_offset, f.log_end_offset as end_offset,
         r.log_start_offset as reference_start, r.log_end_offset as reference_end,
         case when f.topic_compacted = 1 then f.max_cleaned_offset else 0 end as comparable_from
  from replicas f
  join replicas r
    on r.cluster = f.cluster and r.topic = f.topic and r.partition = f.partition and r.seniority = 1
  where f.seniority > 1 and (f.topic_compacted = 0 or f.max_cleaned_offset is not null)
),
held as (
  select p.log_dir_id, p.topic, p.partition, d.bucket, d.digest, d.first_offset as lo, d.end_offset as hi,
         p.reference_start as other_start, p.reference_end as other_end
  from pairs p
  join digests d on d.log_dir_id = p.log_dir_id and d.topic = p.topic and d.partition = p.partition
  union all
  select p.log_dir_id, p.topic, p.partition, d.bucket, d.digest, d.first_offset as lo, d.end_offset as hi,
         p.start_offset as other_start, p.end_offset as other_end
  from pairs p
  join digests d on d.log_dir_id = p.reference_dir_id and d.topic = p.topic and d.partition = p.partition
),
differing as (
  select log_dir_id, topic, partition, bucket,
         row_number() over (partition by log_dir_id, topic, partition order by bucket) as nth
  from held
  group by log_dir_id, topic, partition, bucket
  having (count(*) = 2 and min(digest) <> max(digest) and max(lo) < min(hi))
      or (count(*) = 1 and max(hi) > max(other_start) and min(lo) < max(other_end))
)
select p.*, d.bucket
from differing d
join pairs p on p.log_dir_id = d.log_dir_id and p.topic = d.topic and p.partition = d.partition
where (d.bucket + 1) * {DIGEST_OFFSETS} > p.comparable_from and d.nth <= 16
order by p.log_dir_id, p.topic, p.partition, d.bucket
"""


T = TypeVar("T")


class Sql(Protocol):
    """An SQL engine over the files of this run."""

    def each_partition(self, judge: Callable[[Iterator[HeldReplica]], T]) -> Iterator[T]:
        """What `judge` makes of the rows of `replicas`, once `suspects` was asked.

        It is given whole partitions, their rows in the order of `GROUPED`, wherever, in any number of shares.
        """

    def view(self, name: str, statement: str) -> None:
        """Make the result a view of this name."""

    def rows(self, statement: str) -> Iterator[Mapping[str, object]]:
        """The rows of a statement, as objects only some at a time."""


GROUPED: Final = "select * from replicas order by cluster, topic, partition, seniority"
"""One row a replica, those of a partition side by side."""
PARTITION: Final = ("cluster", "topic", "partition")
"""What its rows have in common."""


def suspects(sql: Sql) -> list[SuspectRow]:
    """The buckets in which a replica may differ from its reference."""
    sql.view("replicas", REPLICAS)
    # A fleet of single copies has nothing to compare.
    followers = sql.rows("select seniority from replicas where seniority > 1 limit 1")
    rows = sql.rows(SUSPECTS) if list(followers) else ()
    return [cast(SuspectRow, row) for row in rows]
