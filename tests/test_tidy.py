"""Tests about the code itself: sizes, banned calls, docstrings. The bars only ever get tighter."""

import ast
import functools
import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"
FILES = sorted(path for path in SOURCE.rglob("*.py"))

MAX_FILE_SLOC = 400
MAX_FUNCTION_LINES = 60
MEDIAN_FILE_SLOC = 140
MOST_ANY = 69
MOST_LISTS_OF_DIRS = 62

# All in one worker, which parses each file once.
pytestmark = pytest.mark.xdist_group("tidy")
Function = ast.FunctionDef | ast.AsyncFunctionDef
DOCUMENTED = ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module


@functools.cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@functools.cache
def nodes_of(path: Path) -> list[ast.AST]:
    return list(ast.walk(tree_of(path)))


def functions(path: Path) -> Iterator[Function]:
    return (node for node in nodes_of(path) if isinstance(node, Function))


@functools.cache
def docstring_lines(path: Path) -> set[int]:
    lines: set[int] = set()
    for each in nodes_of(path):
        if isinstance(each, DOCUMENTED) and ast.get_docstring(each, clean=False) is not None:
            first = each.body[0]
            lines.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return lines


@functools.cache
def sloc(path: Path) -> int:
    text = path.read_text()
    skipped = docstring_lines(path)
    return sum(
        1
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() and not line.strip().startswith("#") and number not in skipped
    )


def name_of(path: Path) -> str:
    return str(path.relative_to(SOURCE))


def wrong(complaints: Callable[[Path], object]) -> dict[str, object]:
    """What there is to say against each file; nothing of the files that are fine."""
    return {name_of(path): found for path in FILES if (found := complaints(path))}


def test_no_file_is_over_400_lines() -> None:
    assert len(FILES) > 100
    assert wrong(lambda path: max(0, sloc(path) - MAX_FILE_SLOC)) == {}


def test_the_median_file_is_small() -> None:
    assert statistics.median(sloc(path) for path in FILES) <= MEDIAN_FILE_SLOC


def lines_of(function: Function, path: Path) -> int:
    """Its lines without those of docstrings."""
    lines = set(range(function.lineno, (function.end_lineno or 0) + 1))
    return len(lines - docstring_lines(path))


def test_functions_are_short() -> None:
    def long(path: Path) -> list[str]:
        many = (
            each for each in functions(path) if (each.end_lineno or 0) - each.lineno >= MAX_FUNCTION_LINES
        )
        sizes = ((function.name, lines_of(function, path)) for function in many)
        return [f"{name}: {lines} lines" for name, lines in sizes if lines > MAX_FUNCTION_LINES]

    assert wrong(long) == {}


def any_by(path: Path, known: Mapping[tuple[str, str], object]) -> set[str]:
    """The names that stand for a type with `Any` in a file: made there, or had from where they were."""
    names = {"Any"}
    for node in nodes_of(path):
        if isinstance(node, ast.ImportFrom):
            names |= {each.name for each in node.names if (node.module or "", each.name) in known}
    for node in tree_of(path).body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            said = {each.id for each in ast.walk(node.value) if isinstance(each, ast.Name)}
            if isinstance(target, ast.Name) and target.id[:1].isupper() and names & said:
                names.add(target.id)
    return names


def test_any_is_said_no_more_often() -> None:
    """By its name or by that of an alias: what is read by its keys is a TypedDict, or a `JsonObject`."""
    aliases: dict[tuple[str, str], object] = {}
    for _ in range(2):  # one that is imported may be in another one
        for path in FILES:
            module = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
            aliases |= dict.fromkeys((module, name) for name in any_by(path, aliases) - {"Any"})
    said = Counter(
        name_of(path)
        for path in FILES
        for names in [any_by(path, aliases)]
        for node in nodes_of(path)
        if isinstance(node, ast.Name) and node.id in names
    )
    assert said.total() <= MOST_ANY, said


MAKERS_OF_BROKERS: set[str] = {
    # One broker, as the command line or a caller names its dirs.
    "segmend/api.py",
    "segmend/cli/targets.py",
    "segmend/cli/commands/explain/topics/upgrade.py",
    "segmend/cli/commands/plan/operation.py",
    "segmend/surgery/execute/quarantines.py",
    "segmend/surgery/execute/reverse.py",
    "segmend/surgery/planning/compose.py",
    # The dir of one replica.
    "segmend/surgery/ops/graft/operation.py",
    "segmend/surgery/ops/merge/case.py",
    # Told apart: out of any dirs, and out of the places of a fleet.
    "segmend/cluster/cluster_dirs.py",
    "segmend/fleet/capacity.py",
    "segmend/fleet/capacity_run.py",
    "segmend/fleet/forecast.py",
    "segmend/fleet/plan.py",
    "segmend/fleet/tables.py",
    "segmend/fleet/task.py",
}
"""Who makes a `BrokerDirs`: the dirs of several brokers are a `FleetDirs`, which tells them apart."""


