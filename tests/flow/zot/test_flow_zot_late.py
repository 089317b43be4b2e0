"""Extensions that take long to say hello: prompts go on without them, a guard is not passed, and each end is told."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import trio

from hookgate.cli.terminal.printing import prompt_text
from tests.cli.program import DEADLINE_S, none_left, processes_of
from tests.cli.rpc_client import Client, Frame, one, open_rpc, scripted
from tests.cli.zot.test_zot_gateway import open_gateway
from tests.flow.zot.zot_rules import DONE, alone, asks, note, ruled, subscribe, tool
from tests.model_server import calls, says
from tests.processes import running, until

HASTY = "hello_timeout_ms = 100\n"
CONFIG = f'[guards]\nshell = "off"\n[zot]\n{HASTY}'
# Waits for a word before it becomes the program behind it, as `go run .` does until all is built.
GATE = 'read word < gate; [ "$word" = go ] || exit 3; exec "$@"'
BASH = asks("bash", command="echo ran")


def gated(directory: Path) -> Path:
    """It says nothing before `release` lets it."""
    os.mkfifo(directory / "gate")
    manifest = json.loads((directory / "extension.json").read_text())
    manifest["exec"], manifest["args"] = "sh", ["-c", GATE, str(directory), manifest["exec"], *manifest["args"]]
    (directory / "extension.json").write_text(json.dumps(manifest))
    return directory


async def release(directory: Path, word: str = "go") -> None:
    """Once it waits for the word."""
    with trio.fail_after(DEADLINE_S):
        write = (directory / "gate").write_text
        await trio.to_thread.run_sync(write, f"{word}\n", abandon_on_cancel=True)


async def noted(client: Client, begin: str) -> Frame:
    """The next note that begins so; of others nothing may come but `extension`'s own."""
    while not (frame := (await client.until("ext_notify"))[-1])["message"].startswith(begin):
        pass
    return frame


async def result(client: Client) -> tuple[bool, str]:
    """Of the one call of a prompt: whether it failed, and what the model read."""
    await client.send("prompt", message="go")
    said = one(await client.done(), "tool_result")
    return said["is_error"], said["content"][0]["text"]


async def test_one_that_is_late_keeps_no_prompt_waiting_and_its_tools_come_with_it(tmp_path: Path) -> None:
    late = gated(ruled(tmp_path, "late", tool("city")))
    steps = (asks("city"), DONE, asks("city"), DONE)
    async with open_rpc(scripted(tmp_path, *steps, more=CONFIG), *alone(late)) as client:
        assert await result(client) == (True, 'unknown tool "city"')
        line = f"extension load: {late}: no hello within 0.1 s; it goes on starting, for up to 300 s"
        assert line in await client.warned("goes on starting")
        await release(late)
        told = await noted(client, "it is there now")
        assert (told["extension"], told["level"]) == ("late", "info")
        assert told["message"].endswith(" s, with city")
        assert await result(client) == (False, "ok")
        assert await client.ends() == 0
    await none_left(tmp_path)


@pytest.mark.parametrize(
    ("known", "passes"),
    [
        ("nobody knows it", True),
        ("it ran before", False),
        ("its manifest says so", False),
        ("it may fail open", True),
    ],
)
async def test_nothing_passes_a_known_guard_that_is_not_there_yet(tmp_path: Path, known: str, passes: bool) -> None:
    announced = {"intercept": ["tool_call"]} if known == "its manifest says so" else {}
    guard = gated(ruled(tmp_path, "guard", subscribe("tool_call"), **announced))
    more = "[zot.extensions.guard]\nfail_closed = false\n" if known == "it may fail open" else ""
    folder = scripted(tmp_path, BASH, DONE, BASH, DONE, more=CONFIG + more)
    if known in ("it ran before", "it may fail open"):
        async with open_rpc(folder, *alone(guard)) as client:
            await release(guard)
            # Whether that was late or not, it is up when a prompt has waited for it or it has said so.
            await until(lambda: learnt(tmp_path))
            assert await client.ends() == 0
    async with open_rpc(folder, *alone(guard)) as client:
        failed, text = await result(client)
        assert failed is not passes
        assert ("ran" in text) is passes
        told = await client.warned("goes on starting")
        assert (
            "It guards, so until it is up nothing passes it; [zot.extensions.guard] fail_closed" in told
        ) is not passes
        if not passes:
            assert text.startswith(
                "Tool execution denied by hook: hook zot:guard failed at before_tool: it is starting"
            )
        await release(guard)
        await noted(client, "it is there now")
        failed, text = await result(client)
        assert (failed, "ran" in text) == (False, True)


