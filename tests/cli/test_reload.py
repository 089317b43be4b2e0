"""`hooks.reload` over the control socket of a running chat: what it takes over, and what it says it does not."""

from __future__ import annotations

import json
from pathlib import Path

import trio

from hookgate.control.client import call
from hookgate.protocol.values import JsonObject
from tests.cli.program import PROMPT, configured, hook, open_pipes
from tests.model_server import open_model_server, says

RULE = '\n[[approvals]]\nname = "lists"\ntools = ["ls"]\n'


async def test_a_reload_takes_over_rules_and_names_what_needs_a_restart(tmp_path: Path) -> None:
    async with open_model_server(says("hello")) as server:
        folder = configured(tmp_path, server.base_url, hook(tmp_path, "guard", 'intercept = ["before_tool"]'))
        socket = tmp_path / "control" / "chat.sock"
        async with open_pipes(folder, "chat", "--control", str(socket)) as screen:
            await screen.sees(PROMPT)
            nothing = await _reload(socket)
            file = folder / "hookgate.toml"
            file.write_text(file.read_text().replace("[agent]", "[agent]\nmax_steps = 7") + RULE)
            something = await _reload(socket)
            again = await _asked(socket, "hooks.restart", {"name": "guard"})
    assert nothing == {
        **{"added": [], "dropped": [], "restarted": [], "changed": []},
        **{"approvals_changed": False, "needs_restart": [], "gateways": []},
    }
    assert again == {"restarted": ["guard"]}
    assert something["approvals_changed"] is True
    assert something["needs_restart"] == ["agent"]


async def test_a_hook_is_told_of_the_workspace_in_which_tools_go_on_working(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    async with open_model_server(says("hello")) as server:
        folder = configured(tmp_path, server.base_url, hook(tmp_path, "guard", 'intercept = ["before_tool"]'))
        socket = tmp_path / "control" / "chat.sock"
        async with open_pipes(folder, "chat", "--control", str(socket)) as screen:
            await screen.sees(PROMPT)
            file = folder / "hookgate.toml"
            file.write_text(file.read_text().replace("[agent]", f'[agent]\nworkspace = "{tmp_path}/elsewhere"'))
            moved = await _reload(socket)
    assert (moved["restarted"], moved["needs_restart"]) == ([], ["agent"])


async def _reload(socket: Path) -> dict[str, object]:
    return await _asked(socket, "hooks.reload", {})


async def _asked(socket: Path, method: str, params: JsonObject) -> dict[str, object]:
    with trio.fail_after(20):
        return json.loads(json.dumps(await trio.to_thread.run_sync(call, socket, method, params)))
