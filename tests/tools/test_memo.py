"""The memo of a turn: what is kept, what voids it, and who runs when several ask at once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
import trio
import trio.testing

from hookgate.protocol.values import Fault, Json, ToolCall, ToolResult, ToolSpec
from hookgate.tools import memo as module
from hookgate.tools.memo import Budget, Memo

DEADLINE_S = 10.0
SPEC = ToolSpec("read", "", {"type": "object"}, mutates=False, affects_workspace=False, pure=True)


class Reader:
    """Counts its runs; each waits for `go`, where there is one."""

    def __init__(self, result: ToolResult | None = None) -> None:
        self.runs = 0
        self.result = result
        self.go: trio.Event | None = None

    async def __call__(self) -> ToolResult:
        self.runs += 1
        number = self.runs
        if self.go is not None:
            await self.go.wait()
        return self.result or ToolResult(f"run {number}")


def call(**arguments: Json) -> ToolCall:
    return ToolCall("id", "read", arguments)


async def asked(memo: Memo, spec: ToolSpec, call: ToolCall, run: Callable[[], Awaitable[ToolResult]]) -> ToolResult:
    """As whoever executes a call does."""
    found, result = await memo.found(spec, call), None
    if isinstance(found, ToolResult):
        return found
    try:
        result = await run()
        return result
    finally:
        memo.ended(found, result)


async def test_a_repeat_has_the_same_bytes_and_says_that_it_is_cached() -> None:
    memo, run = Memo(), Reader()
    first = await asked(memo, SPEC, call(path="a"), run)
    again = await asked(memo, SPEC, call(path="a"), run)
    assert (first.for_llm, first.cached) == ("run 1", False)
    assert (again.for_llm, again.cached) == ("run 1", True)
    assert run.runs == 1


async def test_the_third_time_the_model_is_told_and_never_refused() -> None:
    memo, run = Memo(), Reader()
    for _ in range(2):
        await asked(memo, SPEC, call(), run)
    third = await asked(memo, SPEC, call(), run)
    assert third.for_llm == module.REPEATED + "run 1"
    assert run.runs == 1


@pytest.mark.parametrize(
    ("one", "other", "runs"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, 1),
        ({"a": 1}, {"a": 1.0}, 2),
        ({"a": 1}, {"a": True}, 2),
        ({"a": "1"}, {"a": 1}, 2),
        ({}, {"a": None}, 2),
        ({"a": 2**70}, {"a": 2**70}, 1),
        ({"a": "\ud800"}, {"a": "\ud800"}, 1),
    ],
)
async def test_arguments_are_compared_by_value_and_type(one: Json, other: Json, runs: int) -> None:
    memo, run = Memo(), Reader()
    assert isinstance(one, dict)
    assert isinstance(other, dict)
    await asked(memo, SPEC, ToolCall("1", "read", one), run)
    await asked(memo, SPEC, ToolCall("2", "read", other), run)
    assert run.runs == runs


async def test_another_schema_under_the_same_name_is_another_tool() -> None:
    memo, run = Memo(), Reader()
    await asked(memo, SPEC, call(), run)
    await asked(memo, ToolSpec("read", "", {"type": "object", "maxProperties": 9}, pure=True), call(), run)
    assert run.runs == 2


@pytest.mark.parametrize(
    "result",
    [
        ToolResult("no", is_error=True, error=Fault("transient", "read", "no")),
        ToolResult("late", abandoned=True),
        ToolResult("x" * module.MAX_ENTRY_BYTES),
        ToolResult("x", data=["y" * module.MAX_ENTRY_BYTES]),
    ],
)
async def test_failures_and_giants_are_not_kept(result: ToolResult) -> None:
    memo, run = Memo(), Reader(result)
    await asked(memo, SPEC, call(), run)
    again = await asked(memo, SPEC, call(), run)
    assert run.runs == 2
    assert not again.cached


async def test_one_reader_cannot_change_what_the_next_one_gets() -> None:
    memo, run = Memo(), Reader(ToolResult("x", data={"entries": ["a"]}))
    await asked(memo, SPEC, call(), run)
    hit = await asked(memo, SPEC, call(), run)
    assert isinstance(hit.data, dict)
    hit.data["entries"] = []
    assert (await asked(memo, SPEC, call(), run)).data == {"entries": ["a"]}


async def test_a_change_voids_everything_and_what_was_read_across_it() -> None:
    memo, run = Memo(), Reader()
    run.go = trio.Event()
    with trio.fail_after(DEADLINE_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(asked, memo, SPEC, call(), run)
            await trio.testing.wait_all_tasks_blocked()
            memo.clear()
            run.go.set()
    await asked(memo, SPEC, call(), run)
    assert run.runs == 2


async def test_a_changed_registry_voids_everything() -> None:
    memo, run = Memo(), Reader()
    for version in (1, 1, 2, 2):
        memo.at_version(version)
        await asked(memo, SPEC, call(), run)
    assert run.runs == 2


async def test_of_identical_calls_at_once_one_runs() -> None:
    memo, run = Memo(), Reader()
    run.go = trio.Event()
    got: list[ToolResult] = []
    with trio.fail_after(DEADLINE_S):
        async with trio.open_nursery() as nursery:
            for _ in range(5):
                nursery.start_soon(_collect, got, memo, run)
            await trio.testing.wait_all_tasks_blocked()
            run.go.set()
    assert run.runs == 1
    assert sorted(result.cached for result in got) == [False, True, True, True, True]


async def test_after_a_failed_leader_the_next_one_runs_itself() -> None:
    memo, run = Memo(), Reader()
    run.go = trio.Event()
    got: list[ToolResult] = []

    async def fail() -> ToolResult:
        assert run.go is not None
        await run.go.wait()
        raise OSError("gone")

    async def lead() -> None:
        with pytest.raises(OSError, match="gone"):
            await asked(memo, SPEC, call(), fail)

    with trio.fail_after(DEADLINE_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lead)
            await trio.testing.wait_all_tasks_blocked()
            nursery.start_soon(_collect, got, memo, run)
            await trio.testing.wait_all_tasks_blocked()
            run.go.set()
    assert [result.for_llm for result in got] == ["run 1"]


async def test_a_cancelled_leader_does_not_take_its_followers_along() -> None:
    memo, run = Memo(), Reader()
    got: list[ToolResult] = []
    run.go = trio.Event()
    with trio.fail_after(DEADLINE_S):
        async with trio.open_nursery() as nursery:
            leader = trio.CancelScope()
            nursery.start_soon(_within, leader, memo, run)
            await trio.testing.wait_all_tasks_blocked()
            nursery.start_soon(_collect, got, memo, run)
            await trio.testing.wait_all_tasks_blocked()
            leader.cancel()
            await trio.testing.wait_all_tasks_blocked()
            run.go.set()
    assert [result.for_llm for result in got] == ["run 2"]


async def _collect(got: list[ToolResult], memo: Memo, run: Callable[[], Awaitable[ToolResult]]) -> None:
    got.append(await asked(memo, SPEC, call(), run))


async def _within(scope: trio.CancelScope, memo: Memo, run: Callable[[], Awaitable[ToolResult]]) -> None:
    with scope:
        await asked(memo, SPEC, call(), run)


async def test_the_least_recently_used_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_ENTRIES", 2)
    memo, run = Memo(), Reader()
    for path in ("a", "b", "a", "c", "a", "b"):
        await asked(memo, SPEC, call(path=path), run)
    assert run.runs == 4


async def test_all_turns_together_keep_to_one_budget_and_give_it_back() -> None:
    budget = Budget(limit=1000)
    one, other, run = Memo(budget), Memo(budget), Reader(ToolResult("x" * 300))
    await asked(one, SPEC, call(), run)
    await asked(other, SPEC, call(), run)
    await asked(other, SPEC, call(), run)
    assert run.runs == 3
    one.clear()
    other.clear()
    assert budget.used == 0


async def test_what_is_too_old_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_AGE_S", -1.0)
    memo, run = Memo(), Reader()
    await asked(memo, SPEC, call(), run)
    await asked(memo, SPEC, call(), run)
    assert run.runs == 2
