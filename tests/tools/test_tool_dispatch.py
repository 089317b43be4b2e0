"""Every outcome of a call becomes one result that is never empty."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
import trio

from hookgate.protocol.values import Fault, ToolCall, ToolResult, ToolSpec
from hookgate.tools.arguments import ArgumentRules
from hookgate.tools.dispatch import execute, failure, not_found, rendered, settled_arguments
from hookgate.tools.errors import ToolError

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "count": {"type": "integer"}},
    "required": ["path"],
    "additionalProperties": False,
}


@dataclass
class Double:
    """Answers with what `answer` gives and counts how often it ran."""

    answer: Callable[[], Awaitable[ToolResult]]
    timeout_s: float = 5.0
    runs: int = field(default=0)

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec("double", "", SCHEMA, timeout_s=self.timeout_s)

    async def execute(self, call: ToolCall) -> ToolResult:
        self.runs += 1
        return await self.answer()


def raising(error: BaseException) -> Double:
    async def answer() -> ToolResult:
        raise error

    return Double(answer)


def saying(text: str) -> Double:
    async def answer() -> ToolResult:
        return ToolResult(text)

    return Double(answer)


async def outcome(tool: Double, **arguments: Any) -> ToolResult:
    with trio.fail_after(10):
        return await execute(tool, ToolCall("c", "double", arguments or {"path": "p"}))


@pytest.mark.parametrize(
    ("error", "kind", "reason"),
    [
        (ToolError("stale", "double", "it changed"), "stale", "it changed"),
        (ToolError("budget", "", "used up"), "budget", "used up"),
        (FileNotFoundError(2, "No such file", "a.txt"), "not_found", "a.txt: No such file"),
        (PermissionError(13, "Permission denied", "a.txt"), "permission", "a.txt: Permission denied"),
        (OSError(28, "No space left"), "transient", "No space left"),
        (trio.TooSlowError(), "transient", "timed out"),
        (ValueError("boom"), "fatal", "ValueError: boom"),
        (RecursionError("deep"), "fatal", "RecursionError: deep"),
        (ExceptionGroup("g", [OSError(5, "io")]), "transient", "io"),
        (ExceptionGroup("g", [OSError(5, "io"), ExceptionGroup("h", [KeyError("k")])]), "fatal", "KeyError"),
        (ExceptionGroup("g", [OSError(5, "io"), PermissionError(13, "no")]), "permission", "no"),
    ],
)
async def test_what_a_tool_raises_becomes_a_result_with_its_kind(error: Exception, kind: str, reason: str) -> None:
    result = await outcome(raising(error))
    assert result.is_error
    assert result.error is not None
    assert (result.error.kind, result.error.op) == (kind, "double")
    assert reason in result.error.reason
    assert result.for_llm.startswith(f"ERROR ({kind}) double: ")


async def test_a_refusal_of_the_system_is_told_apart_from_one_of_a_rule() -> None:
    by_os = await outcome(raising(PermissionError(13, "no")))
    by_rule = await outcome(raising(ToolError("permission", "double", "no", denied_by="rule:workspace")))
    assert by_os.error is not None
    assert by_rule.error is not None
    assert (by_os.error.denied_by, by_rule.error.denied_by) == ("os", "rule:workspace")


async def test_a_tool_that_hangs_is_cut_off_and_says_after_how_long() -> None:
    tool = Double(trio.sleep_forever, timeout_s=0.05)  # type: ignore[arg-type]
    result = await outcome(tool)
    assert result.error == Fault("transient", "double", "timed out after 0.05 s", timed_out=True)
    assert "Try once more" in result.for_llm


async def test_cancelling_a_call_is_never_turned_into_a_result() -> None:
    tool = Double(trio.sleep_forever, timeout_s=60)  # type: ignore[arg-type]
    returned = False
    with trio.move_on_after(0.05) as scope:
        await execute(tool, ToolCall("c", "double", {"path": "p"}))
        returned = True
    assert scope.cancelled_caught
    assert not returned


async def test_a_tool_that_fails_while_it_is_cancelled_still_ends_as_cancelled() -> None:
    async def answer() -> ToolResult:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever)
            try:
                await trio.sleep_forever()
            finally:
                raise ValueError("too late")

    with trio.move_on_after(0.05) as scope:
        await execute(Double(answer, timeout_s=60), ToolCall("c", "double", {"path": "p"}))
    assert scope.cancelled_caught


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"count": 1}, "path is required"),
        ({"path": 7}, 'invalid args: path: 7 is not of type "string"'),
        ({"path": "x", "count": True}, 'invalid args: count: true is not of type "integer"'),
        ({"path": "x", "count": 1.5}, 'invalid args: count: 1.5 is not of type "integer"'),
        ({"path": "x", "file": 1}, "'file' was unexpected"),
        ({"path": None}, 'invalid args: path: null is not of type "string"'),
    ],
)
async def test_wrong_arguments_never_reach_the_tool(arguments: dict[str, Any], reason: str) -> None:
    tool = saying("ran")
    result = await outcome(tool, **arguments)
    assert tool.runs == 0
    assert result.error is not None
    assert result.error.kind == "validation"
    assert reason in result.error.reason


async def test_integers_of_any_size_and_whole_floats_are_integers() -> None:
    assert (await outcome(saying("ran"), path="x", count=10**30)).for_llm == "ran"
    assert (await outcome(saying("ran"), path="x", count=42.0)).for_llm == "ran"


@pytest.mark.parametrize("text", ["", " \n\t"])
async def test_a_blank_text_says_so(text: str) -> None:
    assert (await outcome(saying(text))).for_llm == "(no output)"


async def test_a_long_text_keeps_its_head_on_a_character_boundary_and_says_what_is_missing() -> None:
    result = await outcome(saying("ä" * 60_000))
    head, note = result.for_llm.split("\n")
    assert head == "ä" * 25_600
    assert note == "... [68800 bytes in 1 lines more]"


async def test_too_many_lines_are_cut_too() -> None:
    result = await outcome(saying("x\n" * 5000))
    assert result.for_llm.count("x") == 2000
    assert result.for_llm.endswith("... [6000 bytes in 3001 lines more]")


async def test_lone_surrogates_never_leave() -> None:
    assert (await outcome(saying("a\ud800b"))).for_llm == "a?b"


async def test_something_that_is_no_result_is_a_failure() -> None:
    async def answer() -> Any:
        return {"not": "a result"}

    result = await outcome(Double(answer))
    assert result.is_error
    assert "dict" in result.for_llm


def test_an_unknown_tool_gets_close_names() -> None:
    result = not_found("raed", ["read", "write", "bash"])
    assert result.error is not None
    assert result.error.kind == "not_found"
    assert result.for_llm.endswith("Check the name. Close: read.")
    assert not_found("zzz", ["read"]).for_llm.endswith("Check the name.")


def test_a_failure_without_a_hint_is_one_line() -> None:
    assert failure("unknown", "op", "why").for_llm == "ERROR (unknown) op: why"
    assert failure("fatal", "op", "why", hint="Ask Ann.").for_llm == "ERROR (fatal) op: why\nAsk Ann."


@pytest.mark.parametrize("text", ["", "x", "x" * 52_000, "x" * 70_000, "x\n" * 9_000, "\ud800" * 90_000])
def test_rendering_twice_changes_nothing_more(text: str) -> None:
    once = rendered(ToolResult(text))
    assert rendered(once) == once
    assert len(once.for_llm.encode()) <= 62 * 1024


def test_a_name_of_any_length_leaves_a_short_failure() -> None:
    assert len(not_found("x" * 100_000, ["read"]).for_llm) < 400


# --- arguments are settled before anybody judges them -----------------------------------------------------------


class Shouting(Double):
    """Reads its arguments itself."""

    def decode(self, call: ToolCall) -> ToolCall | ToolResult:
        if call.arguments.get("path") == "nowhere":
            return failure("validation", call.name, "there is no such place")
        return replace(call, arguments={"path": str(call.arguments["path"]).upper(), "count": 1})


async def test_a_tool_that_decodes_gets_its_canonical_arguments_whoever_calls_it() -> None:
    seen: list[Any] = []

    class Recording(Shouting):
        async def execute(self, call: ToolCall) -> ToolResult:
            seen.append(call.arguments)
            return ToolResult("ran")

    tool = Recording(trio.sleep_forever)  # type: ignore[arg-type]
    settled = settled_arguments(tool, ToolCall("c", "double", {"path": "a"}))
    assert isinstance(settled, ToolCall)
    assert settled.arguments == {"path": "A", "count": 1}
    assert (await outcome(tool, path="a")).for_llm == "ran"
    assert seen == [{"path": "A", "count": 1}]


async def test_what_a_tool_cannot_decode_never_reaches_it() -> None:
    tool = Shouting(trio.sleep_forever)  # type: ignore[arg-type]
    result = await outcome(tool, path="nowhere")
    assert "no such place" in result.for_llm
    assert tool.runs == 0


def test_arguments_that_fit_are_the_very_same_call_also_for_a_spec_alone() -> None:
    call = ToolCall("c", "double", {"path": "p"})
    tool = saying("ran")
    assert settled_arguments(tool, call) is call
    assert settled_arguments(tool.spec, call) is call
    refused = settled_arguments(tool.spec, replace(call, arguments={"file_path": "p", "path": "q"}))
    assert isinstance(refused, ToolResult)
    assert "(did you mean path?)" in refused.for_llm


def test_aliases_and_defaults_come_before_validation() -> None:
    call = ToolCall("c", "double", {"file": "p"})
    settled = settled_arguments(saying("ran"), call, ArgumentRules({"file": "path"}, {"count": 3}))
    assert isinstance(settled, ToolCall)
    assert settled.arguments == {"path": "p", "count": 3}
    assert settled.decode.steps == ("alias",)


async def test_a_call_that_is_late_says_whether_a_thread_of_it_goes_on() -> None:
    class InThread(Double):
        in_thread = True

    for kind, abandoned in ((Double, False), (InThread, True)):
        result = await outcome(kind(trio.sleep_forever, timeout_s=0.05))  # type: ignore[arg-type]
        assert (result.error is not None, result.abandoned) == (True, abandoned)
