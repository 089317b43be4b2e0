"""docs/extensions.md keeps its word: commands print what it shows, the conversation happens, tables are true."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, cast, get_args

import pytest
import trio

from hookgate.assembly.extensions.learning import GUARDING
from hookgate.assembly.extensions.tools import RESERVED as RESERVED_TOOLS
from hookgate.channels.terminal.dialogue import YES_OR_NO, Dialogue
from hookgate.cli.ext.commands import ext
from hookgate.cli.terminal.keyboard.editor.bindings import PANEL_KEYS
from hookgate.cli.terminal.trust import question
from hookgate.config import BASE_ENVIRONMENT, parse
from hookgate.extensions import logs, trust, variables
from hookgate.extensions.discovery import Entry, Places, Stranger
from hookgate.extensions.manifest import LONGEST_NAME, Manifest, parse_manifest
from hookgate.extensions.trust import Standing
from hookgate.hooks.zot import extension, extension_calls, handshake, registered
from hookgate.hooks.zot.calls import Cause, Lost
from hookgate.hooks.zot.handshake import Handshake
from hookgate.hooks.zot.lateness import Lateness
from hookgate.hooks.zot.spec import ExtensionSpec
from hookgate.hooks.zot.tool import ZotTool, lost_text
from hookgate.loop.commands.table import RESERVED
from hookgate.processes import child, group, outbox
from hookgate.protocol.framing import MAX_MESSAGE_BYTES
from hookgate.protocol.values import TOOL_TIMEOUT_S, Fault
from hookgate.protocol.zot import answers, blocks, events
from hookgate.protocol.zot.answers import command_answer
from hookgate.protocol.zot.frames import CommandReply, Frame, Panel, RegisterTool, Unknown
from hookgate.protocol.zot.host import HostFrame
from hookgate.sections.hooks import HookDefaults
from hookgate.sections.zot import ZotExtension, ZotSection
from tests.cli.program import none_left
from tests.docs.page import Part, anchor, codes, read_page
from tests.hooks.zot.extensions import Theatre
from tests.preloaded import put_hookgate

ROOT = Path(__file__).parents[2]
PAGE = read_page(ROOT / "docs" / "extensions.md")
DEADLINE_S = 60.0
HOME = "/home/you"
PIPES: dict[str, Any] = {"check": False, "capture_stdout": True, "stderr": subprocess.STDOUT}

# Reads its conversation from a file: says what is its to say, keeps what it is told.
PLAYER = """
import json, sys
from tests.preloaded import put_hookgate
with open("../heard.jsonl", "w", buffering=1) as heard:
    for way, line in json.load(open("conversation.json")):
        if way == "\\u2190":
            print(line, flush=True)
        else:
            heard.write(sys.stdin.readline())
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home whose folder `work` holds the page's files; `hookgate` and `python3` are in its `bin`."""
    (tmp_path / "bin").mkdir()
    put_hookgate(tmp_path / "bin")
    (tmp_path / "bin" / "python3").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (tmp_path / "bin" / "python3").chmod(0o755)
    for part in PAGE.marked("file"):
        path = tmp_path / "work" / part.mark.split()[1]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(part.text)
    return tmp_path


async def shell(home: Path, command: str) -> str:
    """What a command prints, as somebody whose home is HOME would see it."""
    env = {"PATH": f"{home / 'bin'}:{os.environ['PATH']}", "HOME": str(home), "XDG_RUNTIME_DIR": str(home)}
    with trio.fail_after(DEADLINE_S):
        ended = await trio.run_process(["sh", "-c", command], cwd=home / "work", env=env, **PIPES)
    return ended.stdout.decode().replace(str(home), HOME)


def said(part: Part) -> Iterator[tuple[str, str]]:
    """Each command, and what the page shows that it prints."""
    starts = [number for number, line in enumerate(part.lines) if line.startswith("$ ")]
    for start, end in zip(starts, [*starts[1:], len(part.lines)], strict=True):
        yield part.lines[start][2:], "".join(f"{line}\n" for line in part.lines[start + 1 : end])


# --- what is run --------------------------------------------------------------------------------------------


async def test_the_commands_print_what_the_page_shows(home: Path) -> None:
    for part in PAGE.marked("run"):
        for command, shown in said(part):
            assert await shell(home, command) == shown, command
    await none_left(home)


