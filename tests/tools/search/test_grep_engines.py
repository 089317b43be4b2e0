"""Both ways to search find the same, and neither outlives its call."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
import trio
from searching import RG, found, no_child_is_left, put, with_ripgrep

from hookgate.tools.errors import ToolError
from hookgate.tools.search.query import Hit, Query
from hookgate.tools.search.ripgrep import lister, tree
from hookgate.tools.search.search import search
from hookgate.tools.search.walk import Named, Walk
from tests.processes import gone

FILES = {
    ".gitignore": "*.log\n!keep.log\n/build\ndocs/**/tmp\nspaced\\ \n# no rule\n[broken\nvendor/\n",
    "a.py": "def needle():\n    return 'Needle'\n",
    "b/.gitignore": "secret*\n!secret.ok\n",
    "b/secret.txt": "needle",
    "b/secret.ok": "needle\r\nneedle two\r\n",
    "b/x.log": "needle",
    "b/keep.log": "needle",
    "build/out": "needle",
    "c/build/out": "needle",
    "docs/a/tmp/f": "needle",
    "docs/tmp": "needle",
    "vendor": "needle",
    "d/vendor/lib": "needle",
    "spaced ": "needle",
    ".hidden/f": "needle",
    ".hidden.py": "needle",
    "e/{x}.py": "ä needle Ä\n",
    "a-b": "needle",
    "a/b": "needle",
    "bom": "\ufeffneedle\n",
    "no-newline": "x\nneedle",
    "empty": "",
}

QUERIES = [
    Query("", pattern="needle"),
    Query("", pattern="NEEDLE", ignore_case=True),
    Query("", pattern="^needle$"),
    Query("", pattern=r"\bneedle\b.*\w$"),
    Query("", pattern="^$"),
    Query("", pattern="n.*(two|Ä)"),
    Query("", pattern="needle()", literal=True),
    Query("", pattern="()", literal=True, ignore_case=True),
    Query("", pattern=r"\Aneedle\z"),
    Query("", pattern="(\0|needle) two"),
    Query("", pattern=r"needle$|^\s*$"),
    Query("", pattern=r"\<needle\>"),
    Query("", pattern="needle", hidden=True),
    Query("", pattern="needle", ignored=True),
    Query("", pattern="needle", hidden=True, ignored=True),
    Query("", pattern="needle", glob="*.py"),
    Query("", pattern="needle", glob="*.py", hidden=True),
    Query("", pattern="needle", glob="*.{log,ok}", ignored=True),
    Query("", pattern="needle", glob="b/*"),
    Query("", pattern="needle", glob="/a*"),
    Query("", pattern="needle", glob="**/b"),
    Query("", pattern="needle", glob="[!a]*"),
    Query("", pattern="needle", glob="!*.py"),
    Query("", pattern="needle", glob="!b"),
    Query("", pattern="needle", parts=("b",)),
    Query("", pattern="needle", parts=("docs", "a")),
    Query("", pattern="needle", limit=3),
]


@pytest.fixture
def files(root: Path) -> Path:
    put(root, FILES)
    (root / "latin").write_bytes(b"caf\xe9 needle\n")
    (root / os.fsdecode(b"caf\xe9")).write_bytes(b"needle\n")
    (root / "binary").write_bytes(b"needle\0")
    (root / "late").write_bytes(b"needle\n" * 20_000 + b"\0needle\n")
    (root / "link").symlink_to("a.py")
    (root / "loop").symlink_to(".")
    os.mkfifo(root / "pipe")
    return root


@with_ripgrep
@pytest.mark.parametrize("query", QUERIES, ids=str)
async def test_both_engines_find_the_same(files: Path, query: Query) -> None:
    ours = replace(query, root=str(files), limit=min(query.limit, 30))
    own = await found(ours)
    assert await found(replace(ours, rg=RG, probed=0)) == own
    assert query.pattern == "^$" or query.parts == ("docs", "a") or own.count or query.pattern == r"\Aneedle\z"


async def test_what_gitignore_leaves_out(files: Path) -> None:
    result = await found(Query(str(files), pattern="needle", glob="!late"))
    assert [hit.path for hit in result.hits] == [
        *("a-b", "a.py", "a/b", "b/keep.log", "b/secret.ok", "b/secret.ok", "bom", "c/build/out", "caf\\xe9"),
        *("e/{x}.py", "latin", "no-newline", "vendor"),
    ]


async def test_a_small_tree_is_searched_without_ripgrep(files: Path, tmp_path: Path) -> None:
    (tmp_path / "rg").write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
    (tmp_path / "rg").chmod(0o755)
    query = Query(str(files), pattern="Needle", rg=str(tmp_path / "rg"))
    assert (await found(query)).count == 1
    assert not (tmp_path / "started").exists()
    # More files than it looks at first; this ripgrep names none of them.
    assert (await found(replace(query, probed=5))).count == 0
    assert (tmp_path / "started").exists()


def script(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    "body",
    [
        "echo 'error: unknown flag' >&2; exit 2",
        "kill -9 $$",
        "exit 77",
    ],
)
async def test_a_ripgrep_that_fails_is_not_believed(files: Path, tmp_path: Path, body: str) -> None:
    rg = script(tmp_path / "rg", body)
    assert (await found(Query(str(files), pattern="Needle", rg=rg, probed=0))).count == 1
    assert (await found(Query(str(files), pattern="Needle", rg=str(tmp_path / "none"), probed=0))).count == 1


async def test_a_ripgrep_that_hangs_is_not_waited_for(files: Path, tmp_path: Path) -> None:
    rg = script(tmp_path / "rg", "exec sleep 60")
    query = Query(str(files), pattern="Needle", rg=rg, probed=0, rg_patience_s=0.1)
    assert (await found(query)).count == 1


async def test_what_ripgrep_could_not_read_is_counted_and_what_is_gone_is_not(files: Path, tmp_path: Path) -> None:
    rg = script(
        tmp_path / "rg",
        r"""printf './gone\0./a.py\0./b\0./gone/too\0'
