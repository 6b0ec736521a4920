"""The sample audit, rendered once, and a headless Chromium for the tests marked `browser`."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.report_html import sample

from segmend.report.html import build, render

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
QUIET = ("quic", "background-networking", "component-update", "sync")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", *(f"--disable-{x}" for x in QUIET)]


def html(tables: dict[str, Any] | None = None, **changes: Any) -> str:
    """The sample, or the given tables, as a page."""
    arguments: dict[str, Any] = {
        "title": "kafka-prod-eu",
        "generated_at": sample.NOW,
        "tool_version": "0.1.0",
        "level": "deep",
        "manual": {},
        "past": sample.past() if tables is None else None,
    }
    compiled = changes.pop("compiled", None)
    report = build(sample.tables() if tables is None else tables, **{**arguments, **changes})
    return render(report, compiled)


@pytest.fixture(scope="session")
def page_html() -> str:
    """The sample report."""
    return html()


@pytest.fixture(scope="session")
def report_file(tmp_path_factory: pytest.TempPathFactory, page_html: str) -> Path:
    """The sample report on disk."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(page_html, encoding="utf-8")
    return path


@contextmanager
def chromium_here() -> Iterator[Any]:
    """A running browser; `LookupError` where there is none."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        raise LookupError("the report's browser tests need Chromium on PATH (apt-get install chromium)")
    from playwright.sync_api import sync_playwright  # a browser test's own need

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """CI must have one; elsewhere its absence skips the browser tests."""
    try:
        with chromium_here() as browser:
            yield browser
    except LookupError as error:
        pytest.skip(str(error))


@pytest.fixture
def open_page(chromium: Any, report_file: Path) -> Iterator[Callable[..., Any]]:
    """`open_page(hash, width=, path=, **context)`: a page whose console must stay silent."""
    contexts: list[Any] = []
    said: list[str] = []

    def opened(fragment: str = "", *, width: int = 1280, path: Path | None = None, **options: Any) -> Any:
        context = chromium.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: said.append(f"error: {error}"))
        page.on("request", lambda request: said.append(request.url) if "http" in request.url[:5] else None)
        page.goto((path or report_file).as_uri() + fragment)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert said == [], "the page said something on the console, or asked the network"
