"""A hook that gives the model a tool the way plain protocol version 1 does it: two stages and raw JSON objects.

before_llm adds the definition, before_tool answers the call. weather_owned.py is the same with less to write.
"""

from __future__ import annotations

from hookgate_plugin import Call, LLMRequest, Plugin

TOOL = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather in a city, today.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "description": "name of the city"}},
            "required": ["city"],
        },
    },
}
SKIES = ("clear", "cloudy", "rain", "wind", "fog")

plugin = Plugin("weather")


@plugin.before_llm
def offer(request: LLMRequest) -> dict[str, object]:
    changed = {
        "model": request.model,
        "messages": request.messages,
        "tools": [*request.tools, TOOL],
        "options": request.options,
    }
    return {"action": "modify", "request": changed}


@plugin.before_tool
def answer(call: Call) -> dict[str, object]:
    if call.tool != "weather":
        return {"action": "continue"}
    city = str(call.arguments.get("city", ""))
    return {"action": "respond", "result": {"for_llm": forecast(city), "silent": False, "is_error": False}}


def forecast(city: str) -> str:
    """The same city always has the same weather: this needs no network."""
    number = sum(city.lower().encode())
    return f"{city}: {SKIES[number % len(SKIES)]}, {number % 35 - 5} °C"


if __name__ == "__main__":
    plugin.run()