echo 'rg: ./locked: Permission denied (os error 13)' >&2
echo 'rg: ./gone: No such file or directory (os error 2)' >&2
exit 2""",
    )
    result = await found(Query(str(files), pattern="Needle", rg=rg, probed=0))
    assert result.hits == (Hit("a.py", 2, "    return 'Needle'"),)
    assert result.skipped == 1


async def test_what_ripgrep_names_outside_is_not_read(files: Path, tmp_path: Path) -> None:
    put(tmp_path, {"outside/secret": "Needle"})
    (files / "out").symlink_to(tmp_path / "outside")
    rg = script(tmp_path / "rg", r"printf './out/secret\0../outside/secret\0./link\0./pipe\0/etc/passwd\0'")
    result = await found(Query(str(files), pattern="Needle|root|def", rg=rg, probed=0, hidden=True, ignored=True))
    assert result.hits == ()


async def test_a_folder_that_cannot_be_listed_is_counted(root: Path) -> None:
    def failing(_folder: int, prefix: str) -> list[Named]:
        if prefix:
            raise PermissionError(13, "Permission denied")
        return [("a/", "a", "folder"), ("gone/", "gone", "folder"), ("z", "z", "file")]

    (root / "a").mkdir()
    walk = Walk(Query(str(root)), lambda _: True, failing)
    descriptor = os.open(root, os.O_RDONLY)
    try:
        assert [it.path for it in walk.below(descriptor, "", None)] == ["a", "gone", "z"]
    finally:
        os.close(descriptor)
    assert walk.skipped == 1


def test_a_tree_of_paths_is_listed_like_folders() -> None:
    top = tree(["./b/c", "./b/a", "a", "./b-c"], "top/")
    listed = lister(top)
    assert [name for _, name, _ in listed(-1, "top/")] == ["a", "b-c", "b"]
    assert listed(-1, "top/b/") == [("a", "a", "file"), ("c", "c", "file")]
    assert listed(-1, "top/none/") == []


# --- deadlines ----------------------------------------------------------------------------------------------


async def test_a_search_that_takes_too_long_is_killed_and_says_what_to_do(files: Path) -> None:
    with (
        trio.fail_after(20),
        pytest.raises(ToolError, match=r"not done after 0\.01 s; name a smaller folder") as caught,
    ):
        await search(Query(str(files), pattern="x"), "grep", deadline_s=0.01)
    assert caught.value.kind == "budget"
    await no_child_is_left()


async def test_a_cancelled_search_leaves_no_process(files: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "says")
    rg = script(tmp_path / "rg", f"echo $$ $PPID > {tmp_path}/says; exec sleep 60")
    with trio.fail_after(20):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(search, Query(str(files), pattern="x", rg=rg, probed=0), "grep")
            text = await trio.to_thread.run_sync((tmp_path / "says").read_text, abandon_on_cancel=True)
            nursery.cancel_scope.cancel()
    for pid in text.split():
        await gone(int(pid))


async def test_a_pattern_that_other_engines_choke_on_is_quick(root: Path) -> None:
    put(root, {"a": "a" * 50_000 + "!\n"})
    with trio.fail_after(10):
        assert (await found(Query(str(root), pattern="^(a+)+$"))).count == 0
        assert (await found(Query(str(root), pattern="(a|a|aa)*b"))).count == 0


async def test_a_folder_that_is_gone_when_the_search_starts_is_an_error(root: Path) -> None:
    with pytest.raises(ToolError, match="the search failed: FileNotFoundError") as caught:
        await found(Query(str(root), parts=("none",), pattern="x"))
    assert caught.value.kind == "transient"
