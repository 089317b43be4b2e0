"""`hookgate rpc`: every command's response, and the order of the events of prompts and compactions."""

from __future__ import annotations

import base64
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hookgate import __version__
from hookgate.loop.sessions.transcript import NOT_RUN
from tests.cli.rpc_client import Client, Frame, one, open_rpc, scripted, types
from tests.model_server import calls, cut, fails, hang, open_model_server, says

PLAIN = ["turn_start", "assistant_start", "text_delta", "usage", "assistant_message", "turn_end"]
CALLED = [
    *("turn_start", "assistant_start", "tool_use_start", "tool_use_args", "tool_use_end", "usage"),
    *("assistant_message", "tool_call", "turn_end"),
]
BASH: Frame = {"name": "bash", "arguments": {"command": "echo hi"}, "id": "c1"}
STARTED = {"type": "response", "id": "1", "command": "prompt", "success": True, "data": {"started": True}}


async def prompted(client: Client, message: str, **members: Any) -> list[Frame]:
    """The response and the events of one prompt."""
    await client.send("prompt", message=message, **members)
    return await client.done()


def ok(command: str, data: Any = None, id: object = "1") -> Frame:
    more = {} if data is None else {"data": data}
    return {"type": "response", "id": id, "command": command, "success": True, **more}


def bad(command: str, error: str, id: object = "1") -> Frame:
    named = {} if id is None else {"id": id}
    return {"type": "response", **named, "command": command, "success": False, "error": error}


# --- responses ----------------------------------------------------------------------------------------------


async def test_every_command_of_an_idle_program_has_its_response(tmp_path: Path) -> None:
    usage = {"input": 0, "output": 0, "cache_read": 0, "cache_write": 0, "cost_usd": 0.0}
    state = {"provider": "p", "model": "m", "cwd": str(tmp_path), "message_count": 0, "busy": False}
    models = [
        {"id": name, "provider": "p", "context_window": window, "max_output": 0, "reasoning": False}
        for name, window in (("m", 0), ("other", 1000))
    ]
    hello = {"protocol_version": 1, "version": __version__, "provider": "p", "model": "m"}
    async with open_rpc(scripted(tmp_path)) as client:
        assert await client.ask("hello", id="1") == ok("hello", hello)
        assert await client.ask("ping", id="1") == ok("ping", {"pong": True})
        assert await client.ask("get_state", id="1") == ok("get_state", {**state, "usage": usage, "reasoning": ""})
        assert await client.ask("get_messages", id="1") == ok("get_messages", {"messages": []})
        assert await client.ask("get_models", id="1") == ok("get_models", {"models": models})
        assert await client.ask("clear", id="1") == ok("clear")
        assert await client.ask("abort", id="1") == ok("abort")
        assert await client.ask("set_model", id="1", model="other") == ok("set_model", {"model": "other"})
        unknown = bad("set_model", "' ' names no model: write it PROVIDER/MODEL, with a configured provider (p)")
        assert await client.ask("set_model", id="1", model=" ") == unknown
        levels = bad("set_reasoning", "reasoning must be off|minimum|low|medium|high|xhigh|max")
        assert await client.ask("set_reasoning", id="1", reasoning="hard") == levels
        low, off = {"reasoning": "low"}, {"reasoning": ""}
        assert await client.ask("set_reasoning", id="1", reasoning="low") == ok("set_reasoning", low)
        assert await client.ask("set_reasoning", id="1", reasoning="off") == ok("set_reasoning", off)
        assert await client.ends() == 0
        assert await client.rest() == []


ANSWERED = (
    (b'{"type":"ping","id":7}', ok("ping", {"pong": True}, id=7)),
    (b'{"type":"ping","id":1.5}', ok("ping", {"pong": True}, id=1.5)),
    (b'{"type":"nope","id":"1"}', bad("nope", "unknown command")),
    (b'{"id":"1"}', bad("", "unknown command")),
    (b'{"type":"nope","id":null}', bad("nope", "unknown command", None)),
    (b'{"type":"prompt","id":"1","message":7}', bad("prompt", "message must be a string")),
    (b'{"type":"prompt","id":"1","images":{}}', bad("prompt", "images must be an array")),
    (b'{"type":"approve","id":"1","approval":"A1"}', bad("approve", 'no approval "A1" waits')),
    (b'{"type":"ext_command","id":"1","name":"/x"}', bad("ext_command", "no extension registered for /x")),
    (b'{"type":"panel_key","id":"1","key":"up"}', bad("panel_key", "no panel is open")),
)
MALFORMED = (b"{", b"[1]", b'"x"', b'{"type":"ping","id":true}', b'{"type":"ping","id":{}}')


