"""`kafka-log` as Spark users meet it: by name, in SQL, pruned, and a drop-in for Spark's own Kafka source."""

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType
from tests.fleet.build import mixed, plain, three_brokers, write_broker
from tests.spark.standalone import SECONDS
from tests.waiting import until

from segmend.errors import UsageError
from segmend.fleet.options import parse_options
from segmend.fleet.schemas import TABLES
from segmend.fleet.tables import open_table, read
from segmend.spark.scan import scan
from segmend.spark.summarize import summarize

pytestmark = pytest.mark.spark

# KafkaRecordToRowConverter.kafkaSchema of Spark 4.x, copied from `format("kafka").load().schema`.
KAFKA = {
    "key": "binary", "value": "binary", "topic": "string", "partition": "int", "offset": "bigint",
    "timestamp": "timestamp", "timestampType": "int",
}  # fmt: skip
HEADERS = {"headers": "array<struct<key:string,value:binary>>"}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(three_brokers(tmp_path_factory.mktemp("fleet")))


def types(schema: StructType) -> dict[str, str]:
    return {field.name: field.dataType.simpleString() for field in schema.fields}


def test_the_columns_are_those_of_sparks_own_kafka_source(spark: SparkSession, fleet: str) -> None:
    source = spark.read.format("kafka-log")
    assert types(source.load(fleet).schema) == KAFKA
    assert types(source.option("includeHeaders", "true").load(fleet).schema) == KAFKA | HEADERS


@pytest.mark.parametrize("table", TABLES)
def test_schema_and_rows_survive_the_trip_through_spark(spark: SparkSession, fleet: str, table: str) -> None:
    frame = spark.read.format("kafka-log").option("table", table).load(fleet)
    options = parse_options({"table": table})
    assert frame.schema == from_arrow_schema(options.schema)
    wanted = sum(batch.num_rows for work in open_table([fleet], options, cores=1) for batch in read(work))
    assert frame.count() == wanted


def test_records_are_those_of_the_reader_without_spark(spark: SparkSession, tmp_path: Path) -> None:
    root = str(mixed(tmp_path))
    frame = spark.read.format("kafka-log").option("splitBytes", "700").load(root)
    found = frame.orderBy("offset").toArrow().to_pylist()
    options = parse_options({})
    rows = [
        row
        for work in open_table([root], options, cores=1)
        for batch in read(work)
        for row in batch.to_pylist()
    ]
    assert found == sorted(rows, key=lambda row: row["offset"])


def test_sql_finds_the_source_by_its_name(spark: SparkSession, fleet: str) -> None:
    spark.sql(f"create temporary view logs using `kafka-log` options (path '{fleet}', brokers '2')")
    found = spark.sql("select topic, count(*) as n from logs group by topic order by topic").collect()
    assert [(row.topic, row.n) for row in found] == [("clicks", 240), ("orders", 240)]


def test_several_paths_and_a_glob(spark: SparkSession, fleet: str) -> None:
    source = spark.read.format("kafka-log").option("topics", "orders")
    assert source.load([f"{fleet}/b1", f"file:{fleet}/b3"]).count() == 240
    assert source.option("replicas", "all").load(f"{fleet}/*/data").count() == 720


def test_a_schema_prunes_columns(spark: SparkSession, fleet: str) -> None:
    frame = spark.read.format("kafka-log").schema("topic string, offset bigint").load(fleet)
    assert frame.columns == ["topic", "offset"]
    assert frame.agg({"offset": "max"}).first()[0] == 119


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"path": "{fleet}/nowhere"}, "no such directory"),
        ({"path": "{fleet}", "table": "recrods"}, "there is no table recrods"),
        ({"path": "{fleet}", "colour": "red"}, "has no option colour"),
        ({}, "needs a path"),
        ({"path": "{fleet}", "table": "segments", "offsets": "1..2"}, "table segments has no option offsets"),
        ({"path": "{fleet}", "subscribe": "nobody", "mode": "FAILFAST"}, "nobody: on none of these log dirs"),
    ],
)
def test_what_makes_no_sense_is_said_in_a_line(
    spark: SparkSession, fleet: str, options: dict[str, str], said: str
) -> None:
    source = spark.read.format("kafka-log")
    for name, value in options.items():
        source = source.option(name, value.format(fleet=fleet))
    with pytest.raises(PySparkException, match=said) as told:
        source.load().count()
    assert "Traceback" not in str(told.value)


@pytest.mark.parametrize("name", ["kafka_log", "kafkalog"])
def test_a_slip_in_the_name_is_said_in_a_line(spark: SparkSession, fleet: str, name: str) -> None:
    for reading in (spark.read, spark.readStream):
        with pytest.raises(PySparkException, match="the format is called kafka-log") as told:
            reading.format(name).load(fleet)
        assert "Traceback" not in str(told.value)


