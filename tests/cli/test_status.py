"""`hookgate status` as an operator types it: what is wrong comes first, for people, for scripts and live."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from pathlib import Path
from typing import Any

import trio

from hookgate.cli.printing import lasting
from tests.cli.program import PROMPT, open_pipes, open_terminal, run
from tests.serve.gateway import configured
from tests.serve.started import says, serving

WORKS = Path(__file__).parents[2] / "plugins" / "python" / "audit_log.py"
MORE = """
[channels.web]
kind = "web"
[[approvals]]
tools = ["ls"]
[hooks.processes.audit]
command = ["sh", "-c", "[ -e broken ] && exit 3; exec {python} {works}"]
observe = ["turn_end"]
"""
SCRIPT = '{"steps": [{"when": "list", "calls": [{"name": "ls", "arguments": {}}]}]}'


async def told(folder: Path) -> tuple[int, Any]:
    ended = await run(folder, "status", "--json")
    return ended.returncode, json.loads(ended.stdout)


async def test_what_is_wrong_comes_first_for_people_for_scripts_and_live(tmp_path: Path) -> None:
    settings = configured(tmp_path, MORE.format(python=sys.executable, works=WORKS), SCRIPT)
    assert settings.file is not None
    settings.file.write_text(settings.file.read_text().replace("[control]\nenabled = false\n", ""))
    async with serving(tmp_path) as (process, client):
        await client.post("/api/chats/c/messages", json=says("list what is here"))
        status = 0, {"approvals": []}
        with trio.fail_after(120):
            while not status[1]["approvals"] or status[1]["hooks"][-1]["state"] != "up":
                status = await told(tmp_path)
        assert (status[0], status[1]["problems"], status[1]["turns"][0]["doing"]) == (0, [], "person")
        fine = await run(tmp_path, "status")
        first, second, *rest = fine.stdout.decode().splitlines()
        assert (fine.returncode, second) == (0, "Nothing is wrong.")
        assert first.startswith("hookgate ")
        assert first.endswith(f"with {settings.file}")
        # Where a file says whose gateway is meant, another's is no answer; elsewhere it is.
        other = tmp_path / "other"
        other.mkdir()
        strange = await run(other, "status", home=tmp_path)
        assert strange.returncode == 0
        found = await run(other, "where", "what is HERE", home=tmp_path)
        assert found.stdout.startswith(b"M1 in web:owner:c/main/0 is held up, and waits for a person: ")
        # A socket that is named is asked, whatever file stands here; where none answers, none is.
        [socket] = re.findall(r"at (\S+/[0-9]+\.sock)", strange.stdout.decode())
        (other / "hookgate.toml").write_text("")
        named = await run(other, "where", "what is HERE", "--control", socket, home=tmp_path)
        assert (named.returncode, named.stdout) == (0, found.stdout)
        missing = await run(other, "where", "--control", "none.sock", home=tmp_path)
        assert (missing.returncode, missing.stdout) == (1, b"")
        assert missing.stderr == b"hookgate: no hookgate is running at none.sock\n"
        down = await run(other, "status", home=tmp_path)
        assert (down.returncode, down.stdout) == (2, b"")
        said = f"hookgate: no hookgate of {other}/hookgate.toml is running; another runs at "
        assert down.stderr.decode().startswith(said)
        [turn] = [line for line in rest if line.startswith("  M1  web:owner:c  main  ")]
        assert "waits for a person to decide about ls" in turn
        asked = await run(tmp_path, "where", "what is HERE")
        where, *steps = asked.stdout.decode().splitlines()
        assert where.startswith("M1 in web:owner:c/main/0 is held up, and waits for a person: ")
        assert where.endswith(": list what is here")
        assert [it.split()[-1] for it in steps] == ["accepted", "running", "waiting"]
        [found] = json.loads((await run(tmp_path, "where", "owner", "--json")).stdout)
        assert (found["message"], found["waits_for"][:12]) == ("M1", "for a person")
        [request] = status[1]["approvals"]
        async with open_terminal(tmp_path, "status", size=(60, 50)) as screen:
            assert await screen.ends() == 0
            await screen.sees("\n  ends      a no in ")
            assert f"\n  request   {request['request']}\n  session   web:owner:c\n" in screen.shown
        async with open_terminal(tmp_path, "approvals", size=(60, 36)) as screen:
            assert await screen.ends() == 0
            await screen.sees(f"  request    {request['request']}\n")
            await screen.sees("  arguments  {}\n")
        async with open_terminal(tmp_path, "status", "--watch", size=(12, 60)) as screen:
            await screen.sees("Nothing is wrong.")
            (tmp_path / "broken").touch()
            os.kill(status[1]["hooks"][-1]["pid"], signal.SIGKILL)
            await screen.sees("WRONG: hook audit is quarantined")
            await screen.sees("more lines")
            shown = screen.window(12, 60)
            assert len(shown) <= 12
            assert shown[0].startswith("hookgate ")
            await screen.type("\x03")
            assert await screen.ends() == 0
            assert screen.raw.endswith("\x1b[?25h\x1b[?1049l")
            assert screen.raw.count("\x1b[?1049h") == screen.raw.count("\x1b[?1049l") == 1
            assert "Traceback" not in screen.raw
        wrong = await run(tmp_path, "status")
        assert wrong.returncode == 1
        assert wrong.stdout.decode().splitlines()[1].startswith("WRONG: hook audit is quarantined: ")
        assert (await told(tmp_path))[0] == 1
        process.terminate()
    none = await run(tmp_path, "status")
    assert (none.returncode, none.stdout) == (2, b"")
    assert none.stderr.decode().startswith("hookgate: no hookgate is running")


async def test_of_a_gateway_and_a_chat_of_one_configuration_the_gateway_is_meant(tmp_path: Path) -> None:
    settings = configured(tmp_path, '[channels.web]\nkind = "web"\n', SCRIPT)
    assert settings.file is not None
    settings.file.write_text(settings.file.read_text().replace("[control]\nenabled = false\n", ""))
    async with serving(tmp_path) as (process, _client):
        alone = (await told(tmp_path))[1]["pid"]
        async with open_pipes(tmp_path, "chat") as screen:
            await screen.sees(PROMPT)
            asked = ("status", "--json"), ("control", "gateway.about"), ("channels", "--json")
            status, about, channels = [json.loads((await run(tmp_path, *words)).stdout) for words in asked]
            # Nor does a chat stand before the gateway for whoever looks from elsewhere.
            (elsewhere := tmp_path / "elsewhere").mkdir()
            strange = json.loads((await run(elsewhere, "status", "--json", home=tmp_path)).stdout)
            await screen.type("/quit\n")
            assert await screen.ends() == 0
        process.terminate()
    assert (status["pid"], about["pid"], channels[0]["name"], strange["pid"]) == (alone, alone, "web", alone)


def test_a_time_is_said_in_its_two_largest_units() -> None:
    said = [lasting(it) for it in (-1, 0, 59.4, 60, 3600, 3661, 90_000, 86_400)]
    assert said == ["0 s", "0 s", "59 s", "1 min", "1 h", "1 h 1 min", "1 d 1 h", "1 d"]