async def test_a_line_gets_its_answer(tmp_path: Path) -> None:
    async with open_rpc(scripted(tmp_path)) as client:
        for line, answer in ANSWERED:
            await client.raw(line)
            assert await client.next() == answer, line


async def test_a_malformed_line_is_answered_without_a_name_and_the_next_is_read(tmp_path: Path) -> None:
    async with open_rpc(scripted(tmp_path)) as client:
        for line in MALFORMED:
            await client.raw(b"\n \r")
            await client.raw(line)
            answer = await client.next()
            assert answer == {**bad("", answer["error"], None)}, line
            assert answer["error"].startswith("malformed json: ")
            assert (await client.ask("ping"))["data"] == {"pong": True}


async def test_a_line_over_the_limit_is_answered_with_an_error_and_the_next_is_read(tmp_path: Path) -> None:
    async with open_rpc(scripted(tmp_path)) as client:
        await client.raw(b'{"type":"prompt","message":"' + b"x" * (17 << 20) + b'"}')
        assert (await client.next())["error"].startswith("malformed json: a line over ")
        assert (await client.ask("ping"))["success"]


async def test_a_picture_that_is_no_base64_is_refused(tmp_path: Path) -> None:
    async with open_rpc(scripted(tmp_path)) as client:
        answer = await client.ask("prompt", message="see", images=[{"mime_type": "image/png", "data": "%"}])
        assert not answer["success"]
        assert answer["error"].startswith("images[0]: bad base64")
        answer = await client.ask("prompt", message="see", images=[{"mime_type": "text/html", "data": "aGk="}])
        assert answer["error"] == "images[0]: mime_type must be one of image/*, not 'text/html'"


@pytest.mark.parametrize("image", [{}, {"data": ""}, {"mime_type": "image/png", "data": None}])
async def test_a_picture_without_data_is_refused_and_no_prompt_has_it(tmp_path: Path, image: dict[str, Any]) -> None:
    async with open_rpc(scripted(tmp_path)) as client:
        answer = await client.ask("prompt", id="1", message="see", images=[{"data": "aGk="}, image])
        assert answer == bad("prompt", "images[1]: data is required")
        assert (await client.ask("get_state"))["data"]["message_count"] == 0


# --- prompts ------------------------------------------------------------------------------------------------


async def test_a_plain_prompt_is_told_in_order(tmp_path: Path) -> None:
    async with open_rpc(scripted(tmp_path, {"text": "Hi there."})) as client:
        frames = await prompted(client, "hello", id="1")
        assert frames[0] == STARTED
        assert types(frames[1:]) == ["user_message", *PLAIN, "done"]
        assert one(frames, "user_message")["content"] == [{"type": "text", "text": "hello"}]
        assert "".join(f["delta"] for f in frames if f["type"] == "text_delta") == "Hi there."
        assert one(frames, "assistant_message")["content"] == [{"type": "text", "text": "Hi there."}]
        assert one(frames, "turn_end") == {"type": "turn_end", "stop": "end"}
        usage = one(frames, "usage")
        assert usage["cumulative"] == {name: usage[name] for name in usage["cumulative"]}
        assert usage["cost_usd"] == pytest.approx((usage["input"] + 2 * usage["output"]) / 1e6)


