"""The options of `rescue`, `export` and those of the fleet; nothing of what merges is loaded for them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from segmend.cli.moment import moment
from segmend.cli.options import add_policies_option, add_release_option, given, number_range
from segmend.rescue.decoders import asked
from segmend.rescue.decoders import names as kinds
from segmend.rescue.forms import names

DECODES = """\
--decode adds the columns SIDE_decoded (text), SIDE_schema_id and SIDE_undecoded (why there is no text), SIDE
being key or value; the raw bytes stay beside them. SIDE=KIND[:SCHEMA], of which SIDE is value if not given:
  utf8                        text
  json, json:FILE             text as it is (Debezium, too). Spark's schema of it is found out and told, or
                              given as `df.schema.json()` writes it, and then held to
  avro:FILE, avro:DIR         as JSON; DIR has <id>.avsc, or <id>.json as a registry answers /schemas/ids/<id>
  protobuf:FILE#pkg.Message, protobuf:DIR      as JSON; FILE, and <id>.desc in DIR, are descriptor sets
                              (protoc --include_imports --descriptor_set_out=FILE)
With DIR each value names its schema as Confluent's serializers do. More than 1 MiB (json: 4) stays raw."""
"""What is said of `--decode`."""


def add_rescue_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out", required=True, type=given, metavar="OUT", help="a new directory for what is rescued"
    )
    parser.add_argument(
        "--as",
        dest="form",
        choices=names(),
        default="log-dir",
        help="in which form (default: log-dir); "
        "csv and jsonl have bytes (key, value, headers) in base64, --decode adds text",
    )
    which = parser.add_argument_group("which records")
    which.add_argument("--topic", type=given, metavar="GLOB", help="partitions of these topics only")
    which.add_argument("--offsets", metavar="A..B", type=number_range, help="only these offsets")
    which.add_argument(
        "--since", metavar="TIME", type=moment, help="tables: from this time on (UTC, ms, or -24h)"
    )
    which.add_argument("--until", metavar="TIME", type=moment, help="tables: up to this time")
    add_isolation(
        which,
        "tables: with records of aborted transactions, marked (default), or without; those of a transaction "
        "without a known end are there either way, `aborted` null (exit code 4 where they were not wanted)",
    )
    _add_decode(parser)
    parser.add_argument(
        "--salvage", action="store_true",
        help="tables: also records of batches whose checksum fails, or whose offset is in doubt, marked",
    )  # fmt: skip
    add_live_options(parser)
    parser.add_argument(
        "--compact", action="store_const", const="known",
        help="of each key the last record only, in logs whose topic is known to be compacted",
    )  # fmt: skip
    parser.add_argument(
        "--compact-all", dest="compact", action="store_const", const="all",
        help="the same in all logs that are asked for (see --topic), whatever is known",
    )  # fmt: skip
    add_policies_option(parser)
    parser.add_argument(
        "--broker", metavar="N", type=int, help="log-dir: as that of this node (default: the first)"
    )
    add_release_option(parser)


def add_live_options(parser: argparse.ArgumentParser) -> None:
    """Which cluster, and what may be done there."""
    live = parser.add_argument_group("a live cluster (--as kafka)")
    live.add_argument("--bootstrap", metavar="HOST:PORT[,...]", help="where to send the records to")
    live.add_argument(
        "--client-config", metavar="FILE", help="settings of librdkafka, such as security.protocol=SASL_SSL"
    )
    live.add_argument(
        "--create-topics", action="store_true",
        help="make topics that are missing, with partitions and settings as they were, where that is known, "
        "and no more replicas (or min.insync.replicas) than there are brokers",
    )  # fmt: skip
    live.add_argument("--append", action="store_true", help="send behind what is in a partition already")


def add_export_options(parser: argparse.ArgumentParser, forms: Sequence[str] = ("delta",)) -> None:
    """Of `export` and `fleet export`: into what, and what of the logs."""
    parser.add_argument(
        "--out",
        required=True,
        type=given,
        metavar="OUT",
        help="the table: a new directory, or that of before",
    )
    parser.add_argument("--as", dest="form", choices=forms, default="delta", help="the kind of table")
    which = parser.add_argument_group("which records")
    which.add_argument("--topic", type=given, metavar="GLOB", help="partitions of these topics only")
    add_isolation(
        which,
        "with records of aborted transactions, marked (default), or without, and none from the first "
        "one on that has not ended",
    )
    _add_decode(parser)
    add_policies_option(parser)
    add_release_option(parser)


def _add_decode(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--decode", metavar="[SIDE=]KIND[:SCHEMA]", type=asked, action="append", default=[],
        help=f"tables: key or value (default) as text beside the raw bytes, KIND one of {', '.join(kinds())}",
    )  # fmt: skip


def add_isolation(group: argparse._ArgumentGroup, help: str) -> None:
    """Whether records of aborted transactions are wanted."""
    levels = ("read_uncommitted", "read_committed")
    group.add_argument("--isolation", choices=levels, default=levels[0], help=help)
