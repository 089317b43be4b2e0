"""A hook without the SDK, on the third-party library jsonrpcserver: any JSON-RPC library will do.

It denies `git push`. It needs `pip install jsonrpcserver==5.0.9`, and answers one call at a time.
"""

from __future__ import annotations

import json
import os
import sys
from typing import cast

from jsonrpcserver import Error, Result, Success, dispatch, method

CONTINUE = {"action": "continue"}


@method(name="hook.hello")
def hello(name: str, version: int, **_: object) -> Result:
    if version != 1:
        return Error(-32000, f"{name} speaks protocol version 1")
    return Success({"ok": True, "name": "no-push"})


@method(name="hook.before_tool")
def before_tool(tool: str, arguments: dict[str, object], **_: object) -> Result:
    if tool == "bash" and "git push" in str(arguments.get("command", "")):
        return Success({"action": "deny_tool", "reason": "pushing is for people"})
    return Success(CONTINUE)


@method(name="hook.before_llm")
@method(name="hook.after_llm")
@method(name="hook.after_tool")
def no_opinion(**_: object) -> Result:
    return Success(CONTINUE)


@method(name="hook.approve_tool")
def no_objection(**_: object) -> Result:
    return Success({"approved": True})


def is_request(line: bytes) -> bool:
    """Only requests go to the library: it answers a response that is handed in, and checks events for nothing."""
    try:
        message = json.loads(line)
    except ValueError:
        return False
    return isinstance(message, dict) and {"id", "method"} <= set(cast("dict[str, object]", message))


def accept(_: object) -> None:
    """In place of the library's schema check, which takes most of its time; is_request has looked already."""


def main() -> None:
    wire = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
    os.dup2(2, 1)  # so that a print() cannot get between the lines of the protocol
    for line in sys.stdin.buffer:
        if is_request(line):
            wire.write(dispatch(line.decode(), validator=accept) + "\n")


if __name__ == "__main__":
    main()
