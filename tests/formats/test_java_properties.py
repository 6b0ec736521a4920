"""Java properties text, by the rules of `java.util.Properties`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import examples

from segmend.formats.java_properties import parse, property_line, render, replaced


def read(data: bytes) -> dict[str, str]:
    properties, damages = parse(data)
    assert damages == ()
    assert render(properties) == data
    return properties.as_dict()


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"a=b", {"a": "b"}),
        (b"a = b \n", {"a": "b "}),
        (b"  a:b\n", {"a": "b"}),
        (b"a b=c\n", {"a": "b=c"}),
        (b"a\tb\n", {"a": "b"}),
        (b"a = = b\n", {"a": "= b"}),
        (b"a\n", {"a": ""}),
        (b"=b\n", {"": "b"}),
        (b"a=\n", {"a": ""}),
        (b"# x=y\n! x=z\n \t\n\na=b", {"a": "b"}),
        (b"a=b#c\n", {"a": "b#c"}),
        (b"a=1\na=2\n", {"a": "2"}),
        (b"a=1\r\nb=2\rc=3\n", {"a": "1", "b": "2", "c": "3"}),
        (b"a=one\\\n   two\n", {"a": "onetwo"}),
        (b"a=one\\\r\n\ttwo\\\nthree\n", {"a": "onetwothree"}),
        (b"a=one\\\\\nb=2\n", {"a": "one\\", "b": "2"}),
        (b"a=one\\\n# no comment\n", {"a": "one# no comment"}),
        (b"a=one\\", {"a": "one"}),
        (b"# comment \\\na=b\n", {"a": "b"}),
        (b"a\\ b\\=\\:c=d\n", {"a b=:c": "d"}),
        (b'a=\\t\\n\\r\\f\\q\\"\n', {"a": '\t\n\r\fq"'}),
        (b"a=\\u00e4\\u20AC\n", {"a": "ä€"}),
        (b"a=\xe4\n", {"a": "ä"}),
        (b"", {}),
    ],
)
def test_what_java_loads(data: bytes, found: dict[str, str]) -> None:
    assert read(data) == found


@pytest.mark.parametrize("data", [b"a=\\u12", b"a=\\uzzzz", b"\\u=1", b"a=\\u00g0"])
def test_a_broken_escape_is_the_one_damage(data: bytes) -> None:
    properties, damages = parse(data)
    assert [(damage.kind, damage.reason) for damage in damages] == [
        ("bad-escape", "Malformed \\uxxxx encoding.")
    ]
    assert render(properties) == data


def test_lines_know_their_place() -> None:
    properties, _ = parse(b"# c\nlog.dirs=/a,\\\n  /b\nx=1\nx=2\n")
    line = properties.line_of("log.dirs")
    assert line is not None
    assert (line.position, line.text, line.value) == (4, "log.dirs=/a,\\\n  /b\n", "/a,/b")
    last = properties.line_of("x")
    assert last is not None
    assert (last.position, properties.get("x")) == (27, "2")
    assert properties.line_of("nothing") is None
    assert properties.get("nothing") is None


def test_garbage_gives_few_damages() -> None:
    assert len(parse(b"a=\\u1\n" * 10_000)[1]) == 16


@given(st.text(max_size=20), st.text(max_size=20))
@examples(100)
def test_a_line_written_is_read_back(key: str, value: str) -> None:
    text = property_line(key, value)
    found = read(text.encode("latin-1"))
    utf16 = [part.encode("utf-16-be", "surrogatepass") for part in next(iter(found.items()))]
    assert utf16 == [key.encode("utf-16-be", "surrogatepass"), value.encode("utf-16-be", "surrogatepass")]


@given(st.binary(max_size=60) | st.text("ab=: \\\n\r#!u0", max_size=40).map(str.encode))
@examples(200)
def test_any_bytes_are_a_properties_file_and_render_the_same(data: bytes) -> None:
    properties, _ = parse(data)
    assert render(properties) == data
    assert [line.position for line in properties.lines] == sorted(
        {line.position for line in properties.lines}
    )


@pytest.mark.parametrize(
    ("data", "values", "becomes"),
    [
        (b"#x\na=1\nb=2\n", {"a": "3"}, b"#x\na=3\nb=2\n"),
        (b"a=1\nb = 2\na=3\n", {"a": "4"}, b"b = 2\na=4\n"),
        (b"a=1\nb=2", {"c": "3"}, b"a=1\nb=2\nc=3\n"),
        (b"a=1\nb=2\n", {"a": None, "c": None}, b"b=2\n"),
        (b"a=\\\n  1\nb=2\n", {"a": "x=y"}, b"a=x\\=y\nb=2\n"),
        (b"", {"a": "1"}, b"a=1\n"),
    ],
)
def test_values_are_replaced_in_their_places(
    data: bytes, values: dict[str, str | None], becomes: bytes
) -> None:
    assert render(replaced(parse(data)[0], values)) == becomes