def test_an_option_of_streams_is_said_to_be_ignored(
    spark: SparkSession, fleet: str, caplog: pytest.LogCaptureFixture
) -> None:
    words = "option maxOffsetsPerTrigger is ignored in a batch read"
    assert spark.read.format("kafka-log").option("maxOffsetsPerTrigger", 5).load(fleet).count() == 480
    until(words, lambda: words in caplog.text, SECONDS)


def test_headers_that_the_columns_leave_out_are_said(spark: SparkSession, fleet: str) -> None:
    reader = spark.read.format("kafka-log").option("includeHeaders", "true")
    for reading in (reader.option("columns", "offset"), reader.schema("offset bigint")):
        with pytest.raises(PySparkException, match="option includeHeaders: the columns"):
            reading.load(fleet).count()


@pytest.mark.parametrize("columns", ["", "(topic string, offset bigint)"])
def test_of_a_table_of_the_catalog_the_way_is_told(spark: SparkSession, fleet: str, columns: str) -> None:
    """Where columns are given, Spark makes one and asks nobody; its options come to no reader (4.2.1)."""

    def count() -> None:
        spark.sql(f"create table catalogued {columns} using `kafka-log` options (path '{fleet}')")
        spark.sql("select count(*) from catalogued").collect()

    try:
        with pytest.raises(PySparkException, match="CREATE TEMPORARY VIEW") as told:
            count()
    finally:
        spark.sql("drop table if exists catalogued")
    assert "Traceback" not in str(told.value)


def test_a_type_that_is_not_the_table_s_is_said(spark: SparkSession, fleet: str) -> None:
    with pytest.raises(PySparkException, match="other types"):
        spark.read.format("kafka-log").schema("offset string").load(fleet).count()


def test_scan_reads_only_the_segments_it_is_given(spark: SparkSession, fleet: str) -> None:
    segments = spark.read.format("kafka-log").option("table", "segments").load(fleet)
    some = segments.where("broker = 2 and topic = 'orders' and segment >= 60")
    found = scan(spark, some, fleet, columns=["broker", "topic", "offset"])
    assert {(row.broker, row.topic) for row in found.distinct().collect()} == {(2, "orders")}
    assert (found.count(), found.agg({"offset": "min"}).first()[0]) == (120, 60)
    assert scan(spark, segments.where("false"), fleet).count() == 0
    with pytest.raises(UsageError, match=r"there is no broker, segment$"):
        scan(spark, segments.select("topic", "partition"), fleet)


def test_a_write_is_refused_in_a_line(spark: SparkSession, fleet: str) -> None:
    with pytest.raises(PySparkException, match="only reads") as told:
        spark.range(1).write.format("kafka-log").mode("append").save(fleet)
    assert "Traceback" not in str(told.value)


def test_an_error_of_a_task_is_a_line_and_one_of_a_user_is_not(spark: SparkSession, tmp_path: Path) -> None:
    log = write_broker(tmp_path, 1, [plain("t", 0)]) / f"t-0/{0:020d}.log"
    log.write_bytes(b"x" * 100 + log.read_bytes()[100:])
    reader = spark.read.format("kafka-log")
    segments = reader.option("table", "segments").load(str(tmp_path))
    for frame in (
        reader.option("table", "records").option("mode", "FAILFAST").load(str(tmp_path)),
        scan(spark, segments, str(tmp_path), mode="FAILFAST"),
    ):
        with pytest.raises(PySparkException, match=r"SegmendError: .*: byte 0: .*FAILFAST") as told:
            frame.collect()
        assert "Traceback" not in str(told.value)
    with pytest.raises(PySparkException, match="ZeroDivisionError") as told:
        spark.range(1).select(sql.udf(lambda number: 1 // number)("id")).collect()
    assert "Traceback" in str(told.value)


def test_a_summary_says_what_the_records_say(spark: SparkSession, tmp_path: Path) -> None:
    root = str(mixed(tmp_path))
    for isolation in ("read_uncommitted", "read_committed"):
        for options in ({}, {"offsets": "7..33"}, {"since": "1700000003000"}):
            told = summarize(spark, root, by=["topic", "partition", "day"], isolation=isolation, **options)
            source = (
                spark.read.format("kafka-log").option("isolation", isolation).options(**options).load(root)
            )
            wanted = source.groupBy("topic", "partition", sql.to_date("timestamp").alias("day")).agg(
                sql.count("*").alias("records"), sql.min("offset").alias("min_offset"),
                sql.max("offset").alias("max_offset"), sql.max("timestamp").alias("max_timestamp"),
            )  # fmt: skip
            assert told.select(wanted.columns).collect() == wanted.collect()
    for name in ("table", "columns", "includeHeaders"):
        with pytest.raises(UsageError, match=f"a summary has no option {name}"):
            summarize(spark, root, **{name: "batches"})
    assert summarize(spark, root, by=[]).first().records == spark.read.format("kafka-log").load(root).count()
