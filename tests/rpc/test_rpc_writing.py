"""`hookgate rpc` while a model writes a call: its events come with its pieces and end, whatever becomes of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.cli.rpc_client import Frame, one, open_rpc, scripted, types
from tests.model_server import SILENT, chunk, events, open_model_server, says
from tests.processes import until

KEY = {"OPENAI_API_KEY": "sk-test"}
WRITING = ["tool_use_start", "tool_use_args", "tool_use_end"]
LS: Frame = {"name": "ls", "arguments": {"path": "."}, "id": "c1"}


def piece(**members: Any) -> dict[str, Any]:
    function = {name: members.pop(name) for name in ("name", "arguments") if name in members}
    return chunk({"tool_calls": [{"index": 0, **members, "function": function}]})


async def test_a_call_is_told_before_it_is_whole_and_put_down_when_aborted(tmp_path: Path) -> None:
    pieces = (chunk({"content": "Let me look."}), piece(id="c1", name="ls"), piece(arguments='{"path": "sr'))
    answer = replace(events(*pieces, done=False), ending="hang")
    flags = ("--provider", "openai", "--model", "gpt-test", "--base-url")
    async with open_model_server(answer) as server, open_rpc(tmp_path, *flags, server.base_url, env=KEY) as client:
        await client.send("prompt", message="go")
        frames = await client.until("tool_use_args")
        assert types(frames)[2:] == ["turn_start", "assistant_start", "text_delta", *WRITING[:2]]
        assert one(frames, "tool_use_start") == {"type": "tool_use_start", "id": "c1", "name": "ls"}
        assert "".join(f["delta"] for f in frames if f["type"] == "text_delta") == "Let me look."
        assert frames[-1] == {"type": "tool_use_args", "id": "c1", "delta": '{"path": "'}
        await client.send("abort")
        frames = await client.done()
        assert types(frames) == ["response", "tool_use_end", "usage", "assistant_message", "turn_end", "done"]
        assert one(frames, "tool_use_end") == {"type": "tool_use_end", "id": "c1"}
        assert one(frames, "assistant_message")["content"] == [{"type": "text", "text": "Let me look."}]


async def test_the_pieces_of_the_arguments_join_to_what_the_call_says(tmp_path: Path) -> None:
    arguments = json.dumps({"path": "a.txt", "content": "one\ntwo 🌧\n", "api_key": "not for everybody"})
    pieces = [piece(arguments=arguments[at : at + 5]) for at in range(0, len(arguments), 5)]
    answer = events(piece(id="c1", name="write", arguments=""), *pieces, chunk({}, "tool_calls"))
    flags = ("--provider", "openai", "--model", "gpt-test", "--base-url")
    async with (
        open_model_server(answer, says("Done.")) as server,
        open_rpc(tmp_path, *flags, server.base_url, env=KEY) as client,
    ):
        await client.send("prompt", message="go")
        frames = await client.done()
    deltas = [f["delta"] for f in frames if f["type"] == "tool_use_args"]
    asked = one(frames, "tool_call")["args"]
    assert len(deltas) > 5
    assert json.loads("".join(deltas)) == asked
    assert (asked["content"], asked["api_key"].startswith("[REDACTED:")) == ("one\ntwo 🌧\n", True)
    assert [len([f for f in frames if f["type"] == kind]) for kind in ("tool_use_start", "tool_use_end")] == [1, 1]


async def test_a_reply_that_breaks_off_puts_its_calls_down_and_is_written_anew(tmp_path: Path) -> None:
    broken: Frame = {"text": "Let me", "calls": [LS], "fail": {"kind": "network", "reason": "gone"}}
    last: Frame = {"calls": [LS], "fail": {"kind": "auth", "reason": "no"}}
    async with open_rpc(scripted(tmp_path, broken, {"calls": [LS]}, last)) as client:
        await client.send("prompt", message="go")
        frames = await client.done()
        begun = ["turn_start", "assistant_start", "text_delta", *WRITING]
        spoken = [*begun, "text_delta", "assistant_start", *WRITING, "usage", "assistant_message"]
        again = ["turn_start", "assistant_start", *WRITING, "usage", "turn_end", "error", "done"]
        assert types(frames)[2:] == [*spoken, "tool_call", "turn_end", "tool_result", *again]
        assert [f["id"] for f in frames if f["type"] == "tool_use_end"][:2] == ["c1", "c1"]


async def test_what_was_read_before_a_call_stays_where_no_other_reply_comes(tmp_path: Path) -> None:
    broken: Frame = {"text": "Let me look.", "calls": [LS], "fail": {"kind": "network", "reason": "gone"}}
    last: Frame = {"fail": {"kind": "auth", "reason": "no"}}
    async with open_rpc(scripted(tmp_path, broken, last)) as client:
        await client.send("prompt", message="go")
        frames = await client.done()
        kept = (await client.ask("get_messages"))["data"]["messages"]
    begun = ["turn_start", "assistant_start", "text_delta", *WRITING]
    assert types(frames)[2:] == [*begun, "usage", "assistant_message", "turn_end", "error", "done"]
    said = [{"type": "text", "text": "Let me look."}]
    assert one(frames, "assistant_message")["content"] == said
    assert [it["content"] for it in kept if it["role"] == "assistant"] == [said]


async def test_an_abort_while_a_call_that_broke_off_is_asked_for_again_keeps_the_text(tmp_path: Path) -> None:
    broken = replace(events(chunk({"content": "Let me look."}), piece(id="c1", name="ls"), done=False), ending="cut")
    flags = ("--provider", "openai", "--model", "gpt-test", "--base-url")
    async with (
        open_model_server(broken, SILENT) as server,
        open_rpc(tmp_path, *flags, server.base_url, env=KEY) as client,
    ):
        await client.send("prompt", message="go")
        frames = await client.until("tool_use_end")
        await until(lambda: len(server.requests) == 2)
        await client.send("abort")
        frames += await client.done()
    assert types(frames)[-5:] == ["response", "usage", "assistant_message", "turn_end", "done"]
    assert one(frames, "assistant_message")["content"] == [{"type": "text", "text": "Let me look."}]


async def test_calls_in_text_are_told_when_the_reply_is_whole(tmp_path: Path) -> None:
    text = 'Look:\n<tool_call>{"name": "ls", "arguments": {"path": "."}}</tool_call>'
    async with open_rpc(scripted(tmp_path, {"text": text}, {"text": "Done."})) as client:
        await client.send("prompt", message="go")
        frames = await client.done()
        assert types(frames)[4:9] == ["text_delta", *WRITING, "usage"]
        assert one(frames, "tool_use_args")["delta"] == '{"path":"."}'
