"""Making, replacing and removing tools: program, catalog and registry stay in step."""

from __future__ import annotations

import sys
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from hookgate.assembly.tools.dynamic import open_tool_processes
from hookgate.protocol.catalog import Seen, StoreBusy, StoreFailed, ToolRow
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.values import ToolCall, ToolResult
from hookgate.protocol.values.effects import RegistryEffect
from hookgate.tools.dynamic.process import ProgramSpec, ToolProcess
from hookgate.tools.dynamic.workshop import Terms
from hookgate.tools.registry import Registry
from tests.tools.dynamic.shops import MemoryCatalog, Other, open_shop


def kind(result: ToolResult) -> str:
    assert result.error is not None, result.for_llm
    return result.error.kind


def programs(folder: Path) -> list[Path]:
    return sorted(folder.rglob("tool.py"))


# --- making -------------------------------------------------------------------------------------------------


async def test_a_new_tool_is_kept_registered_and_says_that_it_was_added(tmp_path: Path) -> None:
    catalog = MemoryCatalog()
    async with open_shop(tmp_path, catalog) as shop:
        result = await shop.new("add", "return args['a'] + 1", args=[{"name": "a", "type": "integer"}])
        assert result.effects == (RegistryEffect(added=("add",)),)
        (row,) = catalog.tools()
        assert (row.origin, row.kind, row.approved_by) == ("model", "process", "approval")
        assert row.source == str(shop.folder / "add" / "tool.py")
        spec = shop.registry.snapshot().specs[0]
        assert spec.provider == "dynamic"
        assert "Added at run time" in spec.description
        assert not spec.read_only
        assert (await shop.call("add", a=1)).for_llm == "2"
        assert kind(await shop.call("add", a="x")) == "validation"
    assert sorted(path.name for path in (shop.folder / "add").iterdir()) == ["tool.py"]


@pytest.mark.parametrize(
    ("name", "more", "expected", "said"),
    [
        ("new_tool", {}, "validation", "taken by builtin"),
        ("unregister_tool", {}, "validation", "taken by builtin"),
        ("held", {}, "validation", "taken by builtin"),
        ("web", {}, "validation", "taken by mcp:site"),
        ("fine", {"body": "return 1 +"}, "validation", "body, line 1"),
        ("fine", {"args": {"type": "object", "properties": {"a": {"type": "nothing"}}}}, "validation", "schema"),
        ("fine", {"description": "x" * 3000}, "validation", "description"),
        ("fine", {"requires": ["numpy"]}, "validation", "none besides the standard library"),
        ("second", {}, "budget", "as many as are allowed"),
    ],
)
async def test_what_cannot_be_made_changes_nothing(
    tmp_path: Path, name: str, more: dict[str, Any], expected: str, said: str
) -> None:
    registry, catalog = Registry(), MemoryCatalog()
    registry.register(Other("held", "builtin"), reserved=True)
    registry.register(Other("web", "mcp:site"))
    async with open_shop(tmp_path, catalog, Terms(max_tools=1), registry=registry) as shop:
        if name == "second":
            await shop.made("first", "return 1")
        before = (catalog.tools(), shop.names(), programs(tmp_path))
        result = await shop.call("new_tool", **{"name": name, "description": "d", "body": "return 1", **more})
        assert kind(result) == expected
        assert said in result.for_llm
        assert (catalog.tools(), shop.names(), programs(tmp_path)) == before


async def test_another_body_needs_replace_and_then_takes_the_place(tmp_path: Path) -> None:
    async with open_shop(tmp_path) as shop:
        await shop.made("probe", "return 'old'")
        assert "give replace" in (await shop.new("probe", "return 'new'")).for_llm
        assert (await shop.call("probe")).for_llm == "old"
        result = await shop.new("probe", "return 'new'", replace=True)
        assert result.effects == (RegistryEffect(added=("probe",), removed=("probe",)),)
        assert (await shop.call("probe")).for_llm == "new"


async def test_the_same_tool_once_more_is_no_change(tmp_path: Path) -> None:
    async with open_shop(tmp_path) as shop:
        await shop.made("probe", "return 1")
        version = shop.registry.version
        result = await shop.new("probe", "return 1")
        assert "already, exactly like this" in result.for_llm
        assert result.effects == ()
        assert shop.registry.version == version


async def test_a_failed_replacement_leaves_the_old_tool_running(tmp_path: Path) -> None:
    catalog = MemoryCatalog()
    async with open_shop(tmp_path, catalog) as shop:
        await shop.made("probe", "return 'old'")
        text, rows = (shop.folder / "probe" / "tool.py").read_text(), catalog.tools()
        catalog.broken = StoreFailed("the disk is gone")
        assert kind(await shop.new("probe", "return 'new'", replace=True)) == "fatal"
        assert (shop.folder / "probe" / "tool.py").read_text() == text
        assert catalog.tools() == rows
        assert (await shop.call("probe")).for_llm == "old"


@pytest.mark.parametrize(("broken", "expected"), [(StoreBusy("busy"), "transient"), (StoreFailed("no"), "fatal")])
async def test_what_the_catalog_does_not_keep_is_not_there(
    tmp_path: Path, broken: StoreFailed, expected: str
) -> None:
    async with open_shop(tmp_path, MemoryCatalog(broken=broken)) as shop:
        result = await shop.new("probe", "return 1")
        assert kind(result) == expected
        assert "nothing was changed" in result.for_llm
        assert shop.names() == set()
        assert not (shop.folder / "probe" / "tool.py").exists()


