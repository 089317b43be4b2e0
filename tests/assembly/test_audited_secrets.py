"""The record of calls is for others too: none holds a secret, whether the call ran, was refused or never could."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hookgate import config as configuration
from hookgate.assembly.app import open_runtime
from hookgate.assembly.settings import Ports, Settings
from hookgate.protocol.approval import Decision
from hookgate.protocol.chat import Inbound
from hookgate.protocol.hook.answers import Respond
from hookgate.protocol.hook.match import Globs, Matcher
from hookgate.protocol.hook.stages import Stage
from hookgate.protocol.values import ToolResult
from hookgate.store.journal import open_journal
from hookgate.store.journal.audit.chain import links
from hookgate.store.journal.operators.looking import open_look
from tests.loop.calls.test_loop_audit import records
from tests.loop.recording import CHAT, Room, hook
from tests.model_server import calls, open_model_server, says

SECRET = "s3cr3t-value-4711"
GLOB = Matcher({"tools": Globs(("glob",))})
TEXT = """
[agent]
model = "p/m"
workspace = "{workspace}"
[providers.p]
kind = "openai"
base_url = "{url}"
[guards.redaction]
secret_env = ["DEPLOY_KEY"]
[[approvals]]
tools = ["write"]
[control]
enabled = false
"""


async def test_no_record_of_a_call_holds_a_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEPLOY_KEY", SECRET)
    write = {"path": "f", "content": SECRET}
    wanted = (
        ("bash", {"command": f"echo {SECRET} | sh"}),
        ("bash", {"command": f"echo {SECRET}"}),
        ("nothing", {"x": SECRET}),
        ("read", {"pathx": SECRET}),
        ("write", write),
        ("write", write),
        ("glob", {"pattern": SECRET}),
    )
    hooks = (hook("cache", {Stage.BEFORE_TOOL: Respond(ToolResult(f"{SECRET}.txt"))}, match=GLOB),)
    asked = calls(*((f"c{n}", name, json.dumps(arguments)) for n, (name, arguments) in enumerate(wanted)))
    broken = calls(("c9", "read", f'{{"path": {SECRET}'))
    room, file = Room([]), tmp_path / "j.db"
    room.answers = [Decision(True, "ann"), Decision(False, "ann", "no")]
    async with open_model_server(asked, broken, says("there")) as server, open_journal(file, "process") as journal:
        config = configuration.parse(TEXT.format(url=server.base_url, workspace=tmp_path), tmp_path / "hookgate.toml")
        async with open_runtime(Settings(config, tmp_path), Ports((room,), inside=hooks, journal=journal)) as runtime:
            await runtime.gateway.receive(Inbound(CHAT, "go"))
            await runtime.gateway.idle(CHAT.session_key)
    with open_look(file) as tables:
        chain = [(link.body, *(text for _, text in link.texts.values())) for link in links(tables)]
    outcomes = [it["outcome"] for it in records(file)]
    assert outcomes == ["denied", "ran", "not_run", "not_run", "ran", "denied", "answered", "not_run"]
    assert SECRET not in str(chain)
    assert str(chain).count("REDACTED") > len(outcomes)
    assert (tmp_path / "f").read_text() == SECRET
