"""What a person sees and types once a command has changed what guards hookgate."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import trio

from hookgate.control.client import ControlFailed, call
from tests.cli.program import PROMPT, configured, open_pipes, open_terminal, run
from tests.model_server import Answer, calls, open_model_server, says

OFF = '[tools]\nsandbox = "off"\n'
WHY = "changed while a command of a tool was running"
CHANGED = f"hookgate.toml {WHY}; look at it, then type `hookgate config accept`"


def bash(line: str) -> Answer:
    return calls(("c1", "bash", json.dumps({"command": line})))


async def test_a_changed_configuration_starts_nothing_until_a_person_has_accepted_it(tmp_path: Path) -> None:
    async with open_model_server(bash("echo '# more' >> hookgate.toml"), says("done"), says("again")) as server:
        folder = configured(tmp_path, server.base_url, OFF)
        first = await run(folder, "chat", "--once", "begin")
        assert (first.returncode, first.stdout) == (0, b"done\n")
        assert CHANGED in first.stderr.decode()
        second = await run(folder, "chat", "--once", "again")
        assert second.returncode != 0
        assert CHANGED in second.stderr.decode()
        unasked = await run(folder, "config", "accept")
        assert unasked.returncode == 1
        assert f"  {folder}/hookgate.toml: " in unasked.stdout.decode()
        accepted = await run(folder, "config", "accept", "--yes")
        assert accepted.returncode == 0
        third = await run(folder, "chat", "--once", "again")
        assert (third.returncode, third.stdout) == (0, b"again\n")
    assert b"Nothing that guards" in (await run(folder, "config", "accept")).stdout


@pytest.mark.parametrize(("answer", "starts"), [("y", True), ("", False)])
async def test_a_chat_on_a_terminal_asks(tmp_path: Path, answer: str, starts: bool) -> None:
    async with open_model_server(bash("echo '# more' >> hookgate.toml"), says("done")) as server:
        folder = configured(tmp_path, server.base_url, OFF)
        await run(folder, "chat", "--once", "begin")
        async with open_terminal(folder, "chat") as screen:
            await screen.sees(f"{folder}/hookgate.toml: ")
            await screen.sees("Go by them as they are now? [y/N] ")
            await screen.type(f"{answer}\n")
            if starts:
                await screen.line("/quit")
            else:
                await screen.sees(CHANGED)
            assert (await screen.ends() == 0) == starts


async def test_a_reload_takes_a_changed_file_over_once_it_is_accepted(tmp_path: Path) -> None:
    line = "printf '[[approvals]]\\ntools = [\"ls\"]\\n' >> hookgate.toml"
    async with open_model_server(bash(line), says("done")) as server:
        folder = configured(tmp_path, server.base_url, OFF)
        socket = tmp_path / "control" / "chat.sock"
        async with open_pipes(folder, "chat", "--control", str(socket)) as screen:
            await screen.line("begin")
            await screen.sees("done")
            await screen.sees(PROMPT)
            with pytest.raises(ControlFailed, match=WHY):
                await trio.to_thread.run_sync(call, socket, "hooks.reload", {})
            assert (await run(folder, "config", "accept", "--yes")).returncode == 0
            done = await trio.to_thread.run_sync(call, socket, "hooks.reload", {})
    assert done["approvals_changed"] is True
