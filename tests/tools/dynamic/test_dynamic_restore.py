"""Bringing back what the catalog kept: what starts by itself, what waits for a person, what does not and why."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from hookgate.protocol.catalog import ToolRow
from hookgate.protocol.values import ToolCall
from hookgate.store import open_store
from hookgate.tools.dynamic.asking import lasting, vouched_text
from hookgate.tools.dynamic.identity import digest
from hookgate.tools.dynamic.standing import Facts, standing
from hookgate.tools.dynamic.workshop import Terms
from hookgate.tools.errors import ToolError
from hookgate.tools.registry import Registry
from tests.tools.dynamic.shops import Other, Shop, open_shop


@asynccontextmanager
async def reopened(tmp_path: Path, **place: Any) -> AsyncGenerator[Shop]:
    """A shop on a real store, as one run after another has it."""
    async with (
        open_store(tmp_path / "store" / "hookgate.db") as store,
        open_shop(tmp_path, store, **place) as shop,
    ):
        yield shop


async def test_the_models_tools_come_back_only_when_somebody_agrees_again(tmp_path: Path) -> None:
    async with reopened(tmp_path) as shop:
        await shop.made("probe", "return 'back'")
    async with reopened(tmp_path) as shop:
        assert await shop.states() == {"probe": "needs_approval"}
        assert shop.names() == set()
        # The same wish needs no replace; that it reaches the tool at all means that a person has said yes.
        await shop.made("probe", "return 'back'")
        assert (await shop.call("probe")).for_llm == "back"
        assert await shop.states() == {"probe": "ok"}


async def test_what_the_operator_approved_comes_back_by_itself(tmp_path: Path) -> None:
    async with reopened(tmp_path) as shop:
        await shop.made("probe", "return 'back'")
    async with reopened(tmp_path) as shop:
        await shop.approve("probe")
        assert (await shop.call("probe")).for_llm == "back"
    async with reopened(tmp_path) as shop:
        assert (await shop.call("probe")).for_llm == "back"
        (found,) = await shop.workshop.standings()
        assert (found.row.origin, found.row.approved_by, found.running) == ("operator", "ann", True)


def said_always(shop: Shop, body: str) -> None:
    """A person's answer to the question about such a tool."""
    wish = {"name": "probe", "description": "A tool.", "body": body}
    offered = lasting(shop.workshop, ToolCall("1", "new_tool", wish))
    assert offered is not None
    offered.keep("ann")


@pytest.mark.parametrize("again", [False, True])
async def test_a_grant_for_always_brings_back_exactly_what_it_was_given_for(tmp_path: Path, again: bool) -> None:
    async with reopened(tmp_path) as shop:
        if again:
            # Also of a tool that is there already.
            await shop.made("probe", "return 'back'")
        said_always(shop, "return 'back'")
        await shop.made("probe", "return 'back'")
    async with reopened(tmp_path) as shop:
        assert (await shop.call("probe")).for_llm == "back"
        (found,) = await shop.workshop.standings()
        assert (found.row.origin, found.row.approved_by) == ("model", "ann")
        await shop.made("probe", "return 'other'", replace=True)
    async with reopened(tmp_path) as shop:
        assert await shop.states() == {"probe": "needs_approval"}
        await shop.made("probe", "return 'back'", replace=True)
    async with reopened(tmp_path) as shop:
        assert await shop.states() == {"probe": "ok"}
    (tmp_path / "tools" / "probe" / "tool.py").write_text("print('mine now')")
    async with reopened(tmp_path) as shop:
        assert await shop.states() == {"probe": "changed"}
        assert shop.names() == set()


async def test_a_tool_belongs_to_its_workspace_unless_the_operator_says_everywhere(tmp_path: Path) -> None:
    async with reopened(tmp_path, workspace="/a") as shop:
        await shop.made("probe", "return 'a'")
        await shop.approve("probe")
    async with reopened(tmp_path, workspace="/b") as shop:
        assert await shop.states() == {}
    async with reopened(tmp_path, workspace="/a") as shop:
        await shop.approve("probe", everywhere=True)
    async with reopened(tmp_path, workspace="/b") as shop:
        assert (await shop.call("probe")).for_llm == "a"
        assert "belongs to the operator" in (await shop.new("probe", "return 'b'", replace=True)).for_llm
    async with open_store(tmp_path / "store" / "hookgate.db") as store:
        assert [row.workspace for row in store.tools("/a")] == [""]


async def test_who_only_looks_is_not_warned_and_who_begins_to_work_is(tmp_path: Path) -> None:
    async with reopened(tmp_path) as shop:
        await shop.made("probe", "return 'back'")
    with capture_logs() as said:
        async with reopened(tmp_path) as shop:
            assert unrestored(said) == []
            await shop.workshop.warn()
    assert unrestored(said) == [("probe", "needs_approval")]


