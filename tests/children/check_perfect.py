"""A hook that does everything right and uses every member of hello; what other children of the check vary.

It knows nothing of the SDK: standard library only, one call after the other.
"""

from __future__ import annotations

import json
import sys
from typing import Any

Json = dict[str, Any]

ECHO = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
ADDED = {"type": "function", "function": {"name": "echo_too", "description": "", "parameters": ECHO}}
HELLO: Json = {
    "ok": True,
    "name": "perfect",
    "stages": ["on_message", "before_llm", "after_llm", "before_tool", "approve_tool", "after_tool", "before_send"],
    "events": ["*"],
    "tools": [{"type": "function", "function": {"name": "echo", "description": "", "parameters": ECHO}}],
    "cancel": True,
    "max_in_flight": 16,
}


class UnknownMethod(Exception):
    """Answered with error -32601."""


def answer(method: str, params: Json) -> Any:
    """Echoes what it was asked wherever the protocol lets it."""
    match method:
        case "hook.hello":
            return HELLO
        case "hook.on_message" | "hook.before_send":
            return {"action": "modify", "message": {"text": params["message"]["text"]}}
        case "hook.before_llm":
            same = {name: params[name] for name in ("messages", "options")}
            return {"action": "modify", "request": {**same, "tools": [*params["tools"], ADDED]}}
        case "hook.after_llm":
            return {"action": "modify", "response": {"content": params["response"]["content"]}}
        case "hook.before_tool" if params["tool"] in ("echo", "echo_too"):
            return {"action": "respond", "result": {"for_llm": params["arguments"]["text"]}}
        case "hook.before_tool":
            return {"action": "modify", "call": {"tool": params["tool"], "arguments": params["arguments"]}}
        case "hook.approve_tool":
            return {"approved": True}
        case "hook.after_tool":
            return {"action": "modify", "result": {"for_llm": params["result"]["for_llm"]}}
        case _:
            raise UnknownMethod(method)


def reply(message: Json) -> Json:
    try:
        result = answer(message["method"], message["params"])
    except UnknownMethod as error:
        return {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": str(error)}}
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


def send(message: object) -> None:
    sys.stdout.buffer.write(json.dumps(message, ensure_ascii=False).encode() + b"\n")
    sys.stdout.buffer.flush()


def main() -> None:
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "id" in message:
            send(reply(message))


if __name__ == "__main__":
    main()
