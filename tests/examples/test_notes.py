"""The notes extension in TypeScript without an SDK, on the Node of this machine and on the bundled one."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from hookgate.protocol.zot.reading import read_frame
from tests.examples.programs import BUNDLED_NODE, nodes
from tests.examples.zot_host import Host, argv, open_ready, texts

NOTES = Path(__file__).parents[2] / "examples" / "extensions" / "notes"
TIME = r"\d{4}-\d\d-\d\dT[0-9:.]+Z"


@pytest.fixture(params=nodes())
def node(request: pytest.FixtureRequest) -> str:
    return nodes()[request.param]


@asynccontextmanager
async def open_notes(node: str, project: Path) -> AsyncGenerator[Host]:
    # The manifest's `node` is looked up on PATH.
    env = {"PATH": os.pathsep.join([str(Path(node).parent), os.environ["PATH"]])}
    async with open_ready(argv(NOTES), NOTES, env, str(project)) as host:
        yield host


async def test_notes_are_kept_shown_read_by_the_model_and_forgotten(node: str, tmp_path: Path) -> None:
    async with open_notes(node, tmp_path) as host:
        assert [read_frame(frame).type for frame in host.frames] == [
            *("hello", "register_command", "register_command", "register_command", "register_tool")
        ]
        assert await host.command("note", "buy milk") == {"action": "display", "display": "noted (#1): buy milk"}
        assert (await host.command("note", "call\u2028Ada"))["display"] == "noted (#2): call\u2028Ada"
        shown = (await host.command("notes"))["display"]
        assert re.fullmatch(rf"1\. \[{TIME}\] buy milk\n2\. \[{TIME}\] call\u2028Ada", shown)
        assert texts(await host.tool("read_notes")) == [shown]
        file = tmp_path / ".zot" / "scratchpad-notes.jsonl"
        kept = [json.loads(line)["text"] for line in file.read_bytes().splitlines()]
        assert kept == ["buy milk", "call\u2028Ada"]
        assert await host.command("clear-notes") == {"action": "display", "display": "scratchpad cleared"}
        assert (await host.command("notes"))["display"] == "(scratchpad is empty)"
        assert await host.shutdown() == 0
    assert host.child.stderr == ""


async def test_a_note_without_text_is_an_error(node: str, tmp_path: Path) -> None:
    async with open_notes(node, tmp_path) as host:
        assert await host.command("note") == {"action": "noop", "error": "note: usage is /note <text>"}
        assert texts(await host.tool("read_notes")) == ["(scratchpad is empty)"]
        assert not (tmp_path / ".zot").exists()


async def test_notes_that_cannot_be_read_are_told_and_noise_is_skipped(node: str, tmp_path: Path) -> None:
    (tmp_path / ".zot" / "scratchpad-notes.jsonl").mkdir(parents=True)
    async with open_notes(node, tmp_path) as host:
        await host.child.send_raw(b'garbage\nnull\n\n{"type":"later"}\n')
        assert "EISDIR" in (await host.command("notes"))["error"]
        assert (await host.tool("read_notes"))["is_error"] is True
        assert "no tool other here" in texts(await host.tool("other"))[0]


async def test_a_burst_of_notes_is_kept_in_order(node: str, tmp_path: Path) -> None:
    async with open_notes(node, tmp_path) as host:
        frames = [{"type": "command_invoked", "id": f"n{n}", "name": "note", "args": f"{n}"} for n in range(50)]
        await host.send(*frames)
        shown = [(await host.until("command_response", f"n{n}"))["display"] for n in range(50)]
    assert shown == [f"noted (#{n + 1}): {n}" for n in range(50)]


def test_the_copy_without_types_is_the_one_that_strip_writes(tmp_path: Path) -> None:
    target = tmp_path / "index.mjs"
    subprocess.run([BUNDLED_NODE, "--no-warnings", str(NOTES / "strip.mjs"), str(target)], timeout=30, check=True)
    assert target.read_text() == (NOTES / "index.mjs").read_text()
