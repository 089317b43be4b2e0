"""Tools of two kinds in one request: ours run through the gate, the client's are its own to run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx

from tests.channels.openai.serving_api import Api, asking, open_api
from tests.model_server import calls, says

WEATHER = {
    "type": "function",
    "function": {"name": "weather", "description": "Of a city.", "parameters": {"type": "object", "properties": {}}},
}
OSLO = ("m1", "weather", '{"city":"Oslo"}')
READ = ("m2", "read", '{"path":"notes.txt"}')


def message(answered: httpx.Response) -> dict[str, Any]:
    assert answered.status_code == 200, answered.text
    return answered.json()["choices"][0]["message"]


async def results(api: Api, said: list[Any], *given: str, **more: Any) -> httpx.Response:
    """The next request: what was said, the reply's calls, a result for each."""
    reply = said[-1]
    told = [
        {"role": "tool", "tool_call_id": call["id"], "content": text}
        for call, text in zip(reply["tool_calls"], given, strict=True)
    ]
    body = asking(*said, *told, tools=[WEATHER])
    return await api.ann.post("/chat/completions", json=body, **more)


async def test_a_call_of_the_clients_tool_is_its_answer_and_the_result_goes_on(tmp_path: Path) -> None:
    """Without a session, too: the ids of the calls lead back."""
    async with open_api(tmp_path, calls(OSLO), says("Cold.")) as api:
        first = await api.ask("Weather?", tools=[WEATHER], tool_choice="required")
        reply = message(first)
        assert first.json()["choices"][0]["finish_reason"] == "tool_calls"
        assert reply["content"] is None
        assert reply["tool_calls"][0]["function"] == {"name": "weather", "arguments": '{"city":"Oslo"}'}
        asked = api.model.requests[0].body
        assert asked["tool_choice"] == "required"
        assert {it["function"]["name"] for it in asked["tools"]} > {"weather", "read"}
        assert message(await results(api, ["Weather?", reply], "-3"))["content"] == "Cold."
        assert [it["role"] for it in api.model.requests[1].body["messages"]] == [
            "system",
            "user",
            "assistant",
            "tool",
        ]
        assert api.model.requests[1].body["messages"][-1] == {"role": "tool", "tool_call_id": "m1", "content": "-3"}


async def test_what_must_be_called_exists_and_none_offers_none_of_the_clients(tmp_path: Path) -> None:
    async with open_api(tmp_path) as api:
        message(await api.ask("Weather?", tools=[WEATHER], tool_choice="none"))
        offered = {it["function"]["name"] for it in api.model.requests[0].body.get("tools", ())}
        assert "weather" not in offered
        assert offered
        named = {"type": "function", "name": "weather"}
        for choice, param in (
            ({"type": "function", "function": {"name": "rain"}}, "tool_choice.function.name"),
            ({"type": "function"}, "tool_choice.function.name"),
            ("sometimes", "tool_choice"),
        ):
            refused = await api.ask("Weather?", tools=[WEATHER], tool_choice=choice)
            assert (refused.status_code, refused.json()["error"]["param"]) == (400, param)
        body = {"model": "hookgate", "input": "Weather?", "tools": [{**WEATHER["function"], "type": "function"}]}
        answered = [
            await api.ann.post("/responses", json={**body, "tool_choice": it})
            for it in (named, {**named, "name": "read"}, {**named, "name": "rain"})
        ]
        assert [it.status_code for it in answered] == [200, 200, 400]
        assert answered[2].json()["error"]["param"] == "tool_choice.name"


async def test_a_file_that_a_tool_sends_is_a_line_with_its_name_and_size(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("remember the milk")
    sends = calls(("s1", "send_file", json.dumps({"path": "notes.txt", "caption": "Here."})))
    async with open_api(tmp_path, sends, says("There.")) as api:
        first = await api.ask("Send it.", headers={"idempotency-key": "k"})
        assert "Here.\n[notes.txt: a file, 17 bytes, which stays at the gateway]" in message(first)["content"]
        again = await api.ask("Send it.", headers={"idempotency-key": "k"})
        assert message(again)["content"] == message(first)["content"]


async def test_of_a_mixed_reply_ours_run_first_and_the_model_reads_both_results(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("remember the milk")
    async with open_api(tmp_path, calls(OSLO, READ), says("Milk, and cold.")) as api:
        reply = message(await api.ask("Both?", tools=[WEATHER]))
        assert [it["function"]["name"] for it in reply["tool_calls"]] == ["weather"]
        assert api.served.runtime.agent.tally.executed == 1
        assert message(await results(api, ["Both?", reply], "-3"))["content"] == "Milk, and cold."
        told = {
            it["tool_call_id"]: it["content"] for it in api.model.requests[1].body["messages"] if it["role"] == "tool"
        }
        assert told["m1"] == "-3"
        assert "remember the milk" in told["m2"]


async def test_a_stream_gives_each_call_its_name_before_its_arguments(tmp_path: Path) -> None:
    async with open_api(tmp_path, calls(OSLO, ("m3", "weather", '{"city":"Bergen"}'))) as api:
        body = (await api.ask("Weather?", tools=[WEATHER], stream=True)).text
        got = [json.loads(it[6:]) for it in body.split("\n\n") if it.startswith("data: {")]
        deltas = [call for it in got for call in it["choices"][0]["delta"].get("tool_calls", ())]
        assert [it["index"] for it in deltas] == [0, 0, 1, 1]
        assert deltas[0]["id"]
        assert deltas[0]["function"]["name"] == "weather"
        assert "".join(it["function"]["arguments"] for it in deltas if it["index"] == 1) == '{"city":"Bergen"}'
        assert got[-1]["choices"][0]["finish_reason"] == "tool_calls"


async def test_a_session_that_goes_on_without_a_result_says_so_to_the_model(tmp_path: Path) -> None:
    async with open_api(tmp_path, calls(OSLO), says("Never mind.")) as api:
        named = {"x-hookgate-session": "trip"}
        await api.ask("Weather?", tools=[WEATHER], headers=named)
        assert message(await api.ask("Forget it.", headers=named))["content"] == "Never mind."
        last = api.model.requests[1].body["messages"][-2:]
        assert last[0]["content"].startswith("No result")
        assert last[1] == {"role": "user", "content": "Forget it."}


async def test_results_that_nobody_waits_for_are_refused(tmp_path: Path) -> None:
    async with open_api(tmp_path) as api:
        named = {"x-hookgate-session": "trip"}
        await api.ask("Hi.", headers=named)
        reply = {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "x", "type": "function", "function": {"name": "weather", "arguments": "{}"}}],
        }
        refused = await results(api, ["Hi.", reply], "warm", headers=named)
        assert (refused.status_code, refused.json()["error"]["param"]) == (400, "messages")


async def test_that_a_tool_has_to_be_called_is_done_once_one_was(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("milk")
    async with open_api(tmp_path, calls(READ), says("Milk.")) as api:
        assert message(await api.ask("Read.", tools=[WEATHER], tool_choice="required"))["content"] == "Milk."
        assert [it.body.get("tool_choice") for it in api.model.requests] == ["required", None]
