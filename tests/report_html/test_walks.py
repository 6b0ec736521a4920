"""Two drawn fleets, and a user who walks through their reports; `tests.report_html.walks` has any number."""

from pathlib import Path
from typing import Any

import pytest
from tests.report_html.walks import walk
from tests.seeds import SEED, sampled

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("number", range(sampled(20, 2)))
def test_nothing_is_wrong_on_the_way(chromium: Any, number: int, tmp_path: Path) -> None:
    assert walk(chromium, SEED, number, 12, tmp_path) == []