def test_brokers_are_made_of_dirs_where_those_are_told_apart() -> None:
    made = wrong(
        lambda path: [
            node.lineno
            for node in nodes_of(path)
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "BrokerDirs"
        ]
    )
    assert made.keys() - {"segmend/node/broker_dirs.py"} == MAKERS_OF_BROKERS


def test_lists_of_log_dirs_are_typed_no_more_often() -> None:
    """The dirs of one broker are a `BrokerDirs`, those of several a `ClusterDirs` or `FleetDirs`."""
    lists = {"list", "tuple", "set", "dict", "Sequence", "Iterable", "Collection", "Mapping"}
    said = Counter(
        name_of(path)
        for path in FILES
        for node in nodes_of(path)
        if isinstance(node, ast.Subscript) and ast.unparse(node.value) in lists
        for each in (node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice])
        if isinstance(each, ast.Name) and each.id == "LogDir"
    )
    assert said.total() <= MOST_LISTS_OF_DIRS, said


def test_every_module_says_what_it_is() -> None:
    assert wrong(lambda path: ast.get_docstring(tree_of(path)) is None) == {}


def test_a_module_is_named_for_what_it_does() -> None:
    assert wrong(lambda path: path.name == "utils.py") == {}


def banned(path: Path) -> list[str]:
    """Constructs that no module may have."""
    found = []
    for node in nodes_of(path):
        if isinstance(node, ast.ExceptHandler) and catches_everything(node):
            found.append(f"line {node.lineno}: catches everything; name what can go wrong")
        if isinstance(node, ast.Import | ast.ImportFrom) and imports(node, "mmap"):
            found.append(f"line {node.lineno}: mmap; a file cut meanwhile kills the process (SIGBUS)")
    return found


def test_banned_constructs() -> None:
    assert wrong(banned) == {}


def catches_everything(node: ast.ExceptHandler) -> bool:
    return node.type is None or (
        isinstance(node.type, ast.Name) and node.type.id in {"Exception", "BaseException"}
    )


def imports(node: ast.Import | ast.ImportFrom, module: str) -> bool:
    if isinstance(node, ast.ImportFrom):
        return node.module == module
    return any(alias.name == module for alias in node.names)


def lazy_imports(path: Path) -> list[str]:
    """Imports inside functions."""
    indented = any(
        line.startswith((" ", "\t")) and "import" in line for line in path.read_text().splitlines()
    )
    return [
        f"{function.name}: line {node.lineno}"
        for function in (functions(path) if indented else ())
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]


def test_imports_are_at_the_top_but_at_the_extras_door() -> None:
    """A lazy import usually hides a cycle; the doors to the extras are the exception."""
    assert wrong(lazy_imports).keys() == EXTRAS_DOORS


# The only modules that import inside a function, each with its reason beside the import.
EXTRAS_DOORS: set[str] = {"segmend/api.py", "segmend/cli/commands/fleet/driving.py"}


# What changes a disk. `surgery/writing/effects.py` is the only module that may do so to a log dir; the others
# write reports, tables and caches of their own, and none of them is ever given a file of a log dir.
WRITERS: set[str] = {
    "segmend/surgery/writing/effects.py",
    "segmend/cli/main.py",
    "segmend/fleet/bundle.py",
    "segmend/fleet/delta.py",
    "segmend/fleet/folder.py",
    "segmend/spark/archive.py",
    "segmend/spark/java.py",
    "segmend/spark/session.py",
    "segmend/spark/workers.py",
}
CHANGES_OF_OS = {
    "rename", "replace", "renames", "truncate", "ftruncate", "unlink", "remove", "rmdir", "removedirs",
    "mkdir", "makedirs", "link", "symlink", "chmod", "fchmod", "chown", "fchown", "lchown", "utime",
    "setxattr", "removexattr", "pwrite", "pwritev", "writev", "mknod", "mkfifo",
    "posix_fallocate", "copy_file_range",
}  # fmt: skip
CHANGES_OF_PATHS = {"write_bytes", "write_text", "touch", "symlink_to", "hardlink_to", "rmtree", "mkdtemp"}
WRITING_FLAGS = {"O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND"}


