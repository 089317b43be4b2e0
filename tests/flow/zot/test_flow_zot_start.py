"""Extensions at the start of the whole program: which are loaded, what a bad one costs, what each is told."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import trio

from tests.cli.program import (
    DEADLINE_S,
    HOOKGATE,
    PROMPT,
    configured,
    environment,
    leaves,
    none_left,
    open_pipes,
    open_terminal,
    processes_of,
    run,
)
from tests.cli.rpc_client import Frame, one, open_rpc, scripted, types
from tests.cli.zot.zot_folders import extension
from tests.flow.zot.zot_rules import DONE, alone, answers, asks, command, heard, note, on, ruled, text, tool
from tests.processes import running, until

NOWHERE = "http://127.0.0.1:9/v1"
TRUSTING = '[zot]\ntrust = "always"\n'
HELLO_MS = 700
HASTY = f"[zot]\nhello_timeout_ms = {HELLO_MS}\nstart_timeout_ms = {HELLO_MS}\n"


def said(frames: list[Frame]) -> str:
    """The text of the one tool result."""
    return one(frames, "tool_result")["content"][0]["text"]


async def test_a_mute_extension_holds_up_the_first_prompt_alone_and_then_is_gone(tmp_path: Path) -> None:
    mute = extension(tmp_path, "mute", mode="mute")
    async with open_rpc(scripted(tmp_path, more=HASTY), *alone(mute), command=(*HOOKGATE, "rpc")) as client:
        await client.send("prompt", id="1", message="go")
        assert (await client.ask("ping", id="2"))["id"] == "2"
        assert (await client.ask("get_state", id="3"))["data"]["busy"]
        frames = await client.done()
        assert (frames[0]["id"], types(frames)[-1]) == ("1", "done")
        await client.warned(f"extension load: {mute}: no hello within 0.7 s")
        # The guardian, which was started, and hookgate itself.
        ours = {client.process.pid, *(it.pid for it in running() if it.parent == client.process.pid)}
        await until(lambda: set(processes_of(tmp_path)) <= ours)


@pytest.mark.parametrize(
    ("first", "reason"),
    [
        ('{"type":"notify","level":"info","message":"early"}', 'first frame must be hello (got "notify")'),
        ("Starting up...", "parse hello: "),
    ],
)
async def test_what_does_not_begin_with_a_hello_is_named_and_the_others_work(
    tmp_path: Path, first: str, reason: str
) -> None:
    bad = extension(tmp_path, "bad", mode="first")
    manifest = json.loads((bad / "extension.json").read_text())
    manifest["args"][2] = json.dumps([first])
    (bad / "extension.json").write_text(json.dumps(manifest))
    good = ruled(tmp_path, "good", tool("city"))
    async with open_rpc(scripted(tmp_path, asks("city")), *alone(bad, good)) as client:
        await client.send("prompt", message="go")
        assert said(await client.done()) == "ok"
        assert await client.ends() == 0
        (line,) = (it for it in client.stderr.decode().splitlines() if reason in it or "zot:bad" in it)
        assert line.startswith(f"extension load: {bad}: {reason}")
    await none_left(tmp_path)


async def test_an_extension_knows_the_project_and_the_model_and_no_secret_of_the_program(tmp_path: Path) -> None:
    secrets = {"ZOTCORE_RPC_TOKEN": "s3cret", "OPENAI_API_KEY": "sk-mine"}
    folder, telling = extension(tmp_path, "env"), ruled(tmp_path, "told")
    manifest = json.loads((telling / "extension.json").read_text())
    (telling / "extension.json").write_text(json.dumps({**manifest, "name": "Named"}))
    async with open_rpc(scripted(tmp_path, asks("do", do="where")), *alone(folder, telling), env=secrets) as client:
        await client.send("hello", token="s3cret")
        await client.send("prompt", message="go")
        where = said(await client.done())
        assert json.loads(where)["cwd"] == str(folder)
        assert "s3cret" not in where
        assert "sk-mine" not in where
        assert await client.ends() == 0
    (ack,) = heard(telling, "hello_ack")
    del ack["zot_version"]
    assert ack == {
        "type": "hello_ack",
        "protocol_version": 1,
        "provider": "p",
        "model": "m",
        "cwd": str(tmp_path),
        "extension_dir": str(telling),
        "data_dir": str(telling),
    }


async def test_load_order_decides_who_has_a_tool_whichever_is_ready_first(tmp_path: Path) -> None:
    result = on("tool_call", answers(text("the slow one's")))
    slow = ruled(tmp_path, "slow", tool("city"), rules=(result,))
    manifest = json.loads((slow / "extension.json").read_text())
    shell = 'sleep 0.5; exec "$@"'
    manifest["exec"], manifest["args"] = "sh", ["-c", shell, "sh", manifest["exec"], *manifest["args"]]
    (slow / "extension.json").write_text(json.dumps(manifest))
    quick = ruled(tmp_path, "quick", tool("city"), tool("bash"))
    steps = (asks("city"), DONE, asks("bash", command="echo ours"))
    async with open_rpc(scripted(tmp_path, *steps), *alone(slow, quick)) as client:
        await client.send("prompt", message="one")
        assert said(await client.done()) == "the slow one's"
        await client.send("prompt", message="two")
        assert "ours" in said(await client.done())


async def test_named_beats_project_beats_own_beats_zots_and_each_name_runs_once(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    places = {
        "named": tmp_path / "elsewhere",
        "project": work / ".hookgate" / "extensions",
        "zots": work / ".zot" / "extensions",
        "own": tmp_path / ".local" / "share" / "hookgate" / "extensions",
        "home": tmp_path / ".local" / "state" / "zot" / "extensions",
    }
    for number, (place, folder) in enumerate(places.items()):
        for name in [f"n{later}" for later in range(number + 1)]:
            ruled(folder, name, command(f"{name}-of-{place}"))
    configured(work, NOWHERE, TRUSTING)
    command_line = [*HOOKGATE, "chat", "--ext", str(places["named"] / "n0")]
    with trio.fail_after(DEADLINE_S):
        ended = await trio.run_process(
            command_line, stdin=b"/help\n", capture_stdout=True, cwd=work, env=environment(tmp_path)
        )
    shown = sorted(word for word in ended.stdout.decode().split() if word.startswith("/") and "-of-" in word)
    assert shown == ["/n0-of-named", "/n1-of-project", "/n2-of-zots", "/n3-of-own", "/n4-of-home"]
    await none_left(tmp_path)


async def test_a_disabled_one_and_one_without_exec_keep_no_other_from_loading(tmp_path: Path) -> None:
    folder = tmp_path / ".zot" / "extensions"
    ruled(folder, "good", command("good"))
    ruled(folder, "off", command("off"), enabled=False)
    broken = ruled(folder, "broken", command("broken"), exec="")
    ended = await run(configured(tmp_path, NOWHERE, TRUSTING), "chat", stdin=b"/help\n")
    assert (ended.returncode, ended.stderr.decode()) == (0, f"extension load: {broken}: manifest: exec is required\n")
    assert b"/good" in ended.stdout
    assert b"/off" not in ended.stdout


async def test_a_chat_says_once_that_one_has_not_come_up(tmp_path: Path) -> None:
    bad = extension(tmp_path, "bad", mode="first")
    manifest = json.loads((bad / "extension.json").read_text())
    manifest["args"][2] = json.dumps(["Starting up..."])
    (bad / "extension.json").write_text(json.dumps(manifest))
    ended = await run(configured(tmp_path, NOWHERE), "chat", "--no-ext", "-e", str(bad), stdin=b"/quit\n")
    [line] = ended.stderr.decode().splitlines()
    assert line.startswith(f"extension load: {bad}: parse hello: ")


async def test_a_chat_says_whom_it_waits_for_and_begins_once_it_is_there(tmp_path: Path) -> None:
    cold = ruled(tmp_path, "cold", command("cold"))
    manifest = json.loads((cold / "extension.json").read_text())
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    command_line = [manifest["exec"], *manifest["args"]]
    waits = {"exec": "sh", "args": ["-c", f'read it < "{gate}"; exec "$@"', "sh", *command_line]}
    (cold / "extension.json").write_text(json.dumps({**manifest, **waits}))
    patient = "[zot]\nhello_timeout_ms = 60000\n"
    async with open_terminal(configured(tmp_path, NOWHERE, patient), "chat", "--no-ext", "-e", str(cold)) as screen:
        await screen.sees("waiting for the hello of cold")
        with trio.fail_after(DEADLINE_S):
            await trio.to_thread.run_sync(gate.write_text, "go\n", abandon_on_cancel=True)
        await screen.sees("1 extension")
        await leaves(screen, tmp_path)


async def test_stubborn_extensions_do_not_keep_a_chat_from_ending(tmp_path: Path) -> None:
    flags = [word for name in "abc" for word in ("-e", str(extension(tmp_path, name, mode="stubborn")))]
    async with open_pipes(configured(tmp_path, NOWHERE), "chat", "--no-ext", *flags) as screen:
        await screen.sees(PROMPT)
        await screen.type("/quit\n")
        assert await screen.ends() == 0
    await none_left(tmp_path)


async def test_a_note_at_the_start_waits_for_nobody(tmp_path: Path) -> None:
    folder = ruled(tmp_path, "early", note("up"))
    async with open_rpc(scripted(tmp_path), *alone(folder)) as client:
        assert await client.next() == {**note("up"), "type": "ext_notify", "extension": "early"}


async def test_variables_that_the_code_mentions_and_does_not_get_are_named_once_for_each_content(
    tmp_path: Path,
) -> None:
    folder = extension(tmp_path, "env")
    code = folder / "more.py"
    code.write_text(
        'import os\nos.environ["WEATHER_KEY"], os.getenv("PATH"), os.getenv("UNSET"), os.getenv("LEVEL")\n'
    )
    set_here = {"WEATHER_KEY": "k", "LEVEL": "1", "NODE_EXTRA_CA_CERTS": "/ca.pem", "ZOTCORE_RPC_TOKEN": ""}
    told = (
        "extension env: its code mentions WEATHER_KEY, which is set here and not handed to it; "
        '[zot.extensions.env] env_pass = ["WEATHER_KEY"] does that\n'
    )
    passing = '[zot.extensions.env]\nenv = { LEVEL = "2" }\n'
    both = passing + 'env_pass = ["OWN_TOKEN"]\n'

    async def said_at_start(more: str) -> str:
        async with open_rpc(
            scripted(tmp_path, asks("do", do="where"), more=more), *alone(folder), env=set_here
        ) as it:
            await it.send("prompt", message="go")
            sees = json.loads(said(await it.done()))["env"]
            assert (sees["LEVEL"], sees["TERM"], sees["NODE_EXTRA_CA_CERTS"]) == ("2", "xterm", "/ca.pem")
            assert ("WEATHER_KEY" in sees) is ('"WEATHER_KEY"' in more)
            assert await it.ends() == 0
            return it.stderr.decode()

    assert await said_at_start(passing) == told
    assert await said_at_start(passing) == ""
    with code.open("a") as more:
        more.write("# another content\n")
    with code.open("a") as more:
        more.write("# and another\n")
    # What stands in the list already stays there when the line is pasted over it.
    assert await said_at_start(both) == told.replace('["', '["OWN_TOKEN", "')
    code.write_text('os.getenv("WEATHER_KEY")')
    assert await said_at_start(f'{passing}env_pass = ["WEATHER_KEY"]\n') == ""
