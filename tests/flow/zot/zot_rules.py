"""Extensions that follow rules: each frame they get is kept, and answered by the first rule that fits it.

A rule is `{"when": {member: value}, "say": [frame or raw line]}`. The id `{id}` of a frame stands for that of the
frame it answers; the line `exit` is the end; `"once": true` uses the rule up; `"forever": true` repeats it.
Without a rule an interception passes, a tool says `ok`, a command nothing.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import trio

from tests.cli.program import DEADLINE_S

Frame = dict[str, Any]
HELLO: Frame = {"type": "hello", "name": "any", "version": "1"}
READY: Frame = {"type": "ready"}

PROGRAM = """
import json, os, sys

first, rules = json.loads(sys.argv[1]), json.loads(sys.argv[2])
usual = {
    "event_intercept": {"type": "event_intercept_response"},
    "tool_call": {"type": "tool_result", "content": [{"type": "text", "text": "ok"}]},
    "command_invoked": {"type": "command_response", "action": "noop"},
}

def say(frame, call=""):
    if frame == "exit":
        os._exit(3)
    if isinstance(frame, dict):
        frame = json.dumps({**frame, "id": call} if frame.get("id") == "{id}" else frame)
    data = (frame + "\\n").encode()
    while data:
        data = data[os.write(1, data):]

for frame in first:
    say(frame)
with open("heard.jsonl", "ab", buffering=0) as heard:
    for line in sys.stdin.buffer:
        heard.write(line)
        frame = json.loads(line)
        if frame["type"] == "shutdown":
            break
        rule = next((it for it in rules if all(frame.get(k) == v for k, v in it["when"].items())), None)
        if rule is None and frame["type"] in usual:
            rule = {"say": [{**usual[frame["type"]], "id": "{id}"}]}
        elif rule and rule.get("once"):
            rules.remove(rule)
        while rule:
            for answer in rule["say"]:
                say(answer, frame.get("id", ""))
            if not rule.get("forever"):
                break
"""


def ruled(folder: Path, name: str, *first: Frame | str, rules: tuple[Frame, ...] = (), **members: Any) -> Path:
    """The extension's folder. It says hello (unless `first` begins with one), then `first`, then that it is ready."""
    directory = folder / name
    directory.mkdir(parents=True)
    (directory / "program.py").write_text(PROGRAM)
    greets = bool(first) and isinstance(first[0], dict) and first[0]["type"] == "hello"
    begin = first if greets else ({**HELLO, "name": name}, *first)
    args = ["program.py", json.dumps([*begin, READY]), json.dumps(rules), str(folder)]
    manifest = {"name": name, "exec": sys.executable, "args": args, **members}
    (directory / "extension.json").write_text(json.dumps(manifest))
    return directory


def subscribe(*intercept: str, events: tuple[str, ...] = ()) -> Frame:
    return {"type": "subscribe", "intercept": list(intercept), "events": list(events)}


def tool(name: str, schema: Any = None) -> Frame:
    return {"type": "register_tool", "name": name, "description": name, "schema": schema or {"type": "object"}}


def command(name: str) -> Frame:
    return {"type": "register_command", "name": name, "description": f"the command {name}"}


def note(text: str) -> Frame:
    return {"type": "notify", "level": "info", "message": text}


def on(type: str, *say: Frame | str, once: bool = False, **members: Any) -> Frame:
    """A rule for frames of this type that have these members."""
    return {"when": {"type": type, **members}, "say": list(say), "once": once}


def asks(name: str, /, **arguments: object) -> Frame:
    """A step of a scripted model: it calls this tool."""
    return {"calls": [{"name": name, "arguments": arguments, "id": "c1"}]}


DONE: Frame = {"text": "Done."}
"""Another: it says so."""


def passes(**members: Any) -> Frame:
    """An answer to an interception."""
    return {"type": "event_intercept_response", "id": "{id}", **members}


def answers(*blocks: Any, **members: Any) -> Frame:
    """A tool's result."""
    return {"type": "tool_result", "id": "{id}", "content": list(blocks), **members}


def text(said: str) -> Frame:
    return {"type": "text", "text": said}


def heard(directory: Path, type: str = "") -> list[Frame]:
    """What it has got by now, of this type or all."""
    path = directory / "heard.jsonl"
    frames = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return [frame for frame in frames if frame["type"] == (type or frame["type"])]


async def until_heard(directory: Path, type: str) -> Frame:
    """The first frame of this type, which may still be on its way."""
    with trio.fail_after(DEADLINE_S):
        while not (found := heard(directory, type)):
            await trio.sleep(0.01)
    return found[0]


def alone(*folders: Path) -> tuple[str, ...]:
    """Flags that load these in this order, and search for no others."""
    return ("--no-ext", *(word for folder in folders for word in ("--ext", str(folder))))
