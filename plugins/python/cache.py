"""A hook that answers repeated calls of read-only tools from memory, for five minutes and for every chat alike.

CACHE_TOOLS, globs between commas, names the tools (`web_fetch` if unset). Name only tools whose answer depends on
nothing but their arguments.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections import OrderedDict

from hookgate_plugin import Call, Finished, Json, Plugin

TOOLS = [glob.strip() for glob in os.environ.get("CACHE_TOOLS", "web_fetch").split(",")]
MAX_ENTRIES = 256
MAX_AGE_S = 300.0

plugin = Plugin("cache")
answers: OrderedDict[str, tuple[float, Json]] = OrderedDict()
lock = threading.Lock()  # many calls are answered at once


@plugin.before_tool(tools=TOOLS)
def recall(call: Call) -> object:
    with lock:
        stored_at, result = answers.get(key(call), (0.0, {}))
    if not result or time.monotonic() - stored_at > MAX_AGE_S:
        return None
    return {"action": "respond", "result": result}


@plugin.after_tool(tools=TOOLS)
def store(done: Finished) -> None:
    if done.result.get("is_error"):
        return
    with lock:
        answers[key(done)] = time.monotonic(), done.result
        answers.move_to_end(key(done))
        if len(answers) > MAX_ENTRIES:
            answers.popitem(last=False)


def key(call: Call) -> str:
    return f"{call.tool} {json.dumps(call.arguments, sort_keys=True)}"


if __name__ == "__main__":
    plugin.run()
