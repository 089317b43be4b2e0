"""Servers that lie, flood, fall silent or talk nonsense: what a call and the connection make of it, in what time."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
from benches import odd, opened, pids

from hookgate.protocol.catalog import ConnectionStatus
from hookgate.tools.errors import ToolError
from hookgate.tools.mcp.overview import line
from tests.processes import gone

SIZE = "bytes, more than 16777216"


async def refusal(mode: str, **given: object) -> str:
    """Why the first connection to such a server fails; nothing is left of it."""
    async with opened() as bench:
        with trio.fail_after(20), pytest.raises(ToolError) as caught:
            await bench.connections.connect(odd(mode, origin="model", **given))
        assert (bench.names, bench.connections.statuses()) == ([], ())
    return caught.value.reason


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        ("mute", "did not finish its handshake within 0.6 s"),
        ("deaf", "did not finish its handshake within 0.6 s"),
        ("dies", "it exited with status 3 (its last words: cannot find my configuration)"),
        ("rings", r"it exited with status 3 (its last words: bye\x07\x1b[2J\u202e)"),
        ("refuses", "it refused the handshake: go away"),
        ("garbage", "its answer cannot be read"),
        ("future", "its handshake makes no sense: Unsupported protocol version"),
        ("endless", "its list of tools does not end: 50 tools on 50 pages so far"),
        ("many", "it offers 80 tools, more than 64"),
        ("broken", "no list of its tools: the MCP server's answer makes no sense: tools.1"),
        ("nolist", "no list of its tools: the MCP server's answer makes no sense"),
        ("mutelist", "it did not list its tools within 2 s"),
    ],
)
async def test_a_server_that_cannot_be_used_is_refused_with_the_reason(mode: str, reason: str) -> None:
    patience = {"mute": 0.6, "deaf": 0.6, "mutelist": 2.0}.get(mode, 10.0)
    assert reason in await refusal(mode, connect_timeout_s=patience)


async def test_junk_on_stdout_is_skipped() -> None:
    async with opened(odd("junk")) as bench:
        assert "hello" in (await bench.call("odd__echo", text="hello")).for_llm


async def test_noise_on_stderr_stops_nobody() -> None:
    async with opened(odd("stderr")) as bench:
        assert "hello" in (await bench.call("odd__echo", text="hello")).for_llm


async def test_tools_that_no_model_can_be_offered_are_left_out_and_the_rest_is_taken() -> None:
    async with opened(odd("strange")) as bench:
        status = bench.status()
        assert [line.partition(":")[0] for line in status.skipped] == [
            "deep",
            "long",
            "loop",
            "remote",
            "wide",
        ]
        assert [name[:24] for name in status.tools] == [
            "odd__badout",
            "odd__fine",
            "odd__nnnnnnnnnnnnnnnnnnn",
            "odd__with_space_and_slas",
        ]
        assert {len(name) for name in status.tools if "nnn" in name} == {64}
        assert "there is no with space/and slash" in (await bench.call(status.tools[3])).for_llm


@pytest.mark.parametrize("where", ["first", "last"])
async def test_an_answer_of_50_megabytes_fails_its_call_alone(where: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with opened(odd("good", log)) as bench:
        result = await bench.call("odd__huge", where=where)
        assert SIZE in result.for_llm
        assert "still" in (await bench.call("odd__echo", text="still")).for_llm
        assert len(pids(log)) == 1


async def test_a_line_of_50_megabytes_that_belongs_to_nobody_ends_the_connection() -> None:
    async with opened(odd()) as bench:
        result = await bench.call("odd__huge", where="hidden")
        assert result.error is not None
        assert (result.error.kind, SIZE in result.error.reason) == ("transient", True)
        await bench.up(restarts=1)


async def test_a_line_that_never_ends_is_not_kept(tmp_path: Path) -> None:
    log = tmp_path / "log"
    before = _resident()
    assert "did not list its tools within 2 s" in await refusal("newline", connect_timeout_s=2.0)
    assert _resident() - before < 100 << 20
    await gone(*pids(log))


def _resident() -> int:
    words = Path("/proc/self/statm").read_text().split()
    return int(words[1]) * 4096


async def test_structured_content_that_breaks_its_own_schema_is_a_failure() -> None:
    async with opened(odd()) as bench:
        right = await bench.call("odd__typed", answer={"n": 1})
        wrong = await bench.call("odd__typed", answer={"n": "one"})
        assert (right.is_error, right.data) == (False, {"n": 1})
        assert (wrong.is_error, wrong.data) == (True, None)
        assert "breaks its own output schema: n: " in wrong.for_llm
        assert "see the data" in wrong.for_llm


async def test_a_hostile_pattern_stalls_nobody() -> None:
    async with opened(odd()) as bench:
        # To an engine that tries everything it is the work of hours.
        result = await bench.call("odd__redos")
        assert "breaks its own output schema" in result.for_llm


async def test_a_lone_surrogate_becomes_a_replacement_character() -> None:
    async with opened(odd()) as bench:
        assert (await bench.call("odd__surrogate")).for_llm.endswith("\na\N{REPLACEMENT CHARACTER}b")


@pytest.mark.parametrize(
    ("tool", "kind", "text"),
    [
        ("odd__nonsense", "unknown", "the MCP server's answer makes no sense"),
        ("odd__wrong_error", "validation", "the MCP server says: no such thing"),
    ],
)
async def test_an_answer_that_is_none_is_a_failure_of_its_kind(tool: str, kind: str, text: str) -> None:
    async with opened(odd()) as bench:
        result = await bench.call(tool)
        assert result.error is not None
        assert (result.error.kind, text in result.for_llm) == (kind, True)
        assert "still" in (await bench.call("odd__echo", text="still")).for_llm


@pytest.mark.parametrize("mode", ["flood", "answers", "blank", "bulk"])
async def test_a_flood_of_what_nobody_asked_for_ends_the_connection_and_little_gets_through(mode: str) -> None:
    async with opened(odd(mode)) as bench:
        await bench.until(lambda: any(state.state == "down" for state in bench.states))
        assert "unasked-for messages" in bench.status().error
        assert len(bench.heard) <= 20


async def test_a_server_that_asks_without_end_is_not_served_without_end() -> None:
    """It reads none of the answers, which would otherwise pile up."""
    async with opened() as bench:
        bench.connections.start(odd("asks"))
        await bench.until(lambda: "it asks for more than 64 things at once" in bench.status().error)


def test_what_a_server_calls_its_tools_and_says_last_is_one_line_of_the_list() -> None:
    row = ConnectionStatus("odd", "up", "stdio", "model", waiting=("a\nother  up",), last_error="no\x1b[2J")
    shown = line(row)
    assert shown.endswith(r"waiting for approval: a\nother  up  last error: no\x1b[2J")


async def test_one_server_that_hangs_delays_no_other() -> None:
    async with opened(odd("deaf", name="deaf", connect_timeout_s=1.0), odd("good", name="fine")) as bench:
        with trio.fail_after(20):
            assert "hello" in (await bench.call("fine__echo", text="hello")).for_llm
