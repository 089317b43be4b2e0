"""Extensions that break the wire while the whole program runs: noise, floods, long lines, silence, deafness."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
import trio

from hookgate.hooks.zot import tool as zot_tool
from hookgate.protocol.events.payloads import HookFailed
from tests.cli.program import DEADLINE_S, none_left
from tests.cli.rpc_client import Frame, one, open_rpc, scripted, types
from tests.cli.zot.test_zot_gateway import asks as asked
from tests.cli.zot.test_zot_gateway import open_gateway
from tests.cli.zot.zot_folders import extension
from tests.flow.zot.zot_rules import (
    DONE,
    HELLO,
    alone,
    answers,
    asks,
    command,
    heard,
    note,
    on,
    passes,
    ruled,
    subscribe,
    text,
    tool,
    until_heard,
)
from tests.model_server import says

QUIET = '[log]\nlevel = "error"\n'
SOON = "[zot.extensions.deaf]\ntimeout_ms = 300\n"
PNG = base64.b64encode(b"png").decode()


def result(frames: list[Frame]) -> tuple[bool, str]:
    """Whether the one tool failed, and its text."""
    ended = one(frames, "tool_result")
    return ended["is_error"], ended["content"][0]["text"]


async def test_noise_between_good_frames_costs_nothing(tmp_path: Path) -> None:
    noise = (
        "Listening on port 80",
        "",
        "[1, 2]",
        '{"type":',
        "\x00\xff",
        '{"type":"telemetry","x":1}',
        '{"no":"type"}',
    )
    rule = on("tool_call", *noise, {"type": "tool_result", "id": "77", "content": []}, answers(text("fine")))
    noisy = ruled(tmp_path, "noisy", *noise, tool("city"), *noise, rules=(rule,))
    async with open_rpc(scripted(tmp_path, asks("city"), DONE, asks("city")), *alone(noisy)) as client:
        for _ in range(2):
            await client.send("prompt", message="go")
            assert result(await client.done()) == (False, "fine")
        assert await client.ends() == 0
    log = (tmp_path / ".local" / "state" / "zot" / "logs" / "ext-noisy.log").read_text()
    assert '[zot] unknown frame type "telemetry"' in log
    assert "[zot] malformed json " in log
    assert "Listening on port 80" in log
    assert "[zot] tool_result for no call that waits: id 77" in log


async def test_an_answer_counts_once(tmp_path: Path) -> None:
    rule = on("tool_call", answers(text("first")), answers(text("second"), is_error=True))
    twice = ruled(tmp_path, "twice", tool("city"), rules=(rule,))
    async with open_rpc(scripted(tmp_path, asks("city"), DONE, asks("city")), *alone(twice)) as client:
        for _ in range(2):
            await client.send("prompt", message="go")
            assert result(await client.done()) == (False, "first")


@pytest.mark.parametrize(("megabytes", "fails"), [(6, False), (17, True)])
async def test_a_line_of_megabytes_is_a_result_and_a_longer_one_a_failure(
    tmp_path: Path, megabytes: int, fails: bool
) -> None:
    big = extension(tmp_path, "ext")
    steps = (asks("do", do="big", megabytes=megabytes), DONE, asks("do", do="blocks", blocks=[text("still here")]))
    async with open_rpc(scripted(tmp_path, *steps), *alone(big)) as client:
        await client.send("prompt", message="go")
        is_error, said = result(await client.done())
        assert is_error == fails
        assert ("extension ext/do failed: " if fails else "xxxx") in said, said[:200]
        await client.send("prompt", message="again")
        assert result(await client.done()) == (False, "still here")


async def test_arguments_too_long_for_a_line_fail_the_call_and_are_not_written(tmp_path: Path) -> None:
    folder = ruled(tmp_path, "ext", tool("city"))
    steps = (asks("city", name="x" * (5 << 20)), DONE, asks("city", name="y"))
    async with open_rpc(scripted(tmp_path, *steps), *alone(folder)) as client:
        await client.send("prompt", message="go")
        is_error, said = result(await client.done())
        assert is_error
        assert "bytes" in said
        await client.send("prompt", message="again")
        assert result(await client.done()) == (False, "ok")
        assert await client.ends() == 0
    assert [frame["args"] for frame in heard(folder, "tool_call")] == [{"name": "y"}]


async def test_what_is_registered_late_is_there_at_the_next_model_call(tmp_path: Path) -> None:
    late = (tool("late"), command("late"), subscribe("tool_call"), {"type": "event_intercept_response", "id": "9"})
    rules = (
        on("tool_call", answers(text("in time")), name="late"),
        on("tool_call", *late, answers(text("wait for it"))),
        on("event_intercept", passes(modified_args={"seen": True}), tool_name="late"),
    )
    folder = ruled(tmp_path, "ext", tool("city"), rules=rules)
    async with open_rpc(scripted(tmp_path, asks("city"), asks("late")), *alone(folder)) as client:
        await client.send("prompt", message="go")
        frames = await client.done()
        said = [frame["content"][0]["text"] for frame in frames if frame["type"] == "tool_result"]
        assert said == ["wait for it", "in time"]
        assert (await client.ask("ext_command", name="LATE"))["data"] == {"action": "noop"}
        assert await client.ends() == 0
    assert heard(folder, "tool_call")[1]["args"] == {"seen": True}
    assert heard(folder, "command_invoked")[0]["name"] == "late"


async def test_an_extension_that_reads_nothing_delays_a_turn_by_its_time_alone(tmp_path: Path) -> None:
    """It is asked with more than a pipe holds, and told more than that."""
    everything = subscribe("tool_call", events=("turn_start", "tool_call", "tool_result", "turn_end"))
    deaf = extension(tmp_path, "deaf", everything, mode="deaf")
    steps = [asks("write", path=f"made{number}.txt", content="x" * 900_000) for number in range(3)]
    folder = scripted(tmp_path, {"text": "Ready."}, *steps, more=QUIET + SOON)
    async with open_rpc(folder, *alone(deaf)) as client:
        await client.send("prompt", message="are you up?")
        await client.done()
        await client.send("prompt", message="go")
        frames = await client.done()
        assert [frame["is_error"] for frame in frames if frame["type"] == "tool_result"] == [False] * 3
        assert await client.ends() == 0
    await none_left(tmp_path)


async def test_an_abort_ends_a_call_that_is_never_answered_and_says_so_to_who_asked_for_that(tmp_path: Path) -> None:
    silent = on("tool_call")
    hello = {**HELLO, "capabilities": ["tool_cancel"]}
    told = ruled(tmp_path, "told", hello, tool("slow"), rules=(silent,))
    other = ruled(tmp_path, "other", tool("slower"), rules=(silent,))
    steps = (asks("slow"), DONE, asks("slower"), DONE)
    async with open_rpc(scripted(tmp_path, *steps), *alone(told, other)) as client:
        for folder in (told, other):
            await client.send("prompt", message="go")
            asked_for = await until_heard(folder, "tool_call")
            await client.send("abort", id="1")
            frames = await client.done()
            assert types(frames)[-2:] == ["tool_result", "done"]
            assert result(frames)[0]
            await client.send("prompt", message="next")
            assert types(await client.done())[-1] == "done"
            assert asked_for["id"] == "1"
        assert await client.ends() == 0
    assert heard(told, "tool_cancel") == [{"type": "tool_cancel", "id": "1"}]
    assert heard(other, "tool_cancel") == []


HALF = on("tool_cancel", answers(text("3 of 5 files")))
SO_FAR = "Until then it had come to this:\n3 of 5 files"


async def test_what_an_aborted_call_had_come_to_is_kept_where_it_says_so_at_once(tmp_path: Path) -> None:
    hello, silent = {**HELLO, "capabilities": ["tool_cancel"]}, on("tool_call")
    half = ruled(tmp_path, "half", hello, tool("slow"), rules=(silent, HALF))
    empty = ruled(tmp_path, "empty", hello, tool("slower"), rules=(silent, on("tool_cancel", answers())))
    steps = (asks("slow"), DONE, asks("slower"), DONE)
    async with open_rpc(scripted(tmp_path, *steps), *alone(half, empty)) as client:
        said: list[str] = []
        for folder in (half, empty):
            await client.send("prompt", message="go")
            await until_heard(folder, "tool_call")
            await client.send("abort", id="1")
            failed, told = result(await client.done())
            assert failed
            said.append(told)
            await client.send("prompt", message="next")
            await client.done()
        assert said == [
            f"The turn ended before this call did. {SO_FAR}",
            "No result: the turn ended before this call did. It may have run.",
        ]
        messages = (await client.ask("get_messages"))["data"]["messages"]
        kept = [it for message in messages for it in message["content"] if it["type"] == "tool_result"]
        assert [it["content"][0]["text"] for it in kept] == said
        assert await client.ends() == 0
    assert len(heard(half, "tool_cancel")) == 1


async def test_what_a_call_had_come_to_in_its_time_is_told_with_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zot_tool, "TOOL_TIMEOUT_S", 0.2)
    monkeypatch.setenv("ZOT_HOME", str(tmp_path / "zot"))
    hello = {**HELLO, "capabilities": ["tool_cancel"]}
    half = ruled(tmp_path, "half", hello, tool("slow"), rules=(on("tool_call"), HALF))
    async with open_gateway(tmp_path, [half], asked("slow"), says("Done.")) as flow:
        await flow.say("go")
        assert flow.results() == [f"extension half/slow failed: timeout waiting for half/slow\n{SO_FAR}"]


async def test_a_tool_that_never_answers_is_told_to_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zot_tool, "TOOL_TIMEOUT_S", 1.5)
    monkeypatch.setenv("ZOT_HOME", str(tmp_path / "zot"))
    told = subscribe(events=("tool_result",))
    silent = ruled(tmp_path, "silent", tool("slow"), told, rules=(on("tool_call", once=True),))
    said = (asked("slow"), asked("slow"), says("Done."))
    async with open_gateway(tmp_path, [silent], *said) as flow:
        await flow.say("go")
        assert flow.results() == ["extension silent/slow failed: timeout waiting for silent/slow", "ok"]
        assert flow.runtime.agent.tally.executed == 2
    assert [it["status"] for it in heard(silent, "event")] == ["timed_out", "completed"]


@pytest.mark.parametrize("closed", [False, True])
async def test_a_guard_that_never_answers_lets_a_call_pass_unless_it_fails_closed(
    tmp_path: Path, closed: bool
) -> None:
    guard = ruled(tmp_path, "guard", subscribe("tool_call"), rules=(on("event_intercept"),))
    section = f"[zot.extensions.guard]\ntimeout_ms = 200\nfail_closed = {str(closed).lower()}\n"
    folder = scripted(tmp_path, asks("bash", command="echo ran"), more=section)
    async with open_rpc(folder, *alone(guard)) as client:
        await client.send("prompt", message="go")
        is_error, said = result(await client.done())
        assert is_error == closed
        assert ("ran" in said) != closed
        if closed:
            assert "guard" in said


@pytest.mark.parametrize("closed", [False, True])
async def test_a_guard_that_died_lets_a_call_pass_unless_it_fails_closed(
    tmp_path: Path, closed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZOT_HOME", str(tmp_path / "zot"))
    guard = ruled(tmp_path, "guard", subscribe("tool_call"), rules=(on("event_intercept", "exit"),))
    config = (
        f"[hooks.defaults]\nrestart_first_ms = 60000\n[zot.extensions.guard]\nfail_closed = {str(closed).lower()}\n"
    )
    said = (asked("ls", path="."), asked("ls", path="."), says("Done."))
    async with open_gateway(tmp_path, [guard], *said, config=config) as flow:
        await flow.say("go")
        tally = flow.runtime.agent.tally
        assert (tally.calls, tally.denied, tally.allowed) == ((2, 2, 0) if closed else (2, 0, 2))
        failures = [event.payload for event in flow.named("hook_failed")]
        assert [it.hook for it in failures if isinstance(it, HookFailed)] == ["zot:guard"] * 2


async def test_every_kind_of_result_reaches_the_model_as_its_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZOT_HOME", str(tmp_path / "zot"))
    image = {"type": "image", "mime_type": "image/png"}
    kinds = {
        "plain": answers(text("16 degrees"), text(""), text("fog")),
        "mixed": answers(text("a map"), {**image, "data": PNG}, {"type": "audio"}),
        "broken": answers({**image, "data": "%"}),
        "empty": answers(),
        "failing": answers(text("city is required"), is_error=True),
        "shapeless": {"type": "tool_result", "id": "{id}", "content": "text"},
    }
    rules = tuple(on("tool_call", frame, name=name) for name, frame in kinds.items())
    folder = ruled(tmp_path, "ext", *(tool(name) for name in kinds), rules=rules)
    async with open_gateway(tmp_path, [folder], *(asked(name) for name in kinds), says("Done.")) as flow:
        await flow.say("go")
        shown = dict(zip(kinds, flow.results(), strict=True))
    broken = shown.pop("broken")
    assert broken.startswith("extension ext/broken returned undecodable image: ")
    assert shown == {
        "plain": "16 degrees\nfog",
        "mixed": 'a map\n[unknown block type "audio" from extension ext]',
        "empty": "(extension returned no content)",
        "failing": "city is required",
        "shapeless": "extension ext/shapeless failed: content must be an array, not a string",
    }


async def test_notes_without_end_stop_their_extension_and_nothing_else(tmp_path: Path) -> None:
    flood = {**on("command_invoked", *[note("n" * 40)] * 3), "forever": True}
    folder = ruled(tmp_path, "ext", command("flood"), rules=(flood,))
    good = ruled(tmp_path, "good", tool("city"))
    async with open_rpc(scripted(tmp_path, asks("city"), more=QUIET), *alone(folder, good)) as client:
        await client.send("ext_command", id="1", name="flood")
        with trio.fail_after(DEADLINE_S * 2):
            answer = (await client.until("response"))[-1]
        assert answer["error"] == "extension /flood: extension ext disconnected"
        await client.send("prompt", message="go")
        assert result(await client.done()) == (False, "ok")
        assert await client.ends() == 0
    log = (tmp_path / ".local" / "state" / "zot" / "logs" / "ext-ext.log").read_text()
    assert "[zot] it floods its stdout" in log
