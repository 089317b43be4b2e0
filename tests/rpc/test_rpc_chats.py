"""`hookgate rpc` for several chats: each has its conversation and its hooks, and who speaks is the client's word."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from hookgate.protocol.rpc.commands import Refused, read_request
from tests.cli.rpc_client import Client, Frame, one, open_rpc, scripted, types

ENDLESS: Frame = {"when": "endless", "text": "This reply never comes to its end", "hang": True}
BASH: Frame = {"calls": [{"name": "bash", "arguments": {"command": "echo ran >> runs"}, "id": "c1"}]}
SAID = {"text": "Said."}

# Refuses what is done in one chat, and writes down where it is asked.
GUARD = """
import json, sys
for line in sys.stdin:
    call = json.loads(line)
    if call["method"] == "hook.hello":
        result = {"ok": True, "name": "guard", "modes": ["tool"]}
    else:
        with open("asked.jsonl", "a") as asked:
            print(json.dumps(call["params"]["context"]["inbound"]), file=asked)
        result = {"action": "deny_tool", "reason": "not in this room"}
    if "id" in call:
        print(json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": result}), flush=True)
"""


def guarded(folder: Path, *steps: Frame, more: str = "") -> Path:
    (folder / "guard.py").write_text(GUARD)
    hook = (
        f'[guards]\nshell = "off"\n[hooks.processes.guard]\ncommand = ["{sys.executable}", "guard.py"]\n'
        'intercept = ["before_tool"]\nmatch = { chats = ["ops"] }\n'
    )
    return scripted(folder, *steps, more=hook + more)


async def there(client: Client, chat_id: str) -> list[Frame]:
    """What is told of this chat, up to `done`; nothing of any other may come."""
    frames = await client.done()
    assert {frame.get("chat_id") for frame in frames if frame["type"] != "response"} == {chat_id}
    return frames


async def test_chats_run_side_by_side_and_their_events_name_them(tmp_path: Path) -> None:
    async with open_rpc(scripted(tmp_path, ENDLESS, {"when": "quick", "text": "Quick."})) as client:
        await client.send("prompt", id="1", message="endless", chat_id="a:1", thread="t")
        first = await client.until("text_delta")
        assert (first[-1]["chat_id"], first[-1]["thread"]) == ("a:1", "t")
        await client.send("prompt", id="2", message="quick", chat_id="b")
        frames = [frame for frame in await client.done() if frame.get("chat_id") != "a:1"]
        assert {frame.get("chat_id") for frame in frames if frame["type"] != "response"} == {"b"}
        assert one(frames, "assistant_message")["content"][0]["text"] == "Quick."
        assert "thread" not in frames[-1]
        # Neither is anything of the other's, nor of the one without a name.
        busy = {name: await state(client, chat_id=name, thread=thread) for name, thread in (("a:1", "t"), ("b", ""))}
        assert {name: (it["busy"], it["message_count"]) for name, it in busy.items()} == {
            "a:1": (True, 1),
            "b": (False, 2),
        }
        assert (await state(client))["message_count"] == 0
        assert (await client.ask("abort", id="3", chat_id="b"))["success"]
        assert (await client.ask("abort", id="4"))["success"]
        assert (await state(client, chat_id="a:1", thread="t"))["busy"]
        await client.send("abort", id="5", chat_id="a:1", thread="t")
        frames = await client.done()
        assert one(frames, "turn_end")["stop"] == "aborted"
        await client.send("prompt", message="quick")
        assert not [frame for frame in await client.done() if "chat_id" in frame]
        assert await client.ends() == 0


async def state(client: Client, **where: str) -> Frame:
    return (await client.ask("get_state", **where))["data"]


async def test_hooks_of_one_chat_are_asked_there_alone_and_read_who_speaks(tmp_path: Path) -> None:
    steps: list[Frame] = [{**BASH, "when": "go"}, {"on": "tool", "when": "", "text": "So."}]
    async with open_rpc(guarded(tmp_path, *steps)) as client:
        where = {"chat_id": "ops", "chat_type": "group", "sender": "alice", "thread": "7"}
        await client.send("prompt", message="go", **where)
        assert "not in this room" in one(await there(client, "ops"), "tool_result")["content"][0]["text"]
        await client.send("prompt", message="go", chat_id="other", sender="alice")
        assert not one(await there(client, "other"), "tool_result")["is_error"]
    (asked,) = map(json.loads, (tmp_path / "asked.jsonl").read_text().splitlines())
    assert asked == {
        **{"channel": "rpc", "kind": "rpc", "chat_id": "ops", "chat_type": "group", "topic_id": "7"},
        **{"sender_id": "alice", "account": "user"},
    }


BOSS = '[people.boss]\nids = ["rpc:boss"]\nroles = ["approver", "operator"]\n[[approvals]]\ntools = ["bash"]\n'


@pytest.mark.parametrize(
    ("rule", "where"),
    [
        ('approvers = ["boss"]\nself_approval = true\n', {"sender": "boss"}),
        ('approvers = ["role:operator"]\nself_approval = true\n', {"sender": "boss", "chat_id": "x"}),
        ("", {"sender": "boss", "chat_id": "x", "chat_type": "group"}),
    ],
)
async def test_a_sender_that_a_client_names_may_decide_nothing(
    tmp_path: Path, rule: str, where: dict[str, Any]
) -> None:
    """It is the program that answers, whoever it says that it is."""
    ttl = "ttl_s = 1\n"
    folder = guarded(tmp_path, BASH, SAID, more=BOSS + rule + ttl)
    async with open_rpc(folder, "--rpc-approvals") as client:
        await client.send("prompt", message="go", **where)
        frames = [await client.next()]
        while frames[-1]["type"] != "done":
            if frames[-1]["type"] == "approval_request":
                await client.send("approve", approval=frames[-1]["approval"], approved=True)
            frames.append(await client.next())
        assert one(frames, "tool_result")["is_error"]
    assert not (tmp_path / "runs").exists()


async def test_by_its_word_no_client_gets_past_a_rule_that_excepts_a_sender(tmp_path: Path) -> None:
    folder = guarded(tmp_path, BASH, SAID, more=BOSS + 'senders = ["!boss"]\n')
    async with open_rpc(folder) as client:
        await client.send("prompt", message="go", sender="boss", chat_id="x")
        assert "approval" in one(await there(client, "x"), "tool_result")["content"][0]["text"]
    assert not (tmp_path / "runs").exists()


async def test_a_yes_for_one_who_speaks_in_a_chat_is_none_for_the_next(tmp_path: Path) -> None:
    """As in any group: the calls of one person."""
    script: list[Frame] = [BASH, SAID, BASH, SAID, BASH, SAID]
    asks = '[[approvals]]\ntools = ["bash"]\n'
    async with open_rpc(guarded(tmp_path, *script, more=asks), "--rpc-approvals") as client:
        asked = list[str]()
        for sender in ("alice", "alice", "bob"):
            await client.send("prompt", message="go", chat_id="x", sender=sender)
            frames = [await client.next()]
            while frames[-1]["type"] != "done":
                if frames[-1]["type"] == "approval_request":
                    asked.append(sender)
                    assert frames[-1]["chat_id"] == "x"
                    approval = frames[-1]["approval"]
                    await client.send("approve", approval=approval, approved=True, grant="session")
                frames.append(await client.next())
        assert asked == ["alice", "bob"]


async def test_a_chat_has_its_own_model_queue_and_transcript(tmp_path: Path) -> None:
    async with open_rpc(scripted(tmp_path)) as client:
        assert (await client.ask("set_model", model="other", chat_id="a"))["data"]["model"] == "other"
        await client.send("prompt", message="hello", chat_id="a")
        await there(client, "a")
        assert (await state(client, chat_id="a"))["model"] == "other"
        assert (await state(client))["model"] == (await state(client, chat_id="b"))["model"] == "m"
        assert len((await client.ask("get_messages", chat_id="a"))["data"]["messages"]) == 2
        assert (await client.ask("get_messages"))["data"]["messages"] == []
        assert (await client.ask("clear", chat_id="a"))["success"]
        assert (await client.ask("get_messages", chat_id="a"))["data"]["messages"] == []


async def test_before_anything_is_open_a_chat_has_the_model_of_the_agent_that_its_route_names(tmp_path: Path) -> None:
    more = """
[agents.ops]
model = "other/o"
options = { reasoning_effort = "high" }
[[routes]]
channels = ["rpc"]
chats = ["ops*"]
agent = "ops"
[providers.other]
kind = "scripted"
script = "script.json"
[hooks.processes.slow]
command = ["sleep", "60"]
intercept = ["before_tool"]
"""
    async with open_rpc(scripted(tmp_path, more=more)) as client:
        shown = [await state(client, **chat) for chat in ({"chat_id": "ops1"}, {})]
        assert [(it["provider"], it["model"], it["reasoning"]) for it in shown] == [
            ("other", "o", "high"),
            ("p", "m", ""),
        ]
        assert (await client.ask("set_model", model="x", chat_id="ops1"))["success"]
        assert (await state(client, chat_id="ops1"))["provider"] == "other"


@pytest.mark.parametrize(
    ("members", "error"),
    [
        ({"chat_type": "crowd"}, "chat_type must be one of direct, group, channel, not 'crowd'"),
        ({"chat_id": 7}, "chat_id must be a string"),
        ({"sender": ["x"]}, "sender must be a string"),
        ({"thread": "x" * 201}, "thread must have at most 200 characters, all of which can be seen"),
        ({"chat_id": "a\nb"}, "chat_id must have at most 200 characters, all of which can be seen"),
    ],
)
def test_what_names_no_chat_is_refused(members: dict[str, Any], error: str) -> None:
    for command in ("prompt", "abort", "clear", "ext_command"):
        request = read_request(json.dumps({"id": "1", "type": command, "message": "go", **members}).encode())
        assert (request.id, request.name, request.command) == ("1", command, Refused(error))


async def test_chats_of_a_kept_conversation_are_there_again(tmp_path: Path) -> None:
    folder = scripted(tmp_path, {"text": "One."}, {"text": "Two."}, more='[store]\njournal = "journal.db"\n')
    async with open_rpc(folder, "--session", "bot") as client:
        for chat_id in ("a", "b"):
            await client.send("prompt", message=f"in {chat_id}", chat_id=chat_id)
            await there(client, chat_id)
        assert await client.ends() == 0
    async with open_rpc(folder, "--session", "bot") as client:
        said = (await client.ask("get_messages", chat_id="b"))["data"]["messages"]
        assert [it["content"][0]["text"] for it in said] == ["in b", "Two."]
        assert (await client.ask("get_messages"))["data"]["messages"] == []
        assert types([await client.ask("ping")]) == ["response"]
