"""docs/rpc.md: its conversations are those of the program, its tables name what there is, its client runs."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import get_args

import trio

from hookgate.config import parse
from hookgate.protocol.rpc.commands import COMMANDS, IN_CHATS, Where, read_request
from hookgate.protocol.rpc.events import Event
from hookgate.rpc.flags import parse_flags
from hookgate.rpc.server import MAX_CHATS
from hookgate.rpc.talk import MAX_QUEUED
from tests.cli.program import environment
from tests.cli.rpc_client import one, open_rpc, scripted
from tests.docs.page import anchor, codes, read_page
from tests.docs.rpc_conversation import play, write_files
from tests.preloaded import put_hookgate

ROOT = Path(__file__).parents[2]
PAGE = read_page(ROOT / "docs" / "rpc.md")
FILES = ("hookgate.toml", "script.json")


def apart(folder: Path) -> dict[str, str]:
    """hookgate keeps state and socket elsewhere: the listing that the page shows is of the workspace alone."""
    home = folder.with_name(f"{folder.name}-home")
    home.mkdir()
    return environment(home)


async def test_the_conversation_goes_as_the_page_says(tmp_path: Path) -> None:
    write_files(PAGE, tmp_path, *FILES)
    async with open_rpc(tmp_path, env=apart(tmp_path)) as client:
        for part in PAGE.marked("conversation"):
            await play(client, part.lines)
        assert await client.ends() == 0
        assert await client.rest() == []


async def test_an_approval_goes_as_the_page_says(tmp_path: Path) -> None:
    write_files(PAGE, tmp_path, *FILES, "approvals.toml")
    added = (tmp_path / "approvals.toml").read_text()
    (tmp_path / "approvals.toml").unlink()
    with (tmp_path / "hookgate.toml").open("a") as file:
        file.write(added)
    async with open_rpc(tmp_path, "--rpc-approvals", env=apart(tmp_path)) as client:
        await play(client, PAGE.one("approvals").lines)


async def test_the_client_prints_what_the_page_says(tmp_path: Path) -> None:
    write_files(PAGE, tmp_path, *FILES)
    bin_folder = tmp_path.parent / "bin"
    bin_folder.mkdir()
    put_hookgate(bin_folder)
    path = f"{bin_folder}:{os.environ['PATH']}"
    env = {**environment(tmp_path), "PATH": path, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", PAGE.one("client").text]
    with trio.fail_after(20):
        ran = await trio.run_process(command, cwd=tmp_path, env=env, capture_stdout=True)
    assert ran.stdout.decode() == PAGE.one("printed").text.rstrip("\n")


async def test_of_a_failure_a_client_reads_the_reason_and_a_model_the_kind_too(tmp_path: Path) -> None:
    call = {"name": "read", "arguments": {"path": "gone.txt"}, "id": "c1"}
    async with open_rpc(scripted(tmp_path, {"calls": [call]}, {"text": "Done."})) as client:
        await client.send("prompt", message="go")
        event = one(await client.done(), "tool_result")
        messages = (await client.ask("get_messages"))["data"]["messages"]
        assert await client.ends() == 0
    reason = "gone.txt: No such file or directory"
    assert event["content"] == [{"type": "text", "text": reason}]
    told = f"ERROR (not_found) read: {reason}\nCheck the name."
    assert messages[-2]["content"][0]["content"] == [{"type": "text", "text": told}]
    (says,) = (line for line in PAGE.text.splitlines() if line.startswith("| `tool_result` |"))
    assert "the reason alone, without the `ERROR (KIND) TOOL:`" in says


def test_commands_and_rules_are_for_chats_as_the_page_says(tmp_path: Path) -> None:
    _, _, after = PAGE.text.partition("## Chats")
    members, _, taken = after.partition("`ext_command` take them")[0].rpartition("\n\n")
    assert set(codes(taken)) | {"ext_command"} == IN_CHATS
    given = {name: name for name in ("chat_id", "thread", "sender")}
    assert all(f"| `{name}` |" in members for name in given)
    request = read_request(json.dumps({"type": "prompt", **given, "chat_type": "group"}).encode())
    assert request.where == Where(**given, chat_type="group")
    assert f"up to {MAX_CHATS} chats" in after
    (part,) = (part for part in PAGE.marked("file") if part.mark.endswith("chats.toml"))
    assert parse(part.text, tmp_path / "hookgate.toml").approvals[0].chats == ("90210",)


def test_the_tables_name_every_command_and_every_event() -> None:
    tables = {tuple(part.lines[0].split()): part for part in PAGE.parts if part.language == "table"}
    (listed,) = (part for head, part in tables.items() if head[1] == "command")
    assert {name for row in listed.rows for name in codes(row[0])} == set(COMMANDS)
    (told,) = (part for head, part in tables.items() if head[1] == "event")
    assert {name for row in told.rows for name in codes(row[0])} == {kind.type for kind in get_args(Event)}


def test_the_table_of_flags_names_every_flag() -> None:
    (table,) = (part for part in PAGE.parts if part.language == "table" and part.lines[0].split()[1] == "flag")
    named = [name for row in table.rows for name in codes(row[0])]
    skills = {"--with-skills", "--with-skill"}
    valued = {"--max-steps": ["1"], "--no-tools": [], **{name: ["--no-tools"] for name in skills}}
    switches = {"--no-ext", "--rpc-approvals", "--no-skill", "--no-context-files", "--no-yolo", "--continue", "-c"}
    switches |= {"--no-extensions", "--no-skills", "--no-session", "--compact-done", "--resume", "-r", "-v"}
    switches |= {"--list-models", "--version", "-nc"}
    for name in named:
        given = [] if name in switches else valued.get(name, ["x"])
        assert parse_flags([name, *given]) != parse_flags(given if name in skills else []), name
    assert len(set(named)) == len(named) == 34


def test_its_numbers_and_links_are_right() -> None:
    assert f"up to {MAX_QUEUED} more wait" in PAGE.text
    assert {anchor(heading) for heading in PAGE.headings} >= set(PAGE.links)
    assert (ROOT / "docs" / "embedding.md").exists()


def test_every_block_is_run() -> None:
    marks = {part.kind for part in PAGE.parts if part.language not in ("table", "console")}
    assert marks == {"file", "conversation", "approvals", "client", "printed"}
