"""`hookgate rpc` with zot extensions: their notes, panels and commands as events, and what they are not told."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.cli.program import DEADLINE_S, none_left
from tests.cli.rpc_client import Client, Frame, one, open_rpc, scripted, types
from tests.cli.zot.zot_folders import EXTENSION, extension, panel_extension, tool

NOTE = {"type": "notify", "level": "warn", "message": "take care"}


def alone(*folders: Path) -> tuple[str, ...]:
    """Flags that load these and search for no others."""
    return ("--no-ext", *(word for folder in folders for word in ("--ext", str(folder))))


async def ordered(client: Client, wish: str, **members: Any) -> list[Frame]:
    """The frames up to the response of the extension's command."""
    await client.send("ext_command", id="1", name="/do", args=wish, **members)
    return await client.until("response")


async def test_the_tools_of_an_extension_are_the_models(tmp_path: Path) -> None:
    calls: Frame = {"calls": [{"name": "do", "arguments": {"do": "say"}, "id": "c1"}]}
    async with open_rpc(scripted(tmp_path, calls), *alone(extension(tmp_path, "ext"))) as client:
        await client.send("prompt", message="go")
        result = one(await client.done(), "tool_result")
        assert (result["is_error"], result["content"]) == (False, [{"type": "text", "text": '"after"'}])
        assert await client.ends() == 0
    await none_left(tmp_path)


async def test_without_tools_only_those_of_extensions_that_are_named_are_there(tmp_path: Path) -> None:
    folder = extension(tmp_path, "ext", tool("other"))
    steps: list[Frame] = [{"calls": [{"name": name, "arguments": {}, "id": name}]} for name in ("other", "do", "ls")]
    async with open_rpc(scripted(tmp_path, *steps), *alone(folder), "--no-tools", "--tools", "do") as client:
        await client.send("prompt", message="go")
        results = {f["id"]: f["is_error"] for f in await client.done() if f["type"] == "tool_result"}
        assert results == {"other": True, "do": False, "ls": True}


async def test_a_command_is_answered_and_then_has_its_effect(tmp_path: Path) -> None:
    async with open_rpc(scripted(tmp_path), *alone(extension(tmp_path, "ext"))) as client:
        assert (await ordered(client, "x"))[-1]["data"] == {"action": "display"}
        assert await client.next() == {"type": "ext_display", "extension": "ext", "text": "Do x"}
        assert (await ordered(client, '{"answer": {"action": "noop"}}'))[-1]["data"] == {"action": "noop"}
        failed = (await ordered(client, '{"answer": {"error": "no luck"}}'))[-1]
        assert (failed["success"], failed["error"]) == (False, "extension /Do: no luck")
        frames = await ordered(client, '{"answer": {"action": "prompt", "prompt": "say this"}}')
        assert frames[-1]["data"] == {"action": "prompt"}
        frames = await client.done()
        assert types(frames)[0] == "user_message"
        assert one(frames, "user_message")["content"][0]["text"] == "say this"


async def test_notes_are_events_and_come_before_the_response_that_follows_them(tmp_path: Path) -> None:
    async with open_rpc(scripted(tmp_path), *alone(extension(tmp_path, "ext"))) as client:
        wish = '{"frames": [{"type": "notify", "level": "success", "message": "well"}, {"type": "clear_notes"}]}'
        frames = await ordered(client, wish)
        note = {"type": "ext_notify", "extension": "ext", "level": "success", "message": "well"}
        assert frames[:2] == [note, {"type": "ext_clear_notes", "extension": "ext"}]


async def test_what_is_noted_before_hello_with_the_token_comes_after_it(tmp_path: Path) -> None:
    env = {"ZOTCORE_RPC_TOKEN": "s3cret"}
    folder = extension(tmp_path, "ext", NOTE)
    async with open_rpc(scripted(tmp_path), *alone(folder), env=env) as client:
        hello = await client.ask("hello", token="s3cret")
        assert hello["success"]
        assert await client.next() == {**NOTE, "type": "ext_notify", "extension": "ext"}
        assert "s3cret" not in str(await ordered(client, '{"do": "where"}'))


async def test_a_panel_is_told_and_takes_keys(tmp_path: Path) -> None:
    async with open_rpc(scripted(tmp_path), *alone(panel_extension(tmp_path))) as client:
        await client.send("ext_command", name="rows")
        shown = one(await client.until("ext_panel"), "ext_panel")
        assert (shown["extension"], shown["panel_id"], shown["title"]) == ("panel", "rows", "Rows")
        assert shown["lines"][:2] == ["* row 0", "  row 1"]
        assert (await client.ask("panel_key", key="down"))["success"]
        assert (await client.until("ext_panel"))[-1]["lines"][1] == "* row 1"
        assert (await client.ask("panel_key", key=""))["error"] == "key is required"
        await client.send("panel_key", key="esc")
        assert (await client.until("ext_panel_close"))[-1]["panel_id"] == "rows"
        assert (await client.until("response"))[-1]["success"]
        for key in ("down", "esc"):
            assert (await client.ask("panel_key", key=key))["error"] == "no panel is open"


