"""MCP servers as the configuration names them: opened with the rest, refused with the place of the mistake."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest
import trio

from hookgate.assembly.tools.mcp import McpParts, approval_rules, open_mcp, server_specs
from hookgate.config import ConfigError, parse
from hookgate.protocol.values import ToolCall
from hookgate.sections import Config
from hookgate.tools.dispatch import execute
from hookgate.tools.mcp.server import ServerListeners
from hookgate.tools.mcp.transport import sdk
from hookgate.tools.registry import Registry

ODD = Path(__file__).parents[2] / "tools" / "mcp" / "servers" / "odd.py"


def configured(text: str) -> Config:
    return parse(text, Path("hookgate.toml"))


def server(name: str = "odd", more: str = "", mode: str = "good") -> str:
    return f'[mcp.servers.{name}]\ncommand = ["{sys.executable}", "{ODD}", "{mode}"]\n{more}\n'


def test_a_section_becomes_a_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TOKEN", "s3cret")
    monkeypatch.setenv("OURS", "hidden")
    text = server(
        more='dir = "sub"\nenv = { A = "1" }\nenv_pass = ["TOKEN"]\nread_only = ["get_*"]\ntimeout_ms = 500'
    )
    text += '[mcp.servers.web]\ntransport = "http"\nurl = "https://example.com/mcp"\ntoken_env = "TOKEN"\n'
    odd, web = server_specs(configured(text), tmp_path)
    assert (odd.directory, odd.timeout_s, odd.read_only) == (str(tmp_path / "sub"), 0.5, ("get_*",))
    assert {"A": "1", "TOKEN": "s3cret"}.items() <= odd.environment.items()
    assert "OURS" not in odd.environment
    assert (web.transport, web.url, web.token) == ("http", "https://example.com/mcp", "s3cret")


def test_a_server_that_is_not_enabled_is_none(tmp_path: Path) -> None:
    assert server_specs(configured(server(more="enabled = false")), tmp_path) == ()


def test_a_token_that_is_not_set_is_a_mistake_with_its_place(tmp_path: Path) -> None:
    text = '[mcp.servers.web]\ntransport = "http"\nurl = "https://example.com"\ntoken_env = "NOT_SET_ANYWHERE"\n'
    with pytest.raises(ConfigError, match=r"mcp\.servers\.web\.token_env: NOT_SET_ANYWHERE is not set"):
        server_specs(configured(text), tmp_path)


@pytest.mark.parametrize(
    ("text", "place"), [(server(), "mcp.servers.odd"), ("[mcp]\nmodel_may_connect = true\n", "mcp.model_may_connect")]
)
def test_without_the_extra_the_configuration_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, text: str, place: str, tmp_path: Path
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name.startswith("mcp") else find(name))
    with pytest.raises(ConfigError) as caught:
        server_specs(configured(text), tmp_path)
    assert str(caught.value) == f"{place}: {sdk.MISSING}"
    assert server_specs(configured(""), tmp_path) == ()


async def test_configured_servers_and_the_models_tools_are_opened(tmp_path: Path) -> None:
    registry, up = Registry(), trio.Event()
    told = ServerListeners(on_state=lambda state: up.set() if state.state == "up" else None)
    config = configured(server() + "[mcp]\nmodel_may_connect = true\n")
    with trio.fail_after(30):
        async with open_mcp(config, tmp_path, McpParts(registry, tmp_path, told)):
            await up.wait()
            snapshot = registry.snapshot()
            assert {"odd__echo", "mcp_connect", "mcp_disconnect", "mcp_list"} <= snapshot.tools.keys()
            listed = await execute(snapshot.tools["mcp_list"], ToolCall("1", "mcp_list", {}))
            assert listed.for_llm == "MCP connections: 1\nodd  up  stdio  14 tools  by the operator"


async def test_the_models_tools_are_not_there_unless_they_are_allowed(tmp_path: Path) -> None:
    registry = Registry()
    async with open_mcp(configured(""), tmp_path, McpParts(registry, tmp_path, ServerListeners())):
        assert registry.snapshot().specs == ()


def test_connecting_and_disconnecting_need_a_persons_yes() -> None:
    (rule,) = approval_rules()
    assert [rule.match.matches(None, tool) for tool in ("mcp_connect", "mcp_disconnect", "mcp_list", "bash")] == [
        True,
        True,
        False,
        False,
    ]
    assert rule.describe is not None
    assert "Ends the MCP connection odd" in rule.describe(ToolCall("1", "mcp_disconnect", {"name": "odd"}))
