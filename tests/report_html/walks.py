"""Fleets of any shape, and a user who walks at random through their reports, in a real Chromium.

`python -m tests.report_html.walks [--seed N] [--first N] [--count N] [--steps N]`. Nothing may be said on the
console; what the page counts is counted in the tables; nothing is wider than a narrow screen; and each
finding is reached, if not by one filter, then by "Show more". A seed's number is a fleet and a walk.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.report_html import sample
from tests.report_html.conftest import chromium_here, html
from tests.seeds import SEED

LONG_MAX = (1 << 63) - 1
TOPICS = (
    "orders", "a.b_c-d", "-", "...", "constructor", "__proto__", "toString", "NaN", "null", "0", "1e5",
    "x" * 249, "a b", "a  b", " lead", "trail ", "%41", "a&b=c", "x#y", "<b>bold</b>", "\u202eltr",
    "e\u0301", "\U0001f600", "Broker", "a,b", "=equals", "a+b",
    '"quoted"', "it's", "a/b", "a\\b", "broker 1", "ORDERS", "tab\there",
)  # fmt: skip
PATHS = (
    "/d",
    "/data/kafka-logs",
    "/a b/c",
    "/a  b",
    "/ä",
    "/%2F",
    "/x" * 90,
    "/it's",
    "/a&b=c#d",
    "s3://b/k e y",
    "/=",
)
CODES = ("L05", "I01", "I13", "M01", "C10b", "N12", "K24", "zz", "R01")
Row = dict[str, Any]


class Fleet:
    """Tables of a drawn audit."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        brokers = range(draw.choice((0, 1, 1, 2, 3, 17, 120, 300)))
        self.topics = draw.sample(TOPICS, draw.randint(1, min(len(TOPICS), 12)))
        clusters = draw.choice(([None], ["one"], ["one", "two"]))
        numbers = draw.choice(
            ([*brokers], [each * 7 for each in brokers], [(1 << 31) - 1 - n for n in brokers])
        )
        big = draw.choice((1, 1000, 1 << 40, LONG_MAX // 3))
        self.dirs: list[Row] = []
        for number in numbers:
            for path in draw.sample(PATHS, draw.randint(1, 3)):
                cluster = draw.choice(clusters)
                row = {"broker": number, "log_dir_id": len(self.dirs), "path": path, "cluster_id": cluster}
                self.dirs.append(row | {"disk_total_bytes": big, "disk_free_bytes": draw.randrange(big + 1)})
        self.partitions, self.segments = list[Row](), list[Row]()
        for row in self.dirs:
            for topic in draw.sample(self.topics, draw.randint(0, min(3, len(self.topics)))):
                self._replica(row, topic, big)
        self.findings = [self._finding(n) for n in range(draw.choice((0, 1, 2, 30, 200, 1500, 4000)))]
        self.findings = self.findings if self.dirs else []

    def _replica(self, row: Row, topic: str, big: int) -> None:
        partition = self.draw.choice((0, 1, 7, (1 << 31) - 1))
        where = {
            "broker": row["broker"],
            "log_dir_id": row["log_dir_id"],
            "topic": topic,
            "partition": partition,
        }
        count = self.draw.choice((0, 1, 3, 120))
        self.partitions.append(
            {
                **where, "dir_name": f"{topic}-{partition}",
                "kind": self.draw.choice(("current",) * 5 + ("stray", "future")),
                "log_bytes": self.draw.randrange(big), "bytes": big,
                "records": self.draw.choice((0, None, big)),
                "segments": count, "log_start_offset": 0, "log_end_offset": self.draw.choice((0, big, None)),
                "min_timestamp_ms": self.draw.choice((None, -1, 0, sample.NOW_MS)),
                "max_timestamp_ms": self.draw.choice((None, sample.NOW_MS, LONG_MAX)),
            }
        )  # fmt: skip
        self.segments += [
            {
                **where, "segment": n * 100, "log_bytes": big // (n + 1), "records": 100,
                "codecs": ["lz4"], "magics": [2],
            }
            for n in range(count)
        ]  # fmt: skip

    def _finding(self, number: int) -> Row:
        if not self.dirs:
            return {}
        log_dir, draw = self.draw.choice(self.dirs), self.draw
        found = sample.finding(
            **{name: log_dir[name] for name in ("broker", "log_dir_id", "cluster_id")}, dir=log_dir["path"],
            code=draw.choice(CODES), severity=draw.choice(("error", "warning", "info")),
            topic=draw.choice((*self.topics, None)), partition=draw.choice((0, 1, None)),
            message=f"token{number}x {draw.choice(('', '<i>', 'a' * 900, 'ä'))}",
            file=draw.choice((None, "x-0/00000000000000000000.log", "f" * 400)),
            offset=draw.choice((None, 0, LONG_MAX)),
            remedy_command=draw.choice((None, "segmend plan repair '/d'")),
            remedy_safety=draw.choice(("safe", "lossy", None)),
        )  # fmt: skip
        if draw.random() < 0.1:
            found["detail"] = [("cause", '{"code":"M01","dir":"/d","file":"orders-0/partition.metadata"}')]
        return found

    def tables(self) -> dict[str, Any]:
        run = {**sample._run(self.partitions, self.segments, self.findings), "brokers": len(self.dirs)}
        rows = {
            "log_dirs": self.dirs, "partitions": self.partitions, "segments": self.segments,
            "findings": self.findings, "replicas": [], "runs": [run],
        }  # fmt: skip
        return {name: sample.table(name, content) for name, content in rows.items()}

    def fitting(self, state: Row) -> int | None:
        """How many findings a state of the filters leaves; None where a text makes that hard to say."""
        text = state["q"]
        if text and not re.fullmatch(r"token\d+x|no such words", text):
            return None
        return sum(
            (not state["severity"] or row["severity"] in state["severity"])
            and (not state["topic"] or row["topic"] == state["topic"])
            and (not state["code"] or row["code"] == state["code"])
            and (not state["broker"] or state["broker"] in (str(row["broker"]), self.named(row)))
            and (not text or f"{text} " in row["message"])
            for row in self.findings
        )

    def named(self, row: Row) -> str:
        """As the page calls a broker where there are several clusters."""
        return f"{row['broker']} of {row['cluster_id'] or '?'}"


STATE = """() => {
  const form = document.querySelector('.filters');
  const chips = [...form.querySelectorAll('[data-severity][aria-pressed=true]')].map(c => c.dataset.severity);
  const [broker, topic, code, q] = ['broker', 'topic', 'code', 'q'].map(n => form.elements[n].value);
  return {severity: chips, broker, topic, code, q, count: document.getElementById('match-count').textContent,
    options: ['broker', 'topic', 'code'].map(n => [...form.elements[n].options].map(o => o.value))};
}"""
SHOWN = """() => [...document.querySelectorAll('.finding')].filter(e => !e.closest('[hidden]')).map(e => [
  e.closest('.group').dataset.code,
  (e.textContent + e.closest('.group').querySelector('.headline').textContent)
    .match(/token\\d+x/)?.[0] ?? ''])"""


MORE = """() => [...document.querySelectorAll('.group:not([hidden]) .more:not([hidden]) button')]
  .forEach(each => each.click())"""


class Walk:
    """One user with one report."""

    def __init__(self, page: Any, fleet: Fleet, draw: random.Random) -> None:
        self.page, self.fleet, self.draw = page, fleet, draw
        self.did: list[str] = []

    def step(self) -> None:
        acts: list[Callable[[], str]] = [
            self._chip, self._select, self._text, self._clear, self._link, self._link, self._back, self._keys,
            self._find, self._sort, self._more, self._fold, self._look, self._hash,
        ]  # fmt: skip
        self.did.append(self.draw.choice(acts)())
        self.check()

    def _state(self) -> Row | None:
        found: Row | None = self.page.evaluate(STATE) if self.page.locator(".filters").count() else None
        return found

    def check_topics(self) -> None:
        """Each can be chosen by its very name."""
        state = self._state()
        if state is not None:
            assert {*state["options"][1]} == {"", *(row["topic"] or "" for row in self.fleet.findings)}

    def check(self) -> None:
        state = self._state()
        if state is not None:
            wanted = self.fleet.fitting(state)
            whole = len(self.fleet.findings)
            active = any(state[name] for name in ("severity", "broker", "topic", "code", "q"))
            if wanted is not None:
                told = (
                    f"{wanted:,} of {whole:,} findings"
                    if active
                    else f"{whole:,} finding{'s' * (whole != 1)}"
                )
                for _ in range(100):
                    if state["count"] == told:
                        break
                    self.page.wait_for_timeout(50)
                    state = self._state() or state
                assert state["count"] == told, (
                    state["count"],
                    told,
                    {k: v for k, v in state.items() if k != "options"},
                )
        wide = self.page.evaluate("document.scrollingElement.scrollWidth - innerWidth")
        assert wide <= 1, f"{wide} pixels wider than the screen"

    def _chip(self) -> str:
        return self._click(".chip")

    def _click(self, selector: str) -> str:
        """One of those that can be seen."""
        found = [each for each in self.page.locator(selector).all() if each.is_visible()]
        if not found:
            return f"no {selector}"
        at = self.draw.randrange(len(found))
        found[at].click()
        return f"click {selector} {at}"

    def _select(self) -> str:
        state = self._state()
        if state is None:
            return "nothing to select"
        at = self.draw.randrange(3)
        name, value = ("broker", "topic", "code")[at], self.draw.choice(state["options"][at])
        number = state["options"][at].index(value)
        self.page.select_option(f"select[name={name}]", index=number)
        return f"select {name} {value!a}"

    def _text(self) -> str:
        if self._state() is None:
            return "nothing to search"
        number = self.draw.randrange(len(self.fleet.findings))
        text = self.draw.choice((f"token{number}x", "no such words", "=/d", "lossy", "<i>", ""))
        self.page.fill("input[name=q]", text)
        return f"search {text!a}"

    def _clear(self) -> str:
        return self._click(".filters [type=reset]")

    def _link(self) -> str:
        return self._click("main a[href^='#'], .tally a, nav a")

    def _back(self) -> str:
        before = self.page.url
        self.draw.choice((self.page.go_back, self.page.go_forward, self.page.reload))()
        if not self.page.url.startswith("file:"):  # behind the first page there is a blank one
            self.page.go_forward()
        return f"back, forth or again, from {before.partition('#')[2]!a}"

    def _keys(self) -> str:
        some = ("/", "p", "Escape", "Tab", "Tab", "Enter", "ArrowDown", "ArrowRight", " ", "t", "o")
        keys = self.draw.choices(some, k=6)
        for key in keys:
            self.page.keyboard.press(key)
        return f"keys {keys}"

    def _find(self) -> str:
        """A replica by its name: all of that name are there, and nothing else."""
        if not self.fleet.partitions:
            return "nothing to find"
        name = self.draw.choice(self.fleet.partitions)["dir_name"]
        same = sum(row["dir_name"].lower() == name.lower() for row in self.fleet.partitions)
        if name.split() != [name]:
            same = -1  # its words are looked for apart
        self.page.fill("input[name=find]", name)
        told = f"{same:,} of {len(self.fleet.partitions):,} replica{'s' * (len(self.fleet.partitions) != 1)}"
        for _ in range(100):
            count = self.page.locator("#find-count").text_content()
            if count == told or (same < 0 and " of " in count):
                break
            self.page.wait_for_timeout(50)
        assert same < 0 or count == told, (name, count, told)
        assert not count.startswith("0 "), (name, count)
        return f"find {name!a}"

    def _sort(self) -> str:
        return self._click("th[data-sort] button")

    def _more(self) -> str:
        return self._click(".more button")

    def _fold(self) -> str:
        return self._click("#explorer .fold, summary")

    def _look(self) -> str:
        width = self.draw.choice((320, 390, 768, 1280, 2560))
        media = self.draw.choice(("screen", "screen", "print"))
        self.page.set_viewport_size({"width": width, "height": self.draw.choice((500, 900))})
        self.page.emulate_media(media=media, color_scheme=self.draw.choice(("dark", "light")))
        if media == "print":
            self.page.evaluate("dispatchEvent(new Event('beforeprint'))")
            assert self.page.pdf()
            self.page.emulate_media(media="screen")
        return f"look at {width} {media}"

    def _hash(self) -> str:
        """A link that somebody sent."""
        topic, number = self.draw.choice(self.fleet.topics), self.draw.randrange(9)
        links = (
            "#", "#severity=error,warning", f"#q=token{number}x", "#broker=1&severity=nonsense", "TOPIC",
            "#find=orders", "#code=nowhere", "#%", "#findings", "#a=b&a=c",
        )  # fmt: skip
        wanted = self.draw.choice(links)
        self.page.evaluate(
            "([hash, topic]) => { location.hash = hash === 'TOPIC' ? new URLSearchParams({topic}) : hash; }",
            [wanted, topic],
        )
        self.page.wait_for_timeout(50)
        return f"hash {wanted!a} {topic!a}"

    def reach(self) -> None:
        """Each finding, code by code."""
        self.page.set_viewport_size({"width": 1280, "height": 900})
        for code in sorted({row["code"] for row in self.fleet.findings}):
            self.page.evaluate("code => { location.hash = `code=${code}`; }", code)
            wanted = Counter(
                (code, row["message"].partition(" ")[0]) for row in self.fleet.findings if row["code"] == code
            )
            for _ in range(400):
                found = Counter(map(tuple, self.page.evaluate(SHOWN)))
                if found == wanted:
                    break
                self.page.evaluate(MORE)
                self.page.wait_for_timeout(20)
            assert found == wanted, (code, len(found), len(wanted), list((wanted - found).items())[:3])


@contextmanager
def opened(browser: Any, path: Path) -> Iterator[Any]:
    """A page that must say nothing."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page, said = context.new_page(), list[str]()
    page.set_default_timeout(15_000)
    page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: said.append(f"error: {error}"))
    page.goto(path.as_uri())
    try:
        yield page
    finally:
        context.close()
    assert said == [], said


def walk(browser: Any, seed: int, number: int, steps: int, folder: Path) -> list[str]:
    """What was wrong, if anything."""
    draw = random.Random(f"walk {seed} {number}")
    fleet = Fleet(draw)
    path = folder / f"report {number}.html"
    path.write_text(html(fleet.tables(), past=draw.choice((None, sample.past()))), encoding="utf-8")
    did: list[str] = []
    try:
        with opened(browser, path) as page:
            user = Walk(page, fleet, draw)
            did = user.did
            user.check_topics()
            user.check()
            for _ in range(steps):
                user.step()
            user.reach()
    except Exception as error:
        counts = [len(each) for each in (fleet.dirs, fleet.findings, fleet.partitions)]
        what = f"{counts} dirs, findings, replicas; {fleet.topics!a}"
        return [f"{seed} {number}: {what}", *did[-8:], f"{type(error).__name__}: {error!s:.1500}"]
    finally:
        path.unlink()
    return []


def main(words: list[str]) -> int:
    """Walk the numbers; 1 if anything was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.report_html.walks", description=__doc__)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--steps", type=int, default=40)
    args = parser.parse_args(words)
    bad = 0
    with tempfile.TemporaryDirectory(prefix="walks-") as folder, chromium_here() as browser:
        for number in range(args.first, args.first + args.count):
            if wrong := walk(browser, args.seed, number, args.steps, Path(folder)):
                bad += 1
                print(*wrong, sep="\n  ", flush=True)
    print(f"{args.count} fleets of seed {args.seed}, {args.steps} steps each: {bad} wrong")
    return min(bad, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
