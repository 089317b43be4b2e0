"""glob on real trees."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from searching import call, fault, lines, put

from hookgate.tools.builtin.glob import Glob
from hookgate.tools.files.workspace import Workspace
from hookgate.tools.schema.check import problems


@pytest.fixture
def glob(workspace: Workspace) -> Glob:
    return Glob(workspace)


@pytest.fixture
def tree(root: Path) -> Path:
    names = [
        "a.py",
        "b.txt",
        "src/a.py",
        "src/deep/er/a.ts",
        "src/deep/c.py",
        "src-old/a.py",
        ".github/ci.yml",
        "[x].py",
    ]
    put(root, dict.fromkeys(names, ""))
    return root


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.py", ["[x].py", "a.py"]),
        ("**/*.py", ["[x].py", "a.py", "src-old/a.py", "src/a.py", "src/deep/c.py"]),
        ("./src/*", ["src/a.py", "src/deep/"]),
        ("src/**", ["src/a.py", "src/deep/", "src/deep/c.py", "src/deep/er/", "src/deep/er/a.ts"]),
        ("src/**/a.*", ["src/a.py", "src/deep/er/a.ts"]),
        ("**/a.{py,ts}", ["a.py", "src-old/a.py", "src/a.py", "src/deep/er/a.ts"]),
        ("{src,src-old}/a.py", ["src-old/a.py", "src/a.py"]),
        ("?.py", ["a.py"]),
        ("[ab].*", ["a.py", "b.txt"]),
        ("[!a].*", ["b.txt"]),
        (r"\[x\].py", ["[x].py"]),
        ("[[]x].py", ["[x].py"]),
        ("**/", ["src-old/", "src/", "src/deep/", "src/deep/er/"]),
        ("src/*/", ["src/deep/"]),
        (".github/*", [".github/ci.yml"]),
        ("*.{yml,py}", ["[x].py", "a.py"]),
        ("src", ["src/"]),
        ("*.PY", ["(empty)"]),
        ("*a*a*a*a*a*a*a*a*b", ["(empty)"]),
    ],
)
async def test_patterns_mean_what_a_shell_with_globstar_means(
    glob: Glob, tree: Path, pattern: str, expected: list[str]
) -> None:
    assert await lines(glob, pattern=pattern) == expected


async def test_the_result_counts_what_it_lists(glob: Glob, tree: Path) -> None:
    result = await call(glob, pattern="**/a.*", path="src", output="json")
    assert (
        json.loads(result.for_llm)
        == result.data
        == {
            "pattern": "**/a.*",
            "root": "src",
            "matches": 2,
            "skipped": 0,
            "entries": [{"path": "src/a.py", "type": "file"}, {"path": "src/deep/er/a.ts", "type": "file"}],
            "truncated": False,
        }
    )
    assert glob.spec.output_schema is not None
    assert problems(glob.spec.output_schema, json.loads(result.for_llm)) == ()
    labeled = await call(glob, pattern="**/a.*", path="src")
    assert labeled.for_llm.split("\n")[0] == "glob **/a.* in src: 2 matches"


async def test_more_than_max_results_are_counted_but_not_listed(glob: Glob, tree: Path) -> None:
    result = await call(glob, pattern="**/*.py", max_results=2)
    assert result.for_llm == "glob **/*.py in .: 5 matches, the first 2\n[x].py\na.py"
    assert isinstance(result.data, dict)
    assert (result.data["matches"], result.data["truncated"]) == (5, True)


async def test_gitignore_and_hidden_names_are_left_out_unless_asked_for(glob: Glob, root: Path) -> None:
    put(
        root, {".gitignore": "build/\n*.log\n!keep.log\n", "build/x": "", "a.log": "", "sub/keep.log": "", ".env": ""}
    )
    assert await lines(glob, pattern="**") == ["sub/", "sub/keep.log"]
    assert await lines(glob, pattern="**/*.log", show_ignored=True) == ["a.log", "sub/keep.log"]
    assert await lines(glob, pattern="*", show_hidden=True) == [".env", ".gitignore", "sub/"]
    assert await lines(glob, pattern="**/.e*") == [".env"]


async def test_rules_of_the_folders_above_hold_in_the_one_that_is_searched(glob: Glob, root: Path) -> None:
    put(
        root,
        {".gitignore": "*.pyc\n/sub/only\n", "sub/a.pyc": "", "sub/only": "", "sub/b": "", "sub/.gitignore": "b\n"},
    )
    assert await lines(glob, pattern="*", path="sub") == ["(empty)"]
    put(root, {"sub/.gitignore": "!a.pyc\n"})
    assert await lines(glob, pattern="*", path="sub") == ["sub/a.pyc", "sub/b"]


async def test_what_cannot_be_a_pattern_is_refused(glob: Glob, tree: Path, root: Path) -> None:
    for pattern, word in (
        ("[a", "unclosed ["),
        ("{a", "unclosed {"),
        ("../*", ".."),
        ("[z-a]", "no glob"),
        ("", "required"),
    ):
        refused = await fault(glob, pattern=pattern)
        assert refused.kind == "validation", pattern
        assert word in refused.reason
    assert (await fault(glob, pattern="/etc/*")).kind == "permission"
    assert await lines(glob, pattern=f"{root}/src/*.py") == ["src/a.py"]


async def test_where_it_looks_is_confined_to_the_workspace(glob: Glob, tree: Path) -> None:
    (tree / "out").symlink_to("/etc")
    assert (await fault(glob, pattern="*", path="out")).kind == "permission"
    assert (await fault(glob, pattern="*", path="..")).kind == "permission"
    assert (await fault(glob, pattern="*", path="none")).kind == "not_found"
    assert (await fault(glob, pattern="*", path="a.py")).reason == "a.py is not a directory"
    assert await lines(glob, pattern="out/**") == ["(empty)"]
    result = await call(glob, pattern="out")
    assert isinstance(result.data, dict)
    assert result.data["entries"] == [{"path": "out", "type": "link"}]


async def test_links_in_a_loop_end(glob: Glob, root: Path) -> None:
    put(root, {"a/b/file": ""})
    (root / "a/b/up").symlink_to("..")
    (root / "self").symlink_to("self")
    assert await lines(glob, pattern="**") == ["a/", "a/b/", "a/b/file", "a/b/up", "self"]


async def test_names_that_are_no_text_are_matched_and_escaped(glob: Glob, root: Path) -> None:
    (root / os.fsdecode(b"caf\xe9.py")).touch()
    (root / "two\nlines.py").touch()
    assert await lines(glob, pattern="*.py") == ["caf\\xe9.py", "two\\nlines.py"]
    assert await lines(glob, pattern="caf?.py") == ["caf\\xe9.py"]


async def test_a_folder_too_deep_is_counted_as_skipped(glob: Glob, root: Path) -> None:
    deep = "/".join("d" * 200)
    (root / deep).mkdir(parents=True)
    result = await call(glob, pattern="**")
    assert result.for_llm.startswith("glob ** in .: 129 matches, 1 unreadable\n")
    assert isinstance(result.data, dict)
    assert result.data["skipped"] == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="NOT TESTED: root may read any folder")
async def test_a_folder_that_may_not_be_read_is_counted_as_skipped(glob: Glob, root: Path) -> None:
    put(root, {"locked/a": "", "open/a": ""})
    (root / "locked").chmod(0)
    try:
        result = await call(glob, pattern="**")
    finally:
        (root / "locked").chmod(0o700)
    assert result.for_llm == "glob ** in .: 3 matches, 1 unreadable\nlocked/\nopen/\nopen/a"
