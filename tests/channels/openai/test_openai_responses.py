"""Responses: a conversation by the id of what was answered last, forked by that of an earlier one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.channels.openai.serving_api import Api, open_api
from tests.model_server import calls, fails, says


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
