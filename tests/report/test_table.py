"""Tables: aligned, streaming, with remarks across; and the ways in which text is set apart."""

from itertools import count, islice

from segmend.report.style import PLAIN, Style
from segmend.report.table import Column, table, width

COLUMNS = (Column("NAME"), Column("SIZE", right=True), Column("FLAGS"))


def test_columns_are_aligned_and_lines_have_no_tail() -> None:
    rows = [["a", "1", "x"], ["longer", "1000", ""], ["東京", "7", "y"]]
    assert list(table(COLUMNS, rows)) == [
        "NAME    SIZE  FLAGS",
        "a          1  x",
        "longer  1000",
        "東京       7  y",
    ]


def test_a_remark_goes_across_and_widens_nothing() -> None:
    lines = list(
        table(COLUMNS, [["a", "1", "x"], ["! a long remark about the bytes in between"], ["b", "2", "y"]])
    )
    assert lines[2] == "! a long remark about the bytes in between"
    assert lines[3] == "b        2  y"


def test_rows_stream() -> None:
    endless = ([str(n), str(n), ""] for n in count())
    assert len(list(islice(table(COLUMNS, endless), 1000))) == 1000


def test_an_empty_table_is_its_titles() -> None:
    assert list(table(COLUMNS, [])) == ["NAME  SIZE  FLAGS"]


def test_width() -> None:
    assert [width(t) for t in ("abc", "東京", "e\u0301")] == [3, 4, 1]


def test_style() -> None:
    assert Style(True)("red", "x") == "\x1b[31mx\x1b[0m"
    assert Style(True)(None, "x") == Style(True)("red", "") + "x" == "x"
    assert PLAIN("red", "x") == "x"
    assert Style(True).severity("error", "x") == "\x1b[31mx\x1b[0m"
    assert Style(True).severity("other", "x") == "x"