async def test_a_prompt_with_one_tool_call_is_told_in_order(tmp_path: Path) -> None:
    async with open_rpc(scripted(tmp_path, {"calls": [BASH]}, {"text": "Done."})) as client:
        frames = await prompted(client, "go")
        assert types(frames) == [
            *("response", "user_message", *CALLED, "tool_progress", "tool_result"),
            *(*PLAIN, "done"),
        ]
        assert one(frames, "tool_call") == {
            "type": "tool_call",
            "id": "c1",
            "name": "bash",
            "args": BASH["arguments"],
        }
        result = one(frames, "tool_result")
        assert (result["id"], result["is_error"]) == ("c1", False)
        assert result["content"][0]["text"].startswith("$ echo hi\n\nhi\n\n[exit 0]  Took ")
        assert [f["step"] for f in frames if f["type"] == "turn_start"] == [1, 2]
        assert [f["stop"] for f in frames if f["type"] == "turn_end"] == ["tool_use", "end"]


async def test_the_transcript_shows_calls_results_and_counted_pictures(tmp_path: Path) -> None:
    picture = {"mime_type": "image/png", "data": base64.b64encode(b"12345").decode()}
    async with open_rpc(scripted(tmp_path, {"calls": [{**BASH, "arguments": {"command": "false"}}]})) as client:
        await prompted(client, "go", images=[picture])
        messages = (await client.ask("get_messages"))["data"]["messages"]
        user, assistant, tool, last = messages
        assert user["content"] == [
            {"type": "text", "text": "go"},
            {"type": "image", "mime_type": "image/png", "bytes": 5},
        ]
        call = {"type": "tool_call", "id": "c1", "name": "bash", "args": {"command": "false"}}
        assert assistant["content"] == [call]
        assert (tool["role"], tool["content"][0]["call_id"], tool["content"][0]["is_error"]) == ("tool", "c1", True)
        assert last["role"] == "assistant"
        assert [m["time"] for m in messages] == sorted(m["time"] for m in messages)
        assert (await client.ask("get_state"))["data"]["message_count"] == 4


async def test_a_message_has_the_same_time_in_its_event_and_in_the_transcript(tmp_path: Path) -> None:
    async with open_rpc(scripted(tmp_path, {"text": "Look.", "calls": [BASH]}, {"text": "Done."})) as client:
        frames = await prompted(client, "go")
        messages = (await client.ask("get_messages"))["data"]["messages"]
        told = [it["time"] for it in frames if it["type"] in ("user_message", "assistant_message")]
        assert told == [it["time"] for it in messages if it["role"] != "tool"]


async def test_prompts_run_in_the_order_in_which_they_came(tmp_path: Path) -> None:
    async with open_rpc(scripted(tmp_path)) as client:
        for number in range(5):
            await client.send("prompt", id=number, message=f"number {number}")
        for number in range(5):
            frames = await client.done()
            assert types(frames)[:2] == ["response", "user_message"]
            assert (frames[0]["id"], frames[0]["data"]) == (number, {"started": True})
            assert one(frames, "user_message")["content"][0]["text"] == f"number {number}"


async def test_over_64_waiting_prompts_the_next_is_refused(tmp_path: Path) -> None:
    async with open_rpc(scripted(tmp_path, {"text": "Please wait a moment", "hang": True})) as client:
        await client.send("prompt", message="first")
        await client.until("text_delta")
        for number in range(65):
            await client.send("prompt", id=number, message="more")
        answer = (await client.until("response"))[-1]
        assert answer == bad("prompt", "too many prompts wait already", 64)


async def test_a_slash_reaches_the_model_as_text(tmp_path: Path) -> None:
    async with open_rpc(scripted(tmp_path)) as client:
        for text in ("/new", "/stop", "/compact", ""):
            frames = await prompted(client, text)
            said = one(frames, "assistant_message")["content"][0]["text"]
            assert said == (text or "(nothing to echo)")


async def test_a_model_that_is_set_while_a_turn_runs_is_asked_at_the_next_prompt(tmp_path: Path) -> None:
    async with (
        open_model_server(hang(says("Please ", "wait"), 3), says("two")) as server,
        open_rpc(tmp_path, *at(server.base_url), env=KEY) as client,
    ):
        await client.send("prompt", message="go")
        await client.until("text_delta")
        assert await client.ask("set_model", id="1", model="gpt-4o") == ok("set_model", {"model": "gpt-4o"})
        assert (await client.ask("get_state"))["data"]["model"] == "gpt-4o"
        await client.send("abort")
        await client.done()
        await prompted(client, "two")
        assert [request.body["model"] for request in server.requests] == ["gpt-4.1", "gpt-4o"]