async def test_the_conversation_goes_as_the_page_says(home: Path) -> None:
    lines = [(line[0], line[2:]) for line in PAGE.one("conversation").lines]
    assert {way for way, _ in lines} == {"→", "←"}
    folder = home / "work" / "guard"
    folder.mkdir()
    (folder / "player.py").write_text(PLAYER)
    (folder / "conversation.json").write_text(json.dumps(lines))
    (folder / "extension.json").write_text('{"name": "guard", "exec": "python3", "args": ["player.py"]}')
    shown = await shell(home, r"printf 'Please clean up.\n/Greet Ada\n/quit\n' | hookgate chat --no-ext -e ./guard")
    heard = (home / "work" / "heard.jsonl").read_text().replace(str(home), HOME).splitlines()
    assert list(map(json.loads, heard)) == [json.loads(line) for way, line in lines if way == "→"]
    assert "[guard] thinking of something nice\n[guard] Good morning, Ada.\n" in shown
    assert "Shall I remove the folder build?" in shown


async def test_a_call_of_its_own_goes_as_the_page_says(home: Path) -> None:
    hello = {"type": "hello", "name": "outer", "capabilities": ["call_tool"]}
    tool = {"type": "register_tool", "name": "outer", "description": "outer", "schema": {"type": "object"}}
    begin = [("←", json.dumps(frame)) for frame in (hello, tool, {"type": "ready"})]
    lines = [(line[0], line[2:]) for line in PAGE.one("calling").lines]
    end = {"type": "tool_result", "id": "1", "content": [{"type": "text", "text": "done"}]}
    story = [*begin, ("→", "hello_ack"), ("→", "tool_call"), *lines, ("←", json.dumps(end)), ("→", "shutdown")]
    folder = home / "work" / "outer"
    folder.mkdir()
    (folder / "player.py").write_text(PLAYER)
    (folder / "conversation.json").write_text(json.dumps(story))
    (folder / "extension.json").write_text('{"name": "outer", "exec": "python3", "args": ["player.py"]}')
    (home / "work" / "notes.txt").write_text("buy milk\n")
    (home / "work" / "script.json").write_text('{"steps": [{"calls": [{"name": "outer"}]}, {"text": "So it is."}]}')
    assert await shell(home, "hookgate chat --once go --no-ext -e ./outer") == "So it is.\n"
    ack, _, told, *_ = map(json.loads, (home / "work" / "heard.jsonl").read_text().splitlines())
    assert ack["capabilities"] == ["call_tool"]
    assert told == json.loads(lines[1][1])


def test_the_configuration_is_taken_and_names_every_key(tmp_path: Path) -> None:
    text = PAGE.one("toml").text
    zot = parse(text, tmp_path / "hookgate.toml").zot
    assert zot.extensions["guard"].match.channels == ("!telegram",)
    given = tomllib.loads(text)["zot"]
    assert set(given) == set(ZotSection.model_fields)
    assert set(given["extensions"]["guard"]) == set(ZotExtension.model_fields)
    usual = ZotSection(discover=True).model_dump(exclude={"extensions"})
    assert {name: given[name] for name in usual} == usual


def test_its_manifest_is_one() -> None:
    (part,) = (part for part in PAGE.marked("file") if part.mark.endswith("extension.json"))
    assert parse_manifest(part.text.encode()).name == "weather"


def test_the_first_one_has_a_dozen_lines() -> None:
    (part,) = (part for part in PAGE.marked("file") if part.mark.endswith(".py"))
    assert len([line for line in part.lines if line.strip()]) == 12


# --- what is named ------------------------------------------------------------------------------------------


def named(kind: str, column: int = 0) -> list[str]:
    """What stands in backticks in this column of the table."""
    return [name for row in PAGE.one(kind).rows for name in codes(row[column])]


def test_the_tables_name_what_there_is() -> None:
    assert set(named("manifest")) == {it.name for it in fields(Manifest)}
    assert set(named("from")) == {it.type for it in get_args(Frame) if it is not Unknown}
    assert set(named("to")) == {it.type for it in get_args(HostFrame)} | {"event"}
    assert set(named("events")) == events.EVENTS
    assert set(named("intercepts")) == events.INTERCEPTS
    assert {name.split()[1] for name in named("commands")} == set(ext.commands) - {"help", "rm"}
    assert set(named("closed")) <= events.INTERCEPTS


