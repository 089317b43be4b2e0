"""Tools whose program is away: while it starts again a model reads that they will be back, and that ends with it."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
import trio

from hookgate.assembly.extensions.extensions import Extensions
from hookgate.protocol.chat import Chat
from tests.cli.zot.test_zot_gateway import open_gateway
from tests.cli.zot.zot_folders import extension
from tests.flow.gateway import DEADLINE_S, Flow, child, open_flow
from tests.flow.test_flow_hooks import LOOP
from tests.flow.zot.test_flow_zot_late import gated, release
from tests.model_server import calls, says
from tests.processes import until

HASTY = "[zot]\nhello_timeout_ms = 100\n[hooks.defaults]\nrestart_first_ms = 1\n"
DO, CITY = calls(("1", "do", "{}")), calls(("1", "city", "{}"))
AWAY = """ERROR (transient) {1}: the {0} is starting again; its tool {1} will be back
Try again later, or go on without it."""
NOT_UP = "extension late is not up just now: /Tidy comes back with it"


def extensions(flow: Flow) -> Extensions:
    assert flow.runtime.extensions is not None
    return flow.runtime.extensions


def works(flow: Flow) -> bool:
    """The last call had the frames that the extension was sent for its result."""
    return "hello_ack" in flow.results()[-1]


async def up(flow: Flow) -> None:
    await until(lambda: extensions(flow).loaded(flow.runtime.mounts) == ("late",))


async def test_a_tool_of_a_crashed_extension_is_told_to_come_back_and_does(tmp_path: Path) -> None:
    late = gated(extension(tmp_path, "late"))
    both = calls(("1", "do", '{"do": "exit"}'), ("2", "do", "{}"))
    said = (DO, says("x"), both, DO, calls(("3", "nope", "{}")), says("x"), DO, says("x"))
    async with open_gateway(tmp_path, [late], *said, config=HASTY) as flow:
        await release(late)
        await up(flow)
        await flow.say("go")
        await flow.say("go")
        away = AWAY.format("extension late", "do")
        assert flow.results()[1:] == [
            "extension late/do failed: extension late disconnected",
            away,
            away,
            "ERROR (not_found) nope: there is no tool named 'nope'\nCheck the name.",
        ]
        await release(late)
        await up(flow)
        await flow.say("go")
        assert works(flow)


async def test_what_an_extension_brought_that_died_before_anybody_asked_for_it_is_told_to_come_back(
    tmp_path: Path,
) -> None:
    late = gated(extension(tmp_path, "late", {"type": "register_command", "name": "Tidy", "description": "Tidy up."}))
    async with open_gateway(tmp_path, [late], DO, says("x"), config=HASTY) as flow:
        await release(late)
        await up(flow)
        [hook] = [it for it in flow.runtime.mounts.hooks if it.pid]
        assert hook.pid is not None
        os.kill(hook.pid, signal.SIGKILL)
        await until(lambda: not extensions(flow).loaded(flow.runtime.mounts))
        await flow.say("go")
        assert flow.results() == [AWAY.format("extension late", "do")]
        listed = [it.name for it in flow.runtime.gateway.commands.listed(Chat("test", "1"))]
        assert "Tidy" in listed
        answer = await extensions(flow).roster.command("tidy", "")
        assert (answer.effect, answer.text) == ("error", NOT_UP)
        await release(late)
        await up(flow)
        assert (await extensions(flow).roster.command("tidy", "{}")).effect != "error"


async def test_a_tool_of_a_slow_extension_that_is_loaded_again_is_told_to_come_back(tmp_path: Path) -> None:
    late = gated(extension(tmp_path, "late"))
    async with open_gateway(tmp_path, [late], DO, says("x"), DO, says("x"), config=HASTY) as flow:
        await release(late)
        await up(flow)
        await flow.say("go")
        assert works(flow)
        with trio.fail_after(DEADLINE_S):
            await extensions(flow).reload(flow.runtime.mounts)
        await flow.say("go")
        assert flow.results()[1:] == [AWAY.format("extension late", "do")]
        await release(late)


async def test_a_tool_of_an_extension_that_is_loaded_no_more_is_unknown(tmp_path: Path) -> None:
    gone = extension(tmp_path, "gone")
    async with open_gateway(tmp_path, [gone], DO, says("x"), DO, says("x")) as flow:
        await flow.say("go")
        assert works(flow)
        (gone / "extension.json").unlink()
        await extensions(flow).reload(flow.runtime.mounts)
        await flow.say("go")
        assert flow.results()[1].startswith("ERROR (not_found) do: there is no tool")


SPEC = json.dumps(
    {"type": "function", "function": {"name": "city", "description": "city", "parameters": {"type": "object"}}}
)
HELLO = f'{{"ok": True, "tools": [{SPEC}]}}'
ADDS = f'{{"action": "modify", "request": {{**params, "tools": [*(params.get("tools") or []), {SPEC}]}}}}'


@pytest.mark.parametrize("declares", [True, False], ids=["declared", "added"])
async def test_a_tool_of_a_crashed_hook_is_told_to_come_back_and_does(tmp_path: Path, declares: bool) -> None:
    """Its third call ends it, and it starts again once somebody has said a word."""
    os.mkfifo(tmp_path / "gate")
    answers = (
        f'if method == "hook.hello":\n'
        f'        if os.path.exists("died"): open("gate").read()\n'
        f"        answer = {HELLO if declares else '{}'}\n"
        f'    elif method == "hook.before_llm": answer = {"{}" if declares else ADDS}\n'
        f'    elif method == "hook.before_tool" and params["arguments"].get("die"):\n'
        f'        open("died", "w").close(); os._exit(3)\n'
        f'    elif method == "hook.before_tool":\n'
        f'        answer = {{"action": "respond", "result": {{"for_llm": "ok"}}}}'
    )
    config = "[hooks.defaults]\nrestart_first_ms = 1\n" + child(
        "late", tmp_path / "late.py", LOOP % answers, 'intercept = ["before_llm", "before_tool"]'
    )
    dies = calls(("1", "city", '{"die": true}'), ("2", "city", "{}"))
    said = (CITY, says("x"), dies, CITY, says("x"), CITY, says("x"))
    async with open_flow(tmp_path, config, said) as flow:
        [hook] = flow.runtime.mounts.hooks
        await flow.say("go")
        await flow.say("go")
        away = AWAY.format("hook late", "city")
        first, died, *others = flow.results()
        assert (first, others) == ("ok", [away, away])
        assert "hook late did not respond" in died
        with trio.fail_after(DEADLINE_S):
            await trio.to_thread.run_sync((tmp_path / "gate").write_text, "go", abandon_on_cancel=True)
        await until(lambda: hook.state == "up")
        await flow.say("go")
        assert flow.results()[-1] == "ok"
