"""The official client and LangChain's against a gateway, as a program of its own: prints what each was given.

python official.py BASE_URL KEY
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import openai
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

BASE_URL, KEY = sys.argv[1:]
WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "Of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


def whole(client: Any) -> Any:
    return client.chat.completions.create(model="hookgate", messages=[{"role": "user", "content": "say: one"}])


def streamed(client: Any) -> Any:
    options = {"include_usage": True}
    asked = [{"role": "user", "content": "say: two words"}]
    chunks = list(
        client.chat.completions.create(model="hookgate", messages=asked, stream=True, stream_options=options)
    )
    text = "".join(it.choices[0].delta.content or "" for it in chunks if it.choices)
    return text, chunks[-2].choices[0].finish_reason, chunks[-1].usage.total_tokens


def with_tools(client: Any) -> Any:
    said = [{"role": "user", "content": "weather"}]
    reply = client.chat.completions.create(model="hookgate", messages=said, tools=[WEATHER]).choices[0]
    call = reply.message.tool_calls[0]
    said += [reply.message, {"role": "tool", "tool_call_id": call.id, "content": "cold"}]
    after = client.chat.completions.create(model="hookgate", messages=said, tools=[WEATHER]).choices[0]
    return reply.finish_reason, call.function.name, call.function.arguments, after.message.content


def tools_streamed(client: Any) -> Any:
    said = [{"role": "user", "content": "weather"}]
    with client.chat.completions.stream(model="hookgate", messages=said, tools=[WEATHER]) as stream:
        reply = stream.get_final_completion().choices[0]
    return reply.finish_reason, reply.message.tool_calls[0].function.name


def refused(client: Any) -> Any:
    try:
        client.chat.completions.create(model="hookgate", messages=[{"role": "user", "content": "x"}], n=2)
    except openai.BadRequestError as error:
        bad = error.param
    try:
        client.models.retrieve("nobody")
    except openai.NotFoundError as error:
        unknown = error.code
    try:
        openai.OpenAI(base_url=BASE_URL, api_key="hg_no").models.list()
    except openai.AuthenticationError as error:
        return bad, unknown, error.code


def timed_out(client: Any) -> Any:
    """The SDK asks again by itself."""
    hasty = client.with_options(timeout=2.0, max_retries=5)
    asked = [{"role": "user", "content": "slow"}]
    return hasty.chat.completions.create(model="hookgate", messages=asked).choices[0].message.content


def responses(client: Any) -> Any:
    first = client.responses.create(model="hookgate", input="say: first")
    second = client.responses.create(model="hookgate", input="say: second", previous_response_id=first.id)
    with client.responses.stream(model="hookgate", input="say: in pieces") as stream:
        pieces = "".join(it.delta for it in stream if it.type == "response.output_text.delta")
        final = stream.get_final_response()
    return first.output_text, second.output_text, pieces, final.output_text, final.usage.total_tokens


def responses_with_tools(client: Any) -> Any:
    tools = [{"type": "function", **WEATHER["function"], "strict": False}]
    asked = client.responses.create(model="hookgate", input="weather", tools=tools)
    call = next(it for it in asked.output if it.type == "function_call")
    given = [{"type": "function_call_output", "call_id": call.call_id, "output": "cold"}]
    after = client.responses.create(model="hookgate", input=given, previous_response_id=asked.id, tools=tools)
    with client.responses.stream(model="hookgate", input="weather", tools=tools) as stream:
        streamed = stream.get_final_response().output[0]
    return (
        call.name,
        call.arguments,
        after.output_text,
        streamed.name,
        client.responses.retrieve(after.id).output_text,
    )


def own_tools(client: Any) -> Any:
    """What the gateway's tools do: items that the client knows as somebody else's, however it gets them."""
    whole = client.responses.create(model="hookgate", input="look")
    with client.responses.stream(model="hookgate", input="look") as stream:
        kinds = {it.type.removeprefix("response.mcp_call.") for it in stream if ".mcp_call." in it.type}
        streamed = stream.get_final_response()
    again = client.responses.retrieve(whole.id)
    assert (again.output, again.usage) == (whole.output, whole.usage)
    history = [{"role": "user", "content": "look"}, *(it.to_dict() for it in whole.output)]
    after = client.responses.create(model="hookgate", input=[*history, {"role": "user", "content": "say: more"}])
    chained = ChatOpenAI(model="hookgate", base_url=BASE_URL, api_key=KEY, use_responses_api=True).invoke("look")
    calls = [next(it for it in found.output if it.type == "mcp_call") for found in (whole, streamed)]
    return (
        [(type(it).__name__, it.name, it.status, "milk" in it.output) for it in calls],
        sorted(kinds),
        "milk" in whole.output_text,
        after.output_text,
        (
            "milk" in chained.text,
            chained.tool_calls,
            chained.invalid_tool_calls,
            chained.usage_metadata["total_tokens"],
        ),
    )


async def asynchronous() -> Any:
    async with openai.AsyncOpenAI(base_url=BASE_URL, api_key=KEY) as client:
        asked = [{"role": "user", "content": "say: later"}]
        whole = await client.chat.completions.create(model="hookgate", messages=asked)
        stream = await client.chat.completions.create(model="hookgate", messages=asked, stream=True)
        pieces = [it.choices[0].delta.content or "" async for it in stream]
        return whole.choices[0].message.content, "".join(pieces)


@tool
def weather(city: str) -> str:
    """Of a city."""
    return f"cold in {city}"


def langchain() -> Any:
    model = ChatOpenAI(model="hookgate", base_url=BASE_URL, api_key=KEY)
    said = model.invoke("say: chained").content
    pieces = "".join(it.content for it in model.stream("say: in pieces"))
    called = model.bind_tools([weather]).invoke("weather")
    return said, pieces, called.tool_calls[0]["name"], called.tool_calls[0]["args"]


client = openai.OpenAI(base_url=BASE_URL, api_key=KEY)
print(
    json.dumps(
        {
            "models": [it.id for it in client.models.list()],
            "whole": whole(client).choices[0].message.content,
            "streamed": streamed(client),
            "tools": with_tools(client),
            "tools_streamed": tools_streamed(client),
            "refused": refused(client),
            "timed_out": timed_out(client),
            "responses": responses(client),
            "responses_with_tools": responses_with_tools(client),
            "own_tools": own_tools(client),
            "async": asyncio.run(asynchronous()),
            "langchain": langchain(),
        }
    )
)
