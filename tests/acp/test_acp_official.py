"""hookgate as the agent of an editor that uses the official client library, which knows nothing of it."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.acp.editors import Editor, Frame, open_editor, scripted, skip_without_library
from tests.processes import none_left

ASKS = '[[approvals]]\nname = "ask"\ntools = ["bash", "write", "edit"]\n'


@pytest.fixture(autouse=True)
def _client_library() -> None:
    skip_without_library()


def bash(command: str) -> Frame:
    return {"name": "bash", "arguments": {"command": command}, "id": "same"}


def diffs(call: Frame) -> list[Any]:
    return [(it["path"], it.get("oldText"), it["newText"]) for it in call["content"] if it["type"] == "diff"]


def texts(call: Frame) -> str:
    return "\n".join(it["content"]["text"] for it in call["content"] if it["type"] == "content")


async def stopped(editor: Editor, number: int) -> str:
    return (await editor.done(number))["result"]["stopReason"]


async def test_a_conversation_with_calls_that_a_person_allows_rejects_and_closes(tmp_path: Path) -> None:
    note = {"path": "note.md", "content": "one\n"}
    better = {"path": "note.md", "edits": [{"oldText": "one", "newText": "two"}]}
    folder = scripted(
        tmp_path,
        {"text": "Let me look.", "calls": [bash("echo `date +%Y` > when; echo hi")]},
        {"reasoning": "A greeting, then.", "text": "It says hi."},
        {"calls": [{"name": "write", "arguments": note, "id": "same"}]},
        {"calls": [{"name": "edit", "arguments": better, "id": "same"}]},
        {"text": "Both."},
        {"calls": [bash("touch never")]},
        {"text": "As you like."},
        more=ASKS,
    )
    async with open_editor(tmp_path) as editor:
        session = await editor.new(folder)
        prompt = await editor.begin(session, "What is here?")
        asked = await editor.asked(session)
        assert [it["kind"] for it in asked["options"]] == [
            "allow_once",
            "allow_always",
            "allow_always",
            "reject_once",
        ]
        assert "rule:ask asks" in texts(asked["call"])
        # Whole, whatever marks of Markdown are in it.
        assert "```\necho `date +%Y` > when; echo hi\n```" in texts(asked["call"])
        assert not (folder / "when").exists()
        await editor.choose("once")
        assert await stopped(editor, prompt) == "end_turn"
        assert editor.text(session) == "Let me look.It says hi."
        assert editor.text(session, "agent_thought_chunk") == "A greeting, then."
        kinds = [it["sessionUpdate"] for it in editor.updates(session)]
        assert "agent_message_chunk" in kinds[kinds.index("agent_thought_chunk") :]
        call = editor.call(session)
        assert (call["kind"], call["status"], call["title"][:10]) == ("execute", "completed", "bash: echo")
        assert "hi" in texts(call)
        assert asked["call"]["toolCallId"] == call["toolCallId"]
        used = [it for it in editor.updates(session) if it["sessionUpdate"] == "usage_update"][-1]
        assert (used["size"], used["cost"]["currency"]) == (10000, "USD")
        assert used["used"] > 0
        assert used["cost"]["amount"] > 0
        prompt, path = await editor.begin(session, "Write it down."), str(folder / "note.md")
        assert diffs((await editor.asked(session))["call"]) == [(path, None, "one\n")]
        await editor.choose("once")
        assert diffs((await editor.asked(session))["call"]) == [(path, "one", "two")]
        await editor.choose("session")
        assert await stopped(editor, prompt) == "end_turn"
        assert (folder / "note.md").read_text() == "two\n"
        for number, then in ((1, [(path, None, "one\n")]), (2, [(path, "one", "two")])):
            call = editor.call(session, number)
            assert (call["status"], call["kind"], diffs(call), texts(call)) == ("completed", "edit", then, "")
            assert call["locations"] == [{"path": path}]
        prompt = await editor.begin(session, "Again.")
        await editor.asked(session)
        await editor.choose("reject")
        assert await stopped(editor, prompt) == "end_turn"
        assert (editor.call(session, 3)["status"], (folder / "never").exists()) == ("failed", False)
        assert "the user said no" in texts(editor.call(session, 3))
        listed = (await editor.do("list", cwd=str(folder)))["sessions"]
        assert [(it["sessionId"], it["cwd"], it["title"]) for it in listed] == [
            (session, str(folder), "What is here?")
        ]
        await editor.do("close", session=session)
    await none_left(tmp_path)


async def test_two_sessions_go_on_side_by_side_and_one_of_them_is_cancelled_at_its_question(tmp_path: Path) -> None:
    steps: tuple[Frame, ...] = (
        {"when": "^ask", "calls": [bash("touch ran")]},
        {"when": "^hang", "text": "It begins", "hang": True},
        {"when": "^long", "calls": [{"name": "read", "arguments": {"path": "pipe"}}, bash("sleep 600")]},
        {"when": "^hello", "text": "Hi."},
    )
    folder = scripted(tmp_path, *steps, more=ASKS, echo=False)
    other = tmp_path / "other"
    other.mkdir()
    async with open_editor(tmp_path) as editor:
        first, second = await editor.new(folder), await editor.new(other)
        waiting = await editor.begin(first, "ask")
        await editor.asked(first)
        assert await editor.prompt(second, "hello") == "end_turn"
        assert editor.text(second) == "Hi."
        await editor.do("cancel", session=first)
        assert await stopped(editor, waiting) == "cancelled"
        # What is said to a question that is over is for nothing.
        await editor.choose("once")
        assert editor.call(first)["status"] == "failed"
        hanging = await editor.begin(first, "hang")
        await editor.wait(lambda _it: editor.text(first).startswith("It "))
        await editor.do("cancel", session=first)
        assert await stopped(editor, hanging) == "cancelled"
        running = await editor.begin(second, "long")
        await editor.asked(second)
        await editor.choose("once")
        await editor.wait(lambda it: it.get("update", {}).get("status") == "in_progress" and it["session"] == second)
        await editor.do("cancel", session=second)
        assert await stopped(editor, running) == "cancelled"
        assert await editor.prompt(first, "hello") == "end_turn"
        assert "Stopped." not in editor.text(first)
    assert not (folder / "ran").exists()
    await none_left("sleep 600")


async def test_a_session_is_loaded_after_a_restart_and_what_was_cut_off_is_asked_again(tmp_path: Path) -> None:
    folder = scripted(
        tmp_path,
        {"when": "^first", "calls": [bash("echo once >> runs")]},
        {"when": "^second", "calls": [bash("echo twice >> runs")]},
        {"when": "exit 0", "on": "tool", "text": "Done."},
        more=ASKS,
        echo=False,
    )
    async with open_editor(tmp_path) as editor:
        session = await editor.new(folder)
        prompt = await editor.begin(session, "first")
        await editor.asked(session)
        await editor.choose("once")
        assert await stopped(editor, prompt) == "end_turn"
        await editor.begin(session, "second")
        await editor.asked(session)
        # The editor is closed under its question.
    async with open_editor(tmp_path) as editor:
        listed = (await editor.do("list"))["sessions"]
        assert [it["sessionId"] for it in listed] == [session]
        wrong = await editor.done(await editor.say("load", session=session, cwd=str(tmp_path)))
        assert "belongs to" in wrong["error"]["message"]
        await editor.do("load", session=session, cwd=str(folder))
        await editor.asked(session)
        before = editor.updates(session)
        assert editor.text(session, "user_message_chunk") == "firstsecond"
        assert (editor.text(session), editor.call(session)["status"]) == ("Done.", "completed")
        await editor.choose("once")
        await editor.wait(lambda _it: editor.text(session) == "Done.Done.")
        assert (editor.call(session, 1)["title"], editor.call(session, 1)["status"]) == (
            "bash: echo twice >> runs",
            "completed",
        )
        assert [it["content"]["text"] for it in before if it["sessionUpdate"] == "user_message_chunk"][-1] == "second"
    assert (folder / "runs").read_text() == "once\ntwice\n"


async def test_agents_are_modes_commands_are_told_and_pictures_and_files_come_with_a_prompt(tmp_path: Path) -> None:
    folder = scripted(
        tmp_path,
        {"when": "a picture", "text": "$0"},
        more='[agents.reviewer]\nmodel = "p/other"\nmax_steps = 1\n',
    )
    picture = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    resource = {"uri": f"file://{folder}/a%20b.py", "mimeType": "text/x-python", "text": "print('```')"}
    blocks = [
        {"type": "text", "text": "See "},
        {"type": "resource_link", "uri": f"file://{folder}/c.py", "name": "c.py"},
        {"type": "resource", "resource": resource},
        {"type": "text", "text": " and a picture"},
        {"type": "image", "mimeType": "image/png", "data": picture},
    ]
    async with open_editor(tmp_path) as editor:
        made = await editor.do("new", cwd=str(folder))
        session = made["sessionId"]
        assert [it["id"] for it in made["modes"]["availableModes"]] == ["main", "reviewer"]
        assert made["modes"]["currentModeId"] == "main"
        commands = await editor.wait(
            lambda it: it.get("update", {}).get("sessionUpdate") == "available_commands_update"
        )
        assert {"stop", "new", "compact", "help"} <= {it["name"] for it in commands["update"]["availableCommands"]}
        assert await editor.prompt(session, "/help") == "end_turn"
        assert "/compact: " in editor.text(session)
        number = await editor.say("prompt", session=session, prompt=blocks)
        assert await stopped(editor, number) == "end_turn"
        heard = editor.text(session).partition("/help: this text")[2]
        assert f"See [c.py]({folder}/c.py)[a b.py]({folder}/a b.py) and a picture" in heard
        assert f"{folder}/a b.py:\n````\nprint('```')\n````" in heard
        await editor.do("mode", session=session, mode="reviewer")
        unknown = await editor.done(await editor.say("mode", session=session, mode="nobody"))
        assert unknown["error"]["code"] == -32602
        assert await editor.prompt(session, "and you?") == "end_turn"
    async with open_editor(tmp_path) as editor:
        loaded = await editor.do("load", session=session, cwd=str(folder))
        assert loaded["modes"]["currentModeId"] == "reviewer"
        assert "and you?" in editor.text(session, "user_message_chunk")


PLUGIN = Path(__file__).parents[2] / "plugins" / "python" / "hookgate_plugin.py"
HARD = f'[hooks.processes.hard]\ncommand = ["{sys.executable}", "hard.py"]\nintercept = ["before_llm"]\n'
ABORTS = """
from hookgate_plugin import Plugin