def test_the_question_is_the_codes() -> None:
    directory = Path(f"{HOME}/work/.hookgate/extensions/weather")
    manifest = Manifest("weather", "python3", args=("weather.py",))
    stranger = Stranger(Entry("project", directory, manifest), manifest, Standing("new", "1f0c9a2b3d4e5f60"))
    asked = Dialogue(question(stranger), YES_OR_NO)
    assert PAGE.one("question").lines == (*asked.text((80, 24)).splitlines(), asked.prompt)


def test_trust_has_the_words_that_are_listed() -> None:
    assert [ast.literal_eval(word) for word in named("trust")] == [
        *get_args(ZotSection.model_fields["trust"].annotation)
    ]


def test_every_action_of_a_command_is_one() -> None:
    words = {"display": "x", "prompt": "x", "insert": "x"}
    for action in named("actions"):
        reply = CommandReply("1", action=action, **words, panel=Panel("p", "", (), ""))
        assert command_answer("do", reply).effect == action


def test_the_places_stand_in_their_order() -> None:
    rows = ["".join(codes(row[0])) for row in PAGE.one("places").rows]
    folders = Places(Path(), Path("$XDG_DATA_HOME/hookgate/extensions"), Path("HOME")).folders
    shown = [path for row in rows[1:] for path in re.findall(r"([^*]+)/\*", row)]
    assert shown == [str(folder) for _scope, folder in folders]


def test_the_names_that_are_taken_are_all_listed() -> None:
    _, _, after = PAGE.text.partition("<!-- reserved -->")
    listed, _, tools = after.partition("So do its tools")
    assert set(codes(listed)) == {f"/{name}" for name in RESERVED}
    assert set(codes(tools.partition("even where")[0])) == RESERVED_TOOLS


def test_the_keys_of_a_panel_are_those_that_are_sent() -> None:
    _, _, after = PAGE.text.partition("it takes the keys")
    assert set(codes(after.partition("Esc")[0])) == {*PANEL_KEYS.values(), "rune"} - {"esc"}


# --- numbers ------------------------------------------------------------------------------------------------

MIB = 1024 * 1024


def test_the_limits_are_the_codes() -> None:
    hello_s = ExtensionSpec.__dataclass_fields__["hello_timeout_s"].default
    assert ZotSection().hello_timeout_ms == hello_s * 1000
    interception_s = HookDefaults().interceptor_timeout_ms / 1000
    bounds = extension.BOUNDS
    flood = f"{child.FLOOD_BYTES // child.FLOOD_LINE_BYTES} lines or {child.FLOOD_BYTES // MIB} MiB in"
    expected = {
        "`hello`": f"{hello_s:g} s (`zot.hello_timeout_ms`)",
        "`ready`": f"the frame; else {handshake.QUIET_S * 1000:g} ms without another frame; "
        f"else {handshake.READY_S:g} s",
        "an interception": f"{interception_s:g} s",
        "a tool": f"{TOOL_TIMEOUT_S:g} s",
        "a command": f"{extension.COMMAND_TIMEOUT_S:g} s",
        "a tool that it calls": f"{extension_calls.TIMEOUT_S:g} s",
        "what it registers": f"{registered.MAX_REGISTERED} tools and {registered.MAX_REGISTERED} commands;",
        "a line from the extension": f"{MAX_MESSAGE_BYTES // MIB} MiB;",
        "a line to the extension": f"{events.MAX_LINE_BYTES // MIB} MiB;",
        "waiting to be read by it": f"{outbox.MAX_WAITING_EVENTS} events; {bounds.waiting_frames} other frames of "
        f"{bounds.waiting_bytes // MIB} MiB together; not reading for {bounds.stall_s:g} s",
        "writing without being asked": f"{flood} {child.FLOOD_WINDOW_S:g} s",
        "the result in an event": f"{blocks.MAX_RESULT_BYTES // 1024} KiB, {blocks.MAX_RESULT_BLOCKS} blocks",
        "a system prompt": f"{answers.MAX_PROMPT_BYTES // MIB} MiB",
        "stopping": f"`shutdown` and the end of stdin; {group.CLOSE_WAIT_S:g} s; SIGTERM to its process group; "
        f"{group.TERM_WAIT_S:g} s; SIGKILL",
    }
    shown = {row[0]: row[1] for row in PAGE.one("limits").rows}
    assert set(shown) == set(expected)
    assert {what: text for what, text in shown.items() if not text.startswith(expected[what])} == {}


