"""The official client and LangChain's, told by the environment alone where they are: prints what each was given."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

import openai
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

WEATHER: Any = [{"role": "user", "content": "weather in Oslo"}]
TIME: Any = {"role": "user", "content": "what time is it?"}
CLOCK: Any = {"type": "function", "function": {"name": "get_time", "parameters": {"type": "object"}}}


@tool
def get_time() -> str:
    """What the clock says."""
    return "half past nine"


def with_tools(client: openai.OpenAI) -> Any:
    asked = client.chat.completions.create(model="hookgate", messages=[TIME], tools=[CLOCK]).choices[0]
    [call] = asked.message.tool_calls or ()
    said: Any = [TIME, asked.message, {"role": "tool", "tool_call_id": call.id, "content": "half past nine"}]
    after = client.chat.completions.create(model="hookgate", messages=said, tools=[CLOCK]).choices[0]
    return asked.finish_reason, call.function.name, after.message.content


def responses(client: openai.OpenAI) -> Any:
    first = client.responses.create(model="hookgate", input="weather in Oslo")
    then = client.responses.create(model="hookgate", input="show me the settings", previous_response_id=first.id)
    return [it.type for it in first.output], then.output_text


async def asynchronous() -> Any:
    async with openai.AsyncOpenAI() as client:
        whole = await client.chat.completions.create(model="hookgate", messages=WEATHER)
        stream = await client.chat.completions.create(model="hookgate", messages=WEATHER, stream=True)
        pieces = [it.choices[0].delta.content or "" async for it in stream]
        return whole.choices[0].message.content, "".join(pieces), len(pieces) > 3


def langchain() -> Any:
    model = ChatOpenAI(model="hookgate", base_url=os.environ["OPENAI_BASE_URL"])
    pieces = "".join(it.text for it in model.stream("weather in Oslo"))
    clocked, asked = model.bind_tools([get_time]), HumanMessage("what time is it?")
    reply = clocked.invoke([asked])
    [call] = reply.tool_calls
    given = ToolMessage(get_time.invoke(call["args"]), tool_call_id=call["id"])
    return model.invoke("weather in Oslo").text, pieces, clocked.invoke([asked, reply, given]).text


client = openai.OpenAI()
found = {
    "models": [it.id for it in client.models.list()],
    "denied": client.chat.completions.create(
        model="hookgate", messages=[{"role": "user", "content": "clean up the releases"}]
    )
    .choices[0]
    .message.content,
    "tools": with_tools(client),
    "responses": responses(client),
    "async": asyncio.run(asynchronous()),
    "langchain": langchain(),
}
print(json.dumps(found))
