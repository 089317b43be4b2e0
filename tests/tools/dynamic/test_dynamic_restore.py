"""Bringing back what the catalog kept: what starts by itself, what waits for a person, what does not and why."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hookgate.protocol.catalog import ToolRow
from hookgate.store import open_store
from hookgate.tools.dynamic.identity import digest
from hookgate.tools.dynamic.standing import Facts, standing
from hookgate.tools.dynamic.workshop import Terms
from hookgate.tools.errors import ToolError
from hookgate.tools.registry import Registry
from tests.tools.dynamic.shops import Other, Shop, open_shop


@asynccontextmanager
async def reopened(tmp_path: Path, terms: Terms | None = None, **place: Any) -> AsyncGenerator[Shop]:
    """A shop on a real store, as one run after another has it."""
    async with (
        open_store(tmp_path / "store" / "hookgate.db") as store,
        open_shop(tmp_path, store, terms, **place) as shop,
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
        await shop.workshop.approve("probe", "ann")
        assert (await shop.call("probe")).for_llm == "back"
    async with reopened(tmp_path) as shop:
        assert (await shop.call("probe")).for_llm == "back"
        (found,) = await shop.workshop.standings()
        assert (found.row.origin, found.row.approved_by, found.running) == ("operator", "ann", True)


async def test_a_grant_for_always_brings_back_exactly_what_it_was_given_for(tmp_path: Path) -> None:
    async with reopened(tmp_path) as shop:
        await shop.made("probe", "return 'back'")
        (found,) = await shop.workshop.standings()
        granted = found.row.sha256
    async with reopened(tmp_path, Terms(granted=lambda it: it == granted)) as shop:
        assert (await shop.call("probe")).for_llm == "back"
    (tmp_path / "tools" / "probe" / "tool.py").write_text("print('mine now')")
    async with reopened(tmp_path, Terms(granted=lambda it: it == granted)) as shop:
        assert await shop.states() == {"probe": "changed"}
        assert shop.names() == set()


async def test_only_what_is_as_it_was_starts_and_the_rest_says_why(tmp_path: Path) -> None:
    names = ("fine", "missing", "changed", "shadowed", "switched_off", "broken")
    async with reopened(tmp_path) as shop:
        for name in names:
            await shop.made(name, f"return {name!r}")
            await shop.workshop.approve(name, "ann")
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
            await shop.workshop.approve("changed", "ann")
        for name in names:
            await shop.workshop.remove(name, "operator")
        assert shop.names() == {"shadowed"}


def _as_if_approved(row: ToolRow, text: str) -> ToolRow:
    return replace(row, sha256=digest(text, row.spec))


@pytest.mark.parametrize(
    ("changes", "facts", "state"),
    [
        ({}, Facts("d"), "needs_approval"),
        ({}, Facts("d", granted=True), "ok"),
        ({"origin": "operator"}, Facts("d"), "ok"),
        ({"origin": "operator"}, Facts("other"), "changed"),
        ({"origin": "operator"}, Facts(None), "missing"),
        ({"origin": "operator"}, Facts("d", holder="builtin"), "shadowed"),
        ({"origin": "operator", "enabled": False}, Facts("d"), "disabled"),
        ({}, Facts("other", granted=True), "changed"),
    ],
)
def test_each_row_has_one_state(changes: dict[str, Any], facts: Facts, state: str) -> None:
    row = replace(ToolRow("probe", "process", {}, "tool.py", "d", "model"), **changes)
    assert standing(row, facts).state == state
