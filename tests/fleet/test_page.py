"""The page of tables, columns and options is the code's own."""

import runpy
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_of_the_data_source_is_what_the_code_says() -> None:
    made = runpy.run_path(str(DOCS / "make_kafka_log.py"))["page"]()
    assert made == (DOCS / "kafka-log.md").read_text(), "run: python docs/make_kafka_log.py"
