"""The diff that a turn leaves: real files, real tools, and what `git apply` makes of it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hookgate.assembly.tools.turn_diff import Recorder
from hookgate.protocol.values import ToolCall, ToolResult
from hookgate.tools.builtin import Parts, builtin_tools
from hookgate.tools.dispatch import execute
from hookgate.tools.files.diffs import Content, diff
from hookgate.tools.files.workspace import Workspace
from hookgate.tools.shell.sandbox import SandboxOptions, open_shelter

Run = Callable[..., Coroutine[Any, Any, None]]

ENVIRONMENT = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


@pytest.fixture
def recorder(root: Path) -> Recorder:
    return Recorder(Workspace(root))


@pytest.fixture
async def run(root: Path, recorder: Recorder) -> AsyncIterator[Run]:
    """`await run("write", path="x", ...)`: a call as a turn makes it."""
    async with open_shelter(root, ENVIRONMENT, SandboxOptions(mode="off")) as shelter:
        tools = {it.spec.name: it for it in builtin_tools(Parts(Workspace(root), shelter, ENVIRONMENT))}
        numbers = iter(range(1000))

        async def made(name: str, **arguments: Any) -> None:
            call = ToolCall(f"call_{next(numbers)}", name, arguments)
            with trio.fail_after(20):
                compared = await recorder.watch(call)
                await compared(await execute(tools[name], call))

        yield made


async def test_a_turn_that_changes_nothing_shows_nothing(run: Run, recorder: Recorder, root: Path) -> None:
    (root / "a").write_text("x\n")
    await run("bash", command="cat a; touch a; ls .")
    assert await recorder.take() == ""


async def test_changes_creations_and_deletions_are_shown(run: Run, recorder: Recorder, root: Path) -> None:
    (root / "a").write_text("one\ntwo\nthree\n")
    (root / "gone").write_text("bye\n")
    await run("edit", path="a", edits=[{"oldText": "two", "newText": "TWO"}])
    await run("write", path="sub/new", content="fresh")
    await run("bash", command="rm gone")
    assert (await recorder.take()).split("\n") == [
        *("--- a/a", "+++ b/a", "@@ -1,3 +1,3 @@", " one", "-two", "+TWO", " three"),
        *("--- a/gone", "+++ /dev/null", "@@ -1 +0,0 @@", "-bye"),
        *("--- /dev/null", "+++ b/sub/new", "@@ -0,0 +1 @@", "+fresh", "\\ No newline at end of file", ""),
    ]


async def test_it_is_the_turn_that_counts_not_the_single_call(run: Run, recorder: Recorder, root: Path) -> None:
    (root / "a").write_text("1\n")
    await run("write", path="a", content="2\n")
    await run("write", path="a", content="3\n")
    await run("write", path="b", content="x")
    await run("bash", command="rm b")
    assert "-1\n+3\n" in (shown := await recorder.take())
    assert "2" not in shown.split("@@", 2)[2]
    assert "b/b" not in shown
    assert await recorder.take() == ""
    await run("write", path="a", content="4\n")
    assert "-3\n+4\n" in await recorder.take()


async def test_what_a_command_changes_without_naming_it_is_shown_or_listed(
    run: Run, recorder: Recorder, root: Path
) -> None:
    (root / "old").write_text("x\n")
    (root / "going").write_text("x\n")
    script = "f=ol; echo y > ${f}d; f=ne; echo z > ${f}w; f=goin; rm ${f}g"
    await run("bash", command=script)
    assert (await recorder.take()).split("\n") == [
        "going: deleted, earlier content unknown",
        *("--- /dev/null", "+++ b/new", "@@ -0,0 +1 @@", "+z"),
        "old: changed, earlier content unknown",
        "",
    ]


async def test_what_is_named_after_it_changed_is_not_passed_off_as_known(
    run: Run, recorder: Recorder, root: Path
) -> None:
    (root / "old").write_text("1\n")
    await run("bash", command="f=ol; echo 2 > ${f}d")
    await run("write", path="old", content="3\n")
    assert await recorder.take() == "old: changed, earlier content unknown\n"


async def test_a_failing_call_is_recorded_all_the_same(run: Run, recorder: Recorder, root: Path) -> None:
    (root / "a").write_text("1\n")
    await run("bash", command="echo 2 > a; exit 1")
    assert "-1\n+2\n" in await recorder.take()


async def test_binary_and_huge_files_are_one_line_with_sizes(run: Run, recorder: Recorder, root: Path) -> None:
    (root / "bin").write_bytes(b"\0\1")
    (root / "huge").write_bytes(b"x" * 2_000_000)
    (root / "kept").write_bytes(b"x" * 2_000_000)
    await run("bash", command=r"printf '\0\1\2' > bin; printf y >> huge; head -c 3 kept; head -c 1500000 huge > big")
    assert (await recorder.take()).split("\n") == [
        "big: created, 1500000 bytes",
        "bin: changed, 2 -> 3 bytes",
        "huge: changed, 2000000 -> 2000001 bytes",
        "",
    ]


async def test_a_long_diff_is_cut_and_says_how_much_is_missing(run: Run, recorder: Recorder) -> None:
    await run("write", path="a", content="x\n" * 10_000)
    lines = (await recorder.take()).split("\n")
    assert len(lines) == 502
    assert lines[-2] == "... [9503 more lines]"


async def test_the_bookkeeping_of_git_is_not_shown(run: Run, recorder: Recorder, root: Path) -> None:
    (root / ".git").mkdir()
    await run("bash", command="g=.gi; echo x > ${g}t/index")
    assert await recorder.take() == ""


async def test_a_terminal_gets_colours_and_nothing_that_moves_its_cursor(root: Path) -> None:
    recorder = Recorder(Workspace(root), coloured=True)
    (root / "a").write_text("x\x1b[2J\n")
    call = ToolCall("c", "write", {"path": "a", "content": "y"})
    await recorder.watch(call)
    (root / "a").write_text("y\x1b[2J\n")
    text = await recorder.take()
    assert "\x1b[31m-x\\x1b[2J\x1b[0m\n" in text
    assert "\x1b[32m+y\\x1b[2J\x1b[0m\n" in text
    assert "\x1b[2J" not in text


async def test_a_workspace_that_is_gone_hurts_nobody(root: Path) -> None:
    recorder = Recorder(Workspace(root))
    call = ToolCall("c", "bash", {"command": "rm -r ."})
    await recorder.watch(call)
    os.rmdir(root)
    assert await recorder.take() == ""


async def test_links_and_pipes_are_passed_over(run: Run, recorder: Recorder, root: Path) -> None:
    (root / "dir").mkdir()
    await run("bash", command="mkfifo pipe; ln -s dir link; ln -s /etc/passwd out; echo x > link/f")
    assert (await recorder.take()).split("\n")[:2] == ["--- /dev/null", "+++ b/dir/f"]


# --- the diff itself ----------------------------------------------------------------------------------------

texts = st.lists(st.sampled_from(["a", "b", "c", "\n", "\n", "\r\n", "ä"]), max_size=60).map("".join)


@pytest.mark.needs("git")
@settings(max_examples=25, deadline=None)
@given(texts, texts)
@example("\n\n\n\na\nb", "\r\n\n\n\na\nb")
@example("a\nb\n\n\n\n", "a\nb\n\n\n\r\n")
def test_git_applies_it(before: str, after: str) -> None:
    import tempfile

    if before == after or not before or not after:
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "f")
        file.write_bytes(before.encode())
        patch = "".join(f"{line}\n" for line in diff("f", content(before), content(after)))
        argv = ["git", "apply", "--whitespace=nowarn", "-"]
        environment = {**ENVIRONMENT, "GIT_CEILING_DIRECTORIES": str(Path(folder).parent)}
        subprocess.run(argv, cwd=folder, input=patch.encode(), check=True, timeout=20, env=environment)
        assert file.read_bytes() == after.encode()


def content(text: str) -> Content:
    return Content(len(text.encode()), text.encode())


def test_a_change_in_a_large_file_is_found_and_a_large_rewrite_is_only_named() -> None:
    lines = [f"{n}\n" for n in range(50_000)]
    changed = [*lines[:25_000], "new\n", *lines[25_001:]]
    shown = diff("f", content("".join(lines)), content("".join(changed)))
    assert shown[2:] == [
        *("@@ -24998,7 +24998,7 @@", " 24997", " 24998", " 24999"),
        *("-25000", "+new", " 25001", " 25002", " 25003"),
    ]
    [line] = diff("f", content("".join(lines)), content("".join(reversed(lines))))
    assert line.endswith("too many lines to compare")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (None, None, []),
        (content("x"), content("x"), []),
        (None, content(""), ["f: created, 0 bytes"]),
        (content(""), None, ["f: deleted, 0 bytes"]),
        (content("a\0"), None, ["f: deleted, 2 bytes"]),
        (Content(5, None, (1, 1)), Content(5, None, (1, 1)), []),
        (Content(5, None, (1, 1)), Content(5, None, (1, 2)), ["f: changed, 5 -> 5 bytes"]),
    ],
)
def test_what_has_no_lines_is_told_in_one(before: Content | None, after: Content | None, expected: list[str]) -> None:
    assert diff("f", before, after) == expected


async def test_what_a_call_that_still_runs_has_changed_is_not_taken_for_what_was_there(
    recorder: Recorder, root: Path
) -> None:
    (root / "a").write_text("one\n")
    compared = await recorder.watch(ToolCall("1", "bash", {"command": "make"}))
    (root / "a").write_text("two, of the command\n")
    (root / "new").write_text("of the command\n")
    edited = await recorder.watch(ToolCall("2", "edit", {"path": "a"}))
    written = await recorder.watch(ToolCall("3", "write", {"path": "new"}))
    (root / "a").write_text("three\n")
    (root / "new").write_text("whole\n")
    for ends in (edited, written, compared):
        await ends(ToolResult(""))
    shown = await recorder.take()
    assert "a: changed, earlier content unknown" in shown
    assert "+whole" in shown
    assert "-of the command" not in shown