def unrestored(said: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    return [(it["tool"], it["state"]) for it in said if it["event"] == "tool_not_restored"]


async def test_only_what_is_as_it_was_starts_and_the_rest_says_why(tmp_path: Path) -> None:
    names = ("fine", "missing", "changed", "shadowed", "switched_off", "broken")
    async with reopened(tmp_path) as shop:
        for name in names:
            await shop.made(name, f"return {name!r}")
            await shop.approve(name)
    tools = tmp_path / "tools"
    (tools / "missing" / "tool.py").unlink()
    with (tools / "changed" / "tool.py").open("a") as file:
        file.write("# one word more\n")
    registry = Registry()
    registry.register(Other("shadowed", "zot:other"))
    async with open_store(tmp_path / "store" / "hookgate.db") as store:
        for row in store.tools():
            if row.name == "switched_off":
                await store.put_tool(replace(row, enabled=False))
            if row.name == "broken":
                # What lies there is what was approved, but it is another tool.
                await store.put_tool(_as_if_approved(row, (tools / "fine" / "tool.py").read_text()))
                (tools / "broken" / "tool.py").write_text((tools / "fine" / "tool.py").read_text())
    async with reopened(tmp_path, registry=registry) as shop:
        states = await shop.states()
        assert states == {
            "fine": "ok",
            "missing": "missing",
            "changed": "changed",
            "shadowed": "shadowed",
            "switched_off": "disabled",
            "broken": "ok",
        }
        assert shop.names() == {"fine", "shadowed"}
        assert (await shop.call("shadowed")).for_llm == "other"
        reasons = {it.row.name: it.reason for it in await shop.workshop.standings()}
        assert "another tool than the one that was approved" in reasons["broken"]
        with pytest.raises(ToolError, match="is not what was approved"):
            await shop.approve("changed")
        for name in names:
            await shop.workshop.remove(name, "operator")
        assert shop.names() == {"shadowed"}


def _as_if_approved(row: ToolRow, text: str) -> ToolRow:
    return replace(row, sha256=digest(text, row.spec))


@pytest.mark.parametrize(
    ("changes", "facts", "state"),
    [
        ({}, Facts("d"), "needs_approval"),
        ({"granted": "d"}, Facts("d"), "ok"),
        ({"granted": "other"}, Facts("d"), "needs_approval"),
        ({"origin": "operator"}, Facts("d"), "ok"),
        ({"origin": "operator"}, Facts("other"), "changed"),
        ({"origin": "operator"}, Facts(None), "missing"),
        ({"origin": "operator"}, Facts("d", holder="builtin"), "shadowed"),
        ({"origin": "operator", "enabled": False}, Facts("d"), "disabled"),
        ({"granted": "d"}, Facts("other"), "changed"),
    ],
)
def test_each_row_has_one_state(changes: dict[str, Any], facts: Facts, state: str) -> None:
    row = replace(ToolRow("probe", "process", {}, "tool.py", "d", "model"), **changes)
    assert standing(row, facts).state == state


async def test_what_the_operator_took_over_in_another_process_is_no_longer_the_models(tmp_path: Path) -> None:
    async with reopened(tmp_path) as gateway:
        await gateway.made("probe", "return 'seen'")
        async with reopened(tmp_path) as command:
            await command.approve("probe")
        replaced = await gateway.new("probe", "return 'other'", replace=True)
        assert (replaced.error and replaced.error.kind, "another process has changed it" in replaced.for_llm) == (
            "stale",
            True,
        )
        assert (await gateway.call("probe")).for_llm == "seen"
        removed = await gateway.call("unregister_tool", name="probe")
        assert "belongs to the operator" in removed.for_llm
    async with reopened(tmp_path) as again:
        assert (await again.call("probe")).for_llm == "seen"


async def test_what_was_shown_is_what_is_approved(tmp_path: Path) -> None:
    async with reopened(tmp_path) as gateway:
        await gateway.made("probe", "return 'harmless'", args={"type": "object", "properties": {"x": {}}})
        async with reopened(tmp_path) as command:
            row = command.workshop.ledger.known("probe", "")
            text = vouched_text(command.workshop, row)
            assert all(it in text for it in ("'harmless'", "A tool.", '"x"', "Requires packages: none", row.sha256))
            await gateway.made("probe", "return 'other'", replace=True)
            with pytest.raises(ToolError) as caught:
                await command.workshop.approve(row, "ann")
            assert caught.value.kind == "stale"
            with pytest.raises(ToolError, match="is not what was approved"):
                vouched_text(command.workshop, row)
        assert gateway.workshop.ledger.known("probe", "").origin == "model"


async def test_a_tool_without_its_packages_waits_and_says_why(tmp_path: Path) -> None:
    async with reopened(tmp_path, terms=Terms(packages=("trio",))) as shop:
        await shop.made("probe", "import trio\nreturn trio.__version__", requires=["trio"])
        await shop.approve("probe")
    async with reopened(tmp_path) as shop:
        (found,) = await shop.workshop.standings()
        assert (found.state, "'trio' is not allowed" in found.reason) == ("needs_approval", True)
        with pytest.raises(ToolError, match="'trio' is not allowed"):
            await shop.approve("probe")
        assert shop.names() == set()


@pytest.mark.parametrize("kind", ["pipe", "link"])
async def test_what_is_no_file_of_ours_is_no_program_and_holds_nothing_up(tmp_path: Path, kind: str) -> None:
    async with reopened(tmp_path) as shop:
        await shop.made("probe", "return 1")
        await shop.approve("probe")
    program = tmp_path / "tools" / "probe" / "tool.py"
    program.rename(tmp_path / "elsewhere.py")
    if kind == "pipe":
        os.mkfifo(program)
    else:
        program.symlink_to(tmp_path / "elsewhere.py")
    async with reopened(tmp_path) as shop:
        assert await shop.states() == {"probe": "missing"}