async def test_clear_while_a_turn_runs_forgets_all_of_it_and_lets_it_end(tmp_path: Path) -> None:
    answers = (says("one"), replace(says("Please ", "wait ", "here"), pause_s=0.2), says("three"), says("four"))
    async with open_model_server(*answers) as server, open_rpc(tmp_path, *at(server.base_url), env=KEY) as client:
        await prompted(client, "first")
        await client.send("prompt", message="second")
        await client.send("prompt", message="third")
        await client.until("text_delta")
        assert await client.ask("clear", id="1") == ok("clear", id="1")
        assert (await client.ask("get_messages"))["data"] == {"messages": []}
        frames = await client.done()
        assert one(frames, "assistant_message")["content"][0]["text"] == "Please wait here"
        await client.done()
        await prompted(client, "fourth")
        said = (request.body["messages"] for request in server.requests)
        asked = [[it["content"] for it in messages if it["role"] != "system"] for messages in said]
        assert asked[2:] == [["third"], ["third", "three", "fourth"]]


async def test_clear_forgets_the_conversation(tmp_path: Path) -> None:
    async with open_rpc(scripted(tmp_path)) as client:
        await prompted(client, "remember me")
        assert (await client.ask("clear"))["success"]
        assert (await client.ask("get_messages"))["data"] == {"messages": []}
        assert (await client.ask("get_state"))["data"]["usage"]["output"] > 0
        assert types(await prompted(client, "again"))[-1] == "done"


async def test_a_model_that_was_set_is_asked_next(tmp_path: Path) -> None:
    async with open_model_server() as server, open_rpc(tmp_path, *at(server.base_url), env=KEY) as client:
        # Before anything is open, and after it.
        assert (await client.ask("set_model", model="gpt-4o"))["success"]
        await prompted(client, "one")
        assert (await client.ask("set_model", model="openai/gpt-5"))["data"] == {"model": "gpt-5"}
        await prompted(client, "two")
        assert [request.body["model"] for request in server.requests] == ["gpt-4o", "gpt-5"]
        assert (await client.ask("get_state"))["data"]["model"] == "gpt-5"


async def test_a_model_that_nobody_knows_is_asked_with_a_note_also_of_another_provider(tmp_path: Path) -> None:
    async with open_model_server() as here, open_model_server() as there:
        text = f'[agent]\nmodel = "a/one"\n[providers.a]\nkind = "openai"\nbase_url = "{here.base_url}"\n'
        text += f'[providers.b]\nkind = "openai"\nbase_url = "{there.base_url}"\napi_key_env = "B_KEY"\n'
        (tmp_path / "hookgate.toml").write_text(text)
        async with open_rpc(tmp_path, env={"B_KEY": "k"}) as client:
            data = (await client.ask("set_model", model="two"))["data"]
            assert data["model"] == "two"
            assert data["note"].startswith("a/two: its context window is not known")
            assert "price" not in data["note"]
            await prompted(client, "one")
            assert (await client.ask("set_model", model="b/claude-x"))["success"]
            await prompted(client, "two")
            assert (await client.ask("get_state"))["data"]["provider"] == "b"
            # A model's own name may have a slash.
            assert (await client.ask("set_model", model="a/b"))["data"]["model"] == "b"
            data = (await client.ask("set_model", model="d/three"))["data"]
            assert data["note"].startswith(
                "d is no provider here, so d/three is taken for a model's name; a/d/three: "
            )
            assert (await client.ask("get_state"))["data"]["model"] == "d/three"
        assert [request.body["model"] for request in (*here.requests, *there.requests)] == ["two", "claude-x"]