def changes(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Every call, or flag, by which a module could change a file."""
    for node in nodes:
        if isinstance(node, ast.Attribute):
            of_os = isinstance(node.value, ast.Name) and node.value.id == "os"
            if (of_os and node.attr in CHANGES_OF_OS | WRITING_FLAGS) or node.attr in CHANGES_OF_PATHS:
                yield f"line {node.lineno}: {node.attr}"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "open":
            modes = [a.value for a in node.args[1:2] if isinstance(a, ast.Constant)]
            modes += [
                k.value.value for k in node.keywords if k.arg == "mode" and isinstance(k.value, ast.Constant)
            ]
            if any(set(str(mode)) & set("wax+") for mode in modes):
                yield f"line {node.lineno}: open(..., {modes[0]!r})"


def test_only_effects_change_a_disk() -> None:
    found = wrong(lambda path: list(changes(nodes_of(path))))
    assert {name: calls for name, calls in found.items() if name not in WRITERS} == {}
    assert found.keys() >= WRITERS


@pytest.mark.parametrize(
    "line",
    ["import os; os.rename('a', 'b')", "open('a', 'w')", "open('a', mode='r+b')", "p.write_text('')",
     "os.open('a', os.O_RDWR)", "os.ftruncate(3, 0)"],
)  # fmt: skip
def test_the_net_for_changes_catches(line: str) -> None:
    assert list(changes(ast.walk(ast.parse(line))))
    harmless = ast.parse("open('a'); open('a', 'rb'); os.open('a', os.O_RDONLY)")
    assert not list(changes(ast.walk(harmless)))


CALLED_FROM_ELSEWHERE = {
    "BytesReader": "a log in memory, for tests and fuzzing",
    "ABOUT": "docs/make_kafka_log.py",
    "ABOUT_AUDIT": "docs/make_kafka_log.py",
    "SIZES": "the two columns of api.records that cost no bytes; tests ask for them",
    "DRAIN": "the number that the C has for it: ST_DRAIN in kernel.h",
    "streamReader": "Spark",
    "getDefaultReadLimit": "Spark",
    "initialOffset": "Spark",
    "latestOffset": "Spark",
    "onSuccess": "Spark",
    "prepareForTriggerAvailableNow": "Spark",
    "onFailure": "Spark",
    "_check_help": "argparse, since Python 3.14",
    "_get_validation_formatter": "argparse, since Python 3.14",
    "_print_message": "argparse",
}
"""What nothing in `src` names but the line that defines it, and who does."""


def defined(path: Path) -> Iterator[str]:
    """Functions, classes and constants, which somebody has to name."""
    for node in nodes_of(path):
        if isinstance(node, Function | ast.ClassDef) and not node.name.startswith("__"):
            yield node.name
        elif isinstance(node, ast.AnnAssign | ast.Assign):
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            if isinstance(target, ast.Name) and target.id.isupper():
                yield target.id


def test_a_class_name_means_one_thing() -> None:
    """But `Options`, by which each operation's room is asked what it takes."""
    homes: dict[str, list[str]] = {}
    for path in FILES:
        for node in nodes_of(path):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(name_of(path))
    elsewhere = {path for path in homes.pop("Options") if "/surgery/ops/" not in path}
    assert (elsewhere, {name: paths for name, paths in homes.items() if len(paths) > 1}) == (set(), {})


def test_nothing_is_defined_that_nobody_names() -> None:
    pages = [path.read_text() for path in SOURCE.rglob("*.j2")]
    words = Counter(re.findall(r"\w+", "\n".join([*pages, *(path.read_text() for path in FILES)])))
    alone = {name for path in FILES for name in defined(path) if words[name] == 1}
    assert alone == CALLED_FROM_ELSEWHERE.keys()


@functools.cache
def places() -> set[str]:
    """Every path of the checkout, and the ends of it: `a/b.py`, `b.py`."""
    top = [path for path in ROOT.iterdir() if not path.name.startswith(".")]
    paths = [path for each in top for path in (each, *each.rglob("*"))]
    parts = [path.relative_to(ROOT).parts for path in paths]
    return {"/".join(each[at:]) for each in parts for at in range(len(each))}


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_the_pages_of_the_house_name_what_is_there(page: str) -> None:
    text, code = (ROOT / page).read_text(), "".join(path.read_text() for path in FILES)
    named = re.findall(r"(?<![\w*/.-])[\w/.-]*\w(?:\.py|\.c|/)(?![\w*.<-])", text)
    assert len(named) > 5
    assert {name for name in named if name.rstrip("/") not in places()} == set()
    words = {name for name in re.findall(r"`([A-Za-z][A-Za-z_.]*)`", text) if name not in places()}
    assert {name for name in words for part in name.split(".") if part not in code} == set()


def test_docstrings_and_comments_name_modules_that_are_there() -> None:
    def stale(path: Path) -> list[str]:
        return [name for name in re.findall(r"`([a-z_/]+\.py)`", path.read_text()) if name not in places()]

    assert wrong(stale) == {}


def test_no_machine_path_and_no_registry_host_is_committed() -> None:
    banned = ["/work" + "/main", "pypi" + ".org", "maven" + ".org", "maven" + ".apache.org", "npmjs" + ".org"]
    checked = [
        path
        for pattern in ("*.md", "*.toml", "*.py", "*.sh", "*.txt")
        for folder in ("", "src/**/", "tests/**/", "bench/**/", "docs/**/", "requirements/", "examples/**/")
        for path in ROOT.glob(folder + pattern)
    ]
    assert len(checked) > 10
    found = [
        f"{path.relative_to(ROOT)}: {word}" for path in checked for word in banned if word in path.read_text()
    ]
    assert not found
