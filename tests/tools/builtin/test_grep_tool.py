"""grep on real files, with its own engine and with whatever is on PATH."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from searching import call, fault, lines, no_child_is_left, put

from hookgate.tools.builtin.grep import Grep
from hookgate.tools.files.workspace import Workspace, which_outside
from hookgate.tools.schema.check import problems
from hookgate.tools.search.lines import MAX_LINE_BYTES
from hookgate.tools.search.query import PROBED_FILES
from tests.machine import with_and_without


@pytest.fixture
def grep(workspace: Workspace) -> Grep:
    return Grep(workspace, {"PATH": os.environ["PATH"]})


async def test_lines_come_with_path_and_number_in_the_order_of_paths(grep: Grep, root: Path) -> None:
    put(root, {"b.txt": "x\nneedle 2\n", "a/z.txt": "needle 1\n\nneedle 3", "a-b.txt": "needle 0", "c.txt": "hay\n"})
    result = await call(grep, pattern="needle")
    assert result.for_llm.split("\n") == [
        "grep needle in .: 4 lines in 3 files",
        "a-b.txt:1:needle 0",
        "a/z.txt:1:needle 1",
        "a/z.txt:3:needle 3",
        "b.txt:2:needle 2",
    ]
    assert (await call(grep, pattern="nothing")).for_llm == "grep nothing in .: 0 lines in 0 files\n(empty)"


@with_and_without("rg")
async def test_a_large_tree_is_searched_alike_with_and_without_ripgrep(grep: Grep, root: Path) -> None:
    put(root, {f"{number % 7}/{number:04}.txt": f"needle {number}\n" for number in range(PROBED_FILES + 100)})
    put(root, {".gitignore": "0/\n"})
    found = await lines(grep, pattern=r"needle \d*5$", max_results=3)
    assert found[:3] == ["1/0015.txt:1:needle 15", "1/0085.txt:1:needle 85", "1/0155.txt:1:needle 155"]


async def test_the_object_says_what_was_asked_and_how_much_was_found(grep: Grep, root: Path) -> None:
    put(root, {"sub/a.py": "one\ntwo\none\n", "sub/b.txt": "one\n"})
    result = await call(grep, pattern="one", path="sub", glob="*.py", max_results=1, output="json")
    assert (
        json.loads(result.for_llm)
        == result.data
        == {
            "pattern": "one",
            "path": "sub",
            "glob": "*.py",
            "hits": 1,
            "max_results": 1,
            "skipped": 0,
            "matches": [{"path": "sub/a.py", "line": 1, "text": "one"}],
            "truncated": True,
        }
    )
    assert grep.spec.output_schema is not None
    assert problems(grep.spec.output_schema, json.loads(result.for_llm)) == ()
    bare = (await call(grep, pattern="nothing")).data
    assert isinstance(bare, dict)
    assert list(bare) == ["pattern", "hits", "max_results", "skipped", "matches", "truncated"]


async def test_the_search_stops_at_max_results_and_says_so(grep: Grep, root: Path) -> None:
    put(root, {"a": "x\n" * 10})
    assert (await call(grep, pattern="x", max_results=2)).for_llm == (
        "grep x in .: 2 lines in 1 file, stopped at max_results 2\na:1:x\na:2:x"
    )
    assert "stopped" not in (await call(grep, pattern="x", max_results=10)).for_llm


TEXT = "def f(x):\n\tReturn x.y\n  a+b\r\n\nÄrger 42\nlast line"


@pytest.mark.parametrize(
    ("arguments", "numbers"),
    [
        ({"pattern": r"^def \w+\("}, [1]),
        ({"pattern": r"^\s+\S"}, [2, 3]),
        ({"pattern": "return", "ignore_case": True}, [2]),
        ({"pattern": "return"}, []),
        ({"pattern": "(?i)return"}, [2]),
        ({"pattern": "a+b"}, []),
        ({"pattern": "a+b", "literal": True}, [3]),
        ({"pattern": r"a\+b$"}, [3]),
        ({"pattern": "^$"}, [4]),
        ({"pattern": "ärger", "ignore_case": True}, [5]),
        ({"pattern": r"\p{Lu}\w+ \d{2}$"}, [5]),
        ({"pattern": "line$"}, [6]),
        ({"pattern": r"line\z"}, [6]),
        ({"pattern": r"\Adef"}, [1]),
        ({"pattern": r"x\s+Return"}, []),
        ({"pattern": "(?s)x.*Return"}, []),
        ({"pattern": "(?x) last  # c"}, [6]),
        ({"pattern": "last|Return"}, [2, 6]),
        ({"pattern": "X.Y", "ignore_case": True, "literal": True}, [2]),
        ({"pattern": "[[:digit:]]"}, [5]),
        ({"pattern": ".*"}, [1, 2, 3, 4, 5, 6]),
    ],
)
async def test_patterns(grep: Grep, root: Path, arguments: dict[str, object], numbers: list[int]) -> None:
    put(root, {"a": TEXT})
    data = (await call(grep, **arguments)).data
    assert isinstance(data, dict)
    assert [match["line"] for match in data["matches"]] == numbers  # type: ignore


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"pattern": "("}, "unclosed group"),
        ({"pattern": "a(?=b)"}, "look-around"),
        ({"pattern": r"(a)\1"}, "backreferences are not supported"),
        ({"pattern": r"(\w{1,500}x){1,500}"}, "size limit"),
        ({"pattern": r"a\nb"}, "line break"),
        ({"pattern": "a\nb"}, "line break"),
        ({"pattern": "a", "glob": "*.{py"}, "'*.{py' is no glob: unclosed {"),
        ({"pattern": ""}, "pattern is required"),
        ({"pattern": "a", "output": "xml"}, "output"),
        ({"pattern": "a", "max_results": 0}, "max_results"),
    ],
)
async def test_what_does_not_compile_is_the_models_fault(
    grep: Grep, arguments: dict[str, object], words: str
) -> None:
    refused = await fault(grep, **arguments)
    assert refused.kind == "validation"
    assert words in refused.reason


async def test_an_escaped_backslash_before_an_n_is_no_line_break(grep: Grep, root: Path) -> None:
    put(root, {"a": r"C:\new"})
    assert await lines(grep, pattern=r"C:\\new") == [r"a:1:C:\new"]
    assert await lines(grep, pattern=r"C:\n", literal=True) == [r"a:1:C:\new"]


@pytest.mark.parametrize(
    ("glob", "expected"),
    [
        ("*.py", ["a.py", "src/b.py", "src/deep/c.py"]),
        ("src/*.py", ["src/b.py"]),
        ("/*.py", ["a.py"]),
        ("./src/**/*.py", ["src/b.py", "src/deep/c.py"]),
        ("src/", ["src/b.py", "src/deep/c.py", "src/d.ts"]),
        ("*.{py,ts}", ["a.py", "src/b.py", "src/d.ts", "src/deep/c.py"]),
        ("!*.py", ["src/d.ts"]),
        ("!src", ["a.py"]),
        (".*", [".env"]),
    ],
)
async def test_a_glob_chooses_the_files(grep: Grep, root: Path, glob: str, expected: list[str]) -> None:
    put(root, dict.fromkeys(["a.py", "src/b.py", "src/deep/c.py", "src/d.ts", ".env"], "x"))
    assert sorted(await lines(grep, pattern="x", glob=glob)) == sorted(f"{path}:1:x" for path in expected)


async def test_hidden_and_ignored_files_are_searched_only_if_asked_for(grep: Grep, root: Path) -> None:
    put(root, {".gitignore": "dist\n", "dist/a": "x", ".env": "x", "b": "x", "c/.git/config": "x"})
    assert await lines(grep, pattern="x") == ["b:1:x"]
    assert await lines(grep, pattern="x", show_ignored=True) == ["b:1:x", "dist/a:1:x"]
    assert await lines(grep, pattern="x", show_hidden=True) == [".env:1:x", "b:1:x", "c/.git/config:1:x"]
    assert await lines(grep, pattern="x", path="dist/a") == ["dist/a:1:x"]
    assert await lines(grep, pattern="x", path=".env") == [".env:1:x"]


async def test_where_it_looks_is_confined_to_the_workspace(grep: Grep, root: Path, tmp_path: Path) -> None:
    put(tmp_path, {"outside/secret": "x"})
    (root / "folder").symlink_to(tmp_path / "outside")
    (root / "file").symlink_to(tmp_path / "outside/secret")
    (root / "self").symlink_to("self")
    (root / "up").symlink_to(".")
    assert await lines(grep, pattern="x") == ["(empty)"]
    for path in ("folder", "file", "..", "/etc"):
        assert (await fault(grep, pattern="x", path=path)).kind == "permission"
    assert (await fault(grep, pattern="x", path="none")).kind == "not_found"
    assert (await fault(grep, pattern="x", path="self")).reason == "self is neither a file nor a folder"


async def test_a_link_to_a_file_inside_is_searched_where_it_is_named(grep: Grep, root: Path) -> None:
    put(root, {"real/file": "x"})
    (root / "link").symlink_to("real/file")
    assert await lines(grep, pattern="x", path="link") == ["real/file:1:x"]
    assert await lines(grep, pattern="x") == ["real/file:1:x"]


async def test_pipes_and_devices_are_not_read(grep: Grep, root: Path) -> None:
    os.mkfifo(root / "pipe")
    (root / "zero").symlink_to("/dev/zero")
    put(root, {"a": "x"})
    assert await lines(grep, pattern="x") == ["a:1:x"]
    assert (await fault(grep, pattern="x", path="pipe")).reason == "pipe is neither a file nor a folder"


async def test_binary_files_are_left_out(grep: Grep, root: Path) -> None:
    (root / "bin").write_bytes(b"x\n" + b"\0")
    (root / "utf16").write_text("x", encoding="utf-16")
    put(root, {"text": "x"})
    assert await lines(grep, pattern="x") == ["text:1:x"]


async def test_a_sparse_file_of_5_gb_costs_one_look(grep: Grep, root: Path) -> None:
    with (root / "sparse").open("wb") as file:
        file.write(b"x\n")
        file.truncate(5 * 1024**3)
    put(root, {"text": "x"})
    assert await lines(grep, pattern="x") == ["text:1:x"]


async def test_a_file_of_many_chunks_keeps_its_line_numbers(grep: Grep, root: Path) -> None:
    put(root, {"big": "".join(f"line {number} {'y' * 60}\n" for number in range(1, 50_001)) + "end"})
    assert await lines(grep, pattern=r"^line (1|899|14700|50000) ") == [
        f"big:{number}:line {number} {'y' * 60}" for number in (1, 899, 14700, 50000)
    ]
    assert await lines(grep, pattern="end") == ["big:50001:end"]


async def test_a_long_line_is_cut_with_a_mark(grep: Grep, root: Path) -> None:
    put(root, {"min.js": f"{'ä' * 100_000}needle\nneedle"})
    assert await lines(grep, pattern="needle") == [
        f"min.js:1:{'ä' * 500}... [99506 characters more]",
        "min.js:2:needle",
    ]


async def test_a_line_beyond_memory_ends_the_search_of_its_file_and_is_counted(grep: Grep, root: Path) -> None:
    put(root, {"a": "needle\n" + "y" * (MAX_LINE_BYTES + 3 * 1024 * 1024) + "\nneedle\n", "b": "needle"})
    result = await call(grep, pattern="needle")
    assert result.for_llm == "grep needle in .: 2 lines in 2 files, 1 unreadable\na:1:needle\nb:1:needle"


async def test_what_is_no_utf8_is_shown_replaced_and_names_escaped(grep: Grep, root: Path) -> None:
    (root / os.fsdecode(b"caf\xe9")).write_bytes(b"\xef\xbb\xbfcaf\xe9 x\n")
    assert await lines(grep, pattern="^caf.* x") == ["caf\\xe9:1:caf\ufffd x"]
    assert await lines(grep, pattern="x", glob="caf?") == ["caf\\xe9:1:caf\ufffd x"]


async def test_the_form_is_the_one_it_was_made_with(workspace: Workspace, root: Path) -> None:
    put(root, {"a": "x"})
    made = await call(Grep(workspace, {}, "json"), pattern="x")
    assert json.loads(made.for_llm)["matches"] == [{"path": "a", "line": 1, "text": "x"}]


async def test_no_descriptor_and_no_child_is_left(grep: Grep, root: Path) -> None:
    put(root, {"a": "x"})
    await call(grep, pattern="x")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        await call(grep, pattern="x")
        await fault(grep, pattern="(")
    assert len(os.listdir("/proc/self/fd")) <= before
    await no_child_is_left()


# --- which ripgrep ------------------------------------------------------------------------------------------


def program(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "rg").write_text("#!/bin/sh\n")
    (folder / "rg").chmod(0o755)
    return folder


def test_ripgrep_is_taken_from_the_path_that_was_given(workspace: Workspace, tmp_path: Path) -> None:
    folder = program(tmp_path / "bin")
    assert which_outside("rg", f"/nowhere:{folder}", workspace.root) == f"{folder}/rg"
    assert which_outside("rg", "/nowhere", workspace.root) == ""
    assert which_outside("rg", "", workspace.root) == ""


def test_a_program_in_the_workspace_is_never_run(
    workspace: Workspace, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = program(root / "bin")
    (tmp_path / "links").mkdir()
    (tmp_path / "links/rg").symlink_to(inside / "rg")
    monkeypatch.chdir(root)
    for path in (str(inside), "bin", ".", "", str(tmp_path / "links")):
        assert which_outside("rg", path, workspace.root) == ""