async def test_a_model_of_a_provider_without_a_section_or_a_key_is_refused_with_what_to_do(tmp_path: Path) -> None:
    flags = ("--provider", "openai", "--model", "gpt-5")
    async with open_rpc(tmp_path, *flags, env=KEY) as client:
        models = [it["provider"] for it in (await client.ask("get_models"))["data"]["models"]]
        assert set(models) == {"openai"}
        for name, said in (
            ("anthropic/claude-sonnet-4-5", 'kind = "anthropic", api_key_env = "ANTHROPIC_API_KEY" in hookgate.toml'),
            (
                "groq/llama",
                'where it speaks OpenAI\'s API, write [providers.groq] kind = "openai", base_url = "https',
            ),
        ):
            refused = (await client.ask("set_model", model=name))["error"]
            vendor = name.partition("/")[0]
            assert refused.startswith(f'provider "{vendor}" is not configured (there is openai); ')
            assert said in refused
        note = (await client.ask("set_model", model="gtp-5-mini"))["data"]["note"]
        assert note.startswith(
            "openai/gtp-5-mini (did you mean 'gpt-5-mini'?): none of the models that openai is known"
        )
        assert await client.ends() == 0
    text = '[agent]\nmodel = "p/m"\n[providers.c]\nkind = "openai"\napi_key_env = "C_KEY"\n'
    text += '[providers.p]\nkind = "scripted"\nscript = "script.json"\n'
    scripted(tmp_path)
    (tmp_path / "hookgate.toml").write_text(text)
    async with open_rpc(tmp_path) as client:
        for _ in range(2):
            # Before anything is open, and after it.
            refused = await client.ask("set_model", id="1", model="c/gpt-9")
            why = "c/gpt-9 cannot be asked: providers.c.api_key_env: C_KEY is not set: `export C_KEY=...`"
            assert refused["error"].startswith(why)
            assert (await client.ask("get_state"))["data"]["model"] == "m"
            await prompted(client, "go")
        models = (await client.ask("get_models"))["data"]["models"]
        assert [(it["provider"], it["id"]) for it in models] == [("p", "m")]


async def test_zots_own_local_provider_needs_no_configuration(tmp_path: Path) -> None:
    async with open_rpc(tmp_path, "--provider", "ollama", "--model", "llama3.3") as client:
        data = (await client.ask("hello"))["data"]
        assert (data["provider"], data["model"]) == ("ollama", "llama3.3")


# --- failures -----------------------------------------------------------------------------------------------

KEY = {"OPENAI_API_KEY": "k"}


def at(url: str) -> tuple[str, ...]:
    return ("--provider", "openai", "--model", "gpt-4.1", "--base-url", url)


async def test_a_provider_that_refuses_is_told_before_done(tmp_path: Path) -> None:
    async with (
        open_model_server(fails(400, "no such thing")) as server,
        open_rpc(tmp_path, *at(server.base_url), env=KEY) as client,
    ):
        frames = await prompted(client, "go")
        assert types(frames) == ["response", "user_message", "turn_start", "turn_end", "error", "done"]
        assert one(frames, "turn_end")["stop"] == "error"
        assert one(frames, "turn_end")["error"]
        assert one(frames, "error")["message"].startswith("The model call failed (format)")


async def test_a_reply_that_breaks_off_keeps_its_text(tmp_path: Path) -> None:
    toml = '[agent]\nmodel = "o/m"\nretries = 0\n[providers.o]\nkind = "openai"\n'
    async with open_model_server(cut(says("one ", "two ", "three"), 3)) as server:
        (tmp_path / "hookgate.toml").write_text(f'{toml}base_url = "{server.base_url}"\n')
        async with open_rpc(tmp_path) as client:
            frames = await prompted(client, "go")
            assert types(frames) == [
                *("response", "user_message", "turn_start", "assistant_start", "text_delta", "usage"),
                *("assistant_message", "turn_end", "error", "done"),
            ]
            assert one(frames, "assistant_message")["content"][0]["text"].startswith("one")
            assert one(frames, "turn_end")["stop"] == "error"


async def test_the_step_limit_is_an_error_after_the_last_results(tmp_path: Path) -> None:
    folder = scripted(tmp_path, {"calls": [BASH]}, {"calls": [BASH]}, {"text": "never"})
    async with open_rpc(folder, "--max-steps", "2") as client:
        frames = await prompted(client, "go")
        assert types(frames)[-3:] == ["tool_result", "error", "done"]
        assert one(frames, "error")["message"] == "max steps (2) exceeded"


# --- abort --------------------------------------------------------------------------------------------------


