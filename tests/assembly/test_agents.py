"""Several agents of one configuration: what each inherits, and which chat talks to which."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hookgate import config as configuration
from hookgate.assembly.app import open_runtime
from hookgate.assembly.settings import Ports, Settings
from hookgate.config import ConfigError
from hookgate.protocol.chat import Chat, Inbound
from tests.loop.recording import CHAT, Room
from tests.model_server import calls, open_model_server, says

TWO = """
[agent]
model = "p/m"
system = "Be brief."
max_steps = 7
[agents.ops]
system = "You run the servers."
tools = ["read", "g*"]
[agents.poet]
model = "p/other"
system = ""
[channels.web]
kind = "web"
agent = "poet"
[[routes]]
channels = ["web"]
chats = ["ops-*"]
agent = "ops"
[providers.p]
kind = "openai"
base_url = "{url}"
[control]
enabled = false
"""


async def test_the_first_route_that_fits_names_the_agent_then_the_channel_then_agent_itself(tmp_path: Path) -> None:
    async with open_model_server() as server:
        config = configuration.parse(TWO.format(url=server.base_url), tmp_path / "hookgate.toml")
        async with open_runtime(Settings(config, tmp_path), Ports((Room([]),))) as runtime:
            found = [
                runtime.agents(chat) for chat in (Chat("web", "ops-1"), Chat("web", "1"), Chat("cli", "terminal"))
            ]
            assert [(it.name, it.model, it.system, it.max_steps) for it in found] == [
                ("ops", "p/m", "You run the servers.", 7),
                ("poet", "p/other", "", 7),
                ("main", "p/m", "Be brief.", 7),
            ]
            snapshot = found[0].registry.snapshot()
            assert [spec.name for spec in found[0].selection.of(snapshot, "web").specs] == ["glob", "grep", "read"]
            assert found[1].selection.of(snapshot, "web") is snapshot
            assert found[0].tally is found[1].tally is runtime.agent.tally


async def test_a_message_is_answered_by_the_model_of_the_agent_that_its_chat_is_routed_to(tmp_path: Path) -> None:
    async with open_model_server(says("a rhyme")) as server:
        text = TWO.format(url=server.base_url).replace("channels.web", "channels.test")
        config = configuration.parse(text, tmp_path / "hookgate.toml")
        room = Room([])
        async with open_runtime(Settings(config, tmp_path), Ports((room,))) as runtime:
            await runtime.gateway.receive(Inbound(CHAT, "hello"))
            await runtime.gateway.idle(CHAT.session_key)
        assert [it.text for it in room.sent] == ["a rhyme"]
        assert server.requests[0].body["model"] == "other"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ('[channels.web]\nkind = "web"\nagent = "opps"\n[agents.ops]', "channels.web.agent names the agent 'opps'"),
        ('[[routes]]\nagent = "x"\nchats = ["1"]', "routes.0.agent names the agent 'x', but there is no [agents.x]"),
        ('[agents.main]\nsystem = ""', "agents.main has the name of [agent]"),
        ('[agents.ops]\nmodel = "q/m"', "agents.ops.model names the provider 'q'"),
        (
            '[channels.web]\nkind = "wep"',
            "'slack', 'discord', 'openai' or 'webhook' (did you mean 'web'?)",
        ),
        ('[channels."a b"]\nkind = "web"', "a name may have letters, digits, _ . and - only"),
        ("[channels.web]", "channels.web.kind: is required"),
        ('[routes]\nagent = "main"', "there may be several: write it [[routes]]"),
    ],
)
def test_a_mistake_says_where_it_stands(wrong: str, said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        configuration.parse(wrong, Path("hookgate.toml"))
    assert said in str(raised.value)
    assert "at line" in str(raised.value)


BRINGS = """
import json, sys
def tool(name):
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}}
for line in sys.stdin:
    asked, answer = json.loads(line), {"action": "continue"}
    if asked["method"] == "hook.hello":
        answer = {"tools": [tool(name) for name in sys.argv[1].split(",")]}
    elif asked["method"] == "hook.before_llm":
        tools = [*asked["params"]["tools"], tool(sys.argv[2])]
        answer = {"action": "modify", "request": {"tools": tools}}
    elif asked["method"] == "hook.before_tool":
        answer = {"action": "respond", "result": {"for_llm": "done"}}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": answer}), flush=True)
"""
HOOKS = """
[hooks.processes.one]
command = ["{python}", "brings.py", "declared,kept_out", "added"]
intercept = ["before_llm", "before_tool"]
[hooks.processes.two]
command = ["{python}", "brings.py", "declared_too", "added_too"]
intercept = ["before_llm", "before_tool"]
[[tools.preferences]]
tools = ["kept_out"]
channels = ["test"]
enabled = false
"""


@pytest.mark.parametrize(
    ("agent", "tools"),
    [
        ('["read"]', ["read"]),
        ("[]", []),
        ('["read", "provider:hook:one"]', ["read", "declared", "added"]),
        ('["read", "declared*", "!provider:hook:one"]', ["read", "declared_too"]),
        ('["provider:hook:*"]', ["declared", "declared_too", "added", "added_too"]),
    ],
)
async def test_an_agent_has_no_tool_of_a_hook_that_is_not_among_its_own(
    tmp_path: Path, agent: str, tools: list[str]
) -> None:
    (tmp_path / "brings.py").write_text(BRINGS)
    called = calls(("c1", "declared", "{}"), ("c2", "added", "{}"))
    async with open_model_server(called, says("there")) as server:
        text = TWO.format(url=server.base_url).replace('["read", "g*"]', agent)
        text = text.replace("channels.web", "channels.test").replace('agent = "poet"', 'agent = "ops"')
        config = configuration.parse(text + HOOKS.format(python=sys.executable), tmp_path / "hookgate.toml")
        room = Room([])
        async with open_runtime(Settings(config, tmp_path), Ports((room,))) as runtime:
            await runtime.gateway.receive(Inbound(CHAT, "hello"))
            await runtime.gateway.idle(CHAT.session_key)
        first, last = (it.body for it in server.requests)
    assert [it["function"]["name"] for it in first.get("tools", ())] == tools
    results = [it["content"].partition("\n")[0] for it in last["messages"] if it["role"] == "tool"]
    absent = "ERROR (not_found) {0}: there is no tool named '{0}'"
    assert results == ["done" if name in tools else absent.format(name) for name in ("declared", "added")]