async def test_a_row_goes_when_the_registry_refuses(tmp_path: Path) -> None:
    """The name is reserved by somebody while the tool's process starts."""
    catalog, registry = MemoryCatalog(), Registry()

    class Late(MemoryCatalog):
        async def put_tool(self, row: ToolRow, seen: Seen | None = None) -> ToolRow:
            registry.register(Other("probe", "builtin"), reserved=True)
            return await super().put_tool(row, seen)

    catalog = Late()
    async with open_shop(tmp_path, catalog, registry=registry) as shop:
        result = await shop.new("probe", "return 1")
        assert kind(result) == "validation"
        assert "reserved by builtin" in result.for_llm
        assert catalog.tools() == ()
        assert not (shop.folder / "probe" / "tool.py").exists()
        assert (await shop.call("probe")).for_llm == "other"


async def test_a_call_cut_short_leaves_all_or_nothing(tmp_path: Path) -> None:
    """Wherever new_tool is cancelled, file, row and registry agree, and it can be called again."""
    catalog = MemoryCatalog()
    async with open_shop(tmp_path, catalog) as shop:
        for step in range(12):
            with trio.move_on_after(step * 0.006):
                await shop.new("probe", "return 1")
            there = {row.name for row in catalog.tools()}
            assert there == shop.names()
            assert (shop.folder / "probe" / "tool.py").exists() == bool(there) or step > 0
            if there:
                assert (await shop.call("probe")).for_llm == "1"
                await shop.call("unregister_tool", name="probe")
        await shop.made("probe", "return 1")


async def test_a_package_must_be_allowed_and_installed(tmp_path: Path) -> None:
    async with open_shop(tmp_path, terms=Terms(packages=("trio", "no-such-package"))) as shop:
        assert "is not installed" in (await shop.new("probe", "return 1", requires=["no-such-package"])).for_llm
        assert "packages that are: trio" in (await shop.new("probe", "return 1", requires=["numpy"])).for_llm
        await shop.made("probe", "import trio\nreturn trio.__name__", requires=["trio"])
        assert (await shop.call("probe")).for_llm == "trio"


async def test_a_tool_whose_program_does_not_come_up_is_not_registered(tmp_path: Path) -> None:
    async with open_tool_processes() as opened:

        def ended(wanted: ProgramSpec) -> AbstractAsyncContextManager[ToolProcess]:
            return opened(replace(wanted, command=(sys.executable, "-c", "raise SystemExit(3)")))

        async with open_shop(tmp_path, open_tool_process=ended) as shop:
            result = await shop.new("probe", "return 1")
            assert kind(result) == "fatal"
            assert "its program does not start" in result.for_llm
            assert shop.names() == set()
            assert await shop.states() == {}


# --- removing -----------------------------------------------------------------------------------------------


async def test_a_removed_tool_is_gone_but_for_its_file(tmp_path: Path) -> None:
    catalog = MemoryCatalog()
    async with open_shop(tmp_path, catalog) as shop:
        await shop.made("probe", "return 1")
        tool = shop.registry.snapshot().get("probe")
        assert tool is not None
        result = await shop.call("unregister_tool", name="probe")
        assert result.effects == (RegistryEffect(removed=("probe",)),)
        assert (catalog.tools(), shop.names()) == ((), set())
        assert (shop.folder / "probe" / "tool.py").exists()
        gone = await tool.execute(ToolCall("1", "probe", {}))
        assert "it was removed or replaced" in gone.for_llm


async def test_a_call_in_flight_ends_when_its_tool_is_removed(tmp_path: Path) -> None:
    results: list[ToolResult] = []
    async with open_shop(tmp_path) as shop:
        await shop.made("probe", "print('begun')\nimport time\ntime.sleep(60)")

        async def ask() -> None:
            results.append(await shop.call("probe"))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            await trio.testing.wait_all_tasks_blocked()
            await shop.call("unregister_tool", name="probe")
        assert kind(results[0]) == "not_found"


async def test_an_unknown_name_is_not_found_and_a_close_one_is_told(tmp_path: Path) -> None:
    async with open_shop(tmp_path) as shop:
        await shop.made("weather", "return 1")
        result = await shop.call("unregister_tool", name="wether")
        assert kind(result) == "not_found"
        assert "there is weather" in result.for_llm
        assert kind(await shop.call("unregister_tool", name="new_tool")) == "not_found"


async def test_the_model_neither_removes_nor_replaces_what_is_the_operators(tmp_path: Path) -> None:
    async with open_shop(tmp_path) as shop:
        await shop.made("probe", "return 1")
        await shop.approve("probe")
        for result in (
            await shop.call("unregister_tool", name="probe"),
            await shop.new("probe", "return 2", replace=True),
        ):
            assert kind(result) == "permission"
            assert result.error is not None
            assert result.error.denied_by == "rule:operator"
        assert (await shop.call("probe")).for_llm == "1"
        await shop.workshop.remove("probe", "operator")
        assert shop.names() == set()


async def test_a_removal_that_the_catalog_does_not_keep_removes_nothing(tmp_path: Path) -> None:
    catalog = MemoryCatalog()
    async with open_shop(tmp_path, catalog) as shop:
        await shop.made("probe", "return 1")
        catalog.broken = StoreBusy("busy")
        assert kind(await shop.call("unregister_tool", name="probe")) == "transient"
        assert (await shop.call("probe")).for_llm == "1"