def learnt(home: Path) -> bool:
    """What a guard intercepts is known for the next start."""
    files = (home / ".local" / "state" / "hookgate" / "extensions").glob("[!.]*.json")
    return any(json.loads(file.read_text())["intercepts"] for file in files)


async def test_what_a_late_one_could_not_judge_is_not_told_of_it_once_it_is_up(tmp_path: Path) -> None:
    guard = gated(ruled(tmp_path, "guard", subscribe("tool_call"), intercept=["tool_call"]))
    wanted = calls(("c1", "bash", json.dumps({"command": "echo ran"})))
    async with open_gateway(tmp_path, [guard], wanted, says("No."), config=CONFIG) as flow:
        assert await flow.say("go") == ["No."]
        assert prompt_text(flow.runtime) == "[zot:guard failing] > "
        await release(guard)
        extensions = flow.runtime.extensions
        assert extensions is not None
        await until(lambda: extensions.loaded(flow.runtime.mounts) == ("guard",))
        assert prompt_text(flow.runtime) == "> "


async def test_one_that_dies_meanwhile_is_told_of_and_started_again(tmp_path: Path) -> None:
    late = gated(ruled(tmp_path, "late", note("here I am")))
    async with open_rpc(scripted(tmp_path, more=CONFIG), *alone(late)) as client:
        await client.warned("goes on starting")
        await release(late, "no")
        told = await noted(client, "it did not come up")
        assert told == {
            **{"type": "ext_notify", "extension": "late", "level": "warn"},
            "message": "it did not come up: extension exited before hello: exit status 3",
        }
        await release(late)
        await noted(client, "here I am")


async def test_one_that_never_says_hello_is_given_up_and_its_group_is_gone(tmp_path: Path) -> None:
    mute = gated(ruled(tmp_path, "mute"))
    config = (
        f"{CONFIG}start_timeout_ms = 300\n[hooks.defaults]\nrestart_first_ms = 60000\nrestart_longest_ms = 60000\n"
    )
    async with open_rpc(scripted(tmp_path, more=config), *alone(mute)) as client:
        told = await noted(client, "it did not come up")
        assert told["message"] == "it did not come up: no hello within 0.3 s"
        # Hookgate itself, and the guardian that was started, have the folder among their words as well.
        ours = {client.process.pid, *(it.pid for it in running() if it.parent == client.process.pid)}
        await until(lambda: set(processes_of(mute)) <= ours)
        await client.send("prompt", message="go")
        assert (await client.done())[-1]["type"] == "done"


async def test_the_end_comes_before_its_hello(tmp_path: Path) -> None:
    late = gated(ruled(tmp_path, "late"))
    async with open_rpc(scripted(tmp_path, more=CONFIG), *alone(late)) as client:
        await client.warned("goes on starting")
        assert processes_of(late)
        assert await client.ends() == 0
        assert "did not come up" not in str(await client.rest())
    await none_left(tmp_path)


async def test_a_reload_comes_before_its_hello(tmp_path: Path) -> None:
    """What was said to the old process is the new one's not: it has to say hello itself."""
    late = gated(ruled(tmp_path, "late", tool("city")))
    async with open_gateway(tmp_path, [late], config=f"[zot]\n{HASTY}") as flow:
        runtime, extensions = flow.runtime, flow.runtime.extensions
        assert extensions is not None
        old = processes_of(late)
        assert old
        with trio.fail_after(DEADLINE_S):
            await extensions.reload(runtime.mounts)
        (problem,) = extensions.problems(runtime.mounts)
        assert "no hello within 0.1 s; it goes on starting" in problem
        await until(lambda: bool(processes_of(late)) and not set(processes_of(late)) & set(old))
        assert extensions.loaded(runtime.mounts) == ()
        await release(late)
        await until(lambda: extensions.loaded(runtime.mounts) == ("late",))
        assert "city" in runtime.tools.registry.snapshot().tools
        assert extensions.problems(runtime.mounts) == ()
