"""Who may import whom, as the table of parts says; and that importing a part starts nothing."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "hookgate"
# A template that `hookgate init` copies: it runs beside the plugin SDK, and is no module of hookgate's.
TEMPLATES = {PACKAGE / "cli" / "init" / "example_hook.py"}
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path not in TEMPLATES)

# The floors of the house, from below: what a part may import besides itself, in functions and for types too.
GROUND = {"protocol", "processes", "network", "redaction"}
PARTS = {"hooks", "tools", "providers", "guards", "approvals", "store", "extensions", "channels", "telemetry"}
CONFIGURATION = {"config", "sections", "mistakes", "places"}
MAY_IMPORT: dict[str, set[str]] = {
    "protocol": set(),
    "mistakes": set(),
    "places": set(),
    "redaction": set(),
    "network": set(),
    "processes": {"protocol"},
    "sections": {"protocol", "mistakes"},
    "config": {"protocol", "mistakes", "places", "sections"},
    # Siblings do not know each other, nor what is configured.
    **dict.fromkeys(sorted(PARTS), GROUND),
    # The tool that gives a model its instructions, and the folders that they lie in.
    "skills": GROUND | {"tools", "extensions"},
    "loop": GROUND | {"tools", "hooks", "approvals"},
    # Drive somebody's hook through the real pipes.
    "check": GROUND | {"hooks"},
    "rehearsal": GROUND | {"hooks"},
    # A hook process that ships with hookgate: what it is to the gate goes over its pipes.
    "claude": GROUND,
}
PARTS |= {"skills", "loop", "check", "rehearsal", "claude"}
MAY_IMPORT["assembly"] = GROUND | CONFIGURATION | PARTS
MAY_IMPORT["operations"] = MAY_IMPORT["assembly"] | {"assembly"}
MAY_IMPORT["control"] = MAY_IMPORT["operations"] | {"operations"}
MAY_IMPORT["program"] = MAY_IMPORT["control"] | {"control"}
MAY_IMPORT["embedding"] = MAY_IMPORT["program"] | {"program"}
MAY_IMPORT["rpc"] = MAY_IMPORT["embedding"] | {"embedding"}
# What is read and written between pipes is the same for both.
MAY_IMPORT["acp"] = MAY_IMPORT["rpc"] | {"rpc"}
MAY_IMPORT["serve"] = MAY_IMPORT["program"] | {"program"}
MAY_IMPORT["cli"] = MAY_IMPORT["acp"] | {"acp", "serve"}
# What a program that has hookgate inside it imports; and `python -m hookgate`.
MAY_IMPORT["__init__"] = {"embedding"}
MAY_IMPORT["__main__"] = {"cli", "program"}
# No I/O, no clock, no loop, no log.
NOT_IN_PROTOCOL = {
    *("asyncio", "httpx", "jsonrpcserver", "logging", "os", "pathlib", "random", "select", "signal", "socket"),
    *("ssl", "structlog", "subprocess", "sys", "tempfile", "threading", "time", "trio"),
}
HTTPX_USERS = {
    *("network/https.py", "providers/endpoint/http.py", "tools/web/fetch.py", "channels/platforms/requests.py"),
    "telemetry/otlp.py",
}
DEAR = {"dataclass", "replace"}
ENVIRONMENT = {"environ", "environb", "getenv", "putenv"}


def part_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


Said = ast.Import | ast.ImportFrom | ast.Attribute


@cache
def said(path: Path) -> tuple[Said, ...]:
    """Its imports and its attributes, wherever they stand."""
    module = ast.parse(path.read_text(encoding="utf-8"), str(path))
    return tuple(node for node in ast.walk(module) if isinstance(node, Said))


def imported(path: Path) -> Iterator[str]:
    """Every module that is named in an import; relative imports are not used here."""
    for node in said(path):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(module), names=names, level=0):
                # `from hookgate import config` names the part only with its last word.
                yield from ([f"{module}.{alias.name}" for alias in names] if module == "hookgate" else [module])
            case ast.ImportFrom():
                raise AssertionError(f"{path}: a relative import")
            case _:
                pass


def our_parts(path: Path) -> set[str]:
    ours = (name.split(".") for name in imported(path) if name.split(".")[0] == "hookgate")
    return {words[1] for words in ours if len(words) > 1 and words[1] != "__version__"}


def test_every_part_stands_in_the_table() -> None:
    assert {part_of(path) for path in MODULES} == MAY_IMPORT.keys()


def test_no_part_stands_on_itself() -> None:
    """The table has an order from below, so nothing that keeps to it can make a circle."""
    order = {part: number for number, part in enumerate(MAY_IMPORT)}
    above = {(part, it) for part, below in MAY_IMPORT.items() for it in below if order[it] >= order[part]}
    assert above == set()


def test_a_part_imports_only_what_the_table_allows() -> None:
    allowed = {part: MAY_IMPORT[part] | {part} for part in MAY_IMPORT}
    found = {str(path.relative_to(ROOT)): our_parts(path) - allowed[part_of(path)] for path in MODULES}
    assert {path: parts for path, parts in found.items() if parts} == {}


def test_protocol_knows_no_io_no_clock_and_no_log() -> None:
    modules = [path for path in MODULES if part_of(path) == "protocol"]
    tops = {str(path.relative_to(PACKAGE)): {name.split(".")[0] for name in imported(path)} for path in modules}
    found = {name: parts & NOT_IN_PROTOCOL for name, parts in tops.items()}
    assert {name: parts for name, parts in found.items() if parts} == {}


def test_dataclasses_are_those_that_cost_a_start_little() -> None:
    """But where nothing of hookgate's may be imported."""
    alone = {part for part, below in MAY_IMPORT.items() if not below} - {"protocol"}
    others = [path for path in MODULES if part_of(path) not in alone and path.name != "dataclasses.py"]
    found = {str(path.relative_to(ROOT)) for path in others if DEAR & set(_from_dataclasses(path))}
    assert found == set(), "take them from hookgate.protocol.dataclasses"