plugin = Plugin("hard")


@plugin.before_llm
def stop(request):
    if request.messages[-1].get("content") == "never":
        return plugin.hard_abort("that is not talked about")


plugin.run()
"""


async def test_a_turn_says_why_it_ended(tmp_path: Path) -> None:
    folder = scripted(
        tmp_path,
        {"when": "^long", "text": "As long as", "finish_reason": "length"},
        {"when": "^many", "calls": [bash("true")]},
        {"when": "^secret", "calls": [bash("echo password: my-secret-pw9")]},
        {"when": "^broken", "fail": {"kind": "auth", "reason": "no such key"}},
        more=HARD,
    )
    settings = tmp_path / "hookgate.toml"
    settings.write_text(settings.read_text().replace("retry_first_ms", "max_steps = 1\nretry_first_ms"))
    (tmp_path / "hard.py").write_text(ABORTS)
    shutil.copy(PLUGIN, tmp_path)
    async with open_editor(tmp_path) as editor:
        session = await editor.new(folder)
        assert await editor.prompt(session, "long") == "max_tokens"
        assert await editor.prompt(session, "many") == "max_turn_requests"
        assert "after 1 model calls" in editor.text(session)
        assert await editor.prompt(session, "secret") == "max_turn_requests"
        assert "REDACTED" in editor.call(session, 1)["rawInput"]["command"]
        assert "my-secret-pw9" not in json.dumps(editor.heard)
        assert await editor.prompt(session, "broken") == "end_turn"
        assert "no such key" in editor.text(session)
        assert await editor.prompt(session, "never") == "refusal"
        assert "hard" in editor.text(session)


async def test_what_another_agent_does_for_a_turn_is_told_as_its_calls(tmp_path: Path) -> None:
    task = {"name": "delegate", "arguments": {"task": "what day is it"}, "id": "same"}
    folder = scripted(
        tmp_path,
        {"when": "^find out", "calls": [task]},
        {"when": "what day", "calls": [bash("date > day")]},
        {"when": "exit 0", "on": "tool", "text": "Some day."},
        {"when": "Some day", "on": "tool", "text": "It says so."},
        more=ASKS + '[agents.other]\ndescription = "knows days"\nmodel = "p/other"\n',
    )
    settings = tmp_path / "hookgate.toml"
    settings.write_text(settings.read_text().replace("retry_first_ms", 'delegates_to = ["other"]\nretry_first_ms', 1))
    async with open_editor(tmp_path) as editor:
        session = await editor.new(folder)
        prompt = await editor.begin(session, "find out")
        asked = await editor.asked(session)
        assert asked["call"]["toolCallId"] == editor.call(session, 1)["toolCallId"]
        await editor.choose("once")
        assert await stopped(editor, prompt) == "end_turn"
        shown = [editor.call(session, number) for number in range(2)]
        assert [(it["title"].split(":")[0], it["status"]) for it in shown] == [
            ("delegate", "completed"),
            ("bash", "completed"),
        ]
        assert editor.text(session) == "It says so."
    assert (folder / "day").exists()
