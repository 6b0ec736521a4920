"""The page as text: it is whole, it escapes everything, it stays small, and it says where the rest is."""

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import examples
from tests.report_html import sample
from tests.report_html.conftest import html

from segmend.report.html.render import _environment, inert_json

VOID = {"meta", "link", "input", "img", "br", "path", "circle"}


class Elements(HTMLParser):
    """Every element of a page with its attributes; complains about tags that do not nest."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.seen if name == tag]


def data_of(page: str) -> Any:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert found
    return json.loads(found[1])


def test_it_is_one_file_that_asks_for_nothing(page_html: str) -> None:
    elements = Elements(page_html)
    assert elements.open == []
    addresses = [
        a.get("src") or a.get("href") or "" for _, a in elements.seen if a.get("src") or a.get("href")
    ]
    assert {address[:5] for address in addresses if not address.startswith("#")} == {"data:"}
    assert set(re.findall(r"url\((.{5})", page_html)) == {"data:"}
    assert "@import" not in page_html


def test_the_policy_lets_only_our_script_run(page_html: str) -> None:
    policy = next(m["content"] for m in Elements(page_html).all("meta") if m.get("http-equiv"))
    script = re.search(r"<script>(.*?)</script>\n</body>", page_html, re.S)
    assert script
    digest = base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in str(policy)
    assert "default-src 'none'" in str(policy)


def test_ids_are_unique_and_links_lead_somewhere(page_html: str) -> None:
    elements = Elements(page_html)
    ids = [attributes["id"] for _, attributes in elements.seen if "id" in attributes]
    assert len(ids) == len(set(ids))
    inside = {str(a["href"])[1:] for a in elements.all("a") if "=" not in str(a["href"])}
    assert inside <= set(ids)


def test_the_json_tells_severity_broker_topic_and_code_of_each_row(page_html: str) -> None:
    data = data_of(page_html)
    assert data["counts"] == {"error": 7, "warning": 15, "info": 3}
    assert data["verdict"] == "2 brokers would lose data when started"
    rows = [a["data-id"] for a in Elements(page_html).all("li") if "data-id" in a]
    assert sorted(map(int, map(str, rows))) == list(range(len(data["findings"])))
    assert ["error", "2", "payments.settled", "I14"] in data["findings"]


def test_every_finding_has_its_command_its_place_and_its_words(page_html: str) -> None:
    assert page_html.count("segmend plan repair /var/lib/kafka/d2 --quarantine lost+found -o plan.json") == 1
    assert "byte 733,184,000" in page_html
    assert "offset 4,901,776" in page_html
    assert "Skipping recovery of 21 logs" in page_html
    assert page_html.count('class="badge lossy"') == 1


def test_a_manual_page_gives_the_headline_and_the_text_behind_it() -> None:
    page = html(manual={"L05": sample.entry("a batch's bytes changed", "Look at `<dir>`\n    first.")})
    assert page.count("A batch&#39;s bytes changed") == 1
    assert "<dt>What to do</dt><dd><p>Look at <code>&lt;dir&gt;</code> first.</p></dd>" in page
    assert page.count("The batch&#39;s CRC does not match: stored") == 2


def test_hostile_names_stay_text() -> None:
    page = html(sample.hostile(), title=sample.HOSTILE)
    elements = Elements(page)
    assert elements.open == []
    assert [script.get("type") for script in elements.all("script")] == [
        *["text/plain"] * 2,
        "application/json",
        None,
    ]
    assert not elements.all("img")
    assert not [a for _, a in elements.seen if any(name.startswith("on") for name in a)]
    assert data_of(page)["findings"] == [["error", "1", sample.HOSTILE, "<b>"]]
    assert "49www" not in page, "a name was taken for a template"


@given(st.text() | st.sampled_from(["</script>", "<!--", "\u2028", "&lt;"]))
@examples(60)
def test_inert_json_says_the_same_and_can_end_nothing(text: str) -> None:
    inert = inert_json({"x": text})
    assert json.loads(inert) == {"x": text}
    assert not set("<>&\u2028\u2029") & set(inert)


@pytest.mark.parametrize("missing", [None, *sample.tables()])
def test_a_missing_table_empties_its_section_and_nothing_else(missing: str | None) -> None:
    tables = {name: table for name, table in sample.tables().items() if missing and name != missing}
    elements = Elements(html(tables))
    assert elements.open == []
    assert len(elements.all("section")) == 8


@pytest.mark.parametrize("name", sample.tables())
def test_an_empty_table_is_no_trouble(name: str) -> None:
    assert Elements(html({**sample.tables(), name: sample.table(name, [])})).open == []


def test_of_several_runs_the_newest_counts() -> None:
    tables = sample.tables()
    older = {"run_id": "2026-11-20T03:12:00Z", "started": sample.NOW - timedelta(days=1), "seconds": 1.0}
    tables["runs"] = pa.concat_tables([tables["runs"], sample.table("runs", [older])])
    old = sample.table("findings", [{**sample.finding(message="long mended"), "run_id": older["run_id"]}])
    tables["findings"] = pa.concat_tables([old, tables["findings"]])
    page = html(tables)
    assert "long mended" not in page
    assert "read in 6 min 53 s" in page


def test_columns_that_an_older_audit_lacks_read_as_null() -> None:
    tables = {name: table.select(table.column_names[:6]) for name, table in sample.tables().items()}
    assert Elements(html(tables)).open == []


class InParts:
    """A table that is there a few rows at a time only, as one that is larger than memory."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table
        self.column_names, self.num_rows = table.column_names, table.num_rows

    def select(self, columns: list[str]) -> pa.Table:
        # Of log dirs and runs there are few.
        assert self.num_rows < 50
        return self.table.select(columns)

    def parts(self, columns: list[str]) -> Iterator[pa.Table]:
        for first in range(0, self.num_rows, 7):
            yield self.table.select(columns).slice(first, 7)


