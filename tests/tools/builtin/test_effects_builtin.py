"""What the built-in tools claim to have done, and the data beside their text."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import trio
from website import Names, Site, get, page, reply

from hookgate.protocol.values import ToolResult
from hookgate.protocol.values.effects import Effect, FileEffect, NetEffect, ProcessEffect, effect_members
from hookgate.tools.builtin import bash, edit, write
from hookgate.tools.schema.check import problems

Run = Callable[..., Awaitable[ToolResult]]


def only(result: ToolResult) -> Effect:
    [effect] = result.effects
    return effect


def process(result: ToolResult) -> ProcessEffect:
    effect = only(result)
    assert isinstance(effect, ProcessEffect)
    assert effect.pid is not None
    return effect


def data(result: ToolResult) -> dict[str, Any]:
    assert isinstance(result.data, dict)
    return result.data


async def test_writing_creates_and_then_modifies(run: Run, root: Path) -> None:
    made = await run("write", path="a/b.txt", content="äöü")
    assert only(made) == FileEffect("create", "a/b.txt", bytes_after=6)
    assert made.data == {"path": "a/b.txt", "bytes": 6}
    assert only(await run("write", path=str(root / "a" / "b.txt"), content="")) == FileEffect(
        "modify", "a/b.txt", bytes_after=0
    )


async def test_an_effect_names_the_file_that_a_link_leads_to(run: Run, root: Path) -> None:
    (root / "real").mkdir()
    (root / "link").symlink_to("real")
    assert only(await run("write", path="./x/../link/f", content="x")) == FileEffect(
        "create", "real/f", bytes_after=1
    )


async def test_editing_modifies(run: Run, root: Path) -> None:
    (root / "a").write_text("one\r\n")
    result = await run("edit", path="a", edits=[{"oldText": "one", "newText": "three"}])
    assert only(result) == FileEffect("modify", "a", bytes_after=7)
    assert result.data == {"path": "a", "bytes": 7}


async def test_what_changes_nothing_claims_nothing(run: Run, root: Path) -> None:
    (root / "a").write_text("one")
    for result in (
        await run("edit", path="a", edits=[{"oldText": "two", "newText": "x"}]),
        await run("write", path="../a", content="x"),
        await run("write", path="a/b", content="x"),
    ):
        assert result.is_error
        assert (result.effects, result.data) == ((), None)


async def test_a_name_that_is_no_utf8_is_shown_escaped(run: Run, root: Path) -> None:
    os.makedirs(os.fsencode(root) + b"/caf\xe9")
    (root / "link").symlink_to(os.fsdecode(b"caf\xe9"))
    effect = only(await run("write", path="link/f", content="x"))
    assert effect == FileEffect("create", r"caf\xe9/f", bytes_after=1)


async def test_a_command_is_a_process_with_an_exit_code(run: Run) -> None:
    result = await run("bash", command="echo x; exit 3")
    effect = process(result)
    assert effect == ProcessEffect("echo x; exit 3", 3, pid=effect.pid)
    assert data(result).pop("seconds") >= 0
    expected = {"command": "echo x; exit 3", "exit_code": 3, "output": "x", "truncated": False, "timed_out": False}
    assert {name: data(result)[name] for name in expected} == expected
    success = process(await run("bash", command="true"))
    assert effect_members(success)["exit_code"] == 0


async def test_a_command_that_is_killed_says_so(run: Run) -> None:
    result = await run("bash", command="echo x; sleep 600", timeout=1)
    assert result.is_error
    assert (process(result).exit_code, process(result).timed_out) == (-1, True)
    assert (data(result)["output"], data(result)["timed_out"]) == ("x", True)
    assert process(await run("bash", command="kill -9 $$")).exit_code == -1


@pytest.mark.parametrize(("command", "cut"), [("seq 1999", False), ("seq 3000", True), ("yes | head -c 90000", True)])
async def test_output_that_is_cut_is_marked_and_has_no_note_in_the_data(run: Run, command: str, cut: bool) -> None:
    result = await run("bash", command=command)
    assert (process(result).output_truncated, data(result)["truncated"]) == (cut, cut)
    assert "truncated at" not in data(result)["output"]
    assert ("truncated at" in result.for_llm) == cut


async def test_a_command_that_does_not_start_did_nothing(run: Run) -> None:
    assert (await run("bash", command="")).effects == ()


async def test_every_hop_of_a_fetch_is_an_effect(site: Site) -> None:
    site.routes["/a"] = reply(302, b"", Location=site.url("/b", "localhost"))
    site.routes["/b"] = page("text", "text/plain")
    result = await get(site.url("/a"))
    assert result.effects == (NetEffect("127.0.0.1", site.port, "GET"), NetEffect("localhost", site.port, "GET"))


async def test_a_fetch_that_fails_keeps_the_hops_it_made(site: Site) -> None:
    site.routes["/a"] = reply(302, b"", Location=site.url("/missing"))
    result = await get(site.url("/a"))
    assert result.is_error
    assert len(result.effects) == 2


async def test_what_was_never_asked_is_no_effect() -> None:
    trio.socket.set_custom_hostname_resolver(Names({"inside.test": [["10.0.0.1"]]}))
    try:
        result = await get("http://inside.test/", private=False)
    finally:
        trio.socket.set_custom_hostname_resolver(None)
    assert result.is_error
    assert result.effects == ()


async def test_the_data_is_what_the_spec_says(run: Run, root: Path) -> None:
    (root / "a").write_text("x")
    edits = [{"oldText": "x", "newText": "y"}]
    for tool, result in (
        (bash.SPEC, await run("bash", command="echo x; exit 3")),
        (write.SPEC, await run("write", path="b", content="x")),
        (edit.SPEC, await run("edit", path="a", edits=edits)),
    ):
        assert tool.output_schema is not None
        assert problems(tool.output_schema, data(result)) == ()