async def test_an_abort_while_the_model_speaks_keeps_its_text_and_starts_the_next(tmp_path: Path) -> None:
    async with open_rpc(scripted(tmp_path, {"text": "So far so good", "hang": True})) as client:
        await client.send("prompt", id="1", message="go")
        await client.send("prompt", id="2", message="next")
        await client.until("text_delta")
        await client.send("abort", id="3")
        frames = [f for f in await client.done() if f["type"] != "text_delta"]
        assert frames[0] == ok("abort", id="3")
        assert types(frames) == ["response", "usage", "assistant_message", "turn_end", "done"]
        assert one(frames, "turn_end") == {"type": "turn_end", "stop": "aborted", "error": "context canceled"}
        assert one(frames, "assistant_message")["content"][0]["text"].startswith("So")
        assert (await client.done())[0] == ok("prompt", {"started": True}, id="2")


async def test_an_abort_in_a_tool_answers_every_call_of_the_batch(tmp_path: Path) -> None:
    first: Frame = {"name": "bash", "arguments": {"command": "echo up; sleep 60"}, "id": "c1"}
    second: Frame = {"name": "write", "arguments": {"path": "made.txt", "content": "x"}, "id": "c2"}
    async with open_rpc(scripted(tmp_path, {"calls": [first, second]})) as client:
        await client.send("prompt", message="go")
        await client.until("tool_progress")
        await client.send("abort")
        frames = await client.done()
        assert types(frames) == ["response", "tool_result", "done"]
        results = [f for f in frames if f["type"] == "tool_result"]
        assert [(r["id"], r["is_error"]) for r in results] == [("c1", True), ("c2", True)]
        told = [r["content"][0]["text"] for r in results]
        assert told[0].startswith("$ echo up; sleep 60\n\nup\n\n[exit -1]  Took ")
        assert told[1] == NOT_RUN
        assert not (tmp_path / "made.txt").exists()
        shown = [m["content"][0] for m in (await client.ask("get_messages"))["data"]["messages"][-2:]]
        assert [it["is_error"] for it in shown] == [True, True]
        assert [it["content"][0]["text"] for it in shown] == told


async def test_an_abort_before_anything_began_leaves_the_queue_alone(tmp_path: Path) -> None:
    slow = f'[hooks.processes.slow]\ncommand = ["sleep", "60"]\nintercept = ["before_tool"]\n{HELLO}'
    async with open_rpc(scripted(tmp_path, more=slow)) as client:
        await client.send("prompt", id="1", message="one")
        await client.send("prompt", id="2", message="two")
        assert await client.ask("abort", id="3") == ok("abort", id="3")
        first = await client.done()
        assert [f["type"] for f in first] == ["response", "done"]
        assert first[0]["id"] == "1"
        second = await client.done()
        assert one(second, "user_message")["content"][0]["text"] == "two"


HELLO = "[hooks.defaults]\nhello_timeout_ms = 1500\n"


async def test_ping_and_hello_are_answered_while_a_hook_is_mute(tmp_path: Path) -> None:
    slow = f'[hooks.processes.slow]\ncommand = ["sleep", "60"]\nintercept = ["before_tool"]\n{HELLO}'
    async with open_rpc(scripted(tmp_path, more=slow)) as client:
        await client.send("prompt", id="1", message="one")
        assert (await client.ask("ping", id="2"))["id"] == "2"
        assert (await client.ask("hello", id="3"))["id"] == "3"
        assert (await client.ask("get_state", id="4"))["data"]["busy"]
        assert (await client.done())[0]["id"] == "1"


# --- compaction ---------------------------------------------------------------------------------------------


TOLD = pytest.mark.parametrize(("flags", "last"), [((), []), (("--compact-done",), ["done"])])
"""zot tells nothing after what a compaction came to; a flag has `done` follow."""


async def told(client: Client) -> list[Frame]:
    """Everything up to the end of the compaction that runs, if any does."""
    frames: list[Frame] = []
    while True:
        await client.send("get_state", id="told")
        frames += await client.until("response")
        while frames[-1].get("id") != "told":
            frames += await client.until("response")
        if not frames.pop()["data"]["busy"]:
            return frames