@pytest.mark.slow
def test_the_page_is_the_same_of_tables_that_are_read_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("segmend.report.html.columns._FEW", 20)
    monkeypatch.setattr("segmend.report.html.explorer.PARTITIONS", 100)
    for made in (sample.tables(), sample.big_fleet(brokers=8, findings=300, words=2), sample.hostile()):
        # As those of one run, whose files say whose they are.
        of_run = {
            name: table.select([c for c in table.column_names if c != "run_id"])
            for name, table in made.items()
        }
        assert html({name: InParts(table) for name, table in of_run.items()}) == html(of_run)


def test_nothing_found_is_said_calmly() -> None:
    page = html({**sample.tables(), "findings": sample.table("findings", [])})
    assert "<h1>Nothing wrong found</h1>" in page
    assert "Nothing wrong was found at this depth." in page


def test_times_are_told_in_utc() -> None:
    local = datetime(2026, 11, 21, 5, 12, tzinfo=timezone(timedelta(hours=2)))
    assert "2026-11-21 03:12 UTC" in html(generated_at=local)


def test_what_it_cannot_know_of_retention_is_said(page_html: str) -> None:
    assert "settings of topics not known" in page_html
    assert "segmend explain retention DIR... --html PAGE" in page_html


def test_the_sample_is_small(page_html: str) -> None:
    assert len(page_html.encode()) < 200_000


@pytest.mark.slow
def test_a_big_fleet_stays_under_two_megabytes_and_says_what_it_leaves_out() -> None:
    page = html(sample.big_fleet(brokers=120, findings=4000))
    assert len(page.encode()) < 2_000_000
    for text in (
        "60 brokers more in the <code>log_dirs</code> table",
        "456 log dirs more in the <code>log_dirs</code> table",
        "partitions more in the <code>partitions</code> table",
        "“Show more” reach all of them",
        "partitions more in the <code>replicas</code> table",
    ):
        assert text in page
    assert len(Elements(page).all("a")) > 120, "every broker has its cell in the map"


def test_findings_that_no_page_can_carry_are_said_to_be_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("segmend.report.html.findings.PACKED_ROWS", 100)
    page = html(sample.big_fleet(brokers=12, findings=4000))
    told = re.search(
        r"([\d,]+) of 4,000 findings are printed.*?but ([\d,]+) are only in the <code>findings", page
    )
    assert told
    printed, elsewhere = (int(number.replace(",", "")) for number in told.groups())
    assert printed + 100 + elsewhere == 4000


def test_what_templates_are_compiled_to_is_kept_where_there_is_room(tmp_path: Path, page_html: str) -> None:
    kept, full = tmp_path / "kept", tmp_path / "full"
    kept.mkdir()
    full.write_text("no folder")
    assert html(compiled=str(full)) == html(compiled=str(kept)) == page_html
    times = {each: each.stat().st_mtime_ns for each in kept.iterdir()}
    _environment.cache_clear()
    assert times
    assert html(compiled=str(kept)) == page_html
    assert {each: each.stat().st_mtime_ns for each in kept.iterdir()} == times
    next(iter(times)).write_bytes(b"damaged")
    _environment.cache_clear()
    assert html(compiled=str(kept)) == page_html
