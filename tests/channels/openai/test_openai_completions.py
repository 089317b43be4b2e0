"""Chat completions: what goes to the model, what comes back, as a stream too; what is refused, and how it reads."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hookgate.channels.openai.answers import answering
from hookgate.operations.hooks import reload_hooks
from tests.channels.openai.serving_api import add_key, asking, open_api
from tests.model_server import fails, says


def chunks(body: str) -> list[dict[str, Any]]:
    """Those of a stream that has its end."""
    lines = [it for it in body.split("\n\n") if it and not it.startswith(":")]
    assert lines[-1] == "data: [DONE]"
    return [json.loads(it.removeprefix("data: ")) for it in lines[:-1]]


async def test_an_answer_is_one_completion_with_what_it_cost(tmp_path: Path) -> None:
    async with open_api(tmp_path, says("Hello ", "there.")) as api:
        answered = await api.ask("Hi.", temperature=0.5, max_completion_tokens=99, unknown_parameter=[1])
        assert answered.status_code == 200, answered.text
        body = answered.json()
        assert body["object"] == "chat.completion"
        assert body["model"] == "hookgate"
        assert body["choices"][0]["message"] == {"role": "assistant", "content": "Hello there.", "refusal": None}
        assert body["choices"][0]["finish_reason"] == "stop"
        assert (body["usage"]["prompt_tokens"], body["usage"]["total_tokens"]) == (7, 10)
        sent = api.model.requests[0].body
        assert sent["messages"] == [
            {"role": "system", "content": "You are the agent."},
            {"role": "user", "content": "Hi."},
        ]
        assert (sent["temperature"], sent["max_tokens"]) == (0.5, 99)


async def test_a_stream_has_a_role_text_an_end_and_its_usage_once(tmp_path: Path) -> None:
    async with open_api(tmp_path, says("Hello ", "there.")) as api:
        answered = await api.ask("Hi.", stream=True, stream_options={"include_usage": True})
        got = chunks(answered.text)
        assert answered.headers["content-type"].startswith("text/event-stream")
        assert len({(it["id"], it["created"], it["model"]) for it in got}) == 1
        assert got[0]["choices"][0]["delta"]["role"] == "assistant"
        text = "".join(it["choices"][0]["delta"].get("content", "") for it in got if it["choices"])
        assert text == "Hello there."
        assert got[-2]["choices"][0]["finish_reason"] == "stop"
        assert got[-1]["choices"] == []
        assert got[-1]["usage"]["total_tokens"] == 10
        assert [it["usage"] for it in got[:-1]] == [None] * (len(got) - 1)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"messages": "hi"}, "messages"),
    ({"messages": []}, "messages"),
    ({"messages": [{"role": "user"}]}, "messages[0].content"),
    ({"messages": [{"role": "wizard", "content": "x"}]}, "messages[0].role"),
    ({"messages": [{"role": "user", "content": [{"type": "audio"}]}]}, "messages[0].content[0].type"),
    ({"messages": [{"role": "assistant", "content": "x"}]}, "messages"),
    ({"messages": [{"role": "user", "content": 7}]}, "messages[0].content"),
    ({"messages": [{"role": "tool", "content": "x"}]}, "messages[0].tool_call_id"),
    ({"messages": [{"role": "tool", "content": "x", "tool_call_id": "of-nobody"}]}, "messages"),
    ({"temperature": "hot"}, "temperature"),
    ({"temperature": 3}, "temperature"),
    ({"stream": "yes"}, "stream"),
    ({"n": 2}, "n"),
    ({"logprobs": True}, "logprobs"),
    ({"functions": []}, "functions"),
    ({"model": 5}, "model"),
    ({"tools": [{"type": "function"}]}, "tools[0].function"),
    ({"tools": [{"type": "function", "function": {"name": "a b"}}]}, "tools[0].function.name"),
    ({"tools": [{"type": "function", "function": {"name": "read"}}]}, "tools[0].function.name"),
]


async def test_what_is_wrong_with_a_request_is_named_and_nothing_is_asked(tmp_path: Path) -> None:
    async with open_api(tmp_path) as api:
        for members, param in WRONG:
            answered = await api.ann.post("/chat/completions", json={**asking("Hi."), **members})
            error = answered.json()["error"]
            assert (answered.status_code, error["param"]) == (400, param), (members, error)
            assert error["type"] == "invalid_request_error"
        unknown = await api.ask("Hi.", model="gpt-9")
        assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "model_not_found")
        for body, status in (("{", 400), ("[]", 400), ('{"messages": 1}', 400)):
            sent = await api.ann.post("/chat/completions", content=body, headers={"content-type": "application/json"})
            assert sent.status_code == status, sent.text
        assert (await api.ann.post("/chat/completions", content="{}")).status_code == 415
        assert (await api.ann.get("/chat/completions")).json()["error"]["code"] == "unknown_url"
        assert api.model.requests == []
        assert (await api.ask("Hi.", no_such_member={"deep": [1]}, messages_too=None)).status_code == 200


async def test_only_a_key_of_this_channel_is_let_in(tmp_path: Path) -> None:
    async with open_api(tmp_path) as api:
        for shown in ("", "Bearer", "Bearer hg_wrong", f"Basic {api.key}"):
            answered = await api.ask("Hi.", headers={"authorization": shown})
            assert (answered.status_code, answered.json()["error"]["code"]) == (401, "invalid_api_key")
        assert (await api.ann.get("/models", headers={"authorization": ""})).status_code == 401
        other = await add_key(api.served, "ann", "rpc")
        assert (await api.ask("Hi.", headers={"authorization": f"Bearer {other}"})).status_code == 403
        assert api.model.requests == []


async def test_agents_are_models_and_the_chosen_one_answers(tmp_path: Path) -> None:
    async with open_api(tmp_path, more='agents = ["coder"]\n') as api:
        listed = (await api.ann.get("/models")).json()
        assert (listed["object"], [it["id"] for it in listed["data"]]) == ("list", ["hookgate", "coder"])
        assert (await api.ann.get("/models/coder")).json()["id"] == "coder"
        assert (await api.ann.get("/models/main")).status_code == 404
        assert (await api.ask("Hi.", model="main")).status_code == 404
        await api.ask("Hi.", model="coder")
        assert api.model.requests[-1].body["messages"][0]["content"] == "You write code."


async def test_a_failed_turn_is_an_error_that_no_client_repeats(tmp_path: Path) -> None:
    """As a stream it ends with the error, and with the mark of an end."""
    async with open_api(tmp_path, fails(500, "on fire"), fails(500, "on fire")) as api:
        answered = await api.ask("Hi.")
        assert (answered.status_code, answered.json()["error"]["code"]) == (422, "turn_failed")
        assert "on fire" not in answered.text
        streamed = await api.ask("Hi.", stream=True)
        assert chunks(streamed.text)[-1]["error"]["code"] == "turn_failed"


async def test_history_comes_from_the_request_and_nothing_of_it_stays_with_the_next(tmp_path: Path) -> None:
    """Of a request that names no session; instructions are one message behind the agent's."""
    said = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "My name is Ann."},
        {"role": "assistant", "content": "Hello Ann."},
        {"role": "developer", "content": "Be kind."},
        {"role": "user", "content": [{"type": "text", "text": "What is"}, {"type": "text", "text": "my name?"}]},
    ]
    async with open_api(tmp_path) as api:
        assert (await api.ann.post("/chat/completions", json=asking(*said))).status_code == 200
        assert [(it["role"], it["content"]) for it in api.model.requests[0].body["messages"]] == [
            ("system", "You are the agent."),
            ("system", "Be brief.\n\nBe kind."),
            ("user", "My name is Ann."),
            ("assistant", "Hello Ann."),
            ("user", "What is\nmy name?"),
        ]
        await api.ask("And now?")
        assert len(api.model.requests[1].body["messages"]) == 2


async def test_a_reload_changes_which_agents_are_models(tmp_path: Path) -> None:
    async with open_api(tmp_path) as api:
        file = tmp_path / "hookgate.toml"
        file.write_text(file.read_text() + 'agents = ["new"]\n[agents.new]\nsystem = "You are new."\n')
        assert (await reload_hooks(api.served.runtime)).needs_restart == ()
        assert [it["id"] for it in (await api.ann.get("/models")).json()["data"]] == ["hookgate", "new"]
        assert (await api.ask("Hi.", model="coder")).status_code == 404
        await api.ask("Hi.", model="new")
        assert api.model.requests[-1].body["messages"][0]["content"] == "You are new."


async def test_a_stream_that_waits_gives_signs_of_life(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answering, "FIRST_LOOK_S", 0.01)
    monkeypatch.setattr(answering, "KEEP_ALIVE_S", 0.02)
    async with open_api(tmp_path, replace(says("At last."), pause_s=0.2)) as api:
        answered = await api.ask("Hi.", stream=True)
        assert ": waiting\n\n" in answered.text
        assert "At last." in "".join(it["choices"][0]["delta"].get("content", "") for it in chunks(answered.text))
