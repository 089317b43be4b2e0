"""A gateway that goes on: what it takes over from its file, and what of a conversation it holds on to."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from hookgate.operations.hooks import reload_hooks
from hookgate.operations.refused import OperationRefused
from hookgate.protocol.chat import Chat, Inbound
from hookgate.serve.run import Served
from tests.serve.gateway import configured, open_served

CHAT = Chat("web", "ann", "ann", thread="1")
BEFORE = """
[channels.web]
kind = "web"
[gateway]
idle_s = 0.01
"""
AFTER = """
[channels.web]
kind = "web"
show_trace = true
show_errors = "full"
allow = ["bob", "role:ops"]
[people.ann]
ids = ["web:ann", "web:ann2"]
roles = ["ops"]
[agents.poet]
system = "Rhyme."
[[routes]]
channels = ["web"]
agent = "poet"
[[approvals]]
tools = ["bash"]
[gateway]
idle_s = 0.01
[log]
level = "error"
"""


async def say(served: Served, text: str) -> None:
    await served.runtime.gateway.receive(Inbound(CHAT, text))
    await served.runtime.gateway.idle(CHAT.session_key)


async def test_a_reload_takes_over_agents_routes_and_what_is_shown_and_names_the_rest(tmp_path: Path) -> None:
    async with open_served(configured(tmp_path, BEFORE)) as served:
        runtime = served.runtime
        await say(served, "hello")
        assert runtime.policies.refuses("web", "anybody") == ""
        assert runtime.gateway.sessions[CHAT.session_key].agent.name == "main"
        configured(tmp_path, AFTER)
        done = await reload_hooks(runtime)
        assert (done.approvals_changed, done.needs_restart) == (True, ("channels.web", "log"))
        assert runtime.policies("web").show_errors == "full"
        heard = [user for user in ("bob", "ann2", "ann", "eve", "owner") if not runtime.policies.refuses("web", user)]
        assert heard == ["bob", "ann2", "ann"]
        await say(served, "hello again")
        agent = runtime.gateway.sessions[CHAT.session_key].agent
        assert (agent.name, agent.system) == ("poet", "Rhyme.")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("[agents.poet]\nmodel = 1", "agents.poet.model: must be a string"),
        ('[agents.poet]\nmodel = "q/m"\n[providers.q]\nkind = "scripted"\nscript = "script.json"', "a new start"),
        ('[agents.poet]\nsystem = "x"\n[[routes]]\nagent = "pot"', "did you mean 'poet'?"),
        ("[", "hookgate.toml"),
    ],
)
async def test_a_reload_of_a_broken_file_changes_nothing(tmp_path: Path, more: str, said: str) -> None:
    async with open_served(configured(tmp_path, BEFORE)) as served:
        before = served.runtime.agents(CHAT)
        (tmp_path / "hookgate.toml").write_text((tmp_path / "hookgate.toml").read_text() + more)
        with pytest.raises(OperationRefused, match="nothing was changed") as refused:
            await reload_hooks(served.runtime)
        assert said in str(refused.value)
        assert served.runtime.agents(CHAT) is before


async def test_a_conversation_that_rests_is_let_go_of_and_goes_on_from_the_journal(tmp_path: Path) -> None:
    async with open_served(configured(tmp_path, BEFORE)) as served:
        gateway = served.runtime.gateway
        await say(served, "the first word")
        gateway.resting.look()
        await trio.sleep(0.02)
        gateway.resting.look()
        assert gateway.sessions == {}
        await say(served, "the second word")
        said = [it.content for it in gateway.sessions[CHAT.session_key].transcript.messages if it.role == "user"]
        assert said == ["the first word", "the second word"]
