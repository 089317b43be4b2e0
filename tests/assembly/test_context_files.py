"""AGENTS.md: which files are read, what joins the system message, what is left out and said."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hookgate.assembly.context_files import (
    MAX_BYTES,
    MAX_FILE_BYTES,
    ContextFile,
    found_files,
    joined,
    read_context,
    repository,
)
from tests.cli.program import configured
from tests.cli.rpc_client import open_rpc
from tests.flow.tools.tooling import open_rig
from tests.model_server import open_model_server, says

NOTE = "## Instructions of the project: "


def made(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def file(path: str, text: str, size: int | None = None) -> ContextFile:
    return ContextFile(path, text.encode(), len(text.encode()) if size is None else size)


# --- which ones ---------------------------------------------------------------------------------------------


def test_every_folder_from_the_repository_down_counts_and_the_first_name_in_each(tmp_path: Path) -> None:
    names = ("AGENTS.md", "r/AGENTS.md", "r/CLAUDE.md", "r/a/CLAUDE.md", "r/a/b/AGENTS.md", "r/a/b/c/AGENTS.md")
    made(tmp_path, {**dict.fromkeys(names, "x"), "r/.git": "gitdir: elsewhere"})
    root, workspace = tmp_path / "r", tmp_path / "r" / "a" / "b"
    (root / "a" / "AGENTS.md.bak").write_text("x")
    assert repository(workspace) == root
    found = [it.relative_to(root).as_posix() for it in found_files(root, workspace)]
    assert found == ["AGENTS.md", "a/CLAUDE.md", "a/b/AGENTS.md"]


def test_without_a_repository_only_the_workspace_counts(tmp_path: Path) -> None:
    workspace = made(tmp_path, {"AGENTS.md": "outer", "w/AGENTS.md": "inner"}) / "w"
    assert read_context(workspace).text == f"{NOTE}AGENTS.md\n\ninner"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to somebody else")
def test_a_strangers_repository_says_nothing(tmp_path: Path) -> None:
    made(tmp_path, {".git": "", "AGENTS.md": "outer", "w/AGENTS.md": "inner"})
    assert repository(tmp_path / "w") == tmp_path
    os.chown(tmp_path / ".git", 4711, 4711)
    assert read_context(tmp_path / "w").text == f"{NOTE}AGENTS.md\n\ninner"


def test_a_file_that_cannot_be_used_is_left_out_and_the_rest_counts(tmp_path: Path) -> None:
    made(tmp_path, {"secret": "key", "r/.git/HEAD": "", "r/AGENTS.md": "Be brief.", "r/a/b/c/d/AGENTS.md": "Here."})
    root = tmp_path / "r"
    (root / "a" / "AGENTS.md").symlink_to(tmp_path / "secret")
    (root / "a" / "b" / "AGENTS.md").write_bytes(b"\xff\xfe")
    (root / "a" / "b" / "c" / "AGENTS.md").mkdir()
    (root / "a" / "b" / "c" / "d" / "e").mkdir()
    (root / "a" / "b" / "c" / "d" / "e" / "CLAUDE.md").symlink_to(root / "AGENTS.md")
    context = read_context(root / "a" / "b" / "c" / "d" / "e")
    assert context.text == f"{NOTE}AGENTS.md\n\nBe brief.\n\n{NOTE}a/b/c/d/AGENTS.md\n\nHere."
    assert context.problems == (
        f"context file: {root}/a/AGENTS.md: it is a link that leads out of {root}",
        f"context file: {root}/a/b/AGENTS.md: it is not UTF-8",
        f"context file: {root}/a/b/c/AGENTS.md: it is no file",
    )


# --- what they come to --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "limit", "text"),
    [
        ([], MAX_BYTES, ""),
        ([file("A", " \n")], MAX_BYTES, ""),
        ([file("A", "\ufeffone\n"), file("b/A", "two")], MAX_BYTES, f"{NOTE}A\n\none\n\n{NOTE}b/A\n\ntwo"),
        ([file("A", "one", 9)], MAX_BYTES, f"{NOTE}A\n\none\n... [6 bytes more are not shown]"),
        ([file("A", "éé")], 3, f"{NOTE}A\n\né\n... [1 bytes more are not shown]"),
        (
            [file("A", "abc"), file("b/A", "de")],
            3,
            f"{NOTE}A\n\na\n... [2 bytes more are not shown]\n\n{NOTE}b/A\n\nde",
        ),
        ([file("A", "abc"), file("b/A", "d")], 1, f"{NOTE}A\n\n... [3 bytes more are not shown]\n\n{NOTE}b/A\n\nd"),
    ],
)
def test_the_text_has_headings_and_says_what_is_cut(files: list[ContextFile], limit: int, text: str) -> None:
    assert joined(files, limit) == text


def test_a_long_file_is_cut_at_a_whole_character(tmp_path: Path) -> None:
    made(tmp_path, {"AGENTS.md": "x" + "é" * MAX_FILE_BYTES})
    context = read_context(tmp_path)
    assert context.problems == ()
    assert f"\n... [{MAX_FILE_BYTES + 1} bytes more are not shown]" in context.text
    assert "\ufffd" not in context.text


# --- in a conversation --------------------------------------------------------------------------------------


async def test_they_join_the_system_message_and_are_read_again_for_a_new_conversation(tmp_path: Path) -> None:
    made(tmp_path, {"AGENTS.md": "Say please, not kaleidoscope-77."})
    on = {"agent": "context_files = true", "secrets": ("kaleidoscope-77",)}
    async with open_rig(tmp_path, [says("ok")] * 3, **on) as rig:
        await rig.say("one")
        (tmp_path / "AGENTS.md").write_text("Say thanks.")
        await rig.say("two")
        await rig.say("/new")
        await rig.say("three")
        first, second, third = (request.body["messages"][0]["content"] for request in rig.server.requests)
    assert first.startswith(f"You are a helpful assistant.\n\n{NOTE}AGENTS.md\n\nSay please, not ")
    assert "kaleidoscope" not in first
    assert second == first
    assert third == f"You are a helpful assistant.\n\n{NOTE}AGENTS.md\n\nSay thanks."


async def test_a_daemon_reads_none_where_the_configuration_does_not_ask_for_them(tmp_path: Path) -> None:
    made(tmp_path, {"AGENTS.md": "Say please."})
    async with open_rig(tmp_path, [says("ok")]) as rig:
        await rig.say("one")
        assert rig.server.requests[0].body["messages"][0]["content"] == "You are a helpful assistant."


async def test_rpc_reads_them_behind_the_prompts_of_the_command_line(tmp_path: Path) -> None:
    made(tmp_path, {"AGENTS.md": "Say please."})
    async with open_model_server(says("a"), says("b"), says("c")) as server:
        folder = configured(tmp_path, server.base_url)
        async with open_rpc(folder, "--system-prompt", "One.", "--append-system-prompt", "Two.") as client:
            await client.send("prompt", message="x")
            await client.done()
            (tmp_path / "AGENTS.md").write_text("Say thanks.")
            await client.send("prompt", message="x")
            await client.done()
            await client.ask("clear")
            await client.send("prompt", message="x")
            await client.done()
            assert await client.ends() == 0
        told = [request.body["messages"][0]["content"] for request in server.requests]
    please, thanks = (f"One.\n\nTwo.\n\n{NOTE}AGENTS.md\n\nSay {word}." for word in ("please", "thanks"))
    assert told == [please, please, thanks]
