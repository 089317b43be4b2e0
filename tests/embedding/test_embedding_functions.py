"""A program's own functions as tools of a conversation: schema, arguments, gate, all as for every other tool."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import pytest
import trio
from pydantic import Field
from structlog.testing import capture_logs

from hookgate import Runtime
from hookgate.config import ConfigError, parse
from hookgate.embedding import ToolResult, tool
from tests.embedding.conftest import Scripted

DEADLINE_S = 30.0


@tool(mutates=False, affects_workspace=False)
async def shelf(name: Annotated[str, Field(description="Of the book.")], copies: int = 1) -> dict[str, int]:
    """Where a book stands."""
    return {name: copies}


async def test_a_function_is_called_with_what_the_model_meant(tmp_path: Path) -> None:
    script = {
        "steps": [
            {"on": "tool", "when": "(?s)(.*)", "text": "It said $1"},
            {"when": "go", "calls": [{"name": "shelf", "arguments": {"name": "Emma", "copies": "2"}}]},
        ]
    }
    (tmp_path / "script.json").write_text(json.dumps(script))
    file = tmp_path / "hookgate.toml"
    file.write_text('[agent]\nmodel = "s/m"\n[providers.s]\nkind = "scripted"\nscript = "script.json"\n')
    parse(file.read_text(), file)
    with trio.fail_after(DEADLINE_S):
        async with Runtime(file, workspace=tmp_path, functions=(shelf,)) as runtime:
            events = [event async for event in runtime.prompt("go")]
    results = [event for event in events if isinstance(event, ToolResult)]
    assert [result.is_error for result in results] == [False]
    assert "Emma" in str(results[0].content)
    assert "2" in str(results[0].content)


async def test_a_name_among_the_tools_that_covers_none_is_a_line_of_the_log(scripted: Scripted) -> None:
    with capture_logs() as told:
        async with Runtime(scripted(), tools=("raed", "ls", "sh*"), functions=shelf):
            pass
    reasons = [it["reason"] for it in told if it["event"] == "configured_but_missing"]
    assert reasons == ["tools: 'raed' covers no built-in tool (did you mean 'read'?)"]


async def undecorated(name: str) -> str:
    """No tool yet."""
    return name


@tool(mutates=False, affects_workspace=False)
async def ls(path: str = ".") -> str:
    """Another ls."""
    return path


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"functions": [undecorated]},
            "undecorated is no tool: decorate it with hookgate.embedding.tool",
        ),
        ({"functions": ls}, "there is a tool ls already"),
        ({"functions": (shelf, shelf)}, "there is a tool shelf already"),
        ({"max_steps": 0}, "max_steps: a number from 1 on, not 0"),
        ({"config": {"agent": {}}}, "config: a path of a hookgate.toml or a hookgate.sections.Config, not dict"),
    ],
)
async def test_what_a_program_gets_wrong_is_said_when_it_opens(
    scripted: Scripted, given: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        async with Runtime(**{"config": scripted(), **given}):
            pass


async def test_one_alone_is_as_good_as_one_in_a_row(scripted: Scripted) -> None:
    config = scripted({"calls": [{"name": "ls"}]}, {"text": "done"})
    with trio.fail_after(DEADLINE_S):
        async with Runtime(config, tools="read", functions=ls, system_more="Be kind.") as runtime:
            assert runtime._there.settings.config.agent.system.endswith("\n\nBe kind.")
            events = [event async for event in runtime.prompt("go", images="https://example.org/a.png")]
    results = [event for event in events if isinstance(event, ToolResult)]
    assert [(result.is_error, "." in str(result.content)) for result in results] == [(False, True)]
