"""Dynamic tools as the configuration asks for them: the parts joined, on a real store."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import trio

from hookgate import config as configuration
from hookgate.assembly.tools.dynamic import dynamic_rules, open_dynamic
from hookgate.protocol.values import ToolCall, ToolResult
from hookgate.sections import Config
from hookgate.store import Store, open_store
from hookgate.tools.dispatch import execute
from hookgate.tools.dynamic.workshop import Workshop
from hookgate.tools.registry import Registry

DEADLINE_S = 30.0
CONFIG = """
[tools]
sandbox = "{sandbox}"
[dynamic]
enabled = true
folder = "{folder}/made"
max_tools = 1
[store]
path = "{folder}/hookgate.db"
"""


@dataclass
class Running:
    workshop: Workshop
    registry: Registry
    store: Store

    async def call(self, name: str, /, **arguments: object) -> ToolResult:
        tool = self.registry.snapshot().get(name)
        assert tool is not None
        return await execute(tool, ToolCall("1", name, arguments))  # type: ignore[arg-type]


def parsed(folder: Path, sandbox: str = "auto") -> Config:
    return configuration.parse(CONFIG.format(folder=folder, sandbox=sandbox), folder / "hookgate.toml")


@asynccontextmanager
async def running(folder: Path, sandbox: str = "auto") -> AsyncGenerator[Running]:
    config = parsed(folder, sandbox)
    registry = Registry()
    with trio.fail_after(DEADLINE_S):
        store_file = configuration.store_file(config)
        async with open_store(store_file) as store, open_dynamic(config, registry, store) as workshop:
            yield Running(workshop, registry, store)


async def test_the_configuration_opens_a_workshop_whose_tools_are_kept(tmp_path: Path) -> None:
    async with running(tmp_path) as here:
        assert set(here.registry.snapshot().tools) == {"new_tool", "unregister_tool"}
        await here.call("new_tool", name="probe", description="d", body="return 'made'")
        assert (await here.call("probe")).for_llm == "made"
        assert (
            "as many as are allowed"
            in (await here.call("new_tool", name="other", description="d", body="return 1")).for_llm
        )
        await here.workshop.approve(here.workshop.ledger.known("probe", ""), "ann")
    assert (tmp_path / "made" / "probe" / "tool.py").exists()
    async with running(tmp_path) as here:
        assert (await here.call("probe")).for_llm == "made"


async def test_workspaces_keep_tools_of_one_name_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    said: list[str] = []
    with trio.fail_after(2 * DEADLINE_S):
        for name in ("a", "b", "a"):
            text = f'[agent]\nworkspace = "{tmp_path / name}"\n[dynamic]\nenabled = true\n'
            config, registry = configuration.parse(text, tmp_path / "hookgate.toml"), Registry()
            async with (
                open_store(configuration.store_file(config)) as store,
                open_dynamic(config, registry, store) as workshop,
            ):
                here = Running(workshop, registry, store)
                if "probe" not in registry.snapshot().tools:
                    await here.call("new_tool", name="probe", description="d", body=f"return {name!r}")
                    await workshop.approve(workshop.ledger.known("probe", ""), "ann")
                said.append((await here.call("probe")).for_llm)
    assert said == ["a", "b", "a"]
    assert len(list((tmp_path / "state").glob("hookgate/tools/*-*/probe/tool.py"))) == 2


async def test_the_store_is_hidden_from_made_tools(tmp_path: Path) -> None:
    async with running(tmp_path) as here:
        hidden = here.workshop.place.sandbox.hidden
        assert {tmp_path / "hookgate.db", tmp_path / "hookgate.db-wal"} <= set(hidden)


async def test_a_person_is_asked_about_every_tool_that_comes_or_goes_and_shown_its_code(tmp_path: Path) -> None:
    config = parsed(tmp_path)
    async with running(tmp_path) as here:
        (rule,) = dynamic_rules(config, here.workshop)
        assert (rule,) == dynamic_rules(config, here.workshop)
        for name in ("new_tool", "unregister_tool"):
            assert rule.match.matches(None, name)
        assert not rule.match.matches(None, "bash")
        assert rule.describe is not None
        wish = {"name": "probe", "description": "d", "body": "return 'made'"}
        assert rule.describe(ToolCall("1", "new_tool", wish)).endswith("Its code:\nreturn 'made'")
        assert rule.lasting is not None
        assert rule.lasting(ToolCall("1", "new_tool", wish)) is not None
        assert rule.lasting(ToolCall("1", "unregister_tool", {"name": "probe"})) is None


def test_without_dynamic_tools_there_is_no_rule(tmp_path: Path) -> None:
    assert dynamic_rules(configuration.parse("", tmp_path / "hookgate.toml")) == ()
