"""Both APIs against a third party's server: fakellm, a process of its own that knows nothing of hookgate."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio

from hookgate.protocol.codec import decode
from hookgate.protocol.interfaces import Provider
from hookgate.protocol.values import LLMReply, LLMRequest, Message, ToolSpec
from hookgate.protocol.values.delta import Delta
from hookgate.providers.anthropic.provider import open_anthropic
from hookgate.providers.openai.provider import open_openai

RULES = """
version: 1
rules:
  - name: after a tool
    when: {tool_result_contains: "17 degrees"}
    respond: {content: "It is warm."}
  - name: call
    when: {messages_contain: "weather"}
    respond:
      tool_calls:
        - {name: get_weather, arguments: {city: "Zürich", days: [1, 2]}}
        - {name: get_time, arguments: {}}
  - name: greeting
    when: {messages_contain: "hello"}
    respond: {content: "Hi there, this is a mock."}
"""
TOOLS = (ToolSpec("get_weather", "", {"type": "object"}), ToolSpec("get_time", "", {"type": "object"}))
START_S = 30.0


@pytest.fixture(scope="module")
def fakellm_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The server's address; it picks its port itself and says which."""
    rules = tmp_path_factory.mktemp("fakellm") / "rules.yaml"
    rules.write_text(RULES, encoding="utf-8")
    with start(rules) as process:
        try:
            yield address(process)
        finally:
            process.terminate()
            process.communicate(timeout=10)


def start(rules: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "fakellm.cli", "serve", "--port", "0", "--config", str(rules)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def address(process: subprocess.Popen[str]) -> str:
    """Reading its log has no deadline of its own, so the process gets one until it has started."""
    deadline = threading.Timer(START_S, process.kill)
    deadline.start()
    try:
        lines = process.stderr or ()
        return next(found[1] for line in lines if (found := re.search(r"running on (http://\S+)", line)))
    finally:
        deadline.cancel()


def open_provider(api: str, url: str):  # noqa: ANN201 - the one type of both functions
    return open_openai(f"{url}/v1", "any") if api == "openai" else open_anthropic("any", url)


async def ask(provider: Provider, *messages: Message, heard: list[Delta]) -> LLMReply:
    with trio.fail_after(20):
        return await provider.complete(LLMRequest("some-model", messages, TOOLS), heard.append)


@pytest.mark.parametrize("api", ["openai", "anthropic"])
async def test_a_stranger_s_text_is_streamed(fakellm_url: str, api: str, heard: list[Delta]) -> None:
    async with open_provider(api, fakellm_url) as provider:
        reply = await ask(provider, Message("user", "hello"), heard=heard)
    assert "".join(it for it in heard if isinstance(it, str)) == reply.content == "Hi there, this is a mock."
    assert len(heard) > 3
    assert (reply.finish_reason, reply.tool_calls) == ("stop", ())


@pytest.mark.parametrize("api", ["openai", "anthropic"])
async def test_a_stranger_s_calls_are_read_and_their_results_understood(
    fakellm_url: str, api: str, heard: list[Delta]
) -> None:
    # fakellm tells conversations apart by their first message, and remembers the results in each.
    question = Message("user", f"how is the weather, {api}?")
    async with open_provider(api, fakellm_url) as provider:
        reply = await ask(provider, question, heard=heard)
        said = Message("assistant", reply.content, tool_calls=reply.tool_calls)
        texts = zip(("noon", "17 degrees"), reply.tool_calls, strict=True)
        results = [Message("tool", text, tool_call_id=call.id) for text, call in texts]
        final = await ask(provider, question, said, *results, heard=heard)
    weather, clock = reply.tool_calls
    assert (weather.name, decode(weather.arguments)) == ("get_weather", {"city": "Zürich", "days": [1, 2]})
    assert (clock.name, decode(clock.arguments)) == ("get_time", {})
    assert final.content == "It is warm."
