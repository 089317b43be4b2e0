"""hookgate as the agent of an editor that uses the official SDK; and every line that it writes there held against the
schema that the protocol publishes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import trio

from tests.acp.editors import scripted
from tests.cli.program import environment
from tests.examples.programs import BUNDLED_NODE
from tests.preloaded import preloaded

MODULES = Path(sys.prefix) / "acp-node" / "node_modules" / "@agentclientprotocol" / "sdk"
PROGRAM = Path(__file__).with_name("sdk_editor.mjs")
ASKS = '[[approvals]]\ntools = ["bash", "write", "edit"]\n[agents.other]\nmodel = "p/other"\n'
ANSWERS = ("Initialize", "NewSession", "Prompt", "Prompt", "CloseSession", "ListSessions", "LoadSession")


@pytest.fixture(autouse=True)
def _sdk() -> None:
    if not MODULES.exists():
        pytest.skip("the SDK is not installed: make .venv/.acp")


def faults(lines: list[dict[str, Any]]) -> list[str]:
    """What the schema has against these, each in the place where it stands."""
    schema = json.loads((MODULES / "schema" / "v1" / "schema.json").read_text())
    answers, found = iter(ANSWERS), list[str]()
    for line in lines:
        if "method" in line:
            asks = line["method"] == "session/request_permission"
            name, value = "RequestPermissionRequest" if asks else "SessionNotification", line["params"]
        else:
            name, value = f"{next(answers)}Response", line["result"]
        validator = jsonschema_rs.validator_for({"$ref": f"#/$defs/{name}", "$defs": schema["$defs"]})
        found += [f"{name}: {fault.message}" for fault in validator.iter_errors(value)]
    assert next(answers, None) is None
    return found


async def test_the_sdk_has_a_conversation_and_nothing_in_it_is_against_the_schema(tmp_path: Path) -> None:
    edits = [{"oldText": "one", "newText": "two"}]
    folder = scripted(
        tmp_path,
        {"calls": [{"name": "write", "arguments": {"path": "a.md", "content": "one"}, "id": "c1"}]},
        {"calls": [{"name": "edit", "arguments": {"path": "a.md", "edits": edits}, "id": "c1"}]},
        {"calls": [{"name": "bash", "arguments": {"command": "cat a.md; exit 3"}, "id": "c1"}]},
        {"reasoning": "Done, I think.", "text": "Written."},
        more=ASKS,
    )
    program = [*preloaded(), "acp", "--config", str(tmp_path / "hookgate.toml")]
    command = [str(BUNDLED_NODE), str(PROGRAM), str(MODULES / "dist" / "v1" / "stable" / "acp.js"), str(folder)]
    with trio.fail_after(60):
        ran = await trio.run_process(
            [*command, *program],
            stdin=subprocess.DEVNULL,
            capture_stdout=True,
            cwd=tmp_path,
            env=environment(tmp_path),
        )
    heard: list[dict[str, Any]] = [json.loads(line) for line in ran.stdout.splitlines()]
    lines = [it["line"] for it in heard if "line" in it]
    assert faults(lines) == []
    # What the SDK has handed on it has taken for what it is; the last may come when it has left.
    written = [it["params"]["update"] for it in lines if it.get("method") == "session/update"]
    told = [it["update"] for it in heard if "update" in it]
    assert told == written[: len(told)]
    assert len(written) - len(told) <= 1
    kinds = {it["sessionUpdate"] for it in written}
    assert kinds == {
        *("user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update"),
        *("available_commands_update", "session_info_update", "usage_update"),
    }
    assert {"stopReason": "end_turn"} in heard
    assert heard[-1] == {"status": 0}
    assert (folder / "a.md").read_text() == "two"