def _from_dataclasses(path: Path) -> Iterator[str]:
    for node in said(path):
        if isinstance(node, ast.ImportFrom) and node.module == "dataclasses":
            yield from (alias.name for alias in node.names)


def test_only_config_reads_the_environment() -> None:
    readers = {path.relative_to(PACKAGE).as_posix() for path in MODULES if _reads_environment(path)}
    assert readers == {"config/environment.py", "config/folders.py", "config/reading.py"}


def _reads_environment(path: Path) -> bool:
    for node in said(path):
        match node:
            case ast.Attribute(value=ast.Name(id="os"), attr=name) if name in ENVIRONMENT:
                return True
            case ast.ImportFrom(module="os", names=names) if ENVIRONMENT & {alias.name for alias in names}:
                return True
            case _:
                pass
    return False


def test_httpx_is_imported_where_requests_are_made_and_nowhere_else() -> None:
    users = {path.relative_to(PACKAGE).as_posix() for path in MODULES if "httpx" in set(imported(path))}
    assert users == HTTPX_USERS


def test_nothing_imports_tests_or_another_loop() -> None:
    for path in MODULES:
        tops = {name.split(".")[0] for name in imported(path)}
        assert not tops & {"asyncio", "tests", "pytest", "unittest"}, path


IMPORT_ALL = """
import importlib, os, pathlib, sys, threading
before = set(os.listdir("/proc/self/fd"))
for name in sys.argv[1:]:
    importlib.import_module(name)
assert threading.active_count() == 1, threading.enumerate()
children = pathlib.Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
assert not children, children
opened = [fd for fd in set(os.listdir("/proc/self/fd")) - before if os.path.exists(f"/proc/self/fd/{fd}")]
assert not opened, [os.readlink(f"/proc/self/fd/{fd}") for fd in opened]
"""


def test_importing_every_module_starts_nothing_and_says_nothing(tmp_path: Path) -> None:
    names = [_module(path) for path in MODULES]
    deprecated = (
        "ignore:read_text is deprecated:DeprecationWarning",
        "ignore:open_text is deprecated:DeprecationWarning",
    )
    filters = [f"-W{filter_}" for filter_ in ("error", *deprecated)]
    command = [sys.executable, *filters, "-c", IMPORT_ALL, *names]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    assert list(tmp_path.iterdir()) == []


def _module(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
