"""Responses: a conversation by the id of what was answered last, forked by that of an earlier one."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tests.channels.openai.serving_api import Api, open_api
from tests.model_server import calls, chunk, events, fails, says, usage


async def respond(api: Api, said: Any, **more: Any) -> dict[str, Any]:
    answered = await api.ann.post("/responses", json={"model": "hookgate", "input": said, **more})
    assert answered.status_code == 200, answered.text
    return answered.json()


def model_saw(api: Api) -> list[tuple[str, str | None]]:
    return [(it["role"], it["content"]) for it in api.model.requests[-1].body["messages"][1:]]


async def test_a_response_goes_on_with_the_one_before_and_forks_from_an_earlier(tmp_path: Path) -> None:
    async with open_api(tmp_path) as api:
        first = await respond(api, "one", instructions="Be brief.", max_output_tokens=50)
        assert (first["object"], first["status"]) == ("response", "completed")
        assert first["output"][0]["content"][0] == {
            "type": "output_text",
            "text": "one",
            "annotations": [],
            "logprobs": [],
        }
        assert first["usage"]["total_tokens"] == 10
        assert api.model.requests[0].body["max_tokens"] == 50
        second = await respond(api, [{"role": "user", "content": "two"}], previous_response_id=first["id"])
        assert model_saw(api) == [("user", "one"), ("assistant", "one"), ("user", "two")]
        assert second["previous_response_id"] == first["id"]
        await respond(api, "three", previous_response_id=second["id"])
        assert len(model_saw(api)) == 5
        await respond(api, "other", previous_response_id=first["id"])
        assert model_saw(api) == [("user", "one"), ("assistant", "one"), ("user", "other")]
        read = (await api.ann.get(f"/responses/{second['id']}")).json()
        assert read["output"] == second["output"]
        async with await api.client("bob") as bob:
            body = {"model": "hookgate", "input": "x", "previous_response_id": first["id"]}
            stolen = await bob.post("/responses", json=body)
            assert (stolen.status_code, stolen.json()["error"]["param"]) == (400, "previous_response_id")
            assert (await bob.get(f"/responses/{first['id']}")).status_code == 404


async def test_a_response_that_stands_alone_is_deleted_and_one_of_several_is_not(tmp_path: Path) -> None:
    async with open_api(tmp_path) as api:
        alone, first = await respond(api, "secret"), await respond(api, "one")
        await respond(api, "two", previous_response_id=first["id"])
        async with await api.client("bob") as bob:
            assert (await bob.delete(f"/responses/{alone['id']}")).status_code == 404
        deleted = await api.ann.delete(f"/responses/{alone['id']}")
        assert deleted.json() == {"id": alone["id"], "object": "response", "deleted": True}
        assert (await api.ann.get(f"/responses/{alone['id']}")).status_code == 404
        assert (await api.ann.delete(f"/responses/{alone['id']}")).status_code == 404
        kept = await api.ann.delete(f"/responses/{first['id']}")
        assert (kept.status_code, kept.json()["error"]["code"]) == (400, "response_in_conversation")
        assert (await api.ann.get(f"/responses/{first['id']}")).status_code == 200


async def test_items_of_calls_and_their_outputs_are_a_transcript(tmp_path: Path) -> None:
    async with open_api(tmp_path, says("Cold.")) as api:
        items = [
            {"type": "message", "role": "developer", "content": "Be kind."},
            {"role": "user", "content": [{"type": "input_text", "text": "Weather?"}]},
            {"type": "reasoning", "summary": []},
            {"type": "function_call", "call_id": "c", "name": "weather", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "-3"},
        ]
        await respond(api, items)
        sent = api.model.requests[0].body["messages"]
        assert [it["role"] for it in sent] == ["system", "system", "user", "assistant", "tool"]
        for wrong, param in (
            ([{"type": "web_search_call"}], "input[0].type"),
            ([{"role": "user"}], "input[0].content"),
            ([{"type": "function_call", "name": "x"}], "input[0].call_id"),
            ([{"role": "assistant", "content": "x"}], "input"),
            (7, "input"),
        ):
            answered = await api.ann.post("/responses", json={"model": "hookgate", "input": wrong})
            assert (answered.status_code, answered.json()["error"]["param"]) == (400, param), answered.text


async def test_events_of_a_stream_are_numbered_and_tell_of_each_part(tmp_path: Path) -> None:
    call = ("m1", "weather", '{"city":"Oslo"}')
    async with open_api(tmp_path, says("Two ", "words."), calls(call), fails(500, "on fire")) as api:

        async def kinds(**more: Any) -> list[str]:
            body = {"model": "hookgate", "input": "Hi.", "stream": True, **more}
            text = (await api.ann.post("/responses", json=body)).text
            events = [json.loads(it.partition("data: ")[2]) for it in text.split("\n\n") if it.startswith("event: ")]
            assert [it["sequence_number"] for it in events] == list(range(len(events)))
            assert text.endswith("data: [DONE]\n\n")
            return [it["type"].removeprefix("response.") for it in events]

        begun = ["created", "in_progress"]
        item = ["output_item.added", "content_part.added"]
        ended = ["output_text.done", "content_part.done", "output_item.done", "completed"]
        assert await kinds() == [*begun, *item, "output_text.delta", "output_text.delta", *ended]
        tool = {"type": "function", "name": "weather", "parameters": {"type": "object", "properties": {}}}
        arguments = ["function_call_arguments.delta", "function_call_arguments.done"]
        expected = [*begun, "output_item.added", *arguments, "output_item.done", "completed"]
        assert await kinds(tools=[tool]) == expected
        assert await kinds() == [*begun, "failed"]


def deltas(*wanted: tuple[str, str, str]) -> list[dict[str, Any]]:
    return [
        {"index": n, "id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}
        for n, (id_, name, arguments) in enumerate(wanted)
    ]


def kinds_of(events: list[dict[str, Any]]) -> list[tuple[str, int]]:
    """Of those that are about an item, and its place."""
    named = [(it["type"].removeprefix("response."), it["output_index"]) for it in events if "output_index" in it]
    return [it for it in named if "arguments" not in it[0] and "part" not in it[0] and "text" not in it[0]]


async def streamed(api: Api, said: Any, **more: Any) -> list[dict[str, Any]]:
    text = (await api.ann.post("/responses", json={"model": "hookgate", "input": said, "stream": True, **more})).text
    return [json.loads(it.partition("data: ")[2]) for it in text.split("\n\n") if it.startswith("event: ")]


async def test_what_our_own_tools_do_are_items_where_they_were_done(tmp_path: Path) -> None:
    """The same in a stream, whole and read again; nothing that the client would run."""
    (tmp_path / "notes.txt").write_text("buy milk")
    read, lost = ("m1", "read", '{"path": "notes.txt"}'), ("m2", "read", '{"path": "gone.txt"}')
    looked = events(
        *(chunk({"role": "assistant"}), chunk({"content": "I look."})),
        *(chunk({"tool_calls": [it]}) for it in deltas(read, lost)),
        *(chunk({}, "tool_calls"), usage(7, 3)),
    )
    async with open_api(tmp_path, looked, says("Milk."), looked, says("Milk.")) as api:
        heard = await streamed(api, "What do I need?")
        final = heard[-1]["response"]
        told, found, missing, answer = final["output"]
        assert told["content"][0]["text"] == "I look."
        assert (found["type"], found["server_label"], found["name"]) == ("mcp_call", "hookgate", "read")
        assert json.loads(found["arguments"]) == {"path": "notes.txt"}
        assert ("buy milk" in found["output"], found["error"], found["status"]) == (True, None, "completed")
        assert ("gone.txt" in missing["error"], missing["output"], missing["status"]) == (True, None, "failed")
        assert answer["content"][0]["text"] == "\n\nMilk."
        assert len({it["id"] for it in final["output"]}) == 4
        assert kinds_of(heard) == [
            *(("output_item.added", 0), ("output_item.done", 0)),
            *(("output_item.added", 1), ("mcp_call.in_progress", 1)),
            *(("output_item.added", 2), ("mcp_call.in_progress", 2)),
            *(("mcp_call.completed", 1), ("output_item.done", 1)),
            *(("mcp_call.failed", 2), ("output_item.done", 2)),
            *(("output_item.added", 3), ("output_item.done", 3)),
        ]
        done = [it["item"] for it in heard if it["type"] == "response.output_item.done"]
        assert sorted(done, key=final["output"].index) == final["output"]
        assert (await api.ann.get(f"/responses/{final['id']}")).json()["output"] == final["output"]
        whole = await respond(api, "And now?", previous_response_id=final["id"])
        assert [it["type"] for it in whole["output"]] == ["message", "mcp_call", "mcp_call", "message"]
        assert (await api.ann.get(f"/responses/{whole['id']}")).json()["output"] == whole["output"]


async def test_items_of_our_own_calls_that_a_client_sends_back_are_part_of_what_was_said(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("buy milk")
    read = calls(("m1", "read", '{"path": "notes.txt"}'))
    async with open_api(tmp_path, read, says("Milk."), says("Yes.")) as api:
        first = {"role": "user", "content": "What do I need?"}
        answered = await respond(api, [first])
        assert [it["type"] for it in answered["output"]] == ["mcp_call", "message"]
        await respond(api, [first, *answered["output"], {"role": "user", "content": "Sure?"}])
        said = api.model.requests[-1].body["messages"][1:]
        assert [it["role"] for it in said] == ["user", "assistant", "tool", "assistant", "user"]
        assert "buy milk" in said[2]["content"]
        alone = await api.ann.post("/responses", json={"model": "hookgate", "input": [first, answered["output"][0]]})
        assert (alone.status_code, alone.json()["error"]["param"]) == (400, "input")


async def test_what_an_answer_has_cost_is_said_whenever_it_is_read_again(tmp_path: Path) -> None:
    read = calls(("m1", "read", '{"path": "notes.txt"}'))
    async with open_api(tmp_path, read, says("None."), read, says("None.")) as api:
        first = await respond(api, "What do I need?")
        assert first["usage"]["total_tokens"] == 20
        assert (await api.ann.get(f"/responses/{first['id']}")).json()["usage"] == first["usage"]
        keyed = {"idempotency-key": "once"}
        asked = [(await api.ask("Again?", headers=keyed)).json() for _ in range(2)]
        assert asked[0]["usage"] == asked[1]["usage"]
        assert asked[1]["usage"]["total_tokens"] == 20
        assert len(api.model.requests) == 4


async def test_a_call_that_waits_for_a_person_is_told_of_with_the_answer_after_their_yes(tmp_path: Path) -> None:
    """What was said before it is not said once more."""
    (tmp_path / "notes.txt").write_text("buy milk")
    looks = events(
        *(chunk({"role": "assistant"}), chunk({"content": "I look."})),
        *(chunk({"tool_calls": [it]}) for it in deltas(("m1", "read", '{"path": "notes.txt"}'))),
        *(chunk({}, "tool_calls"), usage(7, 3)),
    )
    more = 'approval_wait_s = 0.3\n[[approvals]]\ntools = ["read"]\n'
    async with open_api(tmp_path, looks, says("Milk."), more=more) as api:
        waits = (await streamed(api, "What do I need?", user="ann"))[-1]["response"]
        said, waiting, line = waits["output"]
        assert (said["content"][0]["text"], waiting["status"], waiting["output"]) == ("I look.", "incomplete", None)
        (request,) = re.findall(r"/approve (\w+)", line["content"][0]["text"])
        await streamed(api, f"/pending {request}", user="ann")
        ended = (await streamed(api, f"/approve {request}", user="ann"))[-1]
        assert ended["type"] == "response.completed"
        texts = [it["content"][0]["text"] for it in ended["response"]["output"] if it["type"] == "message"]
        assert "I look." not in "".join(texts)
        assert texts[-1] == "\n\nMilk."
        (done,) = [it for it in ended["response"]["output"] if it["type"] == "mcp_call"]
        assert ("buy milk" in done["output"], done["status"]) == (True, "completed")


async def test_what_a_task_of_another_agent_has_cost_is_part_of_that(tmp_path: Path) -> None:
    """It is one item: what that one does is its own."""
    (tmp_path / "notes.txt").write_text("buy milk")
    hands_on, read = calls(("m1", "delegate", '{"task": "Look."}')), calls(("m2", "read", '{"path": "notes.txt"}'))
    more = '[agents.chief]\ndelegates_to = ["coder"]\n'
    async with open_api(tmp_path, hands_on, read, says("Milk."), says("Milk, it says."), more=more) as api:
        first = await respond(api, "What do I need?", model="chief")
        assert [it["type"] for it in first["output"]] == ["mcp_call", "message"]
        assert (first["output"][0]["name"], first["output"][0]["output"]) == ("delegate", "Milk.")
        assert first["usage"]["total_tokens"] == 40
        again = (await api.ann.get(f"/responses/{first['id']}")).json()
        assert (again["usage"], again["output"]) == (first["usage"], first["output"])


async def test_a_channel_may_keep_to_itself_what_our_own_tools_do(tmp_path: Path) -> None:
    read = calls(("m1", "read", '{"path": "notes.txt"}'))
    async with open_api(tmp_path, read, says("None."), read, says("None."), more="show_tools = false\n") as api:
        whole = await respond(api, "What do I need?")
        assert [it["type"] for it in whole["output"]] == ["message"]
        assert (await api.ann.get(f"/responses/{whole['id']}")).json()["output"] == whole["output"]
        heard = await streamed(api, "And now?")
        assert kinds_of(heard) == [("output_item.added", 0), ("output_item.done", 0)]
