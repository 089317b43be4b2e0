"""Chat completions: what goes to the model, what comes back, as a stream too; what is refused, and how it reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.channels.openai.serving_api import asking, open_api
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