@TOLD
async def test_a_compaction_ends_with_its_summary_and_is_paid_for(
    tmp_path: Path, flags: tuple[str, ...], last: list[str]
) -> None:
    folder = scripted(tmp_path, {"when": "Sum up", "text": "They greeted."})
    async with open_rpc(folder, *flags) as client:
        for word in ("a", "b", "c"):
            await prompted(client, word)
        before = (await client.ask("get_state"))["data"]["usage"]["output"]
        await client.send("compact", id="1")
        frames = await told(client)
        assert frames[0] == ok("compact", {"started": True})
        assert types(frames) == ["response", "compact_done", *last]
        assert one(frames, "compact_done")["summary"] == "They greeted."
        messages = (await client.ask("get_messages"))["data"]["messages"]
        assert messages[0]["content"][0]["text"] == "## Context Summary (compacted)\n\nThey greeted."
        assert len(messages) == 5
        assert (await client.ask("get_state"))["data"]["usage"]["output"] > before


@TOLD
async def test_a_compaction_of_too_little_is_an_error(
    tmp_path: Path, flags: tuple[str, ...], last: list[str]
) -> None:
    async with open_rpc(scripted(tmp_path), *flags) as client:
        await client.send("compact")
        frames = await told(client)
        assert types(frames) == ["response", "error", *last]
        assert one(frames, "error")["message"] == "nothing to compact"
        await prompted(client, "a")
        await client.send("compact")
        error = one(await told(client), "error")
        assert error["message"] == "nothing to compact: keep-tail covers the whole transcript"


@TOLD
async def test_an_aborted_compaction_changes_nothing(tmp_path: Path, flags: tuple[str, ...], last: list[str]) -> None:
    folder = scripted(tmp_path, {"when": "Sum up", "text": "So", "hang": True})
    async with open_rpc(folder, *flags) as client:
        for word in ("a", "b", "c"):
            await prompted(client, word)
        await client.send("compact")
        assert (await client.next())["data"] == {"started": True}
        await client.send("abort", id="1")
        assert types(await told(client)) == ["response", *last]
        assert (await client.ask("get_state"))["data"]["message_count"] == 6
        assert types(await prompted(client, "d"))[-1] == "done"


# --- the model's stream -------------------------------------------------------------------------------------


async def test_tools_of_a_served_model_run_and_a_hanging_reply_can_be_aborted(tmp_path: Path) -> None:
    call = ("c9", "bash", '{"command": "echo served"}')
    async with (
        open_model_server(calls(call), hang(says("never ", "ending ", "ever ", "more "), 4)) as server,
        open_rpc(tmp_path, *at(server.base_url), env=KEY) as client,
    ):
        await client.send("prompt", message="go")
        frames = await client.until("text_delta")
        assert "served" in one(frames, "tool_result")["content"][0]["text"]
        usage = one(frames, "usage")
        assert usage["cost_usd"] == pytest.approx((7 * 2.0 + 3 * 8.0) / 1e6)
        await client.send("abort")
        assert one(await client.done(), "turn_end")["stop"] == "aborted"
        assert await client.ends() == 0


# --- hooks --------------------------------------------------------------------------------------------------

HOOK = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    result = {"ok": True} if asked["method"] == "hook.hello" else ANSWER
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""


def hooked(folder: Path, stage: str, answer: Frame) -> str:
    """A section of a hook that answers every question of a stage so."""
    (folder / "hook.py").write_text(HOOK.replace("ANSWER", repr(answer)))
    command = f'["{sys.executable}", "{folder}/hook.py"]'
    return f'[hooks.processes.judge]\ncommand = {command}\nintercept = ["{stage}"]\n'


@pytest.mark.parametrize(
    ("stage", "action", "between"),
    [
        ("before_llm", "abort_turn", ["turn_start", "turn_end"]),
        ("after_llm", "abort_turn", ["turn_start", "usage", "turn_end"]),
        ("before_tool", "abort_turn", [*CALLED, "tool_result"]),
        ("after_tool", "hard_abort", [*CALLED, "tool_progress", "tool_result"]),
    ],
)
async def test_a_hook_that_ends_the_turn_is_named(
    tmp_path: Path, stage: str, action: str, between: list[str]
) -> None:
    more = hooked(tmp_path, stage, {"action": action, "reason": "enough"})
    async with open_rpc(scripted(tmp_path, {"calls": [BASH]}, more=more)) as client:
        frames = await prompted(client, "go")
        assert types(frames) == ["response", "user_message", *between, "error", "done"]
        ends = [frame for frame in frames if frame["type"] == "turn_end"]
        assert [frame["stop"] for frame in ends] == ["error" if stage.endswith("llm") else "tool_use"]
        message = one(frames, "error")["message"]
        assert "hook judge" in message
        assert message.endswith("enough")
        assert not (await client.ask("get_state"))["data"]["busy"]


