"""The set of built-in tools as a whole."""

from __future__ import annotations

import subprocess
import sys

import pytest

from hookgate.protocol.interfaces import Tool
from hookgate.protocol.values import ToolCall, ToolResult, ToolSpec
from hookgate.tools.builtin import Parts, builtin_tools
from hookgate.tools.errors import NameConflict
from hookgate.tools.files.workspace import Workspace
from hookgate.tools.registry import Registry
from hookgate.tools.shell.sandbox import Sandbox


@pytest.fixture
def tools(workspace: Workspace) -> tuple[Tool, ...]:
    return builtin_tools(Parts(workspace, Sandbox("none", workspace.root, workspace.root, ""), {}))


@pytest.fixture
def specs(tools: tuple[Tool, ...]) -> dict[str, ToolSpec]:
    return {tool.spec.name: tool.spec for tool in tools}


def test_they_come_sorted_and_say_truly_what_they_change(specs: dict[str, ToolSpec]) -> None:
    assert list(specs) == ["bash", "edit", "glob", "grep", "ls", "read", "web_fetch", "write"]
    assert [name for name, spec in specs.items() if spec.read_only] == ["glob", "grep", "ls", "read", "web_fetch"]
    assert [name for name, spec in specs.items() if spec.pure] == ["glob", "grep", "ls", "read"]
    assert [name for name, spec in specs.items() if spec.mutates] == ["edit", "write"]
    assert specs["bash"].affects_workspace
    assert specs["bash"].timeout_s > 600


def test_their_schemas_are_closed_and_describe_every_argument(specs: dict[str, ToolSpec]) -> None:
    for spec in specs.values():
        assert spec.description
        assert spec.parameters["additionalProperties"] is False
        properties = spec.parameters["properties"]
        assert isinstance(properties, dict)
        assert all(isinstance(it, dict) and it["description"] for it in properties.values())


def test_they_register_as_reserved(tools: tuple[Tool, ...]) -> None:
    registry = Registry()
    for tool in tools:
        registry.register(tool, reserved=True)
    assert len(registry.snapshot().specs) == registry.version == 8
    with pytest.raises(NameConflict):
        registry.register(_Stranger())


class _Stranger:
    spec = ToolSpec("bash", "mine now", {"type": "object"}, provider="zot:x")

    async def execute(self, call: ToolCall) -> ToolResult:
        raise NotImplementedError


def test_importing_them_loads_no_http_library() -> None:
    code = "import sys, hookgate.tools.builtin, hookgate.tools.dispatch; sys.exit('httpx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=30).returncode == 0
