"""An example hook: it denies `rm -rf`. Each call is a line of JSON on stdin, each answer a line on stdout.

It stops accidents, not attackers: those are the business of the sandbox and of approvals.
"""

import json
import re
import sys
from typing import Any

STAGES = ("before_llm", "after_llm", "before_tool", "approve_tool", "after_tool")
METHODS = ("hook.hello", *(f"hook.{stage}" for stage in STAGES))
UNKNOWN = {"code": -32601, "message": "this hook does not know that method"}


def destroys(command: str) -> bool:
    words = re.findall(r"[\w-]+", command.lower())
    flags = "".join(word for word in words if word.startswith("-"))
    return "rm" in words and "r" in flags and "f" in flags


def answer(method: str, params: "dict[str, Any]") -> "dict[str, Any]":
    command = str(params.get("arguments", {}).get("command", ""))
    if method == "hook.hello":
        return {"ok": True, "name": "example"}
    if method == "hook.approve_tool":
        return {"approved": True}
    if method == "hook.before_tool" and params.get("tool") == "bash" and destroys(command):
        print(f"denied: {command!r}", file=sys.stderr, flush=True)  # stderr is the log; stdout is for answers alone
        return {"action": "deny_tool", "reason": "rm -rf is not allowed here"}
    return {"action": "continue"}


if __name__ == "__main__":
    for line in sys.stdin.buffer:
        call = json.loads(line)
        if "id" in call:  # an event has none and needs no answer
            known = call["method"] in METHODS
            said = {"result": answer(call["method"], call["params"])} if known else {"error": UNKNOWN}
            print(json.dumps({"jsonrpc": "2.0", "id": call["id"], **said}), flush=True)
