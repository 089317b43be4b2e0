"""A program's own functions as tools of a conversation: schema, arguments, gate, all as for every other tool."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import trio
from pydantic import Field

from hookgate import Runtime
from hookgate.config import parse
from hookgate.embedding import ToolResult
from hookgate.tools.typed import tool

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
