"""What hookgate sees a call do to files, whatever the tool claims: real files, real commands."""

from __future__ import annotations

import os
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import trio

from hookgate.protocol.values import Json, ToolCall, ToolResult
from hookgate.protocol.values.effects import Effect, FileEffect, ProcessEffect
from hookgate.tools.builtin.bash import Bash
from hookgate.tools.dispatch import execute
from hookgate.tools.files import observe
from hookgate.tools.files.observe import merged, watch
from hookgate.tools.files.observe_paths import named_paths, shown_path
from hookgate.tools.files.observe_scan import ScanLimits, changes, scan
from hookgate.tools.files.workspace import Workspace
from hookgate.tools.shell.sandbox import Sandbox
from tests.cost import linear


def call(name: str, **arguments: Json) -> ToolCall:
    return ToolCall("c", name, arguments)


async def watched(workspace: Workspace, made: ToolCall, run: Callable[[], Awaitable[ToolResult]]) -> ToolResult:
    compared = await watch(workspace, made)
    return await compared(await run())


async def seen(workspace: Workspace, made: ToolCall, change: Callable[[], object]) -> tuple[Effect, ...]:
    async def run() -> ToolResult:
        change()
        return ToolResult("done")

    with trio.fail_after(20):
        return (await watched(workspace, made, run)).effects


def create(path: str, size: int) -> FileEffect:
    return FileEffect("create", path, bytes_after=size, source="observed")


def modify(path: str, size: int) -> FileEffect:
    return FileEffect("modify", path, bytes_after=size, source="observed")


def delete(path: str) -> FileEffect:
    return FileEffect("delete", path, source="observed")


