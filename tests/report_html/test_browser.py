"""The report in a real browser: what a person can do with it. The console stays silent in every test."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.report_html import sample
from tests.report_html.conftest import html

pytestmark = pytest.mark.browser

Open = Callable[..., Any]


def visible(page: Any, selector: str = ".finding") -> int:
    """How many elements the filters left (folded away counts as left)."""
    return int(
        page.evaluate(
            "s => [...document.querySelectorAll(s)].filter(e => !e.closest('[hidden]')).length", selector
        )
    )


def soon(page: Any, read: Callable[[], Any], wanted: Any) -> None:
    """What the page shows after an event that it answers in its own time, within 10 s."""
    for _ in range(200):
        if read() == wanted:
            return
        page.wait_for_timeout(50)
    assert read() == wanted


def column(page: Any, table: str, number: int) -> list[str]:
    return list(
        page.evaluate(
            "([t, n]) => [...document.querySelectorAll(`${t} tbody tr`)].map(r => r.cells[n].dataset.v)",
            [table, number],
        )
    )


def matches(page: Any) -> str:
    return str(page.locator("#match-count").text_content())


def test_it_draws_everything_and_all_bars_have_a_width(open_page: Open) -> None:
    page = open_page()
    assert page.locator("h1").text_content() == "2 brokers would lose data when started"
    assert page.locator("section").count() == 8
    assert page.locator(".dir .stack i").count() > 40
    assert page.evaluate("[...document.querySelectorAll('.dir .stack i')].every(e => e.offsetWidth > 0)")
    assert page.evaluate(
        "document.fonts.check('14px Inter') && document.fonts.check('14px \"JetBrains Mono\"')"
    )


def test_a_severity_chip_filters_and_counts(open_page: Open) -> None:
    page = open_page()
    assert (visible(page), matches(page)) == (25, "25 findings")
    page.click('.chip[data-severity="error"]')
    assert (visible(page), matches(page)) == (7, "7 of 25 findings")
    page.click('.chip[data-severity="info"]')
    assert visible(page) == 10
    assert page.url.endswith("#severity=error,info")
    page.click("form [type=reset]")
    soon(page, lambda: (visible(page), matches(page), "#" in page.url), (25, "25 findings", False))


def test_fields_filter_together(open_page: Open) -> None:
    page = open_page()
    page.select_option("select[name=broker]", "2")
    assert visible(page) == 11
    page.select_option("select[name=code]", "I12")
    assert visible(page) == 4
    assert page.locator('.group[data-code="I12"] .times').text_content() == "4 of 8"
    page.select_option("select[name=topic]", "orders")
    assert visible(page) == 0
    assert page.locator("#no-match").is_visible()


def test_search_looks_at_messages_files_and_commands(open_page: Open) -> None:
    page = open_page()
    page.keyboard.press("/")
    page.keyboard.type("TIMEINDEX zeros")
    soon(page, lambda: visible(page), 1)
    found = page.locator(".group:not([hidden])")
    assert found.get_attribute("data-code") == "I14"
    soon(page, lambda: found.evaluate("e => e.getBoundingClientRect().top < innerHeight / 2"), True)
    page.keyboard.press("Escape")
    soon(page, lambda: visible(page), 25)


def test_a_link_carries_its_filters(open_page: Open) -> None:
    page = open_page("#severity=error&broker=3&q=lost%2Bfound")
    assert visible(page) == 1
    assert page.input_value("select[name=broker]") == "3"
    assert page.get_attribute('.chip[data-severity="error"]', "aria-pressed") == "true"
    assert page.locator(".group:not([hidden]) .finding:not([hidden])").is_visible()


def test_a_link_to_what_is_not_printed_shows_nothing_rather_than_all(open_page: Open) -> None:
    page = open_page("#broker=77")
    assert visible(page) == 0
    assert page.input_value("select[name=broker]") == "77"


def test_the_fleet_table_leads_to_a_brokers_findings(open_page: Open) -> None:
    page = open_page()
    page.click('.brokers a.warning[href$="broker=2"]')
    soon(page, lambda: (visible(page), page.url.partition("#")[2]), (8, "severity=warning&broker=2"))
    page.go_back()
    soon(page, lambda: (visible(page), "#" in page.url), (25, False))


def test_a_table_sorts_by_the_heading_that_is_clicked(open_page: Open) -> None:
    page = open_page()
    table = "#disks table"
    sizes = [int(v) for v in column(page, table, 4)]
    assert sizes == sorted(sizes, reverse=True)
    page.click(f"{table} th:has-text('Log bytes') button")
    assert [int(v) for v in column(page, table, 4)] == sorted(sizes)
    page.click(f"{table} th:has-text('Partition') button")
    names = column(page, table, 0)
    assert names == sorted(names)
    assert page.get_attribute(f"{table} th:has-text('Partition')", "aria-sort") == "ascending"
    assert page.get_attribute(f"{table} th:has-text('Log bytes')", "aria-sort") is None


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_follows_the_system_until_told_otherwise(open_page: Open, scheme: str) -> None:
    page = open_page(color_scheme=scheme)
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("#theme")
    after = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert before != after

    def reloaded() -> str:
        page.reload()
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    soon(page, reloaded, after)  # a process of its own stores the choice, and a quick reload may overtake it


def test_the_copy_button_copies_the_command(open_page: Open) -> None:
    page = open_page(permissions=["clipboard-read", "clipboard-write"])
    finding = page.locator(".finding").first
    finding.locator(".copy").click()
    soon(page, finding.locator(".copy").text_content, "Copied")
    assert page.evaluate("navigator.clipboard.readText()") == finding.locator(".command code").text_content()


def test_copying_works_without_a_clipboard_api(open_page: Open) -> None:
    page = open_page()
    page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    page.locator(".finding .copy").first.click()
    soon(page, page.locator(".finding .copy").first.text_content, "Copied")


def test_the_time_scale_switches(open_page: Open) -> None:
    page = open_page()
    bar = page.locator("#gantt .track").nth(1)
    wide = bar.locator("i:visible").bounding_box()["width"]
    page.click(".switch [data-scale=calendar]")
    assert bar.locator("i:visible").bounding_box()["width"] != wide
    assert page.get_attribute(".switch [data-scale=calendar]", "aria-pressed") == "true"


def test_tooltips_come_with_the_pointer_and_with_the_keyboard(open_page: Open) -> None:
    page = open_page()
    page.locator(".dir .stack i").first.hover()
    soon(page, lambda: "of this log dir" in page.locator("#tip").text_content(), True)
    page.mouse.move(0, 0)
    soon(page, page.locator("#tip").is_hidden, True)
    page.locator(".copies li").first.focus()
    page.keyboard.press("Tab")
    soon(page, lambda: "log end offset" in page.locator("#tip").text_content(), True)


def test_the_keyboard_reaches_the_filters_and_folds(open_page: Open) -> None:
    page = open_page()
    page.locator("summary").last.focus()
    page.keyboard.press("Enter")
    soon(page, lambda: page.locator(".group").last.get_attribute("open") is not None, True)


@pytest.mark.parametrize("width", [1280, 420])
@pytest.mark.parametrize("hostile", [False, True])
def test_nothing_sticks_out_at_the_side(open_page: Open, tmp_path: Path, width: int, hostile: bool) -> None:
    path = tmp_path / "hostile.html"
    path.write_text(html(sample.hostile()) if hostile else html(), encoding="utf-8")
    page = open_page(width=width, path=path)
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_hostile_names_run_nothing(open_page: Open, tmp_path: Path) -> None:
    """Whatever the disks say, no element and no script of theirs comes into the page."""
    path = tmp_path / "hostile.html"
    path.write_text(html(sample.hostile(), title="<b>title</b>"), encoding="utf-8")
    page = open_page(path=path)
    assert page.evaluate("window.hacked") is None
    assert page.locator("main img, main b b, main script:not([type='text/plain']), main iframe").count() == 0
    assert page.locator("script:not([type])").count() == 1
    assert page.locator("script").count() == 4
    page.select_option("select[name=topic]", sample.HOSTILE)
    assert visible(page) == 1


def test_it_is_complete_without_javascript(open_page: Open) -> None:
    page = open_page(java_script_enabled=False)
    assert page.locator(".finding").count() == 25
    assert page.locator(".filters").is_hidden()
    page.locator("summary").last.click()
    assert page.locator(".finding").last.is_visible()


def test_printing_opens_every_fold_and_drops_the_controls(open_page: Open) -> None:
    page = open_page()
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator(".filters").is_hidden()
    assert page.locator(".finding").last.is_visible()


def test_a_printed_card_stays_on_its_page(open_page: Open) -> None:
    page = open_page()
    page.emulate_media(media="print")
    breaking = "e => getComputedStyle(e).breakInside != 'avoid'"
    broken = f"s => [...document.querySelectorAll(s)].filter({breaking}).length"
    assert page.locator(".group").count() > 5
    assert page.evaluate(broken, ".group, .verdict, .finding, .dir, tr") == 0


def test_an_empty_report_opens(open_page: Open, tmp_path: Path) -> None:
    path = tmp_path / "empty.html"
    path.write_text(html({}), encoding="utf-8")
    page = open_page(path=path)
    assert page.locator(".none.good").is_visible()


def test_filters_reach_what_stands_in_its_cause(open_page: Open, tmp_path: Path) -> None:
    cause = [("cause", '{"code":"M01","dir":"/d","file":"orders-0/partition.metadata"}')]
    rows = [sample.finding(code="M01"), sample.finding(code="C10b", detail=cause), sample.finding(code="N12")]
    path = tmp_path / "nested.html"
    path.write_text(html({"findings": sample.table("findings", rows)}), encoding="utf-8")
    page = open_page(path=path)
    assert page.locator(".group .group").count() == 1
    assert matches(page) == "3 findings"
    page.select_option("select[name=code]", "C10b")
    assert matches(page) == "1 of 3 findings"
    assert visible(page, ".group") == 2, "the fold that it stands in stays"
    page.select_option("select[name=code]", "M01")
    assert (visible(page), visible(page, ".group")) == (1, 1)
    page.select_option("select[name=code]", "N12")
    assert (visible(page), visible(page, ".group")) == (1, 1)


def test_every_finding_is_reached_though_few_are_printed(open_page: Open, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(html(sample.big_fleet(brokers=120, findings=4000)), encoding="utf-8")
    page = open_page(path=path)
    assert matches(page) == "4,000 findings"
    printed = visible(page)
    assert printed < 2000
    group = page.locator(".group:has(> .inside > .more)").first
    group.evaluate("e => { e.open = true; }")
    group.locator("> .inside > .more button").click()
    soon(page, lambda: visible(page), printed + 60)
    group.locator("> .inside > .more button").click()
    soon(page, lambda: visible(page), printed + 120)
    page.fill("input[name=q]", "no such words anywhere")
    soon(page, lambda: (visible(page), matches(page)), (0, "0 of 4,000 findings"))
    page.fill("input[name=q]", "")
    page.select_option("select[name=broker]", "77")
    soon(page, lambda: matches(page) != "4,000 findings", True)
    found, _, rest = matches(page).partition(" of ")
    assert (rest, visible(page)) == ("4,000 findings", int(found))
    rows = page.locator(".finding:not([hidden]) .where > span").all_text_contents()
    assert rows
    assert all(" ".join(text.split()).startswith("broker 77 ") for text in rows if text)


def test_an_unpacked_row_is_drawn_as_a_printed_one(
    open_page: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rows(page: Any) -> list[list[str]]:
        script = """() => [...document.querySelectorAll('.finding')].map(e => {
            const copy = e.cloneNode(true);
            copy.removeAttribute('id'); copy.removeAttribute('data-id'); copy.removeAttribute('hidden');
            const markup = copy.outerHTML.replace(/\\s+/g, ' ').replace(/> </g, '><');
            return [e.closest('.group').dataset.code, markup];
        }).sort()"""
        return list(page.evaluate(script))

    printed = open_page()
    wanted = rows(printed)
    monkeypatch.setattr("segmend.report.html.findings.findings.__defaults__", (0,))
    path = tmp_path / "report.html"
    path.write_text(html(), encoding="utf-8")
    page = open_page(path=path)
    assert rows(page) == []
    for severity in ("error", "warning", "info"):
        page.click(f'.chip[data-severity="{severity}"]')
    soon(page, lambda: visible(page), len(wanted))
    assert rows(page) == wanted


def found(page: Any) -> str:
    return str(page.locator("#find-count").text_content())


def test_a_partition_is_found_and_opened_for_its_segments(open_page: Open) -> None:
    page = open_page("#find=orders-3")
    soon(page, lambda: found(page), "3 of 110 replicas")
    page.locator("#explorer .fold").first.focus()
    page.keyboard.press("Enter")
    soon(page, lambda: page.locator(".opened tbody tr").count(), 3)
    assert page.locator(".opened tbody code").all_text_contents() == ["1374928", "1375928", "1376928"]
    command = page.locator(".opened .command code").text_content()
    assert command == "segmend show /var/lib/kafka/d2/orders-3"
    page.keyboard.press("Enter")
    assert page.locator(".opened").count() == 0
    page.locator("h1").click()
    page.keyboard.press("p")
    page.keyboard.type("broker 3 damaged")
    brokers = page.locator("#explorer td:nth-child(2) > b")
    soon(page, lambda: set(brokers.all_text_contents()), {"3"})
    page.click("#explorer th:has-text('Findings') button")
    page.locator("#explorer a.error").first.click()
    soon(page, lambda: page.url.partition("#")[2].startswith("severity=error&broker=3&topic="), True)
    assert visible(page) >= 1


def test_the_partitions_are_searched_where_nothing_was_found(open_page: Open, tmp_path: Path) -> None:
    path = tmp_path / "calm.html"
    path.write_text(html({**sample.tables(), "findings": sample.table("findings", [])}), encoding="utf-8")
    page = open_page(path=path)
    page.fill("input[name=find]", "clickstream broker 2 /var/lib/kafka/d1")
    soon(page, lambda: 0 < page.locator("#explorer tbody tr").count() < 8, True)
    assert set(page.locator("#explorer tbody td:nth-child(2)").all_text_contents()) == {"2 /var/lib/kafka/d1"}
    page.fill("input[name=find]", "no such partition")
    soon(page, lambda: found(page), "0 of 110 replicas")


def test_a_log_dir_of_the_map_leads_to_its_findings_and_arrow_keys_go_there(open_page: Open) -> None:
    page = open_page()
    page.locator(".map .cell").first.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    soon(page, lambda: page.url.partition("#")[2], "broker=2&q=%3D/var/lib/kafka/d2")
    rows = page.locator(".finding:not([hidden]) .where > span:not(.facts)")

    def shown() -> set[str]:
        return {" ".join(text.split()) for text in rows.all_text_contents() if text}

    soon(page, shown, {"broker 2 /var/lib/kafka/d2"})  # the address changes before what hears of it
    assert page.locator(".map [tabindex='-1']").count() == page.locator(".map a.cell").count() - 1


@pytest.mark.slow
def test_a_fleet_of_fifty_thousand_partitions_opens_within_a_second(open_page: Open, tmp_path: Path) -> None:
    """A second of CPU for reading and drawing the page, so long as it takes where nobody else computes."""
    path = tmp_path / "report.html"
    tables = sample.big_fleet(brokers=250, findings=20_000, in_a_dir=50, words=20)
    assert tables["partitions"].num_rows == 50_000
    path.write_text(html(tables), encoding="utf-8")
    page = open_page().context.new_page()
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.goto(path.as_uri(), timeout=60_000)
    told = {each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]}
    assert 0.05 < told["TaskDuration"] < 1
    page.fill("input[name=find]", "broker 77 damaged")
    soon(page, lambda: " of 50,000 replicas" in found(page), True)
    page.fill("input[name=q]", "no such words anywhere")
    soon(page, lambda: matches(page), "0 of 20,000 findings")
