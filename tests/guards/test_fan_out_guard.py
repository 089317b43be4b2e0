"""How often one tool may be called in a turn."""

from __future__ import annotations

from dataclasses import replace

from hookgate.guards.fan_out import FanOutGuard
from hookgate.protocol.values import ToolResult
from tests.guards.asking import Turn, call, spec_of


def make(**limits: int) -> Turn:
    return Turn(FanOutGuard(limits, spec_of))


def hear(turn: Turn, event: object) -> None:
    assert isinstance(turn.guard, FanOutGuard)
    turn.guard.hear(event)  # type: ignore[arg-type]


async def test_a_call_beyond_the_limit_is_refused_before_it_runs() -> None:
    turn = make(bash=2)
    told = [await turn.ran(call("bash", command="x")) for _ in range(4)]
    assert [it.refused for it in told] == [None, None, "budget", "budget"]
    assert "2 times in one turn" in told[2].text
    assert (await turn.another("next").ran(call("bash", command="x"))).refused is None


async def test_a_pure_tool_counts_each_signature_once() -> None:
    turn = make(ls=2)
    told = [await turn.ran(call("ls", path=path)) for path in ("a", "a", "b", "a", "b", "c")]
    assert [it.refused for it in told] == [None] * 5 + ["budget"]


async def test_a_result_from_the_memo_does_not_count() -> None:
    turn = make(ls=2)
    await turn.ran(call("ls"))
    for path in (".", "./", "./."):
        assert (await turn.ran(call("ls", path=path), ToolResult("a", cached=True))).refused is None
    assert (await turn.ran(call("ls", path="b"))).refused is None
    assert (await turn.ran(call("ls", path="c"))).refused == "budget"


async def test_a_tool_without_a_limit_is_free() -> None:
    turn = make(ls=1)
    assert all([(await turn.ran(call("read", path=str(n)))).refused is None for n in range(50)])


async def test_calls_that_failed_before_the_gate_saw_them_count() -> None:
    turn = make(bash=2)
    for _ in range(2):
        hear(turn, turn.early(call("bash")))
    assert (await turn.ran(call("bash", command="x"))).refused == "budget"


async def test_a_call_that_another_hook_denies_counts_once() -> None:
    turn = make(bash=2)
    made = call("bash", command="x")
    await turn.ran(made)
    hear(turn, turn.early(made, "permission"))
    assert (await turn.ran(call("bash", command="x"))).refused is None
    hear(turn, turn.end)
    assert (await turn.ran(call("bash", command="x"))).refused is None


async def test_a_call_that_a_hook_changed_counts_once_as_what_it_is_then() -> None:
    turn = make(ls=3)
    for path in ("a", "b"):
        made = call("ls", path=path)
        await turn.guard.before_tool(turn.asking(made))
        await turn.ran(replace(made, arguments={"path": f"/{path}"}))
    assert (await turn.ran(call("ls", path="c"))).refused is None
    assert (await turn.ran(call("ls", path="d"))).refused == "budget"