async def test_a_panel_that_another_chat_opens_is_closed_in_the_one_that_had_it(tmp_path: Path) -> None:
    async with open_rpc(scripted(tmp_path), *alone(panel_extension(tmp_path))) as client:
        await client.send("ext_command", name="rows", chat_id="a")
        await client.until("response")
        await client.send("ext_command", name="rows", chat_id="b")
        frames = await client.until("response")
        assert [(it["type"], it["chat_id"]) for it in frames[:-1]] == [("ext_panel_close", "a"), ("ext_panel", "b")]
        await client.send("panel_key", key="down")
        assert (await client.until("ext_panel"))[-1]["chat_id"] == "b"


async def test_a_command_that_is_not_answered_holds_up_no_other_chat_and_no_unknown_name(tmp_path: Path) -> None:
    async with open_rpc(scripted(tmp_path), *alone(panel_extension(tmp_path))) as client:
        await client.send("ext_command", id="1", name="hang", chat_id="a")
        # The first comes before any extension is up.
        for number in ("2", "3"):
            unknown = await client.ask("ext_command", id=number, name="nope", chat_id="a")
            assert (unknown["id"], unknown["error"]) == (number, "no extension registered for /nope")
        other = await client.ask("ext_command", id="4", name="heard", chat_id="b")
        assert (other["id"], other["data"]) == ("4", {"action": "display"})


async def test_a_command_that_nobody_has_registered_yet_is_refused_with_who_is_still_starting(tmp_path: Path) -> None:
    soon = "[zot]\nhello_timeout_ms = 200\n"
    mute = extension(tmp_path, "cold", mode="mute")
    async with open_rpc(scripted(tmp_path, more=soon), *alone(mute, panel_extension(tmp_path))) as client:
        refused = await client.ask("ext_command", name="todo")
        assert refused["error"] == "no extension registered for /todo; still starting: cold"


async def test_abort_ends_the_command_that_runs_in_its_chat_and_the_next_one_begins(tmp_path: Path) -> None:
    async with open_rpc(scripted(tmp_path), *alone(panel_extension(tmp_path))) as client:
        for chat_id in ("a", "b"):
            await client.send("ext_command", id=f"in {chat_id}", name="hang", chat_id=chat_id)
            assert (await client.next())["message"] == "thinking"
        await client.send("ext_command", id="next", name="heard", chat_id="a")
        await client.send("abort", id="end", chat_id="a")
        answers = [await client.next() for _ in range(3)]
        assert [(it["id"], it["success"]) for it in answers] == [("end", True), ("in a", False), ("next", True)]
        assert answers[1]["error"] == "extension /hang: aborted"
        await client.until("ext_display")
        assert (await client.ask("abort", id="end", chat_id="b"))["id"] == "end"
        assert (await client.next())["id"] == "in b"
        assert await client.ends() == 0


async def test_a_command_that_waits_at_the_end_of_stdin_is_answered_and_its_prompt_runs(tmp_path: Path) -> None:
    folder = scripted(tmp_path, {"text": "Said."})
    async with open_rpc(folder, *alone(extension(tmp_path, "ext"))) as client:
        wish = '{"answer": {"action": "prompt", "prompt": "say this"}}'
        await client.send("ext_command", id="1", name="/do", args=wish)
        assert await client.ends() == 0
        frames = await client.rest()
        assert frames[0] == {
            **{"type": "response", "id": "1", "command": "ext_command", "success": True},
            "data": {"action": "prompt"},
        }
        assert one(frames, "user_message")["content"][0]["text"] == "say this"
        assert one(frames, "assistant_message")["content"][0]["text"] == "Said."
        assert frames[-1]["type"] == "done"
    await none_left(tmp_path)


FLOOD = """
import json, pathlib, sys

def say(**frame):
    print(json.dumps(frame), flush=True)

say(type="hello", name="flood")
say(type="register_command", name="flood")
say(type="ready")
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "shutdown":
        break
    if frame["type"] == "command_invoked":
        say(type="open_panel", panel={"id": "p", "title": "first look"})
        for number in range(80):
            say(type="notify", level="info", message=str(number) + " " + "n" * 65536)
            say(type="panel_render", panel_id="p", title="look " + str(number))
        pathlib.Path("said").touch()
        say(type="command_response", id=frame["id"], action="noop")
"""