async def test_what_waits_is_not_begun_when_a_hook_stops_the_conversation(tmp_path: Path) -> None:
    more = hooked(tmp_path, "before_llm", {"action": "hard_abort", "reason": "enough"})
    async with open_rpc(scripted(tmp_path, more=more)) as client:
        await client.send("prompt", message="one")
        await client.send("prompt", id="1", message="two")
        assert "stopped this conversation" in one(await client.done(), "error")["message"]
        frames = await client.done()
        assert types(frames) == ["response", "error", "done"]
        assert frames[0] == STARTED
        assert (await client.ask("get_state"))["data"]["message_count"] == 0


async def test_a_hook_that_changes_arguments_is_seen_by_the_tool_and_not_in_what_the_model_asked(
    tmp_path: Path,
) -> None:
    more = hooked(tmp_path, "before_tool", {"action": "modify", "call": {"arguments": {"command": "echo changed"}}})
    async with open_rpc(scripted(tmp_path, {"calls": [BASH]}, more=more)) as client:
        frames = await prompted(client, "go")
        assert one(frames, "tool_call")["args"] == {"command": "echo hi"}
        assert "changed" in one(frames, "tool_result")["content"][0]["text"]


async def test_reasoning_reaches_the_model_as_its_provider_spells_it(tmp_path: Path) -> None:
    async with (
        open_model_server() as server,
        open_rpc(tmp_path, *at(server.base_url), "--model", "gpt-5", "--reasoning", "high", env=KEY) as client,
    ):
        await prompted(client, "one")
        await client.ask("set_reasoning", reasoning="minimum")
        await prompted(client, "two")
        await client.ask("set_reasoning", reasoning="off")
        await prompted(client, "three")
        asked = [request.body.get("reasoning_effort") for request in server.requests]
        assert asked == ["high", "minimal", None]


@pytest.mark.parametrize(
    ("flags", "level"), [((), "minimum"), (("--reasoning", "off"), ""), (("--reasoning", "low"), "low")]
)
async def test_a_level_in_the_configuration_counts_until_another_one_is_named(
    tmp_path: Path, flags: tuple[str, ...], level: str
) -> None:
    (tmp_path / "hookgate.toml").write_text('[agent]\noptions = { reasoning_effort = "minimal" }\n')
    async with (
        open_model_server() as server,
        open_rpc(tmp_path, *at(server.base_url), "--model", "gpt-5", *flags, env=KEY) as client,
    ):
        before = await client.ask("get_state")
        await prompted(client, "one")
        state = await client.ask("get_state")
        await client.ask("set_model", model="gpt-4.1")
        await prompted(client, "to one that does not think")
        await client.ask("set_model", model="gpt-5-mini")
        await prompted(client, "two")
        await client.ask("set_reasoning", reasoning="off")
        await prompted(client, "three")
        effort = {"minimum": "minimal", "": None}.get(level, level)
        assert [it.body.get("reasoning_effort") for it in server.requests] == [effort, None, effort, None]
        assert [it["data"]["reasoning"] for it in (before, state)] == [level, level]


async def test_a_secret_in_what_is_said_is_not_written(tmp_path: Path) -> None:
    secret = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789"
    call = {"name": "bash", "arguments": {"command": f"echo {secret}"}, "id": "c1"}
    steps = ({"text": f"The key is {secret} here.", "calls": [call]}, {"text": f"Again {secret} it is."})
    async with open_rpc(scripted(tmp_path, *steps)) as client:
        frames = await prompted(client, "go")
        assert secret not in str(frames)
        assert secret not in str(await client.ask("get_messages"))