async def test_what_is_said_of_a_slow_one_is_the_codes() -> None:
    said = list[str]()
    assert await Handshake().greeted(0.02, 0.01, said.append)
    house = Theatre()
    lateness = Lateness(house.spec(name="todo"), said.append)
    lateness.begin("")
    lateness.over([ZotTool("todo", RegisterTool("todo_manage", "", {}), cast("Any", None))])
    lateness.failed("REASON")
    notes = [it[3] for it in house.screen.shown if it[0] == "note"]
    first, second = PAGE.one("late").lines
    assert numbers(first) == numbers(f"extension load: {HOME}/work/todo: {said[0]}  (hookgate ext logs todo)")
    assert numbers(second) == numbers(f"[todo] {notes[0]}")
    assert "it did not come up: REASON" in PAGE.one("ends").text
    spec = ExtensionSpec.__dataclass_fields__
    assert f"for up to {spec['start_timeout_s'].default:g} s" in first
    assert ZotSection().start_timeout_ms == spec["start_timeout_s"].default * 1000
    _, _, closed = PAGE.text.partition("**Guards.** What intercepted ")
    assert set(codes(closed.partition(" when it")[0])) == GUARDING


def numbers(text: str) -> str:
    """As it is with any."""
    return re.sub(r"[0-9.]+", "N", text)


@pytest.mark.parametrize("cause", ["timeout", "disconnected"])
def test_what_a_call_fails_with_is_the_codes(cause: Cause) -> None:
    fault = Fault("transient", "TOOL", lost_text(Lost(cause, ""), "NAME", "TOOL"))
    assert f"with `{blocks.tool_failed('NAME', fault).for_llm}`" in PAGE.text


def test_the_environment_is_the_codes() -> None:
    _, _, after = PAGE.text.partition("## Its environment")
    assert tuple(codes(after)[: len(BASE_ENVIRONMENT)]) == BASE_ENVIRONMENT
    assert f"up to {variables.MAX_FILES} and {variables.MAX_BYTES // MIB} MiB" in after
    _, _, hooks = read_page(ROOT / "docs" / "hook-json-protocol.md").text.partition("- **Environment.**")
    assert tuple(codes(hooks)[: len(BASE_ENVIRONMENT)]) == BASE_ENVIRONMENT


def test_other_numbers_are_the_codes() -> None:
    defaults = HookDefaults()
    assert f"at most {LONGEST_NAME} bytes" in PAGE.text
    assert f"more than {trust.MAX_FILES} files or {trust.MAX_BYTES // MIB} MiB" in PAGE.text
    assert f"more than {trust.MAX_DEPTH} levels deep" in PAGE.text
    assert f"at most {extension_calls.MAX_DEPTH} stand in a row" in PAGE.text
    assert f"{extension_calls.MAX_RUNNING} may\n  run at once, each for {extension_calls.TIMEOUT_S:g} s" in PAGE.text
    assert f"after {defaults.restart_first_ms} ms at most" in PAGE.text
    assert (defaults.quarantine_after, defaults.quarantine_window_ms, defaults.quarantine_probe_ms) == (
        5,
        60_000,
        60_000,
    )
    assert (logs.MAX_FILE_BYTES, logs.KEEP, logs.HOST) == (MIB, 3, b"[zot] ")


def test_its_links_lead_somewhere_and_every_block_is_run() -> None:
    assert set(PAGE.links) <= {anchor(heading) for heading in PAGE.headings}
    files = re.findall(r"\]\(([^)#]+)[)#]", PAGE.text)
    assert [name for name in files if not (ROOT / "docs" / name).exists()] == []
    assert {part.kind for part in PAGE.parts if part.language != "table"} == {
        *("file", "run", "toml", "conversation", "calling", "question", "late")
    }