def rename(old: str, new: str, size: int) -> FileEffect:
    return FileEffect("rename", new, old, size, "observed")


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is looked at in vain on a busy machine is another matter."""
    monkeypatch.setattr(observe, "PATIENCE_S", 20.0)


# --- commands -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("echo xy > new", [create("new", 3)]),
        ("echo xy >> old", [modify("old", 7)]),
        ("sed -i s/old/new/ ./old", [modify("old", 4)]),
        ("rm old", [delete("old")]),
        ("rm -r sub", [delete("sub/a.c"), delete("sub/b.c")]),
        ("mv old new", [rename("old", "new", 4)]),
        ("mv old sub/a.c", [rename("old", "sub/a.c", 4)]),
        ("mv sub moved", [rename("sub/a.c", "moved/a.c", 1), rename("sub/b.c", "moved/b.c", 2)]),
        ("cp old 'a name'", [create("a name", 4)]),
        ("cd sub && rm a.c; echo x > new", [delete("sub/a.c"), create("sub/new", 2)]),
        ("rm sub/*.c", [delete("sub/a.c"), delete("sub/b.c")]),
        ('sh -c "echo x>new; rm old"', [create("new", 2), delete("old")]),
        ("dd if=old of=new 2>/dev/null", [create("new", 4)]),
        ("rm old; printf other > new", [create("new", 5), delete("old")]),
        ("mkdir -p x/y && touch x/y/z", [create("x/y/z", 0)]),
        ("ln -s old new; rm link", [delete("link"), create("new", 3)]),
        ("echo x > link", [modify("old", 2)]),
        ("echo x > old; exit 3", [modify("old", 2)]),
        ("touch old; cat old; ls sub", []),
        ("chmod 600 old", []),
        ("cp -p old keep && mv keep old", []),
        ("echo 'unbalanced", []),
        ("echo x > $TMPDIR/y; cat /etc/hostname ../..", []),
    ],
)
async def test_a_commands_changes_show_in_the_files_it_names(
    workspace: Workspace, unconfined: Sandbox, root: Path, line: str, expected: list[FileEffect]
) -> None:
    (root / "old").write_text("old\n")
    (root / "sub").mkdir()
    (root / "sub" / "a.c").write_text("a")
    (root / "sub" / "b.c").write_text("bb")
    (root / "link").symlink_to("old")
    tool = Bash(unconfined, {"PATH": os.environ["PATH"]})
    made = call("bash", command=line)
    with trio.fail_after(20):
        result = await watched(workspace, made, lambda: execute(tool, made))
    assert isinstance(result.effects[0], ProcessEffect)
    assert result.effects[1:] == tuple(sorted(expected, key=lambda it: it.path))


# --- any tool -----------------------------------------------------------------------------------------------


async def test_paths_are_found_at_any_depth_of_the_arguments(workspace: Workspace, root: Path) -> None:
    made = call("mcp", files=[{"where": "a"}, {"where": str(root / "b")}], text="not\na path", n=1)

    def change() -> None:
        (root / "a").write_text("1")
        (root / "b").write_text("22")
        (root / "c").write_text("unnamed")

    assert await seen(workspace, made, change) == (create("a", 1), create("b", 2))


@pytest.mark.parametrize("path", ["../outside", "/etc/passwd", "out/file", "a\0b", "x" * 5000, "", "~/x"])
async def test_what_lies_outside_is_not_looked_at(workspace: Workspace, root: Path, path: str) -> None:
    (root.parent / "away").mkdir()
    (root / "out").symlink_to(root.parent / "away")
    for parts in named_paths(workspace, call("t", path=path)):
        assert root.joinpath(*parts).parent.resolve().is_relative_to(root)


async def test_the_same_size_and_time_do_not_hide_a_change(workspace: Workspace, root: Path) -> None:
    (root / "a").write_text("one")
    before = (root / "a").stat()

    def change() -> None:
        (root / "a").write_text("two")
        os.utime(root / "a", ns=(before.st_atime_ns, before.st_mtime_ns))

    assert await seen(workspace, call("t", path="a"), change) == (modify("a", 3),)


async def test_writing_the_same_again_is_no_change(workspace: Workspace, root: Path) -> None:
    (root / "a").write_text("one")
    assert await seen(workspace, call("t", path="a"), lambda: (root / "a").write_text("one")) == ()


async def test_a_large_file_is_judged_by_size_and_time(workspace: Workspace, root: Path) -> None:
    (root / "a").write_bytes(b"x" * 3_000_000)

    def change() -> None:
        with (root / "a").open("r+b") as file:
            file.write(b"y")
        os.utime(root / "a", (1, 1))

    assert await seen(workspace, call("t", path="a"), change) == (modify("a", 3_000_000),)


async def test_pipes_sockets_and_vanishing_folders_hurt_nobody(workspace: Workspace, root: Path) -> None:
    os.mkfifo(root / "pipe")
    (root / "d").mkdir()
    (root / "d" / "f").write_text("x")
    (root / "loop").symlink_to("loop")

    def change() -> None:
        os.rename(root / "d", root / "e")
        (root / "d").write_text("now a file")

    effects = await seen(workspace, call("t", paths=["pipe", "d", "d/f", "loop", "d/f/g"]), change)
    assert effects == (create("d", 10), delete("d/f"))


@pytest.mark.skipif(os.getuid() == 0, reason="NOT TESTED: root may look into any folder")
async def test_a_folder_that_cannot_be_seen_any_more_has_lost_nothing(workspace: Workspace, root: Path) -> None:
    (root / "d").mkdir()
    (root / "d" / "f").write_text("x")
    try:
        assert await seen(workspace, call("t", path="d"), lambda: (root / "d").chmod(0)) == ()
    finally:
        (root / "d").chmod(0o700)


# --- limits -------------------------------------------------------------------------------------------------


async def test_of_a_huge_folder_only_what_was_seen_before_is_compared(workspace: Workspace, root: Path) -> None:
    for number in range(2500):
        (root / f"f{number}").touch()

    def change() -> None:
        for number in range(2500):
            (root / f"f{number}").write_text("x")
        (root / "brand new").write_text("x")
        (root / "named").write_text("x")

    effects = await seen(workspace, call("t", paths=[".", "named"]), change)
    assert len(effects) == 200
    assert not any(isinstance(it, FileEffect) and it.path == "brand new" for it in effects)
    before = scan(workspace, [(), ("named",)], ScanLimits(entries=5))
    (root / "named").unlink()
    after = scan(workspace, [(), ("named",)], ScanLimits(entries=5), before.files)
    assert changes(before, after, [(), ("named",)]) == (delete("named"),)


async def test_a_scan_keeps_to_its_time(workspace: Workspace, root: Path) -> None:
    for name in ("named", "other"):
        (root / name).write_text("x")
    found = scan(workspace, [(), ("named",)], ScanLimits(seconds=0))
    assert [(path, seen.digest) for path, seen in found.files.items()] == [(("named",), b"")]
    assert not found.complete


async def test_crowded_folders_are_seen_last(workspace: Workspace, root: Path) -> None:
    for folder in (".git", "src", "src/deep"):
        (root / folder).mkdir(exist_ok=True)
        for number in range(10):
            (root / folder / f"{number}").touch()
    found = scan(workspace, [()], ScanLimits(entries=23))
    assert {parts[0] for parts in found.files} == {"src"}
    assert not found.complete
    none = scan(workspace, [()], ScanLimits(crowded=False))
    assert none.complete
    assert not any(parts[0] == ".git" for parts in none.files)


async def test_of_many_words_those_that_are_files_count(workspace: Workspace, root: Path) -> None:
    (root / "at the end").write_text("x")
    words = " ".join(f"word{number}" for number in range(900))
    named = named_paths(workspace, call("bash", command=f"echo {words} > sub/new; cat 'at the end'"))
    assert len(named) == 500
    assert {("at the end",), ("sub", "new")} <= set(named)


async def test_a_hostile_command_line_costs_little(workspace: Workspace) -> None:
    with linear():
        for line in ("'" * 60_000, "a " * 60_000, "*/" * 30_000, "cd x; " * 20_000, "\\" * 60_000):
            named_paths(workspace, call("bash", command=line))


async def test_one_named_file_is_all_that_is_looked_at(workspace: Workspace, root: Path) -> None:
    for name in "abc":
        (root / name).write_text("x")
    found = scan(workspace, named_paths(workspace, call("write", path="b", content="x")), ScanLimits(entries=2))
    assert found.complete
    assert {path for path, seen in found.files.items() if seen.digest} == {("b",)}


# --- when things go wrong -----------------------------------------------------------------------------------


async def test_what_a_call_raises_passes_through(workspace: Workspace) -> None:
    def change() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        await seen(workspace, call("t", path="a"), change)


async def test_a_workspace_that_is_gone_costs_the_effects_not_the_result(root: Path) -> None:
    os.rmdir(root)

    async def run() -> ToolResult:
        return ToolResult("done", effects=(FileEffect("create", "a"),))

    result = await watched(Workspace(root), call("t", path="a"), run)
    assert result == ToolResult("done", effects=(FileEffect("create", "a"),))


async def test_a_cancellation_after_the_call_loses_neither_result_nor_effects(
    workspace: Workspace, root: Path
) -> None:
    got: list[ToolResult] = []
    with trio.CancelScope() as scope:

        async def run() -> ToolResult:
            (root / "a").write_text("x")
            scope.cancel()
            return ToolResult("done")

        got.append(await watched(workspace, call("t", path="a"), run))
    assert got == [ToolResult("done", effects=(create("a", 1),))]


async def test_a_cancellation_before_the_call_prevents_it(workspace: Workspace) -> None:
    ran: list[bool] = []
    with trio.CancelScope() as scope:
        scope.cancel()
        await seen(workspace, call("t", path="a"), lambda: ran.append(True))
    assert not ran


async def test_arguments_without_a_path_cost_no_second_look(workspace: Workspace) -> None:
    before = threading.active_count()
    assert await seen(workspace, call("t", n=1, flag=True, nothing=None), lambda: None) == ()
    assert threading.active_count() <= before + 1


# --- claims -------------------------------------------------------------------------------------------------


def claim(op: Any, path: str, size: int | None = None) -> FileEffect:
    return FileEffect(op, path, bytes_after=size)


@pytest.mark.parametrize(
    ("claimed", "found", "expected"),
    [
        ([claim("create", "a", 9)], [create("a", 3)], [create("a", 3)]),
        ([claim("modify", "a")], [modify("b", 1)], [claim("modify", "a"), modify("b", 1)]),
        ([claim("create", "a")], [modify("a", 1)], [claim("create", "a"), modify("a", 1)]),
        ([claim("append", "a")], [modify("a", 1)], [FileEffect("append", "a", None, 1, "observed")]),
        ([claim("read", "a")], [modify("a", 1)], [claim("read", "a"), modify("a", 1)]),
        ([ProcessEffect("x"), claim("delete", "a")], [delete("a")], [ProcessEffect("x"), delete("a")]),
        ([FileEffect("rename", "b", "a")], [rename("a", "b", 1)], [rename("a", "b", 1)]),
        ([], [], []),
    ],
)
def test_what_was_seen_takes_the_place_of_an_equal_claim(
    claimed: list[Effect], found: list[FileEffect], expected: list[Effect]
) -> None:
    assert merged(claimed, found) == tuple(expected)


def test_the_root_is_shown_as_a_dot() -> None:
    assert shown_path(()) == "."
