"""Several agents of one configuration: what each inherits, and which chat talks to which."""

from __future__ import annotations

from pathlib import Path

import pytest

from hookgate import config as configuration
from hookgate.assembly.app import open_runtime
from hookgate.assembly.settings import Ports, Settings
from hookgate.config import ConfigError
from hookgate.protocol.chat import Chat, Inbound
from tests.loop.recording import CHAT, Room
from tests.model_server import open_model_server, says

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
