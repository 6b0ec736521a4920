"""Take the README's pictures of a report: `python docs/make_picture.py fleet-report/report.html`.

Writes report.png and report-dark.png beside this file. Needs the dev dependencies (playwright)
and a Chromium on PATH; takes the top of the page, as wide as a laptop shows it.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

HERE = Path(__file__).resolve().parent
WIDTH, HEIGHT, SCALE = 1280, 1500, 1.4
MAX_BYTES = 500_000
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync", "--disable-quic"]


def main(arguments: list[str]) -> int:
    """Light and dark; fails when a picture is too big for a README."""
    report = Path(arguments[0] if arguments else HERE.parent / "fleet-report" / "report.html").resolve()
    executable = next(filter(None, map(shutil.which, BROWSERS)), None)
    if executable is None or not report.is_file():
        print(f"need a Chromium on PATH and {report}", file=sys.stderr)
        return 8
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=FLAGS)
        sizes = [
            take(browser, report, "light", "report.png"),
            take(browser, report, "dark", "report-dark.png"),
        ]
        browser.close()
    return 0 if max(sizes) < MAX_BYTES else 8


def take(browser: Browser, report: Path, scheme: str, name: str) -> int:
    """One picture; returns its size in bytes."""
    context = browser.new_context(
        viewport={"width": WIDTH, "height": HEIGHT}, device_scale_factor=SCALE, color_scheme=scheme
    )
    page = context.new_page()
    page.goto(report.as_uri())
    page.evaluate("document.fonts.ready")
    page.evaluate("document.querySelectorAll('.group').forEach((fold, n) => { fold.open = n === 0; })")
    page.screenshot(path=HERE / name)
    context.close()
    size = (HERE / name).stat().st_size
    print(f"{name}: {size:,} bytes")
    return size


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
