"""What a gateway that is to be killed stands among: its configuration, its hook and tool processes, its model.

Every call that ran has left a file, on the disk before the call returns, and the hook one for each that it let pass.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hookgate.channels.web.access.passwords import hashed
from tests.model_server import Answer, Received, calls, says

KINDS = ("say", "append", "append", "careful", "careful", "never", "spam", "look", "hand", "trust")
HANDED = {"hand": "append-for", "trust": "careful-for"}
"""What is done by another agent, and how that one is told: it leaves a file, or a person is asked before."""
USERS = ("ann", "bob")
THREADS = ("0", "1")
BOSS = "ann"
"""Who decides what bob's calls come to; her own she decides herself."""
PASSWORD = "right"
_HASH = hashed(PASSWORD, 8)
_LINE = re.compile(r"effects/(\w+-\d+)\.")

CONFIG = """\
[agent]
model = "test/model"
workspace = "{folder}/work"
delegates_to = ["clerk"]
[agents.clerk]
system = "You are told what to do by another one."
[gateway]
max_turns = {turns}
drain_s = 60
[providers.test]
kind = "openai"
base_url = "{model}"
[http]
listen = "127.0.0.1:0"
[store]
{store}
[log]
level = "warning"
[control]
enabled = false
[guards]
shell = "off"
[tools]
enabled = ["bash", "delegate"]
{chats}[hooks.processes.guard]
command = ["{python}", "-S", "-E", "{folder}/guard.py", "{folder}/work"]
intercept = {stages}
on_failure = "deny"
[hooks.processes.worker]
command = ["{python}", "-S", "-E", "{folder}/worker.py", "{folder}/work"]
intercept = ["before_tool"]
on_failure = "deny"
match = {{ tools = ["append"] }}
"""
PAGE = """\
[channels.web]
kind = "web"
[channels.web.users]
{users}
[[approvals]]
name = "own"
tools = ["bash"]
senders = ["ann"]
ttl_s = 3600
[[approvals]]
name = "bobs"
tools = ["bash"]
senders = ["bob"]
approvers = ["web:ann"]
ask_in = ["web:ann"]
ttl_s = 3600
"""
LOOP = """
for line in sys.stdin:
    call = json.loads(line)
    if "id" in call:
        print(json.dumps({"id": call["id"], "result": said(call["method"], call["params"])}), flush=True)
"""
GUARD = (
    """\
import json, os, re, sys
os.chdir(sys.argv[1])
def said(stage, params):
    text = params.get("message", {}).get("text", "")
    if stage == "hook.hello":
        return {"stages": params["stages"]}
    if stage == "hook.on_message" and text.startswith("spam"):
        return {"action": "drop", "tell": "dropped " + text.split()[1]}
    if stage == "hook.before_tool" and params["tool"] != "delegate":
        name = re.search("effects/([a-z]+-[0-9]+)", json.dumps(params["arguments"])).group(1)
        if name.startswith("never"):
            return {"action": "deny_tool", "reason": "never"}
        open("passed/" + name, "w").close()
    if stage == "hook.before_send":
        return {"action": "modify", "message": {"text": text + " (seen)"}}
    return {"action": "continue"}
"""
    + LOOP
)
"""A hook process: it keeps spam out, lets no tool do what is never to be done, and marks what it has seen go out."""
WORKER = (
    """\
import itertools, json, os, sys, time
os.chdir(sys.argv[1])
number = itertools.count()
parameters = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
described = {"name": "append", "description": "Leaves a file.", "parameters": parameters}
def said(stage, params):
    if stage == "hook.hello":
        return {"tools": [{"type": "function", "function": described}]}
    if stage != "hook.before_tool":
        return {}
    name = params["arguments"]["path"] + str(os.getpid()) + "-" + str(next(number))
    file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    os.write(file, b"%d\\n" % time.time_ns())
    os.fsync(file)
    os.write(file, b"%d\\n" % time.time_ns())
    os.close(file)
    return {"action": "respond", "result": {"for_llm": "left"}}
"""
    + LOOP
)
"""A tool process: each call leaves a file of its own, with when it began and when it ended."""
COMMAND = 'file=$(mktemp effects/{name}.XXXXXXXXXX) && date +%s%N > "$file" && sync "$file" && date +%s%N >> "$file"'
"""The same, by a command of the shell."""


def furnish(folder: Path, model: str, chats: str = "", *stages: str, store: str = "", turns: int = 4) -> Path:
    """All of it in this folder; the configuration's file. `chats`: channels and whom to ask, else those of the page.
    `stages`: where the guard stands, else everywhere. `store`: where the journal is, else in a file there. `turns`:
    so many at once."""
    for name in ("disk", "work/effects", "work/passed"):
        (folder / name).mkdir(parents=True)
    (folder / "guard.py").write_text(GUARD)
    (folder / "worker.py").write_text(WORKER)
    page = PAGE.format(users="\n".join(f'{user} = "{_HASH}"' for user in USERS))
    named = json.dumps(stages or ("on_message", "before_tool", "before_send"))
    file = folder / "hookgate.toml"
    text = CONFIG.format(
        folder=folder,
        model=model,
        python=sys.executable,
        turns=turns,
        store=store or f'journal = "{folder}/disk/journal.db"',
        chats=chats or page,
        stages=named,
    )
    file.write_text(text)
    return file


def answered(received: Received) -> Answer:
    """The model: it makes the call that the message asks for, once, and then says that it is done."""
    messages: list[dict[str, Any]] = received.body["messages"]
    kind, key = next(it["content"] for it in reversed(messages) if it["role"] == "user").split()
    name = key if kind in ("append-for", "careful-for") else f"{kind}-{key}"
    if kind == "say" or messages[-1]["role"] == "tool":
        return says("done ", key)
    if kind in HANDED:
        return calls((f"c-{key}", "delegate", json.dumps({"task": f"{HANDED[kind]} {name}"})))
    if kind.startswith("careful"):
        return calls((f"c-{key}", "bash", json.dumps({"command": COMMAND.format(name=name)})))
    return calls((f"c-{key}", "append", json.dumps({"path": f"effects/{name}."})))


@dataclass(frozen=True)
class Effects:
    """`ran`: how often each call has; `passed`: which of them the hook let pass. `spans`: each call that ended, with
    when it began and when it ended, in seconds."""

    ran: Counter[str]
    passed: frozenset[str]
    spans: tuple[tuple[str, float, float], ...]


def effects(*folders: Path) -> Effects:
    left = [it for folder in folders for it in (folder / "work" / "effects").iterdir()]
    passed = frozenset(it.name for folder in folders for it in (folder / "work" / "passed").iterdir())
    return Effects(Counter(map(_call, left)), passed, tuple(_spans(left)))


def _spans(left: list[Path]) -> Iterator[tuple[str, float, float]]:
    for file in left:
        match file.read_text().split():
            case [begin, end]:
                yield _call(file), int(begin) / 1e9, int(end) / 1e9
            case _:
                # It was cut off.
                pass


def _call(file: Path) -> str:
    return file.name.partition(".")[0]


def call_of(command: str) -> str:
    """Which call a person is asked about."""
    found = _LINE.search(command)
    assert found, command
    return found[1]