async def test_notes_that_nobody_reads_are_dropped_and_counted_and_replies_are_not(tmp_path: Path) -> None:
    folder = tmp_path / "flood"
    folder.mkdir()
    (folder / "flood.py").write_text(FLOOD)
    manifest = {"name": "flood", "exec": sys.executable, "args": ["flood.py"]}
    (folder / "extension.json").write_text(json.dumps(manifest))
    async with open_rpc(scripted(tmp_path, {"text": "Fine."}), *alone(folder)) as client:
        await client.send("ext_command", id="1", name="flood")
        with trio.fail_after(DEADLINE_S):
            while not (folder / "said").exists():
                await trio.sleep(0.01)
        await client.send("ping", id="2")
        frames = await all_said(client)
        notes = [frame for frame in frames if frame["type"] == "ext_notify"]
        read = [int(note["message"].split()[0]) for note in notes if note["extension"] == "flood"]
        dropped = [int(note["message"].split()[0]) for note in notes if note["extension"] == "hookgate"]
        assert read == sorted(set(read))
        assert dropped
        assert len(read) + sum(dropped) == 80
        assert 0 < len(read) < 70
        await client.send("prompt", message="go")
        assert types(await client.done())[-1] == "done"
        assert await client.ends() == 0


async def all_said(client: Client) -> list[Frame]:
    """Everything up to the panel's last look and the command's response, whichever comes last."""
    frames: list[Frame] = []
    while not (
        any(frame.get("title") == "look 79" for frame in frames) and any(frame.get("id") == "1" for frame in frames)
    ):
        frames.append(await client.next())
    return frames


async def test_an_extension_is_named_from_where_that_is_typed_whatever_cwd_says(tmp_path: Path) -> None:
    extension(tmp_path / "own", "ext")
    (tmp_path / "project").mkdir()
    scripted(tmp_path / "project")
    async with open_rpc(tmp_path, "--cwd", "project", *alone(Path("own/ext"))) as client:
        assert (await ordered(client, "x"))[-1]["data"] == {"action": "display"}


async def test_an_extension_that_cannot_be_loaded_is_a_line_on_stderr(tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "extension.json").write_text("{")
    async with open_rpc(scripted(tmp_path), *alone(tmp_path / "broken")) as client:
        await client.send("prompt", message="go")
        assert types(await client.done())[-1] == "done"
        assert await client.ends() == 0
        assert b"extension load: " in client.stderr


@pytest.mark.parametrize("reason", ["not now", ""])
async def test_a_guard_that_blocks_a_model_call_ends_the_prompt_without_an_error(tmp_path: Path, reason: str) -> None:
    folder = story(tmp_path, {"turn_start": {"block": True, "reason": reason}})
    async with open_rpc(scripted(tmp_path), *alone(folder)) as client:
        await client.send("prompt", message="go")
        frames = await client.done()
        assert types(frames) == ["response", "user_message", "turn_start", "turn_end", "done"]
        told = reason or "turn blocked by extension guard"
        assert one(frames, "turn_end") == {"type": "turn_end", "stop": "error", "error": told}
        assert (await client.ask("get_state"))["data"]["message_count"] == 1


async def test_a_text_that_an_extension_replaces_is_seen_in_the_transcript_alone(tmp_path: Path) -> None:
    folder = story(tmp_path, {"assistant_message": {"replace_text": "nothing to see"}})
    async with open_rpc(scripted(tmp_path, {"text": "The plan is blue."}), *alone(folder)) as client:
        await client.send("prompt", message="go")
        frames = await client.done()
        assert "blue" not in str(frames)
        deltas = [frame["delta"] for frame in frames if frame["type"] == "text_delta"]
        assert deltas == ["nothing to see"]
        messages = (await client.ask("get_messages"))["data"]["messages"]
        assert messages[-1]["content"] == [{"type": "text", "text": "The plan is blue."}]


async def test_a_text_that_is_withheld_leaves_a_note_and_its_tools_run(tmp_path: Path) -> None:
    folder = story(tmp_path, {"assistant_message": {"block": True, "reason": "secret"}})
    steps: list[Frame] = [
        {"text": "Blue.", "calls": [{"name": "ls", "arguments": {}, "id": "c1"}]},
        {"text": "Blue."},
    ]
    async with open_rpc(scripted(tmp_path, *steps), *alone(folder)) as client:
        await client.send("prompt", message="go")
        frames = await client.done()
        assert "Blue" not in str(frames)
        assert not one(frames, "tool_result")["is_error"]
        assert one(frames, "assistant_message")["content"][0]["type"] == "tool_call"
        notes = [frame for frame in frames if frame["type"] == "ext_notify"]
        told = {"type": "ext_notify", "extension": "ext", "level": "warn"}
        assert notes == [{**told, "message": "ext withheld the reply: secret"}] * 2
        assert "text_delta" not in types(frames)


def story(folder: Path, answers: dict[str, Frame]) -> Path:
    """An extension that answers these interceptions so."""
    directory = folder / "ext"
    directory.mkdir()
    args = [str(EXTENSION), "story", json.dumps(answers), str(folder)]
    (directory / "extension.json").write_text(json.dumps({"name": "ext", "exec": sys.executable, "args": args}))
    return directory
