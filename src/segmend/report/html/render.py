"""The report as one self-contained HTML file.

Plots are HTML and CSS boxes that Jinja2 lays out, no plotting library. Tried against the wheels
that ship their JavaScript: plotly brings 4.8 MB to every report and bokeh 1.3 MB, both draw into
a canvas or SVG of their own look that neither follows the page's colours nor prints nor reads
well in a screen reader; what an audit shows is bars, and a bar is a box with a width in percent.
A report of three brokers has some 150 KB, 37 KB of them the two type faces, and all that is printed
is there without JavaScript: scripts filter, sort, copy and switch, and draw what travels packed.

Names of topics, paths and messages come from disks that may be hostile. Jinja2 escapes all of
them, no name ever gets into a style or a script, the JSON in the page has its `<` escaped, and a
Content-Security-Policy in the page lets only our own script run (by its hash) and nothing load.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from contextlib import suppress
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Final

import jinja2
from jinja2.bccache import Bucket
from markupsafe import Markup, escape

from segmend.wording import plural

from . import units
from .model import Report

_PACKAGE: Final = "segmend.report.html"
_FONTS: Final = (("Inter", "inter.woff2"), ("JetBrains Mono", "jetbrains-mono.woff2"))


def render(report: Report, compiled: str | None = None) -> str:
    """The HTML of what `build` made. In the folder `compiled` templates are kept as Jinja2 compiles them."""
    script = _joined("assets", ".js")
    return (
        _environment(compiled)
        .get_template("report.html.j2")
        .render(
            report=report,
            css=Markup(_font_faces() + _joined("assets", ".css")),
            script=Markup(script),
            policy=_policy(script),
            data=Markup(inert_json(report.data())),
        )
    )


def inert_json(value: object) -> str:
    """JSON that can stand in a `<script>` element: nothing in it can end the element or open a comment."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def inline(text: str) -> Markup:
    """A manual page's text: backticks mark code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(" ".join(text.split())))))


class _Compiled(jinja2.FileSystemBytecodeCache):
    """No report fails for want of what is compiled anew in a tenth of a second."""

    def load_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError):
            super().load_bytecode(bucket)

    def dump_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError):
            super().dump_bytecode(bucket)


@cache
def _environment(compiled: str | None) -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(_PACKAGE, "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=_Compiled(compiled, f"jinja2-{jinja2.__version__}-%s") if compiled else None,
    )
    environment.filters.update(count=units.count, size=units.size, plural=plural, inline=inline)
    return environment


def _folder(name: str) -> Traversable:
    return resources.files(_PACKAGE).joinpath(name)


def _joined(folder: str, suffix: str) -> str:
    """All files of a kind, in order of name."""
    files = sorted((f for f in _folder(folder).iterdir() if f.name.endswith(suffix)), key=lambda f: f.name)
    return "\n".join(f.read_text(encoding="utf-8") for f in files)


def _font_faces() -> str:
    faces = []
    for family, name in _FONTS:
        data = base64.b64encode(_folder("fonts").joinpath(name).read_bytes()).decode("ascii")
        faces.append(
            f'@font-face{{font-family:"{family}";font-weight:400 700;font-display:block;'
            f'src:url(data:font/woff2;base64,{data}) format("woff2")}}\n'
        )
    return "".join(faces)


def _policy(script: str) -> str:
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; "
        "font-src data:; img-src data:; base-uri 'none'; form-action 'none'"
    )
