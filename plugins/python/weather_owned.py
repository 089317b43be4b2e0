"""The tool of weather.py as an owned tool: declared at hello, its JSON Schema read from the annotations."""

from __future__ import annotations

from typing import Annotated

from hookgate_plugin import Plugin
from weather import forecast

plugin = Plugin("weather")


@plugin.tool("The weather in a city, today.")
def weather(city: Annotated[str, "name of the city"]) -> str:
    return forecast(city)


if __name__ == "__main__":
    plugin.run()
