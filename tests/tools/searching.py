"""Ways to call the tools that search, and what is gone when they are."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
import trio

from hookgate.protocol.interfaces import Tool
from hookgate.protocol.values import Fault, ToolCall, ToolResult
from hookgate.tools.dispatch import execute
from hookgate.tools.search.query import Query, SearchResult
from hookgate.tools.search.search import search
from tests.processes import below, until

RG = shutil.which("rg") or ""

with_ripgrep = pytest.mark.needs("rg")


async def call(tool: Tool, **arguments: Any) -> ToolResult:
    with trio.fail_after(30):
        return await execute(tool, ToolCall("call_1", tool.spec.name, arguments))


async def lines(tool: Tool, **arguments: Any) -> list[str]:
    """The labeled lines below the header."""
    result = await call(tool, **arguments)
    assert not result.is_error, result.for_llm
    return result.for_llm.split("\n")[1:]


async def fault(tool: Tool, **arguments: Any) -> Fault:
    result = await call(tool, **arguments)
    assert result.error is not None, result.for_llm
    return result.error


async def found(query: Query) -> SearchResult:
    with trio.fail_after(30):
        return await search(query, "grep")


def put(root: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")


async def no_child_is_left() -> None:
    """Until every search that was started has ended; other tests' children in this process are theirs."""
    await until(lambda: not any(b"search_child" in it.line for it in below(os.getpid())))
