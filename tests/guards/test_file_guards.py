"""Guards of changes to files: read before write, plan first, edits of tests."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hookgate.guards.edited_tests import TestEditGuard
from hookgate.guards.paths import are_pair, inside, looks_like_test
from hookgate.guards.plan_first import PlanFirstGuard
from hookgate.guards.read_first import ReadFirstGuard
from hookgate.protocol.values import ToolCall, ToolResult
from hookgate.protocol.values.effects import FileEffect
from tests.guards.asking import STEP, Turn, call, failure, spec_of


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    for name in ("src/a.py", "src/b.py", "src/c.py", "tests/test_a.py", "top.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    return tmp_path


def strict(workspace: Path) -> Turn:
    return Turn(ReadFirstGuard(str(workspace), True, spec_of))


# --- read before write ----------------------------------------------------------------------------------------


async def test_an_existing_file_that_nobody_read_is_not_changed_where_that_is_strict(workspace: Path) -> None:
    told = await strict(workspace).ran(call("write", path="src/a.py", content=""))
    assert told.refused == "stale"
    assert "src/a.py exists" in told.text


async def test_advisory_runs_the_call_and_says_so(workspace: Path) -> None:
    turn = Turn(ReadFirstGuard(str(workspace), False, spec_of))
    told = await turn.ran(call("edit", path="src/a.py"), ToolResult("- x\n+ y"))
    assert told.refused is None
    assert told.text.startswith("- x\n+ y\n\nAdvice: src/a.py exists")
    assert (await turn.ran(call("edit", path="src/a.py"))).advice == ""


@pytest.mark.parametrize(
    "before",
    [
        [call("read", path="src/a.py")],
        [call("read", path="./tests/../src/a.py")],
        [call("write", path="src/new/../a.py")],
        [call("read", path="tests/test_a.py")],
        [call("read", path="src/b.py"), call("grep", pattern="x")],
    ],
)
async def test_who_has_seen_enough_may_change_the_file(workspace: Path, before: list[ToolCall]) -> None:
    turn = strict(workspace)
    for made in before:
        if made.name == "write":
            (workspace / "src/a.py").unlink()
        await turn.ran(made)
        (workspace / "src/a.py").write_text("x")
    assert (await turn.ran(call("edit", path=str(workspace / "src/a.py")))).refused is None


@pytest.mark.parametrize(
    "before",
    [
        [call("read", path="src/b.py")],
        [call("grep", pattern="x")],
        [call("read", path="top.txt"), call("grep", pattern="x")],
        [call("ls", path="src/b.py"), call("grep", pattern="x")],
        [call("ls", path="src/a.py")],
        [call("grep", pattern="x", path="src/a.py")],
    ],
)
async def test_too_little_seen_is_not_enough(workspace: Path, before: list[ToolCall]) -> None:
    turn = strict(workspace)
    for made in before:
        await turn.ran(made)
    assert (await turn.ran(call("edit", path="src/a.py"))).refused == "stale"


async def test_a_read_that_failed_is_no_read(workspace: Path) -> None:
    turn = strict(workspace)
    await turn.ran(call("read", path="src/a.py"), failure("transient"))
    assert (await turn.ran(call("edit", path="src/a.py"))).refused == "stale"


async def test_a_new_file_needs_no_reading_and_counts_as_seen_from_then_on(workspace: Path) -> None:
    turn = strict(workspace)
    assert (await turn.ran(call("write", path="new.py"))).refused is None
    (workspace / "new.py").write_text("x")
    assert (await turn.ran(call("edit", path="new.py"))).refused is None


async def test_a_tool_of_others_is_judged_by_what_it_did_to_the_file_that_it_names(workspace: Path) -> None:
    turn = strict(workspace)
    assert (await turn.ran(call("peek", path="src/a.py"))).text == "done"
    changed = ToolResult("ok", effects=(FileEffect("modify", "src/b.py"),))
    assert (await turn.ran(call("elsewhere", path="src/c.py"), changed)).text == "ok"
    changed = ToolResult("ok", effects=(FileEffect("modify", "top.txt"),))
    told = await turn.ran(call("stir", path="./top.txt"), changed)
    assert told.refused is None
    assert told.advice.endswith("has not read it. Read it before you change it again.")
    assert (await turn.ran(call("stir", path="./top.txt"), changed)).advice == ""
    created = ToolResult("ok", effects=(FileEffect("create", "new.txt"),))
    assert (await turn.ran(call("stir", path="new.txt"), created)).advice == ""


async def test_what_was_read_in_the_conversation_stays_read_and_another_one_has_not_read_it(workspace: Path) -> None:
    turn = strict(workspace)
    await turn.ran(call("read", path="src/a.py"))
    assert (await turn.another("turn-2").ran(call("edit", path="src/a.py"))).refused is None
    chat = replace(STEP.chat, chat_id="2")
    other = Turn(turn.guard, replace(STEP, inbound=replace(STEP.inbound, chat=chat)))
    assert (await other.ran(call("edit", path="src/a.py"))).refused == "stale"


async def test_effects_say_which_files_a_call_has_seen(workspace: Path) -> None:
    turn = strict(workspace)
    await turn.ran(call("strange"), ToolResult("ok", effects=(FileEffect("read", "src/a.py"),)))
    assert (await turn.ran(call("edit", path="src/a.py"))).refused is None


# --- plan first -----------------------------------------------------------------------------------------------


async def test_nothing_is_changed_before_a_plan_succeeded() -> None:
    turn = Turn(PlanFirstGuard(("plan", "todo_*"), spec_of))
    assert (await turn.ran(call("read", path="a"))).refused is None
    told = await turn.ran(call("write", path="a"))
    assert told.refused == "permission"
    assert "call plan or todo_* first" in told.text
    await turn.ran(call("todo_add"), failure("unknown"))
    assert (await turn.ran(call("strange"))).refused == "permission"
    await turn.ran(call("todo_add"))
    assert (await turn.ran(call("write", path="a"))).refused is None
    assert (await turn.another("turn-2").ran(call("write", path="a"))).refused == "permission"


async def test_a_sub_turn_follows_the_plan_of_its_parent() -> None:
    turn = Turn(PlanFirstGuard(("plan",), spec_of), replace(STEP, parent_turn_id="turn-0"))
    assert (await turn.ran(call("write", path="a"))).refused is None


# --- edits of tests -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("refuse", [False, True])
async def test_an_edit_of_a_test_is_commented_or_refused(workspace: Path, refuse: bool) -> None:
    turn = Turn(TestEditGuard(str(workspace), refuse, spec_of))
    told = await turn.ran(call("edit", path="tests/test_a.py"))
    assert told.refused == ("permission" if refuse else None)
    assert "looks like a test" in told.text
    assert (await turn.ran(call("edit", path="src/a.py"))).text == "done"
    assert (await turn.ran(call("read", path="tests/test_a.py"))).text == "done"


@pytest.mark.parametrize(
    ("path", "is_test"),
    [
        ("tests/x.py", True),
        ("a/__tests__/x.js", True),
        ("test_a.py", True),
        ("src/a_test.go", True),
        ("a.test.ts", True),
        ("a.spec.tsx", True),
        ("AThingTest.java", True),
        ("conftest.py", True),
        ("src/contest.py", False),
        ("src/latest.py", False),
        ("attest.go", False),
        ("testing.md", False),
        ("src/a.py", False),
    ],
)
def test_which_paths_look_like_tests(path: str, is_test: bool) -> None:
    assert looks_like_test(path) is is_test


@pytest.mark.parametrize(
    ("one", "other", "pair"),
    [
        ("src/a.py", "tests/test_a.py", True),
        ("a_test.go", "a.go", True),
        ("a.ts", "web/a.spec.ts", True),
        ("Thing.java", "ThingTest.java", True),
        ("a.py", "test_b.py", False),
        ("a.py", "test_a.js", False),
        ("a.py", "b/a.py", False),
    ],
)
def test_which_files_are_a_pair(one: str, other: str, pair: bool) -> None:
    assert are_pair(one, other) is are_pair(other, one) is pair


def test_paths_are_compared_without_detours() -> None:
    assert inside("a/../b/./c", "/w") == inside("/w/b/c", "/w") == "b/c"
    assert inside("../x", "/w") == "/x"
    assert inside("/wide/x", "/w") == "/wide/x"
